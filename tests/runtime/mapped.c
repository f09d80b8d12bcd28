/* Memory that comes and goes: mappings, the program break, blocks that grow, variable stack memory. Behind
 * an access stands the name that its location must have. Every read must have the last value written. */
#define _GNU_SOURCE
#include <alloca.h>
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };
struct cell {
    long value;
    struct cell *next;
};
static volatile long sink;

static void *map(size_t bytes) {
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(found != MAP_FAILED);
    return found;
}

static void mappings(void) {
    volatile long *first = map(PAGE);
    first[1] = 5; // W heap(mapped.c:20 by main.1 #0)+8
    sink = first[1]; // R heap(mapped.c:20 by main.1 #0)+8
    munmap((void *)first, PAGE);
    /* Most likely at the same address, and zero again. */
    volatile long *second = map(PAGE);
    sink = second[1]; // R heap(mapped.c:20 by main.1 #1)+8
    second[1] = 6; // W heap(mapped.c:20 by main.1 #1)+8
    madvise((void *)second, PAGE, MADV_DONTNEED); // W heap(mapped.c:20 by main.1 #1)
    sink = second[1]; // R heap(mapped.c:20 by main.1 #1)+8
    second[2] = 7; // W heap(mapped.c:20 by main.1 #1)+16
    volatile long *third = mremap((void *)second, PAGE, 64 * PAGE, MREMAP_MAYMOVE);
    assert(third != MAP_FAILED && third[2] == 7);
    third[2] = 8; // W heap(mapped.c:37 by main.1 #0)[2]
    munmap((void *)third, 64 * PAGE);
    volatile struct cell *cells = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cells[3].next = (void *)cells; // W heap(mapped.c:41 by main.1 #0)[3].next
    munmap((void *)cells, PAGE);
}

static void the_break(void) {
    volatile long *more = sbrk(PAGE);
    assert(more != (void *)-1);
    more[4] = 3; // W heap(mapped.c:47 by main.1 #0)[4]
    sink = more[4]; // R heap(mapped.c:47 by main.1 #0)[4]
    sbrk(-PAGE);
}

static void growing(void) {
    volatile struct cell *cells = malloc(2 * sizeof *cells);
    cells[1].value = 4; // W heap(mapped.c:55 by main.1 #0)[1].value
    cells = realloc((void *)cells, 100 * sizeof *cells);
    assert(cells[1].value == 4);
    cells[99].value = 5; // W heap(mapped.c:57 by main.1 #0)[99].value
    cells = realloc((void *)cells, sizeof *cells);
    cells->value = 6; // W heap(mapped.c:60 by main.1 #0).value
    free((void *)cells);
}

__attribute__((noinline)) static void put(long *to, long value) {
    *to = value;
}

__attribute__((noinline)) static long variable(int count) {
    long many[count];
    long *more = alloca(count * sizeof(long));
    for (int i = 0; i < count; i++)
        put(&many[i], i), put(&more[i], -i);
    long sum = many[count - 1] + more[count - 1];
    return sum;
}

/* The stack of the second call is that of the first, with other variables. */
__attribute__((noinline)) static long one(void) {
    long local = 0;
    put(&local, 1);
    return local;
}

__attribute__((noinline)) static long other(void) {
    struct cell cell = {0, NULL};
    put(&cell.value, 2);
    return cell.value;
}

static void *worker(void *argument) {
    mappings();
    the_break();
    growing();
    sink = variable(3) + variable(30) + one() + other() + one();
    return argument;
}

int main(void) {
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, worker, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}
