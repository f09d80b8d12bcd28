#pragma once

#include "scan/ignore.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace scan {

/// What a folder holds, sorted, so that the work is handed out in the same order every time.
struct Listing {
    std::vector<std::filesystem::path> folders;
    std::vector<std::filesystem::path> files;
    std::string error;
};

/// Lists a folder without what the rules ignore. Links are not followed.
Listing list(const std::filesystem::path& folder, const IgnoreRules& rules);

/// The content of a file, at most `most` bytes. Sets `error` when it cannot be read.
std::string read_file(const std::filesystem::path& file, std::size_t most, std::string& error);

/// Text has no zero byte in its beginning.
bool is_text(const std::string& content);

} // namespace scan
