// Topics and subscribers. A subscriber may go at any time; a message that is on its way then is dropped. Each subscriber
// has an inbox with a limit, and the publisher waits where one is full.
#include <cassert>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct Message {
    std::string topic;
    int number;
};

class Inbox {
public:
    explicit Inbox(std::size_t limit) : limit_(limit) {}

    bool put(const Message &message) {
        std::unique_lock<std::mutex> lock(mutex_);
        while (messages_.size() == limit_ && !closed_)
            space_.wait(lock);
        if (closed_)
            return false;
        messages_.push_back(message);
        arrived_.notify_one();
        return true;
    }

    bool get(Message &message) {
        std::unique_lock<std::mutex> lock(mutex_);
        while (messages_.empty() && !closed_)
            arrived_.wait(lock);
        if (messages_.empty())
            return false;
        message = messages_.front();
        messages_.pop_front();
        space_.notify_one();
        return true;
    }

    void close() {
        std::lock_guard<std::mutex> lock(mutex_);
        closed_ = true;
        arrived_.notify_all();
        space_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable arrived_, space_;
    std::deque<Message> messages_;
    const std::size_t limit_;
    bool closed_ = false;
};

class Bus {
public:
    std::shared_ptr<Inbox> subscribe(const std::string &topic) {
        auto inbox = std::make_shared<Inbox>(1);
        std::lock_guard<std::mutex> lock(mutex_);
        topics_[topic].push_back(inbox);
        return inbox;
    }

    int publish(const std::string &topic) {
        std::vector<std::shared_ptr<Inbox>> receivers;
        int number;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            number = ++published_;
            for (auto &weak : topics_[topic])
                if (auto inbox = weak.lock())
                    receivers.push_back(inbox);
        }
        int delivered = 0;
        for (auto &inbox : receivers)
            delivered += inbox->put(Message{topic, number});
        std::lock_guard<std::mutex> lock(mutex_);
        delivered_ += delivered;
        return delivered;
    }

    void sweep() {
        std::lock_guard<std::mutex> lock(mutex_);
        for (auto &[topic, inboxes] : topics_) {
            std::vector<std::weak_ptr<Inbox>> left;
            for (auto &weak : inboxes)
                if (!weak.expired())
                    left.push_back(weak);
            swept_ += static_cast<int>(inboxes.size() - left.size());
            inboxes.swap(left);
        }
    }

    int published() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return published_;
    }

    int delivered() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return delivered_;
    }

    int swept() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return swept_;
    }

private:
    mutable std::mutex mutex_;
    std::map<std::string, std::vector<std::weak_ptr<Inbox>>> topics_;
    int published_ = 0;
    int delivered_ = 0;
    int swept_ = 0;
};

int main() {
    Bus bus;
    int read_by_alerts = 0, read_by_guest = 0;
    auto alerts = bus.subscribe("alerts");
    auto guest = bus.subscribe("alerts");

    std::thread reader([&] {
        Message message;
        while (alerts->get(message)) {
            assert(message.topic == "alerts");
            assert(message.number >= 1 && message.number <= 4);
            read_by_alerts++;
        }
    });
    std::thread visitor([&, guest] {
        Message message;
        if (guest->get(message))
            read_by_guest++;
        guest->close();
        while (guest->get(message))
            read_by_guest++;
    });
    guest.reset();
    std::thread other([&] {
        for (int i = 0; i < 2; i++)
            bus.publish("alerts");
    });
    for (int i = 0; i < 2; i++)
        bus.publish("alerts");
    other.join();
    visitor.join();
    alerts->close();
    reader.join();

    assert(bus.published() == 4);
    assert(read_by_alerts == 4);
    assert(read_by_guest >= 1);
    assert(bus.delivered() == read_by_alerts + read_by_guest);
    return 0;
}
