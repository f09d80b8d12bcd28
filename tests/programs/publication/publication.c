// A loader replaces the configuration while a worker reads it.
//
// What is wrong: load() makes the new configuration known before its fields are set. A worker that
// looks at once sees a configuration without workers.
//
// expect kind: order-violation
// expect cause: config->workers = 4;
// expect interference: int workers = config->workers;
// expect also: current = config;

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct config {
    int workers;
    const char *name;
};

static struct config *current;

static void load(const char *name)
{
    struct config *config = calloc(1, sizeof *config);
    current = config;
    config->name = name;
    config->workers = 4;
}

static int share_of(int jobs)
{
    struct config *config = current;
    if (config == NULL)
        return 0;
    int workers = config->workers;
    assert(workers > 0);
    return jobs / workers;
}

static void *loader(void *arg)
{
    load(arg);
    return NULL;
}

static void *worker(void *arg)
{
    int *share = arg;
    *share = share_of(100);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    int share = 0;

    pthread_create(&threads[0], NULL, loader, "site.conf");
    pthread_create(&threads[1], NULL, worker, &share);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    printf("%s: %d jobs each\n", current->name, share);
    free(current);
    return 0;
}
