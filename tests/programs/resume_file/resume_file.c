// A download in two parts that can be interrupted: what is saved then has to add up, so that the
// download can be resumed.
//
// What is wrong: a worker stores what it received and moves its offset, then adds to the total, without
// a lock. save() copies the offsets and the total at any time.
//
// After a bug of aget, a download accelerator.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: offsets[part] += CHUNK;
// expect cause 1: saved.offsets[i] = offsets[i];
// expect cause 2: written += CHUNK;
// expect cause 2: saved.written = written;
// expect interference 1: offsets[part] += CHUNK;
// expect interference 1: written += CHUNK;
// expect interference 2: saved.offsets[i] = offsets[i];
// expect interference 2: saved.written = written;

#include <assert.h>
#include <pthread.h>
#include <string.h>

enum { PARTS = 2, CHUNKS = 2, CHUNK = 4 };

static char file[PARTS][CHUNKS * CHUNK];
static int offsets[PARTS];
static int written;
static struct {
    int offsets[PARTS];
    int written;
} saved;

static void receive(int part)
{
    memset(&file[part][offsets[part]], 'a' + part, CHUNK);
    offsets[part] += CHUNK;
    written += CHUNK;
}

static void *download(void *arg)
{
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        receive(0);
    return arg;
}

static void save(void)
{
    for (int i = 0; i < PARTS; i++)
        saved.offsets[i] = offsets[i];
    saved.written = written;
}

static void *interrupt(void *arg)
{
    save();
    return arg;
}

int main(void)
{
    pthread_t worker, user;

    pthread_create(&worker, NULL, download, NULL);
    pthread_create(&user, NULL, interrupt, NULL);
    pthread_join(worker, NULL);
    pthread_join(user, NULL);

    int sum = 0;
    for (int i = 0; i < PARTS; i++)
        sum += saved.offsets[i];
    assert(sum == saved.written);
    return 0;
}
