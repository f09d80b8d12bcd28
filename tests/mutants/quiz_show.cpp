// A quiz with rounds: the candidates think at the same time, the host looks at the answers when all have one, and the
// points are shown before the next round begins. Only two may use the library at once.
#include <array>
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <functional>
#include <latch>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

constexpr int candidates = 2;
constexpr int rounds = 2;

// Everybody comes to the end of a round; the last one looks at it before the others go on.
class RoundEnd {
public:
    RoundEnd(int members, std::function<void()> evaluate) : members_(members), evaluate_(std::move(evaluate)) {}

    void arrive_and_wait()
    {
        std::unique_lock hold(mutex_);
        int round = round_;
        if (++arrived_ == members_) {
            evaluate_();
            arrived_ = 0;
            round_++;
            over_.notify_all();
            return;
        }
        over_.wait(hold, [&] { return round_ != round; });
    }

private:
    std::mutex mutex_;
    std::condition_variable over_;
    const int members_;
    const std::function<void()> evaluate_;
    int arrived_ = 0;
    int round_ = 0;
};

struct Show {
    std::latch doors{candidates + 1};
    std::counting_semaphore<2> library{1};
    std::mutex desk;
    std::array<int, candidates> answers{};
    std::array<int, candidates> points{};
    std::array<int, rounds> best{};
    int books_read = 0;
    int readers = 0;
    std::atomic<int> buzzer{-1};
    int round = 0;
    std::atomic<bool> lights{false};
    int audience = 0;
};

static int look_up(Show &show, int question)
{
    show.library.acquire();
    int now = ++show.readers;
    assert(now == 1);
    show.books_read++;
    show.readers--;
    show.library.release();
    return question * 7 % 5;
}

static void finish_round(Show &show)
{
    int best = 0;
    for (int answer : show.answers)
        best = answer > best ? answer : best;
    assert(show.buzzer.load() >= 0);
    show.points[static_cast<std::size_t>(show.buzzer.load())] += 1;
    show.best[static_cast<std::size_t>(show.round)] = best;
    show.buzzer.store(-1);
    show.round++;
}

int main()
{
    Show show;
    RoundEnd evaluated(candidates, [&show] { finish_round(show); });

    auto play = [&](int me) {
        show.doors.arrive_and_wait();
        assert(show.lights.load());
        assert(show.audience == 50);
        for (int round = 0; round < rounds; round++) {
            assert(show.round == round);
            show.answers[static_cast<std::size_t>(me)] = look_up(show, round + me + 1) + round;
            int nobody = -1;
            bool first = show.buzzer.compare_exchange_strong(nobody, me);
            if (first) {
                std::lock_guard hold(show.desk);
                show.points[static_cast<std::size_t>(me)] += 1;
            }
            evaluated.arrive_and_wait();
        }
    };
    std::vector<std::thread> players;
    for (int i = 0; i < candidates; i++)
        players.emplace_back(play, i);
    show.audience = 50;
    show.lights.store(true);
    show.doors.arrive_and_wait();
    for (std::thread &player : players)
        player.join();

    int points = 0;
    for (int p : show.points)
        points += p;
    assert(points == 2 * rounds);
    assert(show.books_read == candidates * rounds);
    assert(show.best[0] == 4 && show.best[1] == 5);
    assert(show.round == rounds);
    return 0;
}
