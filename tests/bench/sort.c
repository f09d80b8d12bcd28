// Benchmark: a merge sort whose halves are sorted by two threads each, down to a depth.

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 2 };

struct job {
    int *values, *spare;
    long count;
    int depth;
};

static void merge(int *values, int *spare, long left, long count)
{
    long a = 0, b = left;
    for (long i = 0; i < count; i++)
        spare[i] = b == count || (a < left && values[a] <= values[b]) ? values[a++] : values[b++];
    memcpy(values, spare, (size_t)count * sizeof *values);
}

static void *sort(void *arg)
{
    struct job *job = arg;
    if (job->count < 2)
        return arg;
    long left = job->count / 2;
    struct job low = { job->values, job->spare, left, job->depth - 1 };
    struct job high = { job->values + left, job->spare + left, job->count - left, job->depth - 1 };
    if (job->depth > 0) {
        pthread_t other;
        pthread_create(&other, NULL, sort, &low);
        sort(&high);
        pthread_join(other, NULL);
    } else {
        sort(&low);
        sort(&high);
    }
    merge(job->values, job->spare, left, job->count);
    return arg;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 20000;
    struct job job = { malloc((size_t)count * sizeof(int)), malloc((size_t)count * sizeof(int)), count, DEPTH };
    unsigned state = 1;

    for (long i = 0; i < count; i++)
        job.values[i] = (int)((state = state * 1664525u + 1013904223u) >> 8);
    sort(&job);
    for (long i = 1; i < count; i++)
        assert(job.values[i - 1] <= job.values[i]);
    free(job.values);
    free(job.spare);
    return 0;
}
