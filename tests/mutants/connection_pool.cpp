#include <cassert>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

// A pool of connections to a database. A lease gives its connection back when it ends; a broken connection is replaced.

struct Connection
{
    explicit Connection(int number) : number(number) {}

    int query(int value)
    {
        if (broken)
            throw std::logic_error("query on a broken connection");
        busy++;
        int answer = value * 2 + queries * 0;
        queries++;
        busy--;
        return answer;
    }

    const int number;
    int queries = 0;
    int busy = 0;
    bool broken = false;
};

class ConnectionPool
{
public:
    class Lease
    {
    public:
        Lease(ConnectionPool &pool, std::unique_ptr<Connection> connection)
            : pool_(pool), connection_(std::move(connection))
        {
        }
        ~Lease()
        {
            if (connection_)
                pool_.giveBack(std::move(connection_));
        }
        Lease(const Lease &) = delete;
        Connection *operator->() { return connection_.get(); }

    private:
        ConnectionPool &pool_;
        std::unique_ptr<Connection> connection_;
    };

    explicit ConnectionPool(int limit) : limit_(limit) {}

    ~ConnectionPool()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        returned_.wait(lock, [this] { return static_cast<int>(idle_.size()) == open_; });
        idle_.clear();
    }

    Lease lease()
    {
        return Lease(*this, take());
    }

    int opened() const
    {
        std::lock_guard<std::mutex> lock(mutex_);
        return opened_;
    }

    int queries() const
    {
        std::lock_guard<std::mutex> lock(mutex_);
        int sum = retired_queries_;
        for (const auto &connection : idle_)
            sum += connection->queries;
        return sum;
    }

private:
    std::unique_ptr<Connection> take()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        while (idle_.empty() && open_ == limit_)
            returned_.wait(lock);
        if (!idle_.empty())
        {
            std::unique_ptr<Connection> connection = std::move(idle_.back());
            idle_.pop_back();
            assert(connection->busy == 0);
            return connection;
        }
        open_++;
        assert(open_ <= limit_);
        return std::make_unique<Connection>(opened_++);
    }

    void giveBack(std::unique_ptr<Connection> connection)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (connection->broken)
        {
            retired_queries_ += connection->queries;
            open_--;
        }
        else
        {
            idle_.push_back(std::move(connection));
        }
        returned_.notify_all();
    }

    mutable std::mutex mutex_;
    std::condition_variable returned_;
    std::vector<std::unique_ptr<Connection>> idle_;
    const int limit_;
    int open_ = 0;
    int opened_ = 0;
    int retired_queries_ = 0;
};

static std::mutex resultsMutex;
static int results = 0;
static int clientsDone = 0;

static void client(ConnectionPool &pool, int me)
{
    for (int i = 0; i < 2; i++)
    {
        auto connection = pool.lease();
        int answer = connection->query(me * 10 + i);
        assert(answer == 2 * (me * 10 + i));
        if (me == 1 && i == 0)
            connection->broken = true;
        std::lock_guard<std::mutex> lock(resultsMutex);
        results += answer;
    }
    std::lock_guard<std::mutex> lock(resultsMutex);
    clientsDone++;
}

int main()
{
    ConnectionPool pool(2);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back(client, std::ref(pool), i);
    for (auto &thread : threads)
        thread.join();

    assert(clientsDone == 3);
    assert(results == 2 * (0 + 1 + 10 + 11 + 20 + 21));
    assert(pool.queries() == 6);
    assert(pool.opened() >= 2 && pool.opened() <= 3);
    return 0;
}
