#pragma once

#include "scan/scanner.hpp"

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

/// The command line.
struct Options {
    scan::Settings settings;
    std::vector<std::filesystem::path> roots;
    bool only_names = false;
    bool verbose = false;
    /// How many hits there have to be.
    std::optional<std::size_t> expected;
};

/// What is wrong with the command line.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

extern const char* const usage;

Options parse(const std::vector<std::string>& words);
