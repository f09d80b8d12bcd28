// The process ends while other threads run: destructors of every kind and the functions that were left
// for the end run once, in their order, as a part of the run. The argument says how it ends.
#include <assert.h>
#include <mutex>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <thread>
#include <unistd.h>

static std::mutex mutex;
static long shared;
static int ended;

struct Static {
    int *value = new int(7);
    ~Static()
    {
        assert(*value == 7 && ended == 3);
        delete value;
    }
};
static Static first;

struct InFunction {
    ~InFunction()
    {
        assert(ended++ == 2);
    }
};

static void make_static_of_function()
{
    static InFunction object;
}

struct PerThread {
    int count = 0;
    ~PerThread()
    {
        std::lock_guard<std::mutex> guard(mutex);
        shared += count;
    }
};
static thread_local PerThread per_thread;

static void at_end()
{
    std::lock_guard<std::mutex> guard(mutex);
    assert(ended++ == 1);
}

static void on_end(int status, void *argument)
{
    assert(status == 0 && argument == &shared && ended++ == 0);
}

static void at_quick_end()
{
    std::lock_guard<std::mutex> guard(mutex);
    shared++;
}

static void keep_busy()
{
    for (int i = 0; i < 200; i++) {
        std::lock_guard<std::mutex> guard(mutex);
        shared++;
    }
}

static void finish()
{
    std::lock_guard<std::mutex> guard(mutex);
    shared++;
}

static std::thread late;

static void end(const char *how)
{
    if (!strcmp(how, "exit"))
        exit(0);
    if (!strcmp(how, "other_thread"))
        std::thread([] { exit(0); }).join();
    if (!strcmp(how, "pthread_exit"))
        pthread_exit(nullptr);
    if (!strcmp(how, "quick_exit"))
        quick_exit(0);
    if (!strcmp(how, "_exit"))
        _exit(0);
    if (!strcmp(how, "_Exit"))
        _Exit(0);
    if (!strcmp(how, "joins_at_end")) {
        late = std::thread(finish);
        atexit([] { late.join(); });
    }
}

int main(int, char **words)
{
    make_static_of_function();
    atexit(at_end);
    on_exit(on_end, &shared);
    at_quick_exit(at_quick_end);
    per_thread.count = 3;
    std::thread([] { per_thread.count = 5; }).join();
    {
        std::lock_guard<std::mutex> guard(mutex);
        assert(shared == 5);
    }
    std::thread(keep_busy).detach();
    end(words[1]);
    return 0;
}
