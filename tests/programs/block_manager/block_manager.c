// A manager of memory blocks: workers release blocks, and those that have been released are handed out
// again.
//
// What is wrong: release() marks the block as free in one critical section and counts it in another. A
// request in between finds a free block, takes it, and counts below zero.
//
// After the program "Manager" of the ConTest benchmark of concurrent programs.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: manager.is_free[block] = true;
// expect cause 2: manager.free_blocks++;
// expect interference: if (manager.is_free[i])
// expect interference: assert(manager.free_blocks > 0);
// expect also: manager.is_free[found] = false;
//
// still wrong: gcc -O0, gcc -O2, clang -O2

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { BLOCKS = 4, WORKERS = 2 };

struct manager {
    pthread_mutex_t lock;
    bool is_free[BLOCKS];
    int free_blocks;
};

static struct manager manager = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void release(int block)
{
    pthread_mutex_lock(&manager.lock);
    manager.is_free[block] = true;
    pthread_mutex_unlock(&manager.lock);

    pthread_mutex_lock(&manager.lock);
    manager.free_blocks++;
    pthread_mutex_unlock(&manager.lock);
}

static int request(void)
{
    int found = -1;

    pthread_mutex_lock(&manager.lock);
    for (int i = 0; i < BLOCKS && found < 0; i++) {
        if (manager.is_free[i])
            found = i;
    }
    if (found >= 0) {
        manager.is_free[found] = false;
        assert(manager.free_blocks > 0);
        manager.free_blocks--;
    }
    pthread_mutex_unlock(&manager.lock);
    return found;
}

static void *releaser(void *arg)
{
    release(*(int *)arg);
    return NULL;
}

static void *requester(void *arg)
{
    *(int *)arg = request();
    return NULL;
}

int main(void)
{
    pthread_t threads[WORKERS + 1];
    int blocks[WORKERS] = {1, 3}, got = -1;

    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, releaser, &blocks[i]);
    pthread_create(&threads[WORKERS], NULL, requester, &got);
    for (int i = 0; i <= WORKERS; i++)
        pthread_join(threads[i], NULL);

    printf("block %d was handed out, %d are free\n", got, manager.free_blocks);
    return 0;
}
