// Everything here turns addresses into numbers, or is chosen by an address: the C++ library's waiters are in a table
// by address, threads have their stacks' addresses for names. The guards of stack and code pointers count as well.
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <latch>
#include <mutex>
#include <pthread.h>
#include <semaphore>
#include <thread>
#include <setjmp.h>
static volatile unsigned long seen[12];
static std::atomic<int> go{0};
static std::latch done{2};
static std::barrier<> meet{2};
static std::counting_semaphore<4> units{0};
static std::mutex lock;
static std::condition_variable_any ready;
static int shown;
static thread_local int own;
static unsigned long canary() { unsigned long c; asm("mov %%fs:0x28, %0" : "=r"(c)); return c; }
static void work(int n)
{
    seen[n] = (unsigned long)pthread_self();
    seen[n + 2] = std::hash<std::thread::id>()(std::this_thread::get_id());
    seen[n + 4] = (unsigned long)&own;
    go.wait(0);
    units.release();
    meet.arrive_and_wait();
    { std::unique_lock<std::mutex> held(lock); ready.wait(held, [] { return shown; }); }
    done.count_down();
}
int main(int argc, char **argv)
{
    int local;
    jmp_buf here;
    setjmp(here);
    seen[6] = (unsigned long)&local;
    seen[7] = (unsigned long)argv;
    seen[8] = (unsigned long)std::malloc(10);
    seen[9] = (unsigned long)&seen;
    seen[10] = canary();
    seen[11] = ((unsigned long *)here)[1];
    std::thread a(work, 0), b(work, 1);
    go = 1; go.notify_all();
    units.acquire();
    { std::lock_guard<std::mutex> held(lock); shown = 1; }
    ready.notify_all();
    done.wait();
    a.join(); b.join();
    for (auto s : seen) std::printf("%lx ", s);
    std::puts("");
    return 0;
}
