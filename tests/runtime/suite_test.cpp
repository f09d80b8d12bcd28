// A suite of GoogleTest with eleven cases: an update can be lost in two of them, one can hang, and one is disabled.
#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <vector>

namespace {

class Stats {
public:
    void add(int n)
    {
        int before = total();
        std::lock_guard<std::mutex> hold(mutex_);
        total_ = before + n;
    }

    void add_locked(int n)
    {
        std::lock_guard<std::mutex> hold(mutex_);
        total_ += n;
    }

    int total() const
    {
        std::lock_guard<std::mutex> hold(mutex_);
        return total_;
    }

private:
    mutable std::mutex mutex_;
    int total_ = 0;
};

template <class F> void in_two_threads(F f)
{
    std::thread first(f), second(f);
    first.join();
    second.join();
}

} // namespace

TEST(Stats, BeginsWithNothing) { EXPECT_EQ(Stats().total(), 0); }

TEST(Stats, AddsUp)
{
    Stats stats;
    stats.add(1);
    stats.add(2);
    EXPECT_EQ(stats.total(), 3);
}

TEST(Stats, AddsUpWhatThreadsAdd)
{
    Stats stats;
    in_two_threads([&] { stats.add(10); });
    EXPECT_EQ(stats.total(), 20) << "an update was lost";
    EXPECT_GE(stats.total(), 10);
}

TEST(Stats, AddsUpUnderItsLock)
{
    Stats stats;
    in_two_threads([&] { stats.add_locked(10); });
    EXPECT_EQ(stats.total(), 20);
}

TEST(Stats, DISABLED_IsFast) { EXPECT_TRUE(false); }

TEST(Counter, CountsAtomically)
{
    std::atomic<int> counter{0};
    in_two_threads([&] { counter++; });
    EXPECT_EQ(counter, 2);
}

TEST(Counter, CountsInTwoSteps)
{
    std::atomic<int> counter{0};
    in_two_threads([&] { counter.store(counter.load() + 1); });
    ASSERT_EQ(counter, 2);
}

TEST(Locks, AreTakenInOneOrder)
{
    std::mutex a, b;
    in_two_threads([&] {
        std::lock_guard<std::mutex> hold_a(a);
        std::lock_guard<std::mutex> hold_b(b);
    });
}

TEST(Locks, AreTakenInTwoOrders)
{
    std::mutex a, b;
    std::thread other([&] {
        std::lock_guard<std::mutex> hold_b(b);
        std::lock_guard<std::mutex> hold_a(a);
    });
    {
        std::lock_guard<std::mutex> hold_a(a);
        std::lock_guard<std::mutex> hold_b(b);
    }
    other.join();
}

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, CanBeJoined)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < GetParam(); i++)
        threads.emplace_back([] {});
    for (auto &thread : threads)
        thread.join();
}

INSTANTIATE_TEST_SUITE_P(Some, Threads, testing::Values(1, 2));
