/// A small exchange. Orders of one instrument meet in its book; accounts hold cash and shares, and what is promised to an
/// open order is reserved. Every trade is told to a tape that a thread of its own writes.
#include <algorithm>
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

using Price = std::int64_t;
using Quantity = std::int64_t;

enum class Side { Buy, Sell };

class Account {
public:
    Account(std::string owner, Price cash, Quantity shares)
        : owner_(std::move(owner)), cash_(cash), shares_(shares) {}

    bool reserveCash(Price amount) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (cash_ - reservedCash_ < amount)
            return false;
        reservedCash_ += amount;
        return true;
    }

    bool reserveShares(Quantity quantity) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (shares_ - reservedShares_ < quantity)
            return false;
        reservedShares_ += quantity;
        return true;
    }

    void releaseCash(Price amount) {
        std::lock_guard<std::mutex> lock(mutex_);
        reservedCash_ -= amount;
        assert(reservedCash_ >= 0);
    }

    void releaseShares(Quantity quantity) {
        std::lock_guard<std::mutex> lock(mutex_);
        reservedShares_ -= quantity;
        assert(reservedShares_ >= 0);
    }

    /// Both accounts change together, so that nobody sees money that is nowhere.
    static void settle(Account& buyer, Account& seller, Price price, Price reserved, Quantity quantity) {
        std::scoped_lock locks(buyer.mutex_, seller.mutex_);
        buyer.reservedCash_ -= reserved * quantity;
        buyer.cash_ -= price * quantity;
        buyer.shares_ += quantity;
        seller.reservedShares_ -= quantity;
        seller.shares_ -= quantity;
        seller.cash_ += price * quantity;
        assert(buyer.cash_ >= buyer.reservedCash_);
        assert(seller.shares_ >= seller.reservedShares_);
    }

    Price cash() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return cash_;
    }

    Quantity shares() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return shares_;
    }

    bool isFree() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return reservedCash_ == 0 && reservedShares_ == 0;
    }

private:
    mutable std::mutex mutex_;
    const std::string owner_;
    Price cash_;
    Quantity shares_;
    Price reservedCash_ = 0;
    Quantity reservedShares_ = 0;
};

struct Trade {
    int buyOrder;
    int sellOrder;
    Price price;
    Quantity quantity;
};

/// Trades, in the order in which they were made, to whoever prints them.
class Tape {
public:
    Tape() : printer_([this] { print(); }) {}

    ~Tape() {
        close();
    }

    void push(const Trade& trade) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            pending_.push(trade);
            pushed_++;
        }
        ready_.notify_one();
    }

    void close() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (closed_)
                return;
            closed_ = true;
        }
        ready_.notify_all();
        printer_.join();
    }

    /// After it has been closed.
    const std::vector<Trade>& printed() const {
        assert(static_cast<int>(printed_.size()) == pushed_);
        return printed_;
    }

private:
    void print() {
        for (;;) {
            std::unique_lock<std::mutex> lock(mutex_);
            ready_.wait(lock, [this] { return closed_ || !pending_.empty(); });
            if (pending_.empty())
                return;
            Trade trade = pending_.front();
            pending_.pop();
            printed_.push_back(trade);
        }
    }

    std::mutex mutex_;
    std::condition_variable ready_;
    std::queue<Trade> pending_;
    std::vector<Trade> printed_;
    int pushed_ = 0;
    bool closed_ = false;
    std::thread printer_;
};

struct Order {
    int id;
    Side side;
    Price limit;
    Quantity open;
    Account* account;
};

class Book {
public:
    explicit Book(Tape& tape) : tape_(tape) {}

    /// The order's number; nothing when the account cannot pay for it.
    std::optional<int> submit(Account& account, Side side, Price limit, Quantity quantity) {
        bool reserved = side == Side::Buy ? account.reserveCash(limit * quantity) : account.reserveShares(quantity);
        if (!reserved) {
            rejected_.fetch_add(1);
            return std::nullopt;
        }
        std::lock_guard<std::mutex> lock(mutex_);
        Order order{nextId_++, side, limit, quantity, &account};
        match(order);
        if (order.open > 0)
            insert(order);
        checkNotCrossed();
        return order.id;
    }

