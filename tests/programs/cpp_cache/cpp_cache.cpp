// A page cache that locks itself in every operation, shared by two readers.
//
// What is wrong: page() asks whether the page is there, loads it if not, and stores it. Each step
// holds the lock, but two readers can both miss the same page, and both load and store it.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: if (slots_[i].used && slots_[i].number == number)
// expect cause 2: slots_[used_].number = number;
// expect cause 2: slots_[used_].used = true;
// expect cause 2: used_++;
// expect interference: slots_[used_].number = number;
// expect interference: slots_[used_].used = true;
// expect interference: used_++;
//
// still wrong: clang -O2

#include <array>
#include <cassert>
#include <cstddef>
#include <functional>
#include <iostream>
#include <mutex>
#include <thread>

class PageCache {
public:
    int page(int number)
    {
        int found = -1;
        if (!find(number, found)) {
            found = load(number);
            store(number, found);
        }
        return found;
    }

    std::size_t size()
    {
        std::lock_guard<std::mutex> guard(lock_);
        return used_;
    }

private:
    struct Slot {
        bool used = false;
        int number = 0;
        int content = 0;
    };

    bool find(int number, int &content)
    {
        std::lock_guard<std::mutex> guard(lock_);
        for (std::size_t i = 0; i < slots_.size(); i++) {
            if (slots_[i].used && slots_[i].number == number) {
                content = slots_[i].content;
                return true;
            }
        }
        return false;
    }

    void store(int number, int content)
    {
        std::lock_guard<std::mutex> guard(lock_);
        slots_[used_].content = content;
        slots_[used_].number = number;
        slots_[used_].used = true;
        used_++;
    }

    static int load(int number) { return number * number; }

    std::mutex lock_;
    std::array<Slot, 4> slots_;
    std::size_t used_ = 0;
};

static void read_pages(PageCache &cache, int first, int last)
{
    for (int number = first; number <= last; number++)
        if (cache.page(number) != number * number)
            std::cerr << "page " << number << " is wrong\n";
}

int main()
{
    PageCache cache;
    std::thread first(read_pages, std::ref(cache), 1, 2);
    std::thread second(read_pages, std::ref(cache), 2, 3);
    first.join();
    second.join();

    std::cout << cache.size() << " pages in the cache\n";
    assert(cache.size() == 3);
    return 0;
}
