#include "scan/scanner.hpp"

#include "scan/walker.hpp"

#include <exception>
#include <utility>

namespace scan {

Scanner::Scanner(const Settings& settings)
    : settings_(settings), matcher_(settings.pattern), rules_(settings.ignored)
{
}

void Scanner::run(const std::vector<std::filesystem::path>& roots)
{
    for (const auto& root : roots) {
        std::error_code error;
        if (std::filesystem::is_directory(root, error))
            queue_.push(Folder{root});
        else
            queue_.push(File{root});
    }
    std::vector<std::thread> threads;
    threads.reserve(settings_.threads);
    for (unsigned i = 0; i < settings_.threads; ++i)
        threads.emplace_back(&Scanner::work, this);
    for (std::thread& thread : threads)
        thread.join();
}

void Scanner::work()
{
    while (auto task = queue_.pop()) {
        FinishGuard<Task> guard(queue_);
        try {
            std::visit([this](const auto& what) { visit(what); }, *task);
        } catch (const std::exception& error) {
            summary_.add_error(error.what());
        }
    }
}

void Scanner::visit(const Folder& folder)
{
    Listing listing = list(folder.path, rules_);

    progress_.folders.fetch_add(1);
    if (!listing.error.empty())
        summary_.add_error(std::move(listing.error));
    for (auto& path : listing.folders)
        queue_.push(Folder{std::move(path)});
    for (auto& path : listing.files)
        queue_.push(File{std::move(path)});
}

void Scanner::visit(const File& file)
{
    std::string error;
    const std::string content = read_file(file.path, settings_.largest_file, error);

    progress_.files.fetch_add(1);
    progress_.bytes.fetch_add(content.size());
    if (!error.empty()) {
        summary_.add_error(std::move(error));
        return;
    }
    if (!is_text(content))
        return;
    std::vector<Hit> hits = matcher_.search(content);
    const std::uint64_t before = progress_.hits.fetch_add(hits.size());
    if (settings_.most_hits != 0 && before + hits.size() >= settings_.most_hits)
        queue_.stop();
    summary_.add(file.path, std::move(hits));
}

} // namespace scan
