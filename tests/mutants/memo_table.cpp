// Results that are expensive to compute are computed once. Whoever asks first computes, the others wait for it; a
// computation that throws is forgotten, so that the next one tries again.
#include <cassert>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

template <class Key, class Value>
class MemoTable {
    struct Slot {
        std::mutex mutex;
        std::condition_variable settled;
        Value value{};
        bool present = false;
        bool failed = false;
    };

public:
    Value get(const Key& key, const std::function<Value(const Key&)>& compute)
    {
        for (;;) {
            std::shared_ptr<Slot> slot;
            bool mine = false;
            {
                std::lock_guard<std::mutex> lock(mutex_);
                auto [at, fresh] = slots_.try_emplace(key);
                if (fresh) {
                    at->second = std::make_shared<Slot>();
                    computing_++;
                }
                slot = at->second;
                mine = fresh;
            }
            if (mine)
                return fill(key, slot, compute);
            std::unique_lock<std::mutex> lock(slot->mutex);
            slot->settled.wait(lock, [&] { return slot->present || slot->failed; });
            if (slot->present) {
                Value value = slot->value;
                lock.unlock();
                count_hit();
                return value;
            }
        }
    }

    int hits() const
    {
        std::lock_guard<std::mutex> lock(mutex_);
        return hits_;
    }

    int computing() const
    {
        std::lock_guard<std::mutex> lock(mutex_);
        return computing_;
    }

private:
    Value fill(const Key& key, const std::shared_ptr<Slot>& slot, const std::function<Value(const Key&)>& compute)
    {
        Value value;
        try {
            value = compute(key);
        } catch (...) {
            {
                std::lock_guard<std::mutex> lock(mutex_);
                slots_.erase(key);
                computing_--;
            }
            std::lock_guard<std::mutex> lock(slot->mutex);
            slot->failed = true;
            slot->settled.notify_all();
            throw;
        }
        {
            std::lock_guard<std::mutex> lock(slot->mutex);
            slot->value = value;
            slot->present = true;
            slot->settled.notify_all();
        }
        std::lock_guard<std::mutex> lock(mutex_);
        computing_--;
        return value;
    }

    void count_hit()
    {
        std::lock_guard<std::mutex> lock(mutex_);
        hits_++;
    }

    mutable std::mutex mutex_;
    std::map<Key, std::shared_ptr<Slot>> slots_;
    int hits_ = 0;
    int computing_ = 0;
};

int main()
{
    MemoTable<int, long> squares;
    std::mutex tally;
    int computed = 0, attempts = 0, answers = 0;

    auto square = [&](const int& n) -> long {
        std::lock_guard<std::mutex> lock(tally);
        computed++;
        if (n == 5 && attempts++ == 0)
            throw std::runtime_error("out of luck");
        return static_cast<long>(n) * n;
    };
    auto ask = [&](std::vector<int> numbers) {
        for (int n : numbers) {
            try {
                long value = squares.get(n, square);
                assert(value == static_cast<long>(n) * n);
                std::lock_guard<std::mutex> lock(tally);
                answers++;
            } catch (const std::runtime_error&) {
                assert(n == 5);
            }
        }
    };

    std::thread first(ask, std::vector<int>{3, 5, 4});
    std::thread second(ask, std::vector<int>{4, 5, 3});
    first.join();
    second.join();
    assert(squares.get(5, square) == 25);

    assert(computed == 4);
    assert(attempts == 2);
    assert(answers == 5);
    assert(squares.computing() == 0);
    assert(squares.hits() == answers + 1 - (computed - 1));
    return 0;
}
