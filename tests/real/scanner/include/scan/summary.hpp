#pragma once

#include "scan/matcher.hpp"

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace scan {

/// What all threads have found.
class Summary {
public:
    void add(const std::filesystem::path& file, std::vector<Hit> hits);
    void add_error(std::string error);

    /// Once the threads have ended.
    std::size_t hits() const;
    const std::vector<std::string>& errors() const { return errors_; }
    void print(std::ostream& out, bool only_names) const;

private:
    mutable std::mutex lock_;
    std::map<std::filesystem::path, std::vector<Hit>> files_;
    std::vector<std::string> errors_;
};

} // namespace scan
