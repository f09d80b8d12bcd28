#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace scan {

/// A place where the pattern stands.
struct Hit {
    std::size_t line;
    std::size_t column;
    std::string text;
};

/// Finds a pattern, whatever the case of the letters. One matcher serves all threads; its table is
/// made when the first of them needs it.
class Matcher {
public:
    explicit Matcher(std::string pattern);

    /// All places in `text`, at most one per line.
    std::vector<Hit> search(std::string_view text) const;

    const std::string& pattern() const { return pattern_; }

private:
    void prepare() const;
    void build() const;
    bool matches_at(std::string_view line, std::size_t column) const;
    std::size_t find(std::string_view line) const;

    std::string pattern_;
    mutable std::array<unsigned char, 256> fold_{};
    mutable std::once_flag once_;
    mutable std::mutex lock_;
    mutable bool ready_ = false;
};

} // namespace scan
