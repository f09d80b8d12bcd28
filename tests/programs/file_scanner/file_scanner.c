// A parallel file scanner: main queues the files, scanners take them out and count how often a word
// stands in them. How many files: ./file_scanner [FILES].
//
// What is wrong: take() looks whether a file is queued in one critical section and takes it out in
// another. Two scanners can both see the last file; the second one finds the queue empty.
//
// After pfscan 1.0, in the form that research on scheduling made of it.
//
// expect kind: atomicity-violation
// expect cause 1: bool found = queue.filled > 0;
// expect cause 2: assert(queue.filled > 0);
// expect cause 2: queue.filled--;
// expect interference: queue.filled--;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 64, FILES = 4, SCANNERS = 4 };

struct file {
    const char *name;
    const char *text;
};

static const struct file files[] = {
    {"README", "a scanner scans files; scan all of them"},
    {"main.c", "int main(void) { return scan(); }"},
    {"notes", "nothing in here"},
    {"Makefile", "scanner: main.o\n\tcc -o scanner main.o"},
};

static struct {
    pthread_mutex_t lock;
    const struct file *slots[SLOTS];
    int first;
    int filled;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_mutex_t totals_lock = PTHREAD_MUTEX_INITIALIZER;
static int scanned;
static int matches;

static void put(const struct file *file)
{
    pthread_mutex_lock(&queue.lock);
    assert(queue.filled < SLOTS);
    queue.slots[(queue.first + queue.filled) % SLOTS] = file;
    queue.filled++;
    pthread_mutex_unlock(&queue.lock);
}

static const struct file *take(void)
{
    pthread_mutex_lock(&queue.lock);
    bool found = queue.filled > 0;
    pthread_mutex_unlock(&queue.lock);
    if (!found)
        return NULL;

    pthread_mutex_lock(&queue.lock);
    assert(queue.filled > 0);
    queue.filled--;
    const struct file *file = queue.slots[queue.first];
    queue.first = (queue.first + 1) % SLOTS;
    pthread_mutex_unlock(&queue.lock);
    return file;
}

static int count(const char *text, const char *word)
{
    int found = 0;
    size_t length = strlen(word);
    for (const char *at = text; *at != '\0'; at++) {
        if (strncmp(at, word, length) == 0)
            found++;
    }
    return found;
}

static void *scan(void *word)
{
    const struct file *file;
    while ((file = take()) != NULL) {
        int here = count(file->text, word);
        pthread_mutex_lock(&totals_lock);
        scanned++;
        matches += here;
        pthread_mutex_unlock(&totals_lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static char word[] = "scan";
    pthread_t scanners[SCANNERS];
    int wanted = argc > 1 ? atoi(argv[1]) : FILES;

    for (int i = 0; i < wanted; i++)
        put(&files[i % (int)(sizeof files / sizeof files[0])]);
    for (int i = 0; i < SCANNERS; i++)
        pthread_create(&scanners[i], NULL, scan, word);
    for (int i = 0; i < SCANNERS; i++)
        pthread_join(scanners[i], NULL);

    printf("%d files, %d matches\n", scanned, matches);
    assert(scanned == wanted);
    return 0;
}
