// A message bus whose listeners come and go while messages are published.
//
// What is wrong: publish() copies the list of listeners under the lock and calls them without it, so
// that a listener may take itself off. One that leaves in between is called after it was closed.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: called = listeners_;
// expect cause 2: assert(!closed_);
// expect interference: closed_ = true;
// expect interference: listeners_.erase(

#include <algorithm>
#include <cassert>
#include <functional>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

class Listener {
public:
    explicit Listener(std::string name) : name_(std::move(name)) {}

    void hear(int message)
    {
        assert(!closed_);
        heard_ += message;
    }

    void close() { closed_ = true; }

    int heard() const { return heard_; }

    const std::string &name() const { return name_; }

private:
    std::string name_;
    int heard_ = 0;
    bool closed_ = false;
};

class Bus {
public:
    void join(Listener &listener)
    {
        std::lock_guard<std::mutex> guard(lock_);
        listeners_.push_back(&listener);
    }

    void leave(Listener &listener)
    {
        std::lock_guard<std::mutex> guard(lock_);
        auto place = std::find(listeners_.begin(), listeners_.end(), &listener);
        listeners_.erase(place);
    }

    void publish(int message)
    {
        std::vector<Listener *> called;
        {
            std::lock_guard<std::mutex> guard(lock_);
            called = listeners_;
        }
        for (Listener *listener : called)
            listener->hear(message);
    }

private:
    std::mutex lock_;
    std::vector<Listener *> listeners_;
};

static void publish(Bus &bus)
{
    for (int message = 1; message <= 2; message++)
        bus.publish(message);
}

static void retire(Bus &bus, Listener &listener)
{
    bus.leave(listener);
    listener.close();
}

int main()
{
    Bus bus;
    Listener screen("screen"), printer("printer");
    bus.join(screen);
    bus.join(printer);

    std::thread publisher(publish, std::ref(bus));
    std::thread shutdown(retire, std::ref(bus), std::ref(printer));
    publisher.join();
    shutdown.join();

    std::cout << screen.name() << " " << screen.heard() << ", " << printer.name() << " "
              << printer.heard() << "\n";
    assert(screen.heard() == 3);
    return 0;
}
