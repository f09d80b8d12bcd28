// A list in an array that locks itself in every operation.
//
// What is wrong: add_all() asks the other list for its size and then for one element after the other.
// Each call is safe alone, but when the other list is cleared in between, there is no such element.
//
// After java.util.ArrayList of JDK 1.4 behind Collections.synchronizedList.
//
// expect kind: atomicity-violation
// expect cause 1: return used;
// expect cause 2: assert(index < used);
// expect interference: used = 0;

#include <cassert>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <thread>

class ArrayList {
public:
    std::size_t size() const
    {
        std::lock_guard<std::mutex> held(lock);
        return used;
    }

    int get(std::size_t index) const
    {
        std::lock_guard<std::mutex> held(lock);
        assert(index < used);
        return elements[index];
    }

    void add(int element)
    {
        std::lock_guard<std::mutex> held(lock);
        if (used < CAPACITY)
            elements[used++] = element;
    }

    void clear()
    {
        std::lock_guard<std::mutex> held(lock);
        used = 0;
    }

    void add_all(const ArrayList &other)
    {
        std::size_t count = other.size();
        for (std::size_t i = 0; i < count; i++)
            add(other.get(i));
    }

private:
    static constexpr std::size_t CAPACITY = 8;
    mutable std::mutex lock;
    std::size_t used{};
    int elements[CAPACITY] = {};
};

static ArrayList source;
static ArrayList target;

int main()
{
    for (int element = 1; element <= 2; element++)
        source.add(element);

    std::thread copier([] { target.add_all(source); });
    std::thread cleaner([] { source.clear(); });
    copier.join();
    cleaner.join();

    std::printf("%zu elements were copied\n", target.size());
    return 0;
}
