// Goes through a program in all the ways that there are, and prints which of the functions of lines 11
// to 18 it has entered, in this order.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <stdexcept>
static thread_local char log_[1 << 20], *end_ = log_;
#define MARK(name, digit) __attribute__((noinline)) static void name(void) { *end_++ = digit; asm volatile("" ::: "memory"); }
// The functions:
MARK(m1, '1')
MARK(m2, '2')
MARK(m3, '3')
MARK(m4, '4')
MARK(m5, '5')
MARK(m6, '6')
MARK(m7, '7')
MARK(m8, '8')

static unsigned seed = 1;
static unsigned dice(unsigned sides)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % sides;
}

static void table(int which)
{
    switch (which) {
    case 0: m1(); break;
    case 1: m2(); // fall through
    case 2: m3(); break;
    case 3: m4(); m4(); break;
    case 4: m5(); return;
    case 5: break;
    case 6: m6(); break;
    case 9: m7();
    }
    m8();
}

static int compare(const void *left, const void *right)
{
    int a = *static_cast<const int *>(left), b = *static_cast<const int *>(right);
    a < b ? m1() : m2();
    return (a > b) - (a < b);
}

static void sort(void)
{
    int values[9];
    for (int &value : values)
        value = static_cast<int>(dice(100));
    qsort(values, 9, sizeof *values, compare);
    compare(values, values + 1);
}

struct guard {
    ~guard() { m3(); }
};

static void thrower(unsigned depth)
{
    guard here;
    if (depth == 0) {
        if (dice(2))
            throw std::runtime_error("x");
        throw 3;
    }
    try {
        thrower(depth - 1);
        m4();
    } catch (int number) {
        m5();
        if (dice(3) != 0)
            throw;
    }
}

static void exceptions(void)
{
    try {
        thrower(dice(5));
        m6();
    } catch (const std::exception &) {
        m7();
    } catch (int) {
        m8();
    }
}

static jmp_buf back[20];

static int jumper(unsigned depth)
{
    volatile unsigned mine = depth;
    if (setjmp(back[depth]) != 0) {
        m1();
        return static_cast<int>(mine);
    }
    m2();
    if (depth == 9)
        longjmp(back[dice(10)], 1);
    int found = jumper(depth + 1);
    m3();
    return found;
}

__attribute__((noinline)) static void even(unsigned number);
__attribute__((noinline)) static void odd(unsigned number)
{
    m4();
    if (number != 0)
        return even(number - 1);
}
static void even(unsigned number)
{
    m5();
    if (number != 0)
        return odd(number - 1);
}

static void (*const pointers[])(void) = {m1, m2, sort, exceptions};

static void computed(const char *program)
{
    static void *const labels[] = {&&one, &&two, &&stop};
    goto *labels[*program - 'a'];
one:
    m6();
    goto *labels[*++program - 'a'];
two:
    m7();
    goto *labels[*++program - 'a'];
stop:
    return;
}

static void *worker(void *times)
{
    for (long i = 0; i < reinterpret_cast<long>(times); i++) {
        table(static_cast<int>(dice(10)));
        pointers[dice(4)]();
        jumper(0);
        even(dice(6));
        computed("abbaabac");
    }
    return nullptr;
}

int main(int, char **arguments)
{
    pthread_t other;
    pthread_create(&other, nullptr, worker, reinterpret_cast<void *>(atol(arguments[1])));
    pthread_join(other, nullptr);
    worker(reinterpret_cast<void *>(atol(arguments[1])));
    puts(log_);
    return 0;
}
