// std::map, std::set and std::list: what the C++ library does to their nodes for the program. Without a lock around each
// use these would be races; with it every order passes.
#include <cassert>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace {

std::mutex guard;
std::map<int, std::string> names;
std::multimap<int, int> pairs;
std::set<int> numbers;
std::list<int> queue;

constexpr int rounds = 3;

void in_order()
{
    int last = -1;
    for (const auto &name : names) {
        assert(name.first > last);
        last = name.first;
    }
    for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
        assert(last == -1 || *number >= 0);
    }
}

void work(int base)
{
    for (int i = 0; i < rounds; i++) {
        std::lock_guard<std::mutex> held(guard);
        int key = (base * 7 + i * 13) % 20;
        names[key] += "x";
        numbers.insert(key);
        pairs.emplace(key, i);
        queue.push_back(key);
        if (i % 3 == 0) {
            names.erase((key + 13) % 20);
            numbers.erase(key);
            queue.pop_front();
        }
        in_order();
    }
}

} // namespace

int main()
{
    std::thread first(work, 1), second(work, 2);
    first.join();
    second.join();
    assert(pairs.size() == 2 * rounds);
    int last = -1;
    for (const auto &pair : pairs) {
        assert(pair.first >= last);
        last = pair.first;
    }
    std::list<int> other;
    other.splice(other.begin(), queue);
    assert(queue.empty() && other.size() == 2 * rounds - 2 * rounds / 3);
    names.clear();
    assert(names.begin() == names.end());
    return 0;
}
