#pragma once

#include <atomic>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace scan {

/// Whether `name` is described by `glob`, in which `*` stands for any characters and `?` for one.
bool glob_matches(std::string_view glob, std::string_view name);

/// Names that are passed over. Most names come more than once, so answers are kept.
class IgnoreRules {
public:
    explicit IgnoreRules(std::vector<std::string> globs);

    bool ignores(const std::string& name) const;

    /// How many questions were answered from memory.
    unsigned remembered() const { return remembered_.load(std::memory_order_relaxed); }

private:
    bool decide(const std::string& name) const;

    std::vector<std::string> globs_;
    mutable std::shared_mutex lock_;
    mutable std::unordered_map<std::string, bool> answers_;
    mutable std::atomic<unsigned> remembered_{0};
};

} // namespace scan
