// Unit tests in one process: a set-up with threads that lose an update in some orders, and a check of a counter that
// does so too. The first argument selects what is called: setup, check, both, throws.
#include <cassert>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <unsnarl.h>

static volatile int prepared;
static volatile int counted;

static void add(volatile int *number)
{
    int seen = *number;
    *number = seen + 1;
}

static void twice(volatile int *number)
{
    std::thread one(add, number), other(add, number);
    one.join();
    other.join();
}

static void count(void *number)
{
    twice(static_cast<volatile int *>(number));
}

static void fail(void *)
{
    throw std::runtime_error("as a framework does");
}

int main(int words, char **word)
{
    const char *kind = words > 1 ? word[1] : "both";
    if (std::strcmp(kind, "check") != 0)
        twice(&prepared);
    if (std::strcmp(kind, "throws") == 0) {
        try {
            unsnarl_check(fail, nullptr);
        } catch (const std::exception &) {
            twice(&prepared);
        }
        assert(prepared == 4);
    } else if (std::strcmp(kind, "setup") != 0) {
        unsnarl_check(count, const_cast<int *>(&counted));
        assert(std::strcmp(kind, "both") == 0 ? prepared == 2 : true);
        assert(counted == 2);
    } else {
        assert(prepared == 2);
    }
}
