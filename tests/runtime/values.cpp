// Values by the types of what holds them: each line declares how the value that it writes is told.

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>

enum Level { LOW, HIGH = 7 };
enum class State : unsigned char { Idle, Busy };
namespace app {
enum class Step { Back = -1, Forth = 1 };
}

struct Gauge {
    double sum;
    float peak;
    char letter;
    signed char small;
    bool ready;
    Level level;
    State state;
    app::Step step;
};

static Gauge gauge;
static std::atomic<bool> closed;
static std::atomic<State> mode;
static std::atomic<double> share;
static std::optional<int> last;
static std::chrono::milliseconds wait;
static double *heap;

int main() {
    gauge.sum = 0.75; // gauge.sum 0.75
    gauge.peak = -2; // gauge.peak -2.0
    gauge.letter = 'q'; // gauge.letter 'q'
    gauge.small = 97; // gauge.small 97
    gauge.ready = true; // gauge.ready true
    gauge.level = HIGH; // gauge.level HIGH
    gauge.level = Level(3); // gauge.level 3
    gauge.state = State::Busy; // gauge.state State::Busy
    gauge.step = app::Step::Back; // gauge.step Step::Back
    closed = true; // closed true
    mode = State::Busy; // mode State::Busy
    share = 1.5; // share 1.5
    last = 5; // last 5
    wait = std::chrono::milliseconds(30); // wait 30
    heap = new double(0); // heap a block from line 48
    *heap = 2.5; // *heap 2.5
    delete heap;
}