    bool cancel(int id) {
        std::lock_guard<std::mutex> lock(mutex_);
        for (auto* side : {&bids_, &asks_}) {
            for (auto level = side->begin(); level != side->end(); ++level) {
                auto& orders = level->second;
                auto found = std::find_if(orders.begin(), orders.end(), [id](const Order& o) { return o.id == id; });
                if (found == orders.end())
                    continue;
                release(*found);
                orders.erase(found);
                if (orders.empty())
                    side->erase(level);
                return true;
            }
        }
        return false;
    }

    Price lastPrice() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return lastPrice_;
    }

    Quantity volume() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return volume_;
    }

    bool isEmpty() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return bids_.empty() && asks_.empty();
    }

    int rejected() const { return rejected_.load(); }

private:
    using Levels = std::map<Price, std::list<Order>>;

    void match(Order& order) {
        Levels& others = order.side == Side::Buy ? asks_ : bids_;
        while (order.open > 0 && !others.empty()) {
            auto level = order.side == Side::Buy ? others.begin() : std::prev(others.end());
            bool crosses = order.side == Side::Buy ? level->first <= order.limit : level->first >= order.limit;
            if (!crosses)
                break;
            Order& resting = level->second.front();
            Quantity quantity = std::min(order.open, resting.open);
            trade(order, resting, quantity);
            if (resting.open == 0)
                level->second.pop_front();
            if (level->second.empty())
                others.erase(level);
        }
    }

    void trade(Order& order, Order& resting, Quantity quantity) {
        Order& buy = order.side == Side::Buy ? order : resting;
        Order& sell = order.side == Side::Buy ? resting : order;
        Price price = resting.limit;
        Account::settle(*buy.account, *sell.account, price, buy.limit, quantity);
        buy.open -= quantity;
        sell.open -= quantity;
        lastPrice_ = price;
        volume_ += quantity;
        tape_.push(Trade{buy.id, sell.id, price, quantity});
    }

    void insert(const Order& order) {
        Levels& own = order.side == Side::Buy ? bids_ : asks_;
        own[order.limit].push_back(order);
    }

    void release(const Order& order) {
        if (order.side == Side::Buy)
            order.account->releaseCash(order.limit * order.open);
        else
            order.account->releaseShares(order.open);
    }

    void checkNotCrossed() const {
        if (!bids_.empty() && !asks_.empty())
            assert(bids_.rbegin()->first < asks_.begin()->first);
    }

    mutable std::mutex mutex_;
    Tape& tape_;
    Levels bids_, asks_;
    int nextId_ = 1;
    Price lastPrice_ = 0;
    Quantity volume_ = 0;
    std::atomic<int> rejected_{0};
};

int main() {
    Account alice("alice", 1000, 0);
    Account bob("bob", 0, 10);
    Account carol("carol", 300, 5);
    Quantity volume = 0;
    {
        Tape tape;
        Book book(tape);
        std::thread buyer([&] {
            auto first = book.submit(alice, Side::Buy, 100, 4);
            auto second = book.submit(alice, Side::Buy, 90, 5);
            auto tooMuch = book.submit(alice, Side::Buy, 400, 9);
            assert(first && second && !tooMuch);
            book.cancel(*second);
            book.cancel(*first);
        });
        std::thread seller([&] {
            auto order = book.submit(bob, Side::Sell, 95, 6);
            assert(order);
            assert(bob.cash() >= 0);
            book.cancel(*order);
        });
        std::thread trader([&] {
            auto ask = book.submit(carol, Side::Sell, 100, 2);
            auto bid = book.submit(carol, Side::Buy, 96, 3);
            for (auto order : {ask, bid})
                if (order)
                    book.cancel(*order);
        });
        buyer.join();
        seller.join();
        trader.join();
        assert(book.isEmpty());
        assert(book.rejected() >= 1);
        tape.close();
        for (const Trade& trade : tape.printed()) {
            assert(trade.buyOrder != trade.sellOrder);
            volume += trade.quantity;
        }
        assert(volume == book.volume());
        assert((book.lastPrice() > 0) == (volume > 0));
    }
    assert(alice.isFree() && bob.isFree() && carol.isFree());
    assert(alice.cash() + bob.cash() + carol.cash() == 1300);
    assert(alice.shares() + bob.shares() + carol.shares() == 15);
    return 0;
}
