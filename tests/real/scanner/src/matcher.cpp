// With SEEDED_BUG the table is announced before it is made:
//
// expect kind: order-violation
// expect cause 1: assert(fold_['Z'] == 'z');
// expect also: fold_[c] = lower(c);
// expect also: ready_ = true; // too early
// expect also: if (ready_) // without the lock
// expect also: return fold_[a] == fold_[b];
#include "scan/matcher.hpp"

#include <cassert>
#include <utility>

namespace scan {

namespace {

constexpr std::size_t not_found = std::string_view::npos;

unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<unsigned char>(c - 'A' + 'a') : c;
}

} // namespace

Matcher::Matcher(std::string pattern) : pattern_(std::move(pattern)) {}

void Matcher::build() const
{
    for (unsigned c = 0; c < fold_.size(); ++c)
        fold_[c] = lower(c);
}

void Matcher::prepare() const
{
#ifdef SEEDED_BUG
    if (ready_) // without the lock
        return;
    std::lock_guard guard(lock_);
    if (!ready_) {
        ready_ = true; // too early
        build();
    }
#else
    std::call_once(once_, [this] {
        build();
        ready_ = true;
    });
#endif
}

bool Matcher::matches_at(std::string_view line, std::size_t column) const
{
    auto same = [this](unsigned char a, unsigned char b) {
        return fold_[a] == fold_[b];
    };
    for (std::size_t i = 0; i < pattern_.size(); ++i)
        if (!same(line[column + i], pattern_[i]))
            return false;
    return true;
}

std::size_t Matcher::find(std::string_view line) const
{
    for (std::size_t column = 0; column + pattern_.size() <= line.size(); ++column)
        if (matches_at(line, column))
            return column;
    return not_found;
}

std::vector<Hit> Matcher::search(std::string_view text) const
{
    std::vector<Hit> hits;
    std::size_t number = 0;

    prepare();
    assert(fold_['Z'] == 'z');
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        ++number;
        if (const std::size_t column = find(line); column != not_found)
            hits.push_back({number, column + 1, std::string(line)});
        if (end == not_found)
            break;
        text.remove_prefix(end + 1);
    }
    return hits;
}

} // namespace scan
