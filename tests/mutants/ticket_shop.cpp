/* Seats are held for a customer, then paid for or given up. Customers that find no seat stand in a waiting line, and a
   seat that is given up goes to the first of them. */
#include <array>
#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class Hall
{
  public:
    enum class Seat { free, held, sold };

    explicit Hall(int seats) : seats_(static_cast<size_t>(seats), Seat::free), free_(seats) {}

    // A seat, or -1 when the sale is over.
    int hold()
    {
        std::unique_lock lock(mutex_);
        int ticket = next_ticket_++;
        line_.push_back(ticket);
        turn_.wait(lock, [&] { return over_ || (free_ > 0 && line_.front() == ticket); });
        if (over_ && (free_ == 0 || line_.front() != ticket)) {
            leave(ticket);
            turn_.notify_all();
            return -1;
        }
        line_.pop_front();
        int seat = find(Seat::free);
        seats_[static_cast<size_t>(seat)] = Seat::held;
        --free_;
        turn_.notify_all();
        return seat;
    }

    void pay(int seat, int price)
    {
        std::lock_guard lock(mutex_);
        assert(seats_[static_cast<size_t>(seat)] == Seat::held);
        seats_[static_cast<size_t>(seat)] = Seat::sold;
        sold_++;
        income_ += price;
        if (sold_ == static_cast<int>(seats_.size())) {
            over_ = true;
            turn_.notify_all();
        }
    }

    void give_up(int seat)
    {
        {
            std::lock_guard lock(mutex_);
            assert(seats_[static_cast<size_t>(seat)] == Seat::held);
            seats_[static_cast<size_t>(seat)] = Seat::free;
            ++free_;
        }
        turn_.notify_all();
    }

    void close()
    {
        std::lock_guard lock(mutex_);
        over_ = true;
        turn_.notify_all();
    }

    int sold() const
    {
        std::lock_guard lock(mutex_);
        return sold_;
    }

    int income() const
    {
        std::lock_guard lock(mutex_);
        return income_;
    }

    bool settled() const
    {
        std::lock_guard lock(mutex_);
        int sold = 0, free = 0;
        for (Seat seat : seats_) {
            sold += seat == Seat::sold;
            free += seat == Seat::free;
        }
        return sold == sold_ && free == free_ && line_.empty();
    }

  private:
    int find(Seat wanted) const
    {
        for (size_t i = 0; i < seats_.size(); i++)
            if (seats_[i] == wanted)
                return static_cast<int>(i);
        assert(!"no such seat");
        return -1;
    }

    void leave(int ticket)
    {
        for (auto it = line_.begin(); it != line_.end(); ++it)
            if (*it == ticket) {
                line_.erase(it);
                return;
            }
    }

    mutable std::mutex mutex_;
    std::condition_variable turn_;
    std::vector<Seat> seats_;
    std::deque<int> line_;
    int next_ticket_ = 0;
    int free_;
    int sold_ = 0;
    int income_ = 0;
    bool over_ = false;
};

int main()
{
    Hall hall(2);
    std::array<int, 3> got{};
    std::vector<std::thread> customers;

    for (int i = 0; i < 3; i++)
        customers.emplace_back([&, i] {
            int seat = hall.hold();
            if (seat < 0)
                return;
            if (i == 0) {
                hall.give_up(seat);
                return;
            }
            hall.pay(seat, 10 + i);
            got[static_cast<size_t>(i)] = 1;
        });
    for (auto &customer : customers)
        customer.join();
    hall.close();

    assert(hall.settled());
    assert(hall.sold() == got[1] + got[2]);
    assert(hall.sold() == 2);
    assert(hall.income() == 11 * got[1] + 12 * got[2]);
    return 0;
}
