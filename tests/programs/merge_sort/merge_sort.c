// Merge sort whose halves are sorted by threads of their own, as long as there are threads to be had.
//
// What is wrong: sort() asks how many threads are left in one critical section and takes one in
// another. Two sorters can both see the last one.
//
// After the program "MergeSort" of the ConTest benchmark of concurrent programs.
//
// expect kind: atomicity-violation
// expect cause 1: int left = threads_left;
// expect cause 2: assert(threads_left > 0);
// expect cause 2: threads_left--;
// expect interference: threads_left--;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NUMBERS = 8 };

struct part {
    int *begin;
    int length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int threads_left = 3;

static bool has_thread(void)
{
    pthread_mutex_lock(&lock);
    int left = threads_left;
    pthread_mutex_unlock(&lock);
    return left > 0;
}

static void take_thread(void)
{
    pthread_mutex_lock(&lock);
    assert(threads_left > 0);
    threads_left--;
    pthread_mutex_unlock(&lock);
}

static void merge(struct part all, int middle)
{
    int merged[NUMBERS], left = 0, right = middle;

    for (int i = 0; i < all.length; i++) {
        bool from_left = right == all.length || (left < middle && all.begin[left] <= all.begin[right]);
        merged[i] = from_left ? all.begin[left++] : all.begin[right++];
    }
    memcpy(all.begin, merged, sizeof(int) * (size_t)all.length);
}

static void *sort(void *arg)
{
    struct part all = *(struct part *)arg;
    if (all.length < 2)
        return NULL;
    int middle = all.length / 2;
    struct part left = {all.begin, middle};
    struct part right = {all.begin + middle, all.length - middle};
    pthread_t helper;
    bool is_helped = has_thread();

    if (is_helped) {
        take_thread();
        pthread_create(&helper, NULL, sort, &left);
    } else {
        sort(&left);
    }
    sort(&right);
    if (is_helped)
        pthread_join(helper, NULL);
    merge(all, middle);
    return NULL;
}

int main(void)
{
    int numbers[NUMBERS] = {5, 2, 7, 1, 8, 3, 6, 4};
    struct part all = {numbers, NUMBERS};

    sort(&all);
    for (int i = 1; i < NUMBERS; i++)
        assert(numbers[i - 1] <= numbers[i]);
    printf("sorted, %d threads left\n", threads_left);
    return 0;
}
