// A server keeps weak references to its sessions: a session lives as long as its client does.
//
// What is wrong: greet() asks whether the session has expired, and then takes hold of it. The client can
// leave in between, and what greet() gets is empty.
// still wrong: gcc -O2
// expect kind: atomicity-violation
// expect cause 1: return known.expired();
// expect interference: session.reset();
// expect cause 2: return known.lock();

#include <cassert>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

class Session {
public:
    explicit Session(int number) : number(number) {}

    int greeting() const { return 100 + number; }

private:
    int number;
};

class Registry {
public:
    void add(const std::shared_ptr<Session> &session)
    {
        std::lock_guard<std::mutex> guard(lock);
        known = session;
    }

    bool is_gone()
    {
        std::lock_guard<std::mutex> guard(lock);
        return known.expired();
    }

    std::shared_ptr<Session> get()
    {
        std::lock_guard<std::mutex> guard(lock);
        return known.lock();
    }

private:
    std::mutex lock;
    std::weak_ptr<Session> known;
};

static void greet(Registry &registry)
{
    if (registry.is_gone())
        return;
    std::shared_ptr<Session> session = registry.get();
    assert(session != nullptr);
    assert(session->greeting() == 107);
}

static void leave(std::shared_ptr<Session> &session)
{
    session.reset();
}

int main()
{
    Registry registry;
    auto session = std::make_shared<Session>(7);
    registry.add(session);

    std::thread client(leave, std::ref(session));
    greet(registry);
    client.join();
    return 0;
}
