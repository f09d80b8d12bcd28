// Counters, a gauge with its extremes, and a histogram. Sensors report without waiting for each other; a reporter takes
// consistent snapshots, and names are made once by whoever needs them first.
#include <atomic>
#include <cassert>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace telemetry {

class Counter {
public:
    void add(long n) { value_.fetch_add(n); }
    long value() const { return value_.load(); }

private:
    std::atomic<long> value_{0};
};

class Gauge {
public:
    void set(long value)
    {
        last_.store(value);
        long seen = highest_.load();
        while (value > seen && !highest_.compare_exchange_weak(seen, value))
            ;
        reports_.fetch_add(1);
    }

    long highest() const { return highest_.load(); }
    long last() const { return last_.load(); }
    int reports() const { return reports_.load(); }

private:
    std::atomic<long> last_{0};
    std::atomic<long> highest_{-1};
    std::atomic<int> reports_{0};
};

struct Snapshot {
    int samples = 0;
    long sum = 0;
    std::vector<int> buckets;
};

class Histogram {
public:
    explicit Histogram(std::vector<long> limits)
        : limits_(std::move(limits)), buckets_(limits_.size() + 1)
    {
    }

    void record(long value)
    {
        std::size_t bucket = 0;
        while (bucket < limits_.size() && value > limits_[bucket])
            bucket++;
        std::lock_guard<std::mutex> guard(mutex_);
        samples_++;
        sum_ += value;
        buckets_[bucket]++;
    }

    Snapshot snapshot() const
    {
        std::lock_guard<std::mutex> guard(mutex_);
        Snapshot copy;
        copy.samples = samples_;
        copy.sum = sum_;
        copy.buckets = buckets_;
        return copy;
    }

private:
    const std::vector<long> limits_;
    mutable std::mutex mutex_;
    int samples_ = 0;
    long sum_ = 0;
    std::vector<int> buckets_;
};

class Registry {
public:
    std::shared_ptr<Counter> counter(const std::string &name)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        auto &slot = counters_[name];
        if (!slot) {
            slot = std::make_shared<Counter>();
            created_++;
        }
        return slot;
    }

    int created() const
    {
        std::lock_guard<std::mutex> guard(mutex_);
        return created_;
    }

private:
    mutable std::mutex mutex_;
    std::unordered_map<std::string, std::shared_ptr<Counter>> counters_;
    int created_ = 0;
};

} // namespace telemetry

struct Config {
    long scale = 0;
    long offset = 0;
};

static Config config;
static std::atomic<bool> configured{false};
static std::atomic<bool> done{false};

static void sensor(telemetry::Registry &registry, telemetry::Gauge &gauge, telemetry::Histogram &histogram, long base)
{
    while (!configured.load())
        std::this_thread::yield();
    for (long i = 0; i < 2; i++) {
        long value = base * config.scale + i + config.offset;
        registry.counter("samples")->add(1);
        gauge.set(value);
        histogram.record(value);
    }
}

int main()
{
    telemetry::Registry registry;
    telemetry::Gauge gauge;
    telemetry::Histogram histogram({15, 25});

    std::thread first(sensor, std::ref(registry), std::ref(gauge), std::ref(histogram), 1);
    std::thread second(sensor, std::ref(registry), std::ref(gauge), std::ref(histogram), 2);
    std::thread reporter([&] {
        for (int i = 0; i < 2; i++) {
            telemetry::Snapshot now = histogram.snapshot();
            int total = 0;
            for (int bucket : now.buckets)
                total += bucket;
            assert(total == now.samples);
            assert(now.sum >= 13L * now.samples);
        }
        while (!done.load())
            std::this_thread::yield();
        assert(registry.counter("samples")->value() == 4);
    });
    config.scale = 10;
    config.offset = 3;
    configured.store(true);
    first.join();
    second.join();
    done.store(true);
    reporter.join();

    telemetry::Snapshot end = histogram.snapshot();
    assert(end.samples == 4 && end.sum == 13 + 14 + 23 + 24);
    assert(end.buckets[0] == 2 && end.buckets[1] == 2);
    assert(gauge.highest() == 24);
    assert(gauge.last() == 14 || gauge.last() == 24);
    assert(gauge.reports() == 4);
    assert(registry.created() == 1);
    return 0;
}
