// Builds targets in the order of their dependencies, several at a time. A target is built when all that it needs is up to
// date; when one fails, everything that needs it is skipped. What was built is noted in a database of signatures, so that
// a second build does nothing.
#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace build {

enum class State { Waiting, Ready, Building, Built, UpToDate, Failed, Skipped };

struct Target {
    std::string name;
    std::vector<Target *> needs;
    std::vector<Target *> needed_by;
    std::function<int(const std::vector<int> &)> recipe;
    int open_needs = 0;
    State state = State::Waiting;
    int output = 0;
    int times_built = 0;
};

// What targets were made of, from one build to the next.
class Database {
public:
    bool is_current(const std::string &name, long signature) const
    {
        std::lock_guard<std::mutex> hold(mutex_);
        auto found = signatures_.find(name);
        return found != signatures_.end() && found->second == signature;
    }

    void note(const std::string &name, long signature)
    {
        std::lock_guard<std::mutex> hold(mutex_);
        signatures_[name] = signature;
        writes_++;
    }

    int writes() const
    {
        std::lock_guard<std::mutex> hold(mutex_);
        return writes_;
    }

    std::size_t size() const
    {
        std::lock_guard<std::mutex> hold(mutex_);
        return signatures_.size();
    }

private:
    mutable std::mutex mutex_;
    std::map<std::string, long> signatures_;
    int writes_ = 0;
};

class Graph {
public:
    Target &add(const std::string &name, std::function<int(const std::vector<int> &)> recipe)
    {
        auto target = std::make_unique<Target>();
        target->name = name;
        target->recipe = std::move(recipe);
        targets_.push_back(std::move(target));
        return *targets_.back();
    }

    void depends(Target &target, Target &need)
    {
        target.needs.push_back(&need);
        need.needed_by.push_back(&target);
    }

    const std::vector<std::unique_ptr<Target>> &targets() const { return targets_; }

    // Throws when a target needs itself, over others or not.
    void check() const
    {
        std::set<const Target *> done, open;
        for (const auto &target : targets_)
            visit(*target, done, open);
    }

private:
    static void visit(const Target &target, std::set<const Target *> &done, std::set<const Target *> &open)
    {
        if (done.count(&target))
            return;
        if (!open.insert(&target).second)
            throw std::runtime_error("circular dependency of " + target.name);
        for (const Target *need : target.needs)
            visit(*need, done, open);
        open.erase(&target);
        done.insert(&target);
    }

    std::vector<std::unique_ptr<Target>> targets_;
};

struct Summary {
    int built = 0;
    int current = 0;
    int failed = 0;
    int skipped = 0;
};

class Executor {
public:
    Executor(Graph &graph, Database &database, int jobs)
        : graph_(graph), database_(database), jobs_(jobs)
    {
    }

    Summary run()
    {
        graph_.check();
        prepare();
        std::vector<std::thread> workers;
        for (int i = 0; i < jobs_; i++)
            workers.emplace_back([this] { work(); });
        for (std::thread &worker : workers)
            worker.join();
        assert(ready_.empty());
        assert(left_ == 0);
        return summary_;
    }

private:
    void prepare()
    {
        std::lock_guard<std::mutex> hold(mutex_);
        summary_ = Summary();
        left_ = 0;
        for (const auto &target : graph_.targets()) {
            target->state = State::Waiting;
            target->open_needs = static_cast<int>(target->needs.size());
            left_++;
        }
        for (const auto &target : graph_.targets())
            if (target->open_needs == 0)
                make_ready(*target);
    }

    // The mutex is held.
    void make_ready(Target &target)
    {
        assert(target.state == State::Waiting);
        target.state = State::Ready;
        ready_.push_back(&target);
        changed_.notify_one();
    }

    Target *next()
    {
        std::unique_lock<std::mutex> hold(mutex_);
        changed_.wait(hold, [this] { return !ready_.empty() || left_ == 0; });
        if (ready_.empty())
            return nullptr;
        Target *target = ready_.front();
        ready_.pop_front();
        assert(target->state == State::Ready);
        target->state = State::Building;
        return target;
    }

