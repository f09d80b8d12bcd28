// What C++20 adds: std::jthread and stop tokens, waiting on atomics, semaphores, latches, barriers; and
// what is left of the older library: promises, packaged tasks, timed and shared mutexes.
#include <atomic>
#include <barrier>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <numeric>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr int workers = 3;

void atomic_wait_and_notify()
{
    std::atomic<int> stage{0};
    int payload = 0;
    std::jthread producer([&] {
        payload = 7;
        stage.store(1);
        stage.notify_one();
        stage.wait(1);
        assert(payload == 8);
    });
    stage.wait(0);
    assert(payload == 7);
    payload = 8;
    stage.store(2);
    stage.notify_all();
}

// Not an int: the library waits by a proxy.
void atomic_wait_on_small_and_large()
{
    std::atomic<char> small{0};
    std::atomic<long> large{0};
    std::atomic_flag flag;
    std::jthread other([&] {
        small.store(1);
        small.notify_all();
        large.wait(0);
        flag.test_and_set();
        flag.notify_all();
    });
    small.wait(0);
    large.store(1);
    large.notify_all();
    flag.wait(false);
}

void stop_tokens()
{
    std::mutex lock;
    std::condition_variable_any changed;
    int rounds = 0;
    bool seen = false;
    {
        std::jthread worker([&](std::stop_token token) {
            std::unique_lock guard(lock);
            while (!changed.wait(guard, token, [] { return false; }) && !token.stop_requested())
                rounds++;
            seen = true;
        });
        std::stop_callback callback(worker.get_stop_token(), [&] { rounds++; });
        worker.request_stop();
    }
    assert(seen && rounds == 1);
}

void semaphores()
{
    std::counting_semaphore<8> items(0), room(2);
    std::binary_semaphore lock(1);
    std::vector<int> queue;
    int sum = 0;
    {
        std::jthread producer([&] {
            for (int i = 1; i <= 4; i++) {
                room.acquire();
                lock.acquire();
                queue.push_back(i);
                lock.release();
                items.release();
            }
        });
        for (int i = 0; i < 4; i++) {
            items.acquire();
            lock.acquire();
            sum += queue.back();
            queue.pop_back();
            lock.release();
            room.release();
        }
    }
    assert(sum == 10);
    assert(!items.try_acquire());
    assert(!items.try_acquire_for(1ms));
}

void latches_and_barriers()
{
    std::latch ready(workers), go(1);
    std::vector<int> values(workers);
    int completions = 0;
    auto on_completion = [&]() noexcept { completions++; };
    std::barrier barrier(workers, on_completion);
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < workers; i++)
            threads.emplace_back([&, i] {
                ready.count_down();
                go.wait();
                values[i] = i + 1;
                barrier.arrive_and_wait();
                assert(std::accumulate(values.begin(), values.end(), 0) == 6);
                barrier.arrive_and_wait();
                values[i] = 0;
                barrier.arrive_and_drop();
            });
        ready.wait();
        go.count_down();
    }
    assert(completions == 3);
}

void futures()
{
    std::promise<int> promise;
    std::shared_future<int> shared = promise.get_future().share();
    std::packaged_task<int(int)> task([](int x) { return 2 * x; });
    std::future<int> doubled = task.get_future();
    std::jthread runner([&] {
        task(21);
        promise.set_value(5);
    });
    auto async = std::async(std::launch::async, [shared] { return shared.get() + 1; });
    auto lazy = std::async(std::launch::deferred, [] { return 4; });
    assert(doubled.get() == 42);
    assert(async.get() == 6);
    assert(shared.get() == 5);
    assert(lazy.get() == 4);
    std::promise<void> broken;
    auto error = broken.get_future();
    std::jthread thrower([&] {
        broken.set_exception(std::make_exception_ptr(std::string("no")));
    });
    try {
        error.get();
        assert(false);
    } catch (const std::string &) {
    }
}

void mutexes()
{
    std::timed_mutex timed;
    std::recursive_mutex recursive;
    std::shared_timed_mutex shared;
    std::condition_variable_any changed;
    int value = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < workers; i++)
            threads.emplace_back([&] {
                while (!timed.try_lock_for(10ms))
                    continue;
                int before = value;
                value = before + 1;
                timed.unlock();
                std::scoped_lock both(recursive, shared);
                std::lock_guard again(recursive);
                value++;
            });
        std::jthread reader([&] {
            std::shared_lock guard(shared);
            changed.wait_for(guard, 5ms, [&] { return value >= 0; });
        });
        changed.notify_all();
    }
    assert(value == 2 * workers || value > workers);
}

struct Counted {
    static std::atomic<int> alive;
    Counted() { alive++; }
    ~Counted() { alive--; }
};
std::atomic<int> Counted::alive{0};

void shared_pointers_and_thread_locals()
{
    thread_local Counted here;
    auto object = std::make_shared<Counted>();
    std::atomic<std::shared_ptr<Counted>> slot(object);
    (void)here;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < workers; i++)
            threads.emplace_back([&slot] {
                thread_local Counted mine;
                (void)mine;
                auto taken = slot.load();
                slot.store(taken);
            });
    }
    object.reset();
    slot.store(nullptr);
    assert(Counted::alive == 1);
}

} // namespace

int main()
{
    atomic_wait_and_notify();
    atomic_wait_on_small_and_large();
    stop_tokens();
    semaphores();
    latches_and_barriers();
    futures();
    mutexes();
    shared_pointers_and_thread_locals();
}
