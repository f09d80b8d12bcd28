// Timers in a wheel with slots. A clock thread turns the wheel; what is due is handed to a thread that runs the callbacks.
// Cancelling a timer whose callback runs right now waits until it is over.
#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

class TimerService;

enum class TimerState
{
    Armed,
    Due,
    Running,
    Finished,
    Cancelled
};

struct Timer
{
    std::uint64_t id = 0;
    std::uint64_t expires = 0;
    std::uint64_t period = 0;
    int fired = 0;
    TimerState state = TimerState::Armed;
    std::function<void(std::uint64_t)> callback;
};

class Wheel
{
public:
    static constexpr int Slots = 4;

    explicit Wheel(std::uint64_t now)
        : now_(now)
    {
    }

    void insert(const std::shared_ptr<Timer> &timer)
    {
        assert(timer->expires > now_);
        slots_[timer->expires % Slots].push_back(timer);
        ++count_;
    }

    bool remove(const std::shared_ptr<Timer> &timer)
    {
        auto &slot = slots_[timer->expires % Slots];
        for (auto it = slot.begin(); it != slot.end(); ++it)
        {
            if (*it == timer)
            {
                slot.erase(it);
                --count_;
                return true;
            }
        }
        return false;
    }

    std::vector<std::shared_ptr<Timer>> advance()
    {
        std::vector<std::shared_ptr<Timer>> due;
        ++now_;
        auto &slot = slots_[now_ % Slots];
        for (auto it = slot.begin(); it != slot.end();)
        {
            if ((*it)->expires == now_)
            {
                due.push_back(*it);
                it = slot.erase(it);
                --count_;
            }
            else
            {
                ++it;
            }
        }
        return due;
    }

    std::uint64_t now() const { return now_; }
    int count() const { return count_; }

private:
    std::uint64_t now_;
    int count_ = 0;
    std::list<std::shared_ptr<Timer>> slots_[Slots];
};

class TimerService
{
public:
    TimerService()
        : wheel_(0)
    {
        clock_ = std::thread(&TimerService::turn, this);
        runner_ = std::thread(&TimerService::runCallbacks, this);
    }

    ~TimerService()
    {
        stop();
    }

    std::uint64_t schedule(std::uint64_t delay, std::uint64_t period, std::function<void(std::uint64_t)> callback)
    {
        auto timer = std::make_shared<Timer>();
        timer->callback = std::move(callback);
        timer->period = period;

        std::lock_guard<std::mutex> lock(mutex_);
        timer->id = nextId_++;
        timer->expires = wheel_.now() + delay;
        wheel_.insert(timer);
        timers_[timer->id] = timer;
        clockWork_.notify_one();
        return timer->id;
    }

    // Whether it will not run any more than it has.
    bool cancel(std::uint64_t id)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        auto found = timers_.find(id);
        if (found == timers_.end())
            return false;
        std::shared_ptr<Timer> timer = found->second;
        timers_.erase(found);
        if (timer->state == TimerState::Armed)
        {
            bool removed = wheel_.remove(timer);
            assert(removed);
            (void)removed;
            timer->state = TimerState::Cancelled;
            return true;
        }
        if (timer->state == TimerState::Due)
        {
            timer->state = TimerState::Cancelled;
            return true;
        }
        timer->period = 0;
        callbackDone_.wait(lock, [&] { return timer->state != TimerState::Running; });
        return timer->state == TimerState::Finished;
    }

    void waitUntil(std::uint64_t time)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        wanted_ = std::max(wanted_, time);
        clockWork_.notify_one();
        ticked_.wait(lock, [&] { return wheel_.now() >= time && due_.empty() && !running_; });
    }

    void stop()
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (stopping_)
                return;
            stopping_ = true;
        }
        clockWork_.notify_all();
        runnerWork_.notify_all();
        clock_.join();
        runner_.join();
    }

    int armed() const
    {
        std::lock_guard<std::mutex> lock(mutex_);
        return wheel_.count();
    }

    int executed() const
    {
        std::lock_guard<std::mutex> lock(mutex_);
        return executed_;
    }

