#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace scan {

/// Work that may bring more work. It ends when nothing waits and nobody works.
template <typename Task>
class WorkQueue {
public:
    /// Adds a task.
    void push(Task task)
    {
        {
            std::lock_guard guard(lock_);
            tasks_.push_back(std::move(task));
            ++unfinished_;
        }
        changed_.notify_one();
    }

    /// Takes a task, waits for one while others work. Nothing when all is done or was stopped.
    std::optional<Task> pop()
    {
        std::unique_lock guard(lock_);
        changed_.wait(guard, [this] { return stopped_ || unfinished_ == 0 || !tasks_.empty(); });
        if (stopped_ || tasks_.empty())
            return std::nullopt;
        Task task = std::move(tasks_.front());
        tasks_.pop_front();
        return task;
    }

    /// A task that was taken is done. Its own tasks have been pushed before.
    void finish()
    {
        bool last;
        {
            std::lock_guard guard(lock_);
            last = --unfinished_ == 0;
        }
        if (last)
            changed_.notify_all();
    }

    /// Leaves the rest undone.
    void stop()
    {
        {
            std::lock_guard guard(lock_);
            stopped_ = true;
        }
        changed_.notify_all();
    }

private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<Task> tasks_;
    std::size_t unfinished_ = 0;
    bool stopped_ = false;
};

/// Says that a task is done, however its work ends.
template <typename Task>
class FinishGuard {
public:
    explicit FinishGuard(WorkQueue<Task>& queue) : queue_(queue) {}
    FinishGuard(const FinishGuard&) = delete;
    FinishGuard& operator=(const FinishGuard&) = delete;
    ~FinishGuard() { queue_.finish(); }

private:
    WorkQueue<Task>& queue_;
};

} // namespace scan
