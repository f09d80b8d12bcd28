#include "scan/ignore.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace scan {

bool glob_matches(std::string_view glob, std::string_view name)
{
    std::size_t at = 0, in = 0;
    std::size_t star = std::string_view::npos, retry = 0;

    while (at < name.size()) {
        if (in < glob.size() && (glob[in] == '?' || glob[in] == name[at])) {
            ++in;
            ++at;
        } else if (in < glob.size() && glob[in] == '*') {
            star = in++;
            retry = at;
        } else if (star != std::string_view::npos) {
            in = star + 1;
            at = ++retry;
        } else {
            return false;
        }
    }
    while (in < glob.size() && glob[in] == '*')
        ++in;
    return in == glob.size();
}

IgnoreRules::IgnoreRules(std::vector<std::string> globs) : globs_(std::move(globs)) {}

bool IgnoreRules::decide(const std::string& name) const
{
    return std::any_of(globs_.begin(), globs_.end(),
                       [&](const std::string& glob) { return glob_matches(glob, name); });
}

bool IgnoreRules::ignores(const std::string& name) const
{
    {
        std::shared_lock guard(lock_);
        if (const auto found = answers_.find(name); found != answers_.end()) {
            remembered_.fetch_add(1, std::memory_order_relaxed);
            return found->second;
        }
    }
    const bool answer = decide(name);
    std::unique_lock guard(lock_);
    answers_.emplace(name, answer);
    return answer;
}

} // namespace scan
