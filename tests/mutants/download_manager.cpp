// Downloads files in pieces from mirrors. Pieces that fail are asked for again from another mirror, a limiter keeps the
// number of connections down, and progress is told to listeners.
#include <algorithm>
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

// The far side: what a mirror sends for a piece is known, and some mirrors refuse some pieces.
class Mirror {
 public:
  Mirror(std::string name, int refuses) : name_(std::move(name)), refuses_(refuses) {}

  std::optional<std::string> Fetch(const std::string& file, int piece) {
    requests_.fetch_add(1, std::memory_order_relaxed);
    if (piece == refuses_) return std::nullopt;
    return file + std::to_string(piece);
  }

  int requests() const { return requests_.load(std::memory_order_relaxed); }

 private:
  const std::string name_;
  const int refuses_;
  std::atomic<int> requests_{0};
};

class ConnectionLimiter {
 public:
  explicit ConnectionLimiter(int most) : free_(most), most_(most) {}

  void Acquire() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (free_ == 0) freed_.wait(lock);
    --free_;
    peak_ = std::max(peak_, most_ - free_);
  }

  void Release() {
    std::lock_guard<std::mutex> lock(mutex_);
    ++free_;
    assert(free_ <= most_);
    freed_.notify_one();
  }

  int free() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return free_;
  }

  int peak() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return peak_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  int free_;
  const int most_;
  int peak_ = 0;
};

class Connection {
 public:
  explicit Connection(ConnectionLimiter& limiter) : limiter_(limiter) { limiter_.Acquire(); }
  ~Connection() { limiter_.Release(); }
  Connection(const Connection&) = delete;

 private:
  ConnectionLimiter& limiter_;
};

// Statistics of mirrors: read for every piece, changed when one fails.
class MirrorList {
 public:
  void Add(std::shared_ptr<Mirror> mirror) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    mirrors_.push_back({std::move(mirror), 0});
  }

  std::shared_ptr<Mirror> Choose(int attempt) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    if (mirrors_.empty()) return nullptr;
    return mirrors_[attempt % mirrors_.size()].mirror;
  }

  void ReportFailure(const std::shared_ptr<Mirror>& mirror) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    for (Entry& entry : mirrors_) {
      if (entry.mirror == mirror) ++entry.failures;
    }
    ++failures_;
  }

  int failures() const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    int sum = 0;
    for (const Entry& entry : mirrors_) sum += entry.failures;
    assert(sum == failures_);
    return sum;
  }

 private:
  struct Entry {
    std::shared_ptr<Mirror> mirror;
    int failures;
  };

  mutable std::shared_mutex mutex_;
  std::vector<Entry> mirrors_;
  int failures_ = 0;
};

struct Progress {
  std::string file;
  int done;
  int total;
};

class Download {
 public:
  Download(std::string name, int pieces) : name_(std::move(name)), parts_(pieces), missing_(pieces) {}

  const std::string& name() const { return name_; }
  int pieces() const { return static_cast<int>(parts_.size()); }

  // How many pieces are there after this one.
  int Store(int piece, std::string data) {
    std::lock_guard<std::mutex> lock(mutex_);
    assert(parts_[piece].empty());
    parts_[piece] = std::move(data);
    --missing_;
    if (missing_ == 0) complete_.notify_all();
    return pieces() - missing_;
  }

  void Abort() {
    std::lock_guard<std::mutex> lock(mutex_);
    aborted_ = true;
    complete_.notify_all();
  }

  // The whole file, or nothing when it was given up.
  std::optional<std::string> Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    complete_.wait(lock, [this] { return missing_ == 0 || aborted_; });
    if (aborted_) return std::nullopt;
    std::string whole;
    for (const std::string& part : parts_) whole += part;
    return whole;
  }

 private:
  std::mutex mutex_;
  std::condition_variable complete_;
  const std::string name_;
  std::vector<std::string> parts_;
  int missing_;
  bool aborted_ = false;
};

class DownloadManager {
 public:
  using Listener = std::function<void(const Progress&)>;