    void work()
    {
        while (Target *target = next()) {
            std::vector<int> inputs;
            for (Target *need : target->needs)
                inputs.push_back(need->output);
            finish(*target, make(*target, inputs));
        }
    }

    State make(Target &target, const std::vector<int> &inputs)
    {
        long signature = 17;
        for (int input : inputs)
            signature = signature * 31 + input;
        if (database_.is_current(target.name, signature))
            return State::UpToDate;
        try {
            target.output = target.recipe(inputs);
        } catch (const std::exception &) {
            return State::Failed;
        }
        target.times_built++;
        database_.note(target.name, signature);
        return State::Built;
    }

    void finish(Target &target, State state)
    {
        std::lock_guard<std::mutex> hold(mutex_);
        target.state = state;
        count(state);
        if (state == State::Failed) {
            skip_dependents(target);
        } else {
            for (Target *dependent : target.needed_by) {
                dependent->open_needs--;
                if (dependent->open_needs == 0 && dependent->state == State::Waiting)
                    make_ready(*dependent);
            }
        }
        if (left_ == 0)
            changed_.notify_all();
    }

    // The mutex is held.
    void skip_dependents(Target &target)
    {
        for (Target *dependent : target.needed_by) {
            if (dependent->state != State::Waiting)
                continue;
            dependent->state = State::Skipped;
            count(State::Skipped);
            skip_dependents(*dependent);
        }
    }

    // The mutex is held.
    void count(State state)
    {
        left_--;
        switch (state) {
        case State::Built:
            summary_.built++;
            break;
        case State::UpToDate:
            summary_.current++;
            break;
        case State::Failed:
            summary_.failed++;
            break;
        default:
            summary_.skipped++;
            break;
        }
    }

    Graph &graph_;
    Database &database_;
    const int jobs_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Target *> ready_;
    int left_ = 0;
    Summary summary_;
};

} // namespace build

namespace {

int sum(const std::vector<int> &inputs)
{
    int total = 1;
    for (int input : inputs)
        total += input;
    return total;
}

void a_program_of_three_sources()
{
    build::Graph graph;
    build::Database database;
    auto &config = graph.add("config.h", [](const std::vector<int> &) { return 10; });
    auto &parse = graph.add("parse.o", sum);
    auto &print = graph.add("print.o", sum);
    auto &library = graph.add("libtext.a", sum);
    auto &program = graph.add("program", sum);
    graph.depends(parse, config);
    graph.depends(print, config);
    graph.depends(library, parse);
    graph.depends(library, print);
    graph.depends(program, library);

    build::Executor executor(graph, database, 2);
    build::Summary first = executor.run();
    assert(first.built == 5 && first.current == 0);
    assert(parse.output == 11 && print.output == 11);
    assert(library.output == 23);
    assert(program.output == 24);
    assert(database.writes() == 5);

    build::Summary second = executor.run();
    assert(second.built == 0 && second.current == 5);
    for (const auto &target : graph.targets())
        assert(target->times_built == 1);
    assert(database.size() == 5);
}

void a_source_that_does_not_compile()
{
    build::Graph graph;
    build::Database database;
    auto &good = graph.add("good.o", sum);
    auto &bad = graph.add("bad.o", [](const std::vector<int> &) -> int {
        throw std::runtime_error("expected ';'");
    });
    auto &tool = graph.add("tool", sum);
    auto &tests = graph.add("tests", sum);
    graph.depends(tool, good);
    graph.depends(tool, bad);
    graph.depends(tests, tool);

    build::Summary summary = build::Executor(graph, database, 2).run();
    assert(summary.built == 1);
    assert(summary.failed == 1);
    assert(summary.skipped == 2);
    assert(tool.state == build::State::Skipped);
    assert(tests.times_built == 0);
}

} // namespace

int main()
{
    a_program_of_three_sources();
    a_source_that_does_not_compile();
    return 0;
}
