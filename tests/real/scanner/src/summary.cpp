#include "scan/summary.hpp"

#include <ostream>
#include <utility>

namespace scan {

void Summary::add(const std::filesystem::path& file, std::vector<Hit> hits)
{
    if (hits.empty())
        return;
    std::lock_guard guard(lock_);
    files_[file] = std::move(hits);
}

void Summary::add_error(std::string error)
{
    std::lock_guard guard(lock_);
    errors_.push_back(std::move(error));
}

std::size_t Summary::hits() const
{
    std::lock_guard guard(lock_);
    std::size_t count = 0;
    for (const auto& [file, hits] : files_)
        count += hits.size();
    return count;
}

void Summary::print(std::ostream& out, bool only_names) const
{
    std::lock_guard guard(lock_);
    for (const auto& [file, hits] : files_) {
        if (only_names) {
            out << file.string() << '\n';
            continue;
        }
        for (const Hit& hit : hits)
            out << file.string() << ':' << hit.line << ':' << hit.column << ": " << hit.text << '\n';
    }
}

} // namespace scan