  DownloadManager(MirrorList& mirrors, int workers, int connections) : mirrors_(mirrors), limiter_(connections) {
    for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { Work(); });
  }

  ~DownloadManager() { Shutdown(); }

  void AddListener(Listener listener) {
    std::lock_guard<std::mutex> lock(listeners_mutex_);
    listeners_.push_back(std::move(listener));
  }

  std::shared_ptr<Download> Start(const std::string& name, int pieces) {
    auto download = std::make_shared<Download>(name, pieces);
    std::lock_guard<std::mutex> lock(mutex_);
    for (int piece = 0; piece < pieces; ++piece) jobs_.push(Job{download, piece, 0});
    active_[name] = download;
    wake_.notify_all();
    return download;
  }

  bool IsActive(const std::string& name) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return active_.count(name) > 0;
  }

  void Shutdown() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_) return;
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    assert(jobs_.empty());
    assert(limiter_.free() > 0);
  }

  int finished() const { return finished_; }
  int peak_connections() const { return limiter_.peak(); }

 private:
  static constexpr int kAttempts = 2;

  struct Job {
    std::shared_ptr<Download> download;
    int piece;
    int attempt;
  };

  void Work() {
    Job job;
    while (Next(job)) {
      auto mirror = mirrors_.Choose(job.piece + job.attempt);
      std::optional<std::string> data;
      {
        Connection connection(limiter_);
        data = mirror->Fetch(job.download->name(), job.piece);
      }
      if (data) {
        Finish(job, std::move(*data));
      } else {
        mirrors_.ReportFailure(mirror);
        Retry(job);
      }
    }
  }

  bool Next(Job& job) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (jobs_.empty() && !(stopping_ && in_flight_ == 0)) wake_.wait(lock);
    if (jobs_.empty()) return false;
    job = std::move(jobs_.front());
    jobs_.pop();
    ++in_flight_;
    return true;
  }

  void Finish(const Job& job, std::string data) {
    int done = job.download->Store(job.piece, std::move(data));
    Tell(Progress{job.download->name(), done, job.download->pieces()});
    std::lock_guard<std::mutex> lock(mutex_);
    if (done == job.download->pieces()) {
      active_.erase(job.download->name());
      ++finished_;
    }
    --in_flight_;
    if (in_flight_ == 0) wake_.notify_all();
  }

  void Retry(Job job) {
    std::lock_guard<std::mutex> lock(mutex_);
    --in_flight_;
    ++job.attempt;
    if (job.attempt == kAttempts) {
      active_.erase(job.download->name());
      job.download->Abort();
    } else {
      jobs_.push(std::move(job));
    }
    wake_.notify_all();
  }

  void Tell(const Progress& progress) {
    std::lock_guard<std::mutex> lock(listeners_mutex_);
    for (const Listener& listener : listeners_) listener(progress);
  }

  MirrorList& mirrors_;
  ConnectionLimiter limiter_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::queue<Job> jobs_;
  std::map<std::string, std::shared_ptr<Download>> active_;
  int in_flight_ = 0;
  int finished_ = 0;
  bool stopping_ = false;
  std::mutex listeners_mutex_;
  std::vector<Listener> listeners_;
  std::vector<std::thread> workers_;
};

int main() {
  MirrorList mirrors;
  auto north = std::make_shared<Mirror>("north", 1);
  auto south = std::make_shared<Mirror>("south", 7);
  mirrors.Add(south);
  mirrors.Add(north);

  int told = 0, completed = 0;
  {
    DownloadManager manager(mirrors, 2, 1);
    manager.AddListener([&](const Progress& progress) {
      ++told;
      assert(progress.done <= progress.total);
      if (progress.done == progress.total) ++completed;
    });
    auto kernel = manager.Start("k", 2);
    std::optional<std::string> other;
    std::thread user([&] {
      auto editor = manager.Start("e", 1);
      other = editor->Wait();
    });
    auto whole = kernel->Wait();
    assert(whole && *whole == "k0k1");
    user.join();
    assert(other && *other == "e0");
    manager.Shutdown();
    assert(!manager.IsActive("k") && !manager.IsActive("e"));
    assert(manager.finished() == 2);
    assert(manager.peak_connections() == 1);
  }
  assert(told == 3);
  assert(completed == 2);
  assert(mirrors.failures() == 1);
  assert(north->requests() + south->requests() == 4);
  return 0;
}
