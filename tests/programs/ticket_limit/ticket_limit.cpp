// A shop that sells each customer two tickets at most, whoever sits at the counter.
//
// What is wrong: sell() asks how many tickets the customer may still have, and then books one. Each of the two holds
// the lock, but another counter may book between them. Whether the customer had bought before decides which part of
// the map shows it: one that is new is no element yet.
//
// expect kind: atomicity-violation
// expect cause 1: const auto found = sold_.find(customer);
// expect cause 1: return found == sold_.end() ? most_ : most_ - found->second;
// expect cause 2: sold_[customer]++;
// expect interference: sold_[customer]++;

#include <cassert>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

class Shop {
public:
    explicit Shop(int most) : most_(most) {}

    bool sell(const std::string &customer)
    {
        if (left(customer) <= 0)
            return false;
        book(customer);
        return true;
    }

    int sold(const std::string &customer)
    {
        const std::lock_guard<std::mutex> guard(lock_);
        return sold_[customer];
    }

private:
    int left(const std::string &customer)
    {
        const std::lock_guard<std::mutex> guard(lock_);
        const auto found = sold_.find(customer);
        return found == sold_.end() ? most_ : most_ - found->second;
    }

    void book(const std::string &customer)
    {
        const std::lock_guard<std::mutex> guard(lock_);
        sold_[customer]++;
    }

    const int most_;
    std::mutex lock_;
    std::map<std::string, int> sold_;
};

} // namespace

int main()
{
    Shop shop(2);
    std::vector<std::thread> counters;
    for (int i = 0; i < 3; i++)
        counters.emplace_back([&shop] { shop.sell("mara"); });
    for (auto &counter : counters)
        counter.join();
    assert(shop.sold("mara") <= 2);
    return 0;
}
