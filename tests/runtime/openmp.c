// OpenMP as gcc compiles it: every construct, so that nothing fails in any order.
#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 12 };

static int values[SIZE];
static int counter;
static omp_lock_t lock;
static omp_nest_lock_t nested;

static void clear(void)
{
    memset(values, 0, sizeof values);
    counter = 0;
}

static void all_are(int wanted)
{
    for (int i = 0; i < SIZE; i++)
        assert(values[i] == wanted);
    clear();
}

static void regions(void)
{
    int seen[3] = { 0 };
#pragma omp parallel num_threads(3)
    {
        assert(omp_in_parallel() && omp_get_num_threads() == 3 && omp_get_level() == 1);
        seen[omp_get_thread_num()] = 1;
#pragma omp barrier
        assert(seen[0] && seen[1] && seen[2]);
#pragma omp parallel
        assert(omp_get_num_threads() == 1 && omp_get_level() == 2);
#pragma omp master
        counter++;
    }
    assert(!omp_in_parallel() && counter == 1);
    clear();
}

static void loops(void)
{
#pragma omp parallel for
    for (int i = 0; i < SIZE; i++)
        values[i]++;
    all_are(1);
#pragma omp parallel for schedule(dynamic, 2)
    for (int i = SIZE - 1; i >= 0; i--)
        values[i]++;
    all_are(1);
#pragma omp parallel for schedule(guided)
    for (unsigned long i = 0; i < SIZE; i++)
        values[i]++;
    all_are(1);
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < SIZE; i += 1)
        values[i]++;
    all_are(1);
#pragma omp parallel
    {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < SIZE / 2; i++)
            values[i]++;
#pragma omp for schedule(static, 1) nowait
        for (int i = SIZE / 2; i < SIZE; i++)
            values[i]++;
#pragma omp barrier
#pragma omp for schedule(dynamic)
        for (unsigned long long i = 0; i < SIZE; i++)
            values[i]++;
    }
    all_are(2);
}

static void ordered_loop(void)
{
    int order[SIZE], at = 0;
#pragma omp parallel for ordered schedule(dynamic)
    for (int i = 0; i < SIZE; i++) {
        values[i] = i;
#pragma omp ordered
        order[at++] = i;
    }
    for (int i = 0; i < SIZE; i++)
        assert(order[i] == i);
    clear();
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < SIZE; i++)
#pragma omp ordered
        counter = counter * 3 % 1000 + i;
    int wanted = 0;
    for (int i = 0; i < SIZE; i++)
        wanted = wanted * 3 % 1000 + i;
    assert(counter == wanted);
    clear();
}

static void reductions_and_locks(void)
{
    int sum = 0, most = 0;
    double product = 1;
#pragma omp parallel for reduction(+ : sum) reduction(max : most) reduction(* : product)
    for (int i = 1; i <= 5; i++) {
        sum += i;
        most = i > most ? i : most;
        product *= i;
    }
    assert(sum == 15 && most == 5 && product == 120);
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
#pragma omp parallel num_threads(3)
    {
#pragma omp critical
        counter++;
#pragma omp critical(other)
        values[0]++;
#pragma omp atomic
        values[1]++;
        omp_set_lock(&lock);
        values[2]++;
        omp_unset_lock(&lock);
        while (!omp_test_lock(&lock))
            continue;
        values[2]++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nested);
        omp_set_nest_lock(&nested);
        values[3]++;
        omp_unset_nest_lock(&nested);
        omp_unset_nest_lock(&nested);
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nested);
    assert(counter == 3 && values[0] == 3 && values[1] == 3 && values[2] == 6 && values[3] == 3);
    clear();
}

static void sections_and_single(void)
{
    int copied;
#pragma omp parallel sections
    {
#pragma omp section
        values[0]++;
#pragma omp section
        values[1]++;
#pragma omp section
        values[2]++;
    }
    assert(values[0] == 1 && values[1] == 1 && values[2] == 1);
#pragma omp parallel private(copied) num_threads(3)
    {
#pragma omp single copyprivate(copied)
        copied = 7;
        assert(copied == 7);
#pragma omp single
        counter++;
        assert(counter == 1);
#pragma omp sections nowait
        {
#pragma omp section
            values[3]++;
#pragma omp section
            values[4]++;
        }
    }
    assert(values[3] == 1 && values[4] == 1);
    clear();
}

static int fibonacci(int n)
{
    int a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void tasks(void)
{
    int result = 0, chain = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
    {
        result = fibonacci(4);
#pragma omp taskgroup
        for (int i = 0; i < SIZE; i++) {
#pragma omp task firstprivate(i)
            values[i]++;
        }
        for (int i = 0; i < SIZE; i++)
            assert(values[i] == 1);
#pragma omp task depend(out : chain)
        chain = 1;
#pragma omp task depend(inout : chain)
        chain = chain * 10 + 2;
#pragma omp task depend(in : chain)
        assert(chain == 12);
#pragma omp taskyield
#pragma omp taskwait
        assert(chain == 12);
#pragma omp taskloop num_tasks(3)
        for (int i = 0; i < SIZE; i++)
            values[i]++;
    }
    assert(result == 3);
    all_are(2);
}

int main(void)
{
    regions();
    loops();
    ordered_loop();
    reductions_and_locks();
    sections_and_single();
    tasks();
    for (int i = 0; i < 20; i++) {
#pragma omp parallel for
        for (int j = 0; j < SIZE; j++)
            values[j]++;
    }
    all_are(20);
    return 0;
}
