// What C++ does with the heap by itself, without a mistake.
#include <atomic>
#include <cassert>
#include <coroutine>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct Base {
    virtual ~Base() = default;
    virtual int value() const = 0;
};

struct Derived : Base, std::enable_shared_from_this<Derived> {
    std::string name = std::string(40, 'x');
    int value() const override { return static_cast<int>(name.size()); }
};

static void containers() {
    std::vector<std::string> words;
    std::map<int, std::string> tree;
    std::unordered_map<std::string, int> table;
    std::list<std::string> list;
    std::deque<std::string> queue;
    for (int i = 0; i < 60; i++) {
        std::string word = "a word that is too long to stand in place " + std::to_string(i);
        words.push_back(word);
        tree[i * 7 % 60] = word;
        table[word] = i;
        list.push_front(std::move(word));
        queue.push_back(words.back());
    }
    for (int i = 0; i < 60; i += 2)
        tree.erase(i);
    list.sort();
    list.remove_if([](const std::string &word) { return word.size() % 2; });
    words.erase(words.begin(), words.begin() + 30);
    words.shrink_to_fit();
    while (!queue.empty())
        queue.pop_front();
    std::ostringstream text;
    text << words.front() << table.size();
    assert(tree.size() == 30 && table.size() == 60 && text.str().size() > 10);
}

static void pointers() {
    std::shared_ptr<Derived> first = std::make_shared<Derived>();
    std::weak_ptr<Derived> weak = first;
    std::thread other([copy = first->shared_from_this()] { assert(copy->value() == 40); });
    first.reset();
    other.join();
    assert(weak.expired());
    std::unique_ptr<Base> base = std::make_unique<Derived>();
    std::function<int()> call = [base = std::shared_ptr<Base>(std::move(base))] { return base->value(); };
    assert(call() == 40);
    std::pmr::monotonic_buffer_resource memory;
    std::pmr::vector<int> numbers(&memory);
    for (int i = 0; i < 100; i++)
        numbers.push_back(i);
    std::atomic<std::shared_ptr<Derived>> shared(std::make_shared<Derived>());
    std::thread swapper([&] { shared.store(std::make_shared<Derived>()); });
    assert(shared.load()->value() == 40);
    swapper.join();
}

static void errors() {
    std::exception_ptr kept;
    std::future<int> result = std::async(std::launch::async, []() -> int { throw std::runtime_error("thrown"); });
    try {
        result.get();
    } catch (const std::exception &error) {
        assert(std::string(error.what()) == "thrown");
        kept = std::current_exception();
    }
    std::promise<std::string> promise;
    std::future<std::string> future = promise.get_future();
    std::thread sender([promise = std::move(promise)]() mutable { promise.set_value(std::string(50, 'y')); });
    assert(future.get().size() == 50);
    sender.join();
}

struct Task {
    struct promise_type {
        Task get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

struct Handover {
    std::thread &thread;
    bool await_ready() { return false; }
    // The other thread may have freed the frame, and this with it, before the assignment.
    void await_suspend(std::coroutine_handle<> handle) {
        std::thread &place = thread;
        place = std::thread([handle] { handle.resume(); });
    }
    int await_resume() { return 3; }
};

static std::atomic<int> finished;

// Its frame is freed by the thread that goes on with it.
static Task detached(std::thread &thread) {
    std::string text(60, 'z');
    int got = co_await Handover{thread};
    finished = got + static_cast<int>(text.size());
}

int main() {
    containers();
    pointers();
    errors();
    std::thread thread;
    detached(thread);
    thread.join();
    assert(finished == 63);
    return 0;
}
