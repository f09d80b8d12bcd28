// C++ memory of every kind, and behind each access the name that its location must have.
#include <array>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct item {
    int id;
    long price;
};

namespace shop {
int visitors;
namespace {
volatile int hidden;
}
struct queue {
    std::vector<item> items;
    std::mutex guard;
    std::string title;
    std::unique_ptr<item> best;
    std::shared_ptr<item> last;
    std::array<int, 3> counts;
    std::map<int, item> by_id;
    std::deque<long> waiting;
    static int made;
    int size = 0;
};
int queue::made;
} // namespace shop

struct base {
    virtual ~base() = default;
    int in_base = 0;
};
struct left : virtual base {
    int in_left = 0;
};
struct right : virtual base {
    int in_right = 0;
};
struct both : left, right {
    int in_both = 0;
};
struct plain : item {
    int more = 0;
};

template <typename T> struct box {
    T value{};
    static T shared;
};
template <typename T> T box<T>::shared;

union either {
    int number;
    struct {
        short low, high;
    } halves;
};

struct outer {
    union {
        int as_int;
        float as_float;
    };
    struct {
        int x, y;
    };
    struct inner {
        int deep;
    } in[2];
};

shop::queue queue_;
plain derived;
both diamond;
box<int> ints;
either one_of;
outer nested;
thread_local item mine;
std::array<item, 2> pairs;

#define NOINLINE __attribute__((noinline))

// Somebody else might look at it: no write to it can be left out.
template <typename T> T *keep(T *object) {
    asm volatile("" : : "r"(object) : "memory");
    return object;
}

NOINLINE void set(int &to, int value) { to = value; }
NOINLINE void set(long &to, long value) { to = value; }

NOINLINE int count() {
    static int calls;
    calls++; // W count::calls
    return calls;
}

struct counter {
    int calls = 0;
    NOINLINE void call() {
        static int all;
        all++; // W counter::call::all
        calls++;
    }
};

void globals() {
    shop::visitors = 1; // W shop::visitors
    shop::hidden = 2; // W shop::hidden
    shop::queue::made = 3; // W shop::queue::made
    box<int>::shared = 4; // W box<int>::shared
    ints.value = 5; // W ints.value
    derived.price = 6; // W derived.price
    derived.more = 7; // W derived.more
    diamond.in_both = 8; // W diamond.in_both
    diamond.in_right = 9; // W diamond.in_right
    diamond.in_base = 10; // W diamond+40
    one_of.halves.high = 11; // W one_of.halves.high
    nested.as_int = 12; // W nested.as_int/as_float
    nested.y = 13; // W nested.y
    nested.in[1].deep = 14; // W nested.in[1].deep
    mine.price = 15; // W main.1:thread_local.mine.price
    pairs[1].id = 16; // W pairs[1].id
    queue_.counts[2] = 17; // W queue_.counts[2]
    queue_.size = 18; // W queue_.size
    count();
    counter().call();
}

void containers() {
    queue_.items.reserve(4);
    queue_.items.resize(4);
    queue_.items[3].id = 20; // W heap(names.cpp:141 by main.1 #0)[3].id
    queue_.title = "a title that is too long to stand in the object itself";
    queue_.title[40] = 'x'; // W heap(names.cpp:144 by main.1 #0)+40
    queue_.best = std::make_unique<item>();
    queue_.best->price = 21; // W heap(names.cpp:146 by main.1 #0).price
    queue_.last = std::make_shared<item>();
    queue_.last->price = 22; // W heap(names.cpp:148 by main.1 #0).price
    queue_.by_id[7].price = 23; // W heap(names.cpp:150 by main.1 #0).second.price
    queue_.waiting.push_back(24);
    queue_.waiting[0] = 25; // W heap(names.cpp:82 by main #1)[0]
    std::lock_guard<std::mutex> hold(queue_.guard); // L queue_.guard
}

void allocated() {
    item *one = keep(new item);
    one->price = 30; // W heap(names.cpp:157 by main.1 #0).price
    item *many = keep(new item[3]);
    many[2].id = 31; // W heap(names.cpp:159 by main.1 #0)[2].id
    auto *derived_one = keep(new plain());
    derived_one->more = 32; // W heap(names.cpp:161 by main.1 #0).more
    auto *boxed = keep(new box<long>);
    boxed->value = 33; // W heap(names.cpp:163 by main.1 #0).value
    auto shared_one = std::make_shared<item>(); keep(shared_one.get());
    shared_one->price = 34, keep(shared_one.get()); // W heap(names.cpp:165 by main.1 #0).price
    auto unique = std::make_unique<item>(); keep(unique.get());
    unique->price = 35; // W heap(names.cpp:167 by main.1 #0).price
    void *room = std::malloc(sizeof(item));
    item *placed = keep(new (room) item);
    placed->price = 36; // W heap(names.cpp:169 by main.1 #0).price
    auto *c_style = keep(static_cast<item *>(std::calloc(2, sizeof(item))));
    c_style[1].price = 37; // W heap(names.cpp:172 by main.1 #0)[1].price
    std::vector<item> local(3); keep(local.data());
    local[2].price = 38; // W heap(names.cpp:174 by main.1 #0)[2].price
    delete one;
    delete[] many;
    delete derived_one;
    delete boxed;
    std::free(room);
    std::free(c_style);
}

NOINLINE void set_price(item &to) {
    to.price = 41; // W main.1:captured.pair.price
    keep(&to);
}

NOINLINE void captured() {
    int local = 0;
    item pair{};
    auto by_reference = [&] {
        set(local, 40);
        set_price(pair);
    };
    by_reference();
    auto by_value = [copy = 0]() mutable {
        set(copy, 42);
        return copy;
    };
    by_value();
}

int main() {
    std::thread worker([] {
        globals();
        containers();
        allocated();
        captured();
    });
    worker.join();
}
