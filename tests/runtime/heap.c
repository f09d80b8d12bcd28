// Uses of the heap, right and wrong ones. Wrong ones that depend on the schedule are ordered by a join, so that
// every run shows them.
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    long value;
    pthread_mutex_t lock;
    sem_t ready;
    atomic_long count;
    char text[24];
};

static struct node *node;
static long global[8];

static void *release(void *argument) {
    free(node);
    return argument;
}

// A node that another thread has freed.
static struct node *freed_node(void) {
    pthread_t thread;
    node = calloc(1, sizeof *node);
    pthread_mutex_init(&node->lock, NULL);
    sem_init(&node->ready, 0, 1);
    pthread_create(&thread, NULL, release, NULL);
    pthread_join(thread, NULL);
    return node;
}

static int wrong(const char *what) {
    char copy[24];
    if (!strcmp(what, "read"))
        return (int)freed_node()->value;
    if (!strcmp(what, "write"))
        freed_node()->value = 7;
    if (!strcmp(what, "memcpy"))
        memcpy(copy, freed_node()->text, sizeof copy);
    if (!strcmp(what, "memset"))
        memset(freed_node()->text, 0, 24);
    if (!strcmp(what, "strlen"))
        return (int)strlen(freed_node()->text);
    if (!strcmp(what, "lock"))
        pthread_mutex_lock(&freed_node()->lock);
    if (!strcmp(what, "post"))
        sem_post(&freed_node()->ready);
    if (!strcmp(what, "atomic"))
        atomic_fetch_add(&freed_node()->count, 1);
    if (!strcmp(what, "realloc")) {
        long *old = malloc(64), *new = realloc(old, 32);
        new[0] = old[1];
    }
    if (!strcmp(what, "twice")) {
        freed_node();
        free(node);
    }
    if (!strcmp(what, "inside_freed")) {
        freed_node();
        free(node->text);
    }
    if (!strcmp(what, "inside")) {
        long *block = malloc(200);
        free(block + 4);
    }
    if (!strcmp(what, "odd"))
        free((char *)malloc(64) + 3);
    if (!strcmp(what, "stack")) {
        long local[8] = {0};
        // Through memory, so that no compiler sees it.
        long *volatile hidden = local;
        free(hidden);
    }
    if (!strcmp(what, "global")) {
        long *volatile hidden = global;
        free(hidden);
    }
    return 0;
}

static void resized(void) {
    int *numbers = NULL;
    for (int size = 1; size < 600; size += size / 2 + 1) {
        numbers = realloc(numbers, size * sizeof *numbers);
        for (int i = size / 2; i < size; i++)
            numbers[i] = i;
    }
    numbers = realloc(numbers, 4 * sizeof *numbers);
    assert(numbers[3] == 3);
    free(numbers);
}

static void aligned(void) {
    for (int round = 0; round < 40; round++) {
        size_t alignment = (size_t)16 << round % 9;
        char *a = aligned_alloc(alignment, 2 * alignment), *b = memalign(alignment, 40);
        void *c = NULL;
        assert(posix_memalign(&c, alignment, 100) == 0);
        assert((uintptr_t)a % alignment == 0 && (uintptr_t)b % alignment == 0);
        a[2 * alignment - 1] = b[39] = ((char *)c)[99] = 1;
        free(b);
        free(a);
        free(c);
    }
}

// One block that hands out parts of itself, and takes them back.
static void pool(void) {
    struct part {
        struct part *next;
        long payload[3];
    } *arena = malloc(16 * sizeof *arena), *unused = NULL;
    for (int i = 0; i < 16; i++) {
        arena[i].next = unused;
        unused = &arena[i];
    }
    for (int round = 0; round < 100; round++) {
        struct part *part = unused;
        unused = part->next;
        part->payload[round % 3] = round;
        part->next = unused;
        unused = part;
    }
    free(arena);
}

// Blocks that the C library makes, and those that it gives back.
static void library(void) {
    char *text = strdup("one"), *printed = NULL, *streamed = NULL, *line = NULL;
    size_t bytes = 0, room = 0;
    assert(asprintf(&printed, "%s and %s", text, "two") > 0);
    FILE *stream = open_memstream(&streamed, &bytes);
    fprintf(stream, "%s\n%s\n", printed, text);
    fclose(stream);
    FILE *again = fmemopen(streamed, bytes, "r");
    while (getline(&line, &room, again) > 0)
        assert(strstr(line, "one"));
    fclose(again);
    char *folder = realpath(".", NULL);
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    free(folder);
    free(line);
    free(streamed);
    free(printed);
    free(text);
}

// More than is kept back: memory that was freed is given out again.
static void churn(void) {
    long *kept[64] = {0}, sum = 0;
    for (int round = 0; round < 4200; round++) {
        long **place = &kept[round % 64];
        if (*place)
            sum += **place;
        free(*place);
        *place = malloc(sizeof **place + round % 7 * 300);
        **place = 1;
    }
    assert(sum == 4200 - 64);
    for (int i = 0; i < 20; i++) {
        char *large = malloc(((size_t)1 << 20) - 64 + i * 16);
        large[i] = 1;
        free(large);
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
}

static void *last_user(void *argument) {
    struct node *shared = argument;
    pthread_mutex_lock(&shared->lock);
    int is_last = --shared->value == 0;
    pthread_mutex_unlock(&shared->lock);
    if (is_last) {
        pthread_mutex_destroy(&shared->lock);
        free(shared);
    }
    return NULL;
}

// Whoever is the last to unlock frees the lock.
static void counted(void) {
    struct node *shared = calloc(1, sizeof *shared);
    pthread_t threads[3];
    shared->value = 3;
    pthread_mutex_init(&shared->lock, NULL);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, last_user, shared);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void *own_stack(void *argument) {
    long local = (long)argument;
    return (void *)(local + 1);
}

// A thread's stack is a block.
static void stacks(void) {
    size_t bytes = 1 << 18;
    void *stack = aligned_alloc(4096, bytes);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, bytes);
    pthread_create(&thread, &attributes, own_stack, NULL);
    pthread_join(thread, NULL);
    free(stack);
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "right";
    if (strcmp(what, "right"))
        return wrong(what) & 0;
    resized();
    aligned();
    pool();
    library();
    churn();
    counted();
    stacks();
    return 0;
}