private:
    // One tick after the other while anybody waits for a time.
    void turn()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;)
        {
            while (wheel_.now() >= wanted_ && !stopping_)
                clockWork_.wait(lock);
            if (stopping_)
                return;
            auto due = wheel_.advance();
            for (auto &timer : due)
            {
                assert(timer->state == TimerState::Armed);
                timer->state = TimerState::Due;
                due_.push_back(timer);
            }
            if (!due.empty())
                runnerWork_.notify_one();
            ticked_.notify_all();
            // What is due now runs before time goes on.
            while (!due_.empty() && !stopping_)
                ticked_.wait(lock);
        }
    }

    void runCallbacks()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;)
        {
            while (due_.empty() && !stopping_)
                runnerWork_.wait(lock);
            if (stopping_)
                return;
            std::shared_ptr<Timer> timer = due_.front();
            due_.pop_front();
            if (timer->state == TimerState::Due)
                execute(timer, lock);
            ticked_.notify_all();
        }
    }

    // The lock is held, but not while the callback runs.
    void execute(const std::shared_ptr<Timer> &timer, std::unique_lock<std::mutex> &lock)
    {
        timer->state = TimerState::Running;
        running_ = true;
        std::uint64_t now = wheel_.now();
        lock.unlock();
        timer->callback(now);
        lock.lock();
        running_ = false;
        ++executed_;
        ++timer->fired;
        if (timer->period > 0)
        {
            timer->state = TimerState::Armed;
            timer->expires = wheel_.now() + timer->period;
            wheel_.insert(timer);
        }
        else
        {
            timer->state = TimerState::Finished;
            timers_.erase(timer->id);
        }
        callbackDone_.notify_all();
    }

    mutable std::mutex mutex_;
    std::condition_variable clockWork_;
    std::condition_variable runnerWork_;
    std::condition_variable ticked_;
    std::condition_variable callbackDone_;
    Wheel wheel_;
    std::unordered_map<std::uint64_t, std::shared_ptr<Timer>> timers_;
    std::deque<std::shared_ptr<Timer>> due_;
    std::uint64_t nextId_ = 1;
    std::uint64_t wanted_ = 0;
    int executed_ = 0;
    bool running_ = false;
    bool stopping_ = false;
    std::thread clock_;
    std::thread runner_;
};

// What callbacks note; they run in another thread than those who look.
class Journal
{
public:
    void note(const std::string &what, std::uint64_t time)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        entries_.push_back(what);
        times_.push_back(time);
    }

    int count(const std::string &what) const
    {
        std::lock_guard<std::mutex> lock(mutex_);
        int n = 0;
        for (const auto &entry : entries_)
            n += entry == what;
        return n;
    }

    bool sorted() const
    {
        std::lock_guard<std::mutex> lock(mutex_);
        for (std::size_t i = 1; i < times_.size(); ++i)
            if (times_[i] < times_[i - 1])
                return false;
        return entries_.size() == times_.size();
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> entries_;
    std::vector<std::uint64_t> times_;
};

int main()
{
    Journal journal;
    TimerService service;
    bool cancelled = false;

    std::uint64_t tea = service.schedule(2, 0, [&](std::uint64_t now) { journal.note("tea", now); });
    std::uint64_t bell = service.schedule(1, 1, [&](std::uint64_t now) { journal.note("bell", now); });

    std::thread other([&] {
        std::uint64_t egg = service.schedule(1, 0, [&](std::uint64_t now) { journal.note("egg", now); });
        cancelled = service.cancel(egg);
        if (cancelled)
            assert(journal.count("egg") <= 1);
    });
    service.waitUntil(2);
    assert(journal.count("tea") == 1);
    assert(journal.count("bell") >= 1);
    other.join();
    service.cancel(bell);
    int bells = journal.count("bell");
    service.waitUntil(4);
    assert(journal.count("bell") == bells);
    assert(!service.cancel(tea));
    service.stop();

    assert(service.armed() == 0);
    assert(journal.sorted());
    assert(service.executed() == bells + 1 + journal.count("egg"));
    return 0;
}
