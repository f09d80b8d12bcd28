// What the C++ library makes of threads: std::thread, async, call_once, condition variables, function
// statics, thread-local objects with destructors, exceptions.
#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int workers = 3;

std::mutex guard;
std::shared_mutex table_guard;
std::condition_variable opened;
std::once_flag once;
std::atomic<int> passed{0};
std::map<int, std::string> table;
bool is_open = false;
int initialized = 0;
int torn_down = 0;

struct Single {
    Single() { initialized++; }
    int value = 3;
};

Single &single()
{
    static Single instance;
    return instance;
}

struct Scratch {
    std::string text = std::string(100, 'x');
    ~Scratch()
    {
        std::lock_guard<std::mutex> lock(guard);
        torn_down++;
    }
};

thread_local Scratch scratch;

void work(int number)
{
    assert(scratch.text.size() == 100);
    std::call_once(once, [] { initialized++; });
    assert(single().value == 3);
    {
        std::unique_lock<std::mutex> lock(guard);
        opened.wait(lock, [] { return is_open; });
    }
    {
        std::unique_lock<std::shared_mutex> lock(table_guard);
        table[number] = "value " + std::to_string(number);
    }
    std::shared_lock<std::shared_mutex> lock(table_guard);
    assert(table.count(number) == 1);
    int expected = passed;
    while (!passed.compare_exchange_weak(expected, expected + 1)) {
    }
}

} // namespace

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; i++)
        threads.emplace_back(work, i);
    {
        std::lock_guard<std::mutex> lock(guard);
        is_open = true;
    }
    opened.notify_all();
    for (auto &thread : threads)
        thread.join();
    auto answer = std::async(std::launch::async, [] { return 42; });
    assert(answer.get() == 42);
    auto failure = std::async(std::launch::async, []() -> int { throw std::runtime_error("no"); });
    try {
        failure.get();
        assert(false);
    } catch (const std::runtime_error &) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    assert(passed == workers && initialized == 2 && table.size() == workers);
    assert(torn_down == workers);
    return 0;
}
