// Uploads to a storage with a quota for each tenant. The entry of a tenant is made by whoever asks for it first.
//
// What is wrong: whether an upload fits is checked in one critical section, and its bytes are charged in another one.
// Two uploads of one tenant may both be found to fit.
//
// expect kind: atomicity-violation
// expect cause 1: return used_[tenant] + bytes <= limit_;
// expect cause 2: used_[tenant] += bytes;
// expect interference: used_[tenant] += bytes;

#include <atomic>
#include <cassert>
#include <map>
#include <string>
#include <thread>

class SpinLock {
public:
    void lock()
    {
        while (taken_.exchange(true, std::memory_order_acquire))
            std::this_thread::yield();
    }
    void unlock() { taken_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> taken_{false};
};

class SpinGuard {
public:
    explicit SpinGuard(SpinLock &lock) : lock_(lock) { lock_.lock(); }
    ~SpinGuard() { lock_.unlock(); }
    SpinGuard(const SpinGuard &) = delete;

private:
    SpinLock &lock_;
};

class Quota {
public:
    explicit Quota(int limit) : limit_(limit) {}

    bool fits(const std::string &tenant, int bytes)
    {
        SpinGuard guard(lock_);
        return used_[tenant] + bytes <= limit_;
    }

    void charge(const std::string &tenant, int bytes)
    {
        SpinGuard guard(lock_);
        used_[tenant] += bytes;
    }

    int used(const std::string &tenant)
    {
        SpinGuard guard(lock_);
        return used_[tenant];
    }

private:
    const int limit_;
    SpinLock lock_;
    std::map<std::string, int> used_;
};

struct Upload {
    Quota &quota;
    const char *tenant;
    int bytes;
    bool accepted = false;

    void begin()
    {
        if (!quota.fits(tenant, bytes))
            return;
        quota.charge(tenant, bytes);
        accepted = true;
    }
};

int main()
{
    Quota quota(100);
    Upload photo{quota, "alice", 60}, video{quota, "alice", 70}, log{quota, "bob", 40};
    std::thread first([&] { photo.begin(); });
    std::thread second([&] { video.begin(); });
    std::thread third([&] { log.begin(); });
    first.join();
    second.join();
    third.join();
    assert(quota.used("bob") == 40);
    assert(quota.used("alice") <= 100);
    return 0;
}
