#include "options.hpp"

#include <cassert>
#include <iostream>

namespace {

int scan_all(const Options& options)
{
    scan::Scanner scanner(options.settings);

    scanner.run(options.roots);
    scanner.summary().print(std::cout, options.only_names);
    for (const std::string& error : scanner.summary().errors())
        std::cerr << "scanner: " << error << '\n';
    if (options.verbose) {
        const scan::Progress& progress = scanner.progress();
        std::cerr << progress.folders << " folders, " << progress.files << " files, " << progress.bytes
                  << " bytes, " << progress.hits << " hits, " << scanner.rules().remembered()
                  << " names remembered\n";
    }
    const std::size_t hits = scanner.summary().hits();
    if (options.expected)
        assert(hits == *options.expected);
    return hits == 0 || !scanner.summary().errors().empty();
}

} // namespace

int main(int argc, char** argv)
{
    try {
        return scan_all(parse({argv + 1, argv + argc}));
    } catch (const UsageError& error) {
        std::cerr << "scanner: " << error.what() << '\n' << usage;
        return 2;
    }
}
