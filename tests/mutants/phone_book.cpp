// Names and numbers, looked up often and changed seldom. Numbers can be found by name and names by number, so both maps
// change together.
#include <atomic>
#include <cassert>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>

class PhoneBook {
public:
    bool add(const std::string &name, int number)
    {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        if (names_.count(number) != 0)
            return false;
        auto old = numbers_.find(name);
        if (old != numbers_.end())
            names_.erase(old->second);
        numbers_[name] = number;
        names_[number] = name;
        ++changes_;
        return true;
    }

    bool remove(const std::string &name)
    {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        auto found = numbers_.find(name);
        if (found == numbers_.end())
            return false;
        names_.erase(found->second);
        numbers_.erase(found);
        ++changes_;
        return true;
    }

    std::optional<int> number(const std::string &name) const
    {
        std::shared_lock<std::shared_mutex> lock(mutex_);
        lookups_.fetch_add(1);
        auto found = numbers_.find(name);
        if (found == numbers_.end())
            return std::nullopt;
        return found->second;
    }

    bool consistent() const
    {
        std::shared_lock<std::shared_mutex> lock(mutex_);
        if (numbers_.size() != names_.size())
            return false;
        for (const auto &[name, number] : numbers_) {
            auto back = names_.find(number);
            if (back == names_.end() || back->second != name)
                return false;
        }
        return true;
    }

    int changes() const
    {
        std::shared_lock<std::shared_mutex> lock(mutex_);
        return changes_;
    }

    int lookups() const { return lookups_.load(); }

private:
    mutable std::shared_mutex mutex_;
    mutable std::atomic<int> lookups_{0};
    std::map<std::string, int> numbers_;
    std::map<int, std::string> names_;
    int changes_ = 0;
};

int main()
{
    PhoneBook book;
    std::atomic<int> added{0}, removed{0};

    book.add("fire", 112);
    std::thread office([&] {
        added += book.add("anna", 201);
        added += book.add("ben", 202);
        removed += book.remove("anna");
    });
    std::thread branch([&] {
        added += book.add("anna", 301);
        added += book.add("carl", 202);
        assert(book.consistent());
    });
    std::thread caller([&] {
        for (const char *name : {"anna", "fire"}) {
            auto number = book.number(name);
            assert(!number || *number == 112 || *number == 201 || *number == 301);
        }
        assert(book.consistent());
        assert(book.number("fire") == 112);
    });
    office.join();
    branch.join();
    caller.join();

    assert(book.consistent());
    assert(added == 3);
    assert(removed <= 1);
    assert(book.changes() == 1 + added + removed);
    assert(book.lookups() == 3);
    assert(book.number("ben").has_value() != book.number("carl").has_value());
    return 0;
}
