// Goods on shelves, each with a lock; a robot moves goods between shelves, a counter takes stock of all of them, and a
// reference to a crate is kept until nobody has a use for it.
#include <atomic>
#include <cassert>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

class Crate {
public:
    static Crate *make(int weight)
    {
        alive.fetch_add(1);
        return new Crate(weight);
    }

    void hold() { references_.fetch_add(1); }

    void drop()
    {
        if (references_.fetch_sub(1) == 1) {
            alive.fetch_sub(1);
            delete this;
        }
    }

    int weight() const { return weight_; }

    static std::atomic<int> alive;

private:
    explicit Crate(int weight) : weight_(weight) {}

    std::atomic<int> references_{1};
    int weight_;
};

std::atomic<int> Crate::alive{0};

struct Shelf {
    int number = 0;
    std::mutex lock;
    std::vector<Crate *> crates;
    int load = 0;
};

class Warehouse {
public:
    explicit Warehouse(int shelves) : shelves_(shelves)
    {
        for (int i = 0; i < shelves; i++)
            shelves_[i].number = i;
    }

    ~Warehouse()
    {
        for (Shelf &shelf : shelves_)
            for (Crate *crate : shelf.crates)
                crate->drop();
    }

    void store(int at, Crate *crate)
    {
        Shelf &shelf = shelves_[at];
        shelf.lock.lock();
        shelf.crates.push_back(crate);
        shelf.load += crate->weight();
        shelf.lock.unlock();
    }

    bool move(int from, int to)
    {
        Shelf *first = &shelves_[from], *second = &shelves_[to];
        if (first->number > second->number)
            std::swap(first, second);
        first->lock.lock();
        second->lock.lock();
        Shelf &source = shelves_[from], &target = shelves_[to];
        if (source.crates.empty()) {
            second->lock.unlock();
            first->lock.unlock();
            return false;
        }
        Crate *crate = source.crates.back();
        source.crates.pop_back();
        source.load -= crate->weight();
        target.crates.push_back(crate);
        target.load += crate->weight();
        moves_++;
        second->lock.unlock();
        first->lock.unlock();
        return true;
    }

    Crate *inspect(int at)
    {
        Shelf &shelf = shelves_[at];
        std::lock_guard<std::mutex> guard(shelf.lock);
        if (shelf.crates.empty())
            return nullptr;
        Crate *crate = shelf.crates.back();
        crate->hold();
        return crate;
    }

    bool ship(int from)
    {
        Shelf &shelf = shelves_[from];
        shelf.lock.lock();
        if (shelf.crates.empty()) {
            shelf.lock.unlock();
            return false;
        }
        Crate *crate = shelf.crates.back();
        shelf.crates.pop_back();
        shelf.load -= crate->weight();
        shelf.lock.unlock();
        shipped_.fetch_add(crate->weight());
        crate->drop();
        return true;
    }

    int stock()
    {
        for (Shelf &shelf : shelves_)
            shelf.lock.lock();
        int total = 0, by_crate = 0;
        for (Shelf &shelf : shelves_) {
            total += shelf.load;
            for (Crate *crate : shelf.crates)
                by_crate += crate->weight();
        }
        assert(total == by_crate);
        for (Shelf &shelf : shelves_)
            shelf.lock.unlock();
        return total;
    }

    int shipped() const { return shipped_.load(); }
    int moves() const { return moves_.load(); }

private:
    std::vector<Shelf> shelves_;
    std::atomic<int> shipped_{0};
    std::atomic<int> moves_{0};
};

int main()
{
    {
        Warehouse house(2);
        int moved[2] = {0, 0};
        house.store(0, Crate::make(3));
        house.store(0, Crate::make(5));
        house.store(1, Crate::make(11));

        std::thread robot([&] {
            moved[0] += house.move(0, 1);
            moved[0] += house.move(1, 0);
            house.store(1, Crate::make(20));
        });
        std::thread other([&] {
            moved[1] += house.move(1, 0);
            house.ship(0);
        });
        std::thread clerk([&] {
            if (Crate *crate = house.inspect(0)) {
                int weight = crate->weight();
                assert(weight == 3 || weight == 5 || weight == 11 || weight == 20);
                crate->drop();
            }
            int stock = house.stock();
            assert(stock >= 8 && stock <= 39);
        });
        robot.join();
        other.join();
        clerk.join();

        assert(house.moves() == moved[0] + moved[1]);
        assert(house.stock() + house.shipped() == 39);
    }
    assert(Crate::alive.load() == 0);
    return 0;
}
