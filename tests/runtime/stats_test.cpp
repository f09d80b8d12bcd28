// A test of GoogleTest: an update of `total_` can be lost, and the check that notices it does not end the program.
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <vector>

class Stats {
public:
    void add(int n)
    {
        int before = total();
        std::lock_guard<std::mutex> hold(mutex_);
        total_ = before + n;
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

TEST(Stats, BeginsWithNothing)
{
    Stats stats;
    EXPECT_EQ(stats.total(), 0);
}

TEST(Stats, AddsUpWhatThreadsAdd)
{
    Stats stats;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back([&] { stats.add(10); });
    for (auto &thread : threads)
        thread.join();
    EXPECT_EQ(stats.total(), 20);
    EXPECT_GE(stats.total(), 10);
}

TEST(Stats, IsUsedAfterwards)
{
    Stats stats;
    stats.add(1);
    EXPECT_EQ(stats.total(), 1);
}
