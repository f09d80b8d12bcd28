// A task pool: workers take tasks under a lock, results come back through a second lock.
//
// Nothing is wrong.
//
// expect no failure

#include <cassert>
#include <condition_variable>
#include <deque>
#include <functional>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
public:
    explicit Pool(int workers)
    {
        for (int i = 0; i < workers; i++)
            workers_.emplace_back([this] { work(); });
    }

    ~Pool()
    {
        {
            std::lock_guard<std::mutex> guard(lock_);
            stopping_ = true;
        }
        changed_.notify_all();
        for (std::thread &worker : workers_)
            worker.join();
    }

    void submit(std::function<void()> task)
    {
        {
            std::lock_guard<std::mutex> guard(lock_);
            tasks_.push_back(std::move(task));
        }
        changed_.notify_one();
    }

private:
    void work()
    {
        for (;;) {
            std::function<void()> task;
            {
                std::unique_lock<std::mutex> guard(lock_);
                changed_.wait(guard, [this] { return stopping_ || !tasks_.empty(); });
                if (tasks_.empty())
                    return;
                task = std::move(tasks_.front());
                tasks_.pop_front();
            }
            task();
        }
    }

    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    bool stopping_ = false;
    std::vector<std::thread> workers_;
};

int main()
{
    std::mutex sum_lock;
    int sum = 0;
    {
        Pool pool(2);
        for (int i = 1; i <= 4; i++)
            pool.submit([&, i] {
                std::lock_guard<std::mutex> guard(sum_lock);
                sum += i;
            });
    }
    std::cout << "sum " << sum << "\n";
    assert(sum == 10);
    return 0;
}
