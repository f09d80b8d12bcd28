#pragma once

#include "scan/ignore.hpp"
#include "scan/matcher.hpp"
#include "scan/summary.hpp"
#include "scan/work_queue.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace scan {

/// How a scan is done.
struct Settings {
    std::string pattern;
    std::vector<std::string> ignored;
    unsigned threads = 2;
    std::size_t largest_file = 1 << 20;
    /// Ends the scan after so many hits; 0 for never.
    std::size_t most_hits = 0;
};

/// Numbers that may be read while the scan goes on.
struct Progress {
    std::atomic<std::uint64_t> folders{0};
    std::atomic<std::uint64_t> files{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> hits{0};
};

/// Searches folders with several threads.
class Scanner {
public:
    explicit Scanner(const Settings& settings);

    /// Searches everything below `roots`; returns when all is done.
    void run(const std::vector<std::filesystem::path>& roots);

    const Summary& summary() const { return summary_; }
    const Progress& progress() const { return progress_; }
    const IgnoreRules& rules() const { return rules_; }

private:
    struct Folder {
        std::filesystem::path path;
    };
    struct File {
        std::filesystem::path path;
    };
    using Task = std::variant<Folder, File>;

    void work();
    void visit(const Folder& folder);
    void visit(const File& file);

    Settings settings_;
    Matcher matcher_;
    IgnoreRules rules_;
    Summary summary_;
    Progress progress_;
    WorkQueue<Task> queue_;
};

} // namespace scan
