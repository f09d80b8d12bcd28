// Tasks that make tasks. Each worker has a deque of its own; it takes from the one end, and others steal from the other.
// Sleeping workers are woken when there is something to steal. Results are futures of our own, with continuations.
#include <array>
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace ws {

using Task = std::function<void()>;

class TaskDeque {
public:
    void push(Task task)
    {
        std::lock_guard guard{mutex_};
        tasks_.push_back(std::move(task));
        pushed_++;
    }

    bool pop(Task &task)
    {
        std::lock_guard guard{mutex_};
        if (tasks_.empty())
            return false;
        task = std::move(tasks_.back());
        tasks_.pop_back();
        taken_++;
        return true;
    }

    bool steal(Task &task)
    {
        std::lock_guard guard{mutex_};
        if (tasks_.empty())
            return false;
        task = std::move(tasks_.front());
        tasks_.pop_front();
        taken_++;
        return true;
    }

    bool balanced() const
    {
        std::lock_guard guard{mutex_};
        return tasks_.empty() && pushed_ == taken_;
    }

private:
    mutable std::mutex mutex_;
    std::deque<Task> tasks_;
    int pushed_ = 0;
    int taken_ = 0;
};

class Scheduler {
public:
    static constexpr int workers = 2;

    Scheduler()
    {
        for (int i = 0; i < workers; i++)
            threads_[i] = std::thread([this, i] { run(i); });
    }

    ~Scheduler()
    {
        {
            std::lock_guard guard{sleep_mutex_};
            stopping_ = true;
        }
        sleep_.notify_all();
        for (auto &thread : threads_)
            thread.join();
        for (auto &deque : deques_)
            assert(deque.balanced());
    }

    Scheduler(const Scheduler &) = delete;
    Scheduler &operator=(const Scheduler &) = delete;

    void spawn(Task task)
    {
        int home = current_ >= 0 ? current_ : next_.fetch_add(1) % workers;
        unfinished_.fetch_add(1);
        deques_[home].push(std::move(task));
        {
            std::lock_guard guard{sleep_mutex_};
            signals_++;
        }
        sleep_.notify_one();
    }

    // Until all that was spawned, and what that has spawned, is done.
    void wait_idle()
    {
        std::unique_lock guard{sleep_mutex_};
        idle_.wait(guard, [this] { return unfinished_.load() == 0; });
    }

    int executed() const { return executed_.load(); }

private:
    bool find_task(int self, Task &task)
    {
        if (deques_[self].pop(task))
            return true;
        for (int i = 1; i < workers; i++) {
            if (deques_[(self + i) % workers].steal(task))
                return true;
        }
        return false;
    }

    void run(int self)
    {
        current_ = self;
        for (;;) {
            unsigned long seen;
            {
                std::lock_guard guard{sleep_mutex_};
                seen = signals_;
            }
            Task task;
            if (find_task(self, task)) {
                task();
                executed_.fetch_add(1);
                finish_one();
                continue;
            }
            std::unique_lock guard{sleep_mutex_};
            sleep_.wait(guard, [&] { return stopping_ || signals_ != seen; });
            if (stopping_ && signals_ == seen)
                return;
        }
    }

    void finish_one()
    {
        if (unfinished_.fetch_sub(1) == 1) {
            std::lock_guard guard{sleep_mutex_};
            idle_.notify_all();
        }
    }

    std::array<TaskDeque, workers> deques_;
    std::array<std::thread, workers> threads_;
    std::atomic<int> next_{0};
    std::atomic<int> unfinished_{0};
    std::atomic<int> executed_{0};
    std::mutex sleep_mutex_;
    std::condition_variable sleep_;
    std::condition_variable idle_;
    unsigned long signals_ = 0;
    bool stopping_ = false;
    static thread_local int current_;
};

thread_local int Scheduler::current_ = -1;

// A value that comes later, or an exception.
template <typename T>
class Result {
public:
    void set(T value)
    {
        std::vector<Task> waiting;
        {
            std::lock_guard guard{mutex_};
            assert(!done_);
            value_ = std::move(value);
            done_ = true;
            waiting.swap(continuations_);
        }
        ready_.notify_all();
        for (auto &task : waiting)
            task();
    }

    void fail(std::exception_ptr error)
    {
        std::vector<Task> waiting;
        {
            std::lock_guard guard{mutex_};
            error_ = error;
            done_ = true;
            waiting.swap(continuations_);
        }
        ready_.notify_all();
        for (auto &task : waiting)
            task();
    }

    // At once when it is there already.
    void then(Task task)
    {
        {
            std::lock_guard guard{mutex_};
            if (!done_) {
                continuations_.push_back(std::move(task));
                return;
            }
        }
        task();
    }

    T get()
    {
        std::unique_lock guard{mutex_};
        ready_.wait(guard, [this] { return done_; });
        if (error_)
            std::rethrow_exception(error_);
        return value_;
    }

private:
    std::mutex mutex_;
    std::condition_variable ready_;
    std::vector<Task> continuations_;
    std::exception_ptr error_;
    T value_{};
    bool done_ = false;
};

template <typename T, typename F>
std::shared_ptr<Result<T>> async(Scheduler &scheduler, F function)
{
    auto result = std::make_shared<Result<T>>();
    scheduler.spawn([result, function] {
        try {
            result->set(function());
        } catch (...) {
            result->fail(std::current_exception());
        }
    });
    return result;
}

// Waits for two results without a thread that waits.
class Join : public std::enable_shared_from_this<Join> {
public:
    Join(int parts, std::function<void(int)> done)
        : left_(parts), done_(std::move(done))
    {
    }

    void arrive(int value)
    {
        sum_.fetch_add(value);
        if (left_.fetch_sub(1) == 1)
            done_(sum_.load());
    }

private:
    std::atomic<int> left_;
    std::atomic<int> sum_{0};
    std::function<void(int)> done_;
};

} // namespace ws

namespace {

void tree_sum(ws::Scheduler &scheduler, const int *values, int count, std::function<void(int)> done)
{
    if (count == 1) {
        done(values[0]);
        return;
    }
    auto join = std::make_shared<ws::Join>(2, std::move(done));
    int half = count / 2;
    scheduler.spawn([&scheduler, join, values, half] {
        tree_sum(scheduler, values, half, [join](int sum) { join->arrive(sum); });
    });
    tree_sum(scheduler, values + half, count - half, [join](int sum) { join->arrive(sum); });
}

void sums()
{
    static const int values[4] = {3, 1, 4, 1};
    std::atomic<int> total{0}, answers{0};
    ws::Scheduler scheduler;
    scheduler.spawn([&] {
        tree_sum(scheduler, values, 4, [&](int sum) {
            total.store(sum);
            answers.fetch_add(1);
        });
    });
    scheduler.wait_idle();
    assert(answers.load() == 1);
    assert(total.load() == 9);
    assert(scheduler.executed() == 4);
}

void results()
{
    std::atomic<int> continued{0};
    ws::Scheduler scheduler;
    auto good = ws::async<int>(scheduler, [] { return 6 * 7; });
    auto bad = ws::async<int>(scheduler, []() -> int { throw std::runtime_error("no answer"); });
    good->then([&, good] { continued.fetch_add(good->get()); });
    bool caught = false;
    try {
        bad->get();
    } catch (const std::runtime_error &) {
        caught = true;
    }
    assert(caught);
    assert(good->get() == 42);
    scheduler.wait_idle();
    assert(continued.load() == 42);
}

} // namespace

int main()
{
    sums();
    results();
    return 0;
}
