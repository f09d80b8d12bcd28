#include "options.hpp"

#include <charconv>

const char* const usage = "usage: scanner [-j THREADS] [-i GLOB]... [-m MOST] [-l] [-v] [--expect N] "
                          "PATTERN [FOLDER]...\n"
                          "  -j  threads (2)\n"
                          "  -i  passes over names such as *.o\n"
                          "  -m  ends after so many hits\n"
                          "  -l  prints names of files only\n"
                          "  -v  says what was done\n"
                          "  --expect  checks the number of hits\n";

namespace {

std::size_t number(const std::string& text)
{
    std::size_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);

    if (error != std::errc() || stopped != end)
        throw UsageError("`" + text + "` is not a number");
    return value;
}

} // namespace

Options parse(const std::vector<std::string>& words)
{
    Options options;
    std::vector<std::string> plain;
    std::size_t at = 0;

    auto value = [&]() -> const std::string& {
        if (at == words.size())
            throw UsageError("`" + words[at - 1] + "` needs a value");
        return words[at++];
    };
    while (at < words.size()) {
        const std::string& word = words[at++];
        if (word == "-j")
            options.settings.threads = static_cast<unsigned>(number(value()));
        else if (word == "-i")
            options.settings.ignored.push_back(value());
        else if (word == "-m")
            options.settings.most_hits = number(value());
        else if (word == "-l")
            options.only_names = true;
        else if (word == "-v")
            options.verbose = true;
        else if (word == "--expect")
            options.expected = number(value());
        else if (word.size() > 1 && word[0] == '-')
            throw UsageError("`" + word + "` is unknown");
        else
            plain.push_back(word);
    }
    if (plain.empty() || plain.front().empty())
        throw UsageError("no pattern");
    if (options.settings.threads == 0 || options.settings.threads > 64)
        throw UsageError("from 1 to 64 threads");
    options.settings.pattern = plain.front();
    options.roots.assign(plain.begin() + 1, plain.end());
    if (options.roots.empty())
        options.roots.emplace_back(".");
    return options;
}
