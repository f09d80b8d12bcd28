#include "scan/walker.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace scan {

namespace fs = std::filesystem;

namespace {

/// Closes a descriptor at the end of a scope.
class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor()
    {
        if (number_ >= 0)
            ::close(number_);
    }
    int number() const { return number_; }

private:
    int number_;
};

} // namespace

Listing list(const fs::path& folder, const IgnoreRules& rules)
{
    Listing listing;
    std::error_code error;

    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        if (rules.ignores(entry->path().filename().string()))
            continue;
        const fs::file_status status = entry->symlink_status(error);
        if (error)
            break;
        if (fs::is_directory(status))
            listing.folders.push_back(entry->path());
        else if (fs::is_regular_file(status))
            listing.files.push_back(entry->path());
    }
    if (error)
        listing.error = folder.string() + ": " + error.message();
    std::sort(listing.folders.begin(), listing.folders.end());
    std::sort(listing.files.begin(), listing.files.end());
    return listing;
}

std::string read_file(const fs::path& file, std::size_t most, std::string& error)
{
    const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    std::string content;
    char chunk[4096];

    if (descriptor.number() < 0) {
        error = file.string() + ": " + std::strerror(errno);
        return content;
    }
    while (content.size() < most) {
        const ssize_t got = ::read(descriptor.number(), chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            error = file.string() + ": " + std::strerror(errno);
        if (got <= 0)
            break;
        content.append(chunk, std::min(static_cast<std::size_t>(got), most - content.size()));
    }
    return content;
}

bool is_text(const std::string& content)
{
    const std::size_t looked_at = std::min<std::size_t>(content.size(), 512);
    return std::memchr(content.data(), 0, looked_at) == nullptr;
}

} // namespace scan
