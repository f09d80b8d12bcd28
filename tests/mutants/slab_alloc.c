/*
 * A small allocator: size classes, a lock for each, slabs that are taken from an arena when a class runs dry and given
 * back when all their blocks are free. Threads keep a few free blocks for themselves.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES 2
#define BLOCKS_PER_SLAB 3
#define ARENA_SLABS 4
#define CACHE_BLOCKS 1
#define CANARY 0x5ab5ab5aU

typedef struct block {
    struct block *next;
    struct slab *slab;
    uint32_t canary;
    bool in_use;
    unsigned char payload[];
} block;

typedef struct slab {
    struct slab *next;
    int class;
    int free_blocks;
    block *blocks[BLOCKS_PER_SLAB];
} slab;

typedef struct size_class {
    pthread_mutex_t lock;
    size_t payload;
    block *free_list;
    int free_count;
    slab *slabs;
    int slab_count;
    int allocations;
    int frees;
} size_class;

typedef struct arena {
    pthread_mutex_t lock;
    pthread_cond_t returned;
    int slabs_left;
    int slabs_out;
    int most_out;
} arena;

typedef struct cache {
    block *kept[CLASSES][CACHE_BLOCKS];
    int count[CLASSES];
} cache;

static size_class classes[CLASSES];
static arena the_arena;

static void arena_init(arena *a)
{
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->returned, NULL);
    a->slabs_left = ARENA_SLABS;
    a->slabs_out = 0;
    a->most_out = 0;
}

static void arena_take(arena *a)
{
    pthread_mutex_lock(&a->lock);
    while (a->slabs_left == 0)
        pthread_cond_wait(&a->returned, &a->lock);
    a->slabs_left--;
    a->slabs_out++;
    if (a->slabs_out > a->most_out)
        a->most_out = a->slabs_out;
    assert(a->slabs_left + a->slabs_out == ARENA_SLABS);
    pthread_mutex_unlock(&a->lock);
}

static void arena_return(arena *a)
{
    pthread_mutex_lock(&a->lock);
    a->slabs_left++;
    a->slabs_out--;
    assert(a->slabs_left + a->slabs_out == ARENA_SLABS);
    pthread_mutex_unlock(&a->lock);
    pthread_cond_signal(&a->returned);
}

static void class_lock(size_class *c)
{
    pthread_mutex_lock(&c->lock);
}

static void class_unlock(size_class *c)
{
    pthread_mutex_unlock(&c->lock);
}

static slab *slab_new(int class, size_t payload)
{
    slab *s = calloc(1, sizeof *s);

    s->class = class;
    for (int i = 0; i < BLOCKS_PER_SLAB; i++) {
        block *b = malloc(sizeof *b + payload);
        b->slab = s;
        b->canary = CANARY;
        b->in_use = false;
        s->blocks[i] = b;
    }
    return s;
}

static void slab_free(slab *s)
{
    for (int i = 0; i < BLOCKS_PER_SLAB; i++) {
        assert(!s->blocks[i]->in_use);
        free(s->blocks[i]);
    }
    free(s);
}

/* The class is locked. */
static void push_block(size_class *c, block *b)
{
    b->next = c->free_list;
    c->free_list = b;
    c->free_count++;
    b->slab->free_blocks++;
}

/* The class is locked. */
static block *pop_block(size_class *c)
{
    block *b = c->free_list;

    if (b == NULL)
        return NULL;
    c->free_list = b->next;
    c->free_count--;
    b->slab->free_blocks--;
    return b;
}

/* The class is locked. */
static void remove_blocks_of(size_class *c, slab *s)
{
    block **link = &c->free_list;

    while (*link != NULL) {
        if ((*link)->slab == s) {
            *link = (*link)->next;
            c->free_count--;
        } else {
            link = &(*link)->next;
        }
    }
}

static void grow(size_class *c, int class)
{
    arena_take(&the_arena);
    slab *s = slab_new(class, c->payload);
    class_lock(c);
    s->next = c->slabs;
    c->slabs = s;
    c->slab_count++;
    for (int i = 0; i < BLOCKS_PER_SLAB; i++)
        push_block(c, s->blocks[i]);
    class_unlock(c);
}

/* Takes a slab whose blocks are all free out of the class; the class is locked. */
static slab *shrink(size_class *c)
{
    if (c->slab_count < 2)
        return NULL;
    for (slab **link = &c->slabs; *link != NULL; link = &(*link)->next) {
        slab *s = *link;
        if (s->free_blocks < BLOCKS_PER_SLAB)
            continue;
        *link = s->next;
        c->slab_count--;
        remove_blocks_of(c, s);
        return s;
    }
    return NULL;
}

static int class_of(size_t size)
{
    for (int i = 0; i < CLASSES; i++)
        if (size <= classes[i].payload)
            return i;
    return -1;
}

static void *slab_alloc(cache *mine, size_t size)
{
    int class = class_of(size);
    block *b;

    if (class < 0)
        return NULL;
    size_class *c = &classes[class];
    if (mine->count[class] > 0) {
        b = mine->kept[class][--mine->count[class]];
        class_lock(c);
    } else {
        for (;;) {
            class_lock(c);
            b = pop_block(c);
            if (b != NULL)
                break;
            class_unlock(c);
            grow(c, class);
        }
    }
    c->allocations++;
    class_unlock(c);
    assert(!b->in_use);
    assert(b->canary == CANARY);
    b->in_use = true;
    return b->payload;
}

static void slab_release(cache *mine, void *payload)
{
    block *b = (block *)((char *)payload - offsetof(block, payload));
    int class = b->slab->class;
    size_class *c = &classes[class];
    slab *empty = NULL;

    assert(b->canary == CANARY);
    assert(b->in_use);
    b->in_use = false;
    class_lock(c);
    c->frees++;
    if (mine->count[class] < CACHE_BLOCKS) {
        mine->kept[class][mine->count[class]++] = b;
    } else {
        push_block(c, b);
        empty = shrink(c);
    }
    class_unlock(c);
    if (empty != NULL) {
        slab_free(empty);
        arena_return(&the_arena);
    }
}

static void cache_empty(cache *mine)
{
    for (int class = 0; class < CLASSES; class++) {
        class_lock(&classes[class]);
        while (mine->count[class] > 0)
            push_block(&classes[class], mine->kept[class][--mine->count[class]]);
        class_unlock(&classes[class]);
    }
}

static void class_check(size_class *c)
{
    int in_list = 0, by_slab = 0, slabs = 0;

    class_lock(c);
    for (block *b = c->free_list; b != NULL; b = b->next) {
        assert(!b->in_use);
        in_list++;
    }
    for (slab *s = c->slabs; s != NULL; s = s->next) {
        by_slab += s->free_blocks;
        slabs++;
    }
    assert(in_list == c->free_count);
    assert(by_slab == c->free_count);
    assert(slabs == c->slab_count);
    class_unlock(c);
}

static void class_end(size_class *c)
{
    while (c->slabs != NULL) {
        slab *s = c->slabs;
        assert(s->free_blocks == BLOCKS_PER_SLAB);
        c->slabs = s->next;
        slab_free(s);
        arena_return(&the_arena);
    }
    pthread_mutex_destroy(&c->lock);
}

static void *mutator(void *arg)
{
    int me = *(int *)arg;
    cache mine = { .count = { 0 } };
    unsigned char *held[3];

    for (int i = 0; i < 3; i++) {
        size_t size = i == 2 ? 20 : 8;
        held[i] = slab_alloc(&mine, size);
        memset(held[i], me * 16 + i, 4);
    }
    for (int i = 0; i < 3; i++) {
        assert(held[i][0] == me * 16 + i && held[i][3] == me * 16 + i);
        slab_release(&mine, held[i]);
    }
    class_check(&classes[0]);
    unsigned char *again = slab_alloc(&mine, 5);
    again[0] = (unsigned char)me;
    assert(again[0] == me);
    slab_release(&mine, again);
    cache_empty(&mine);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    int numbers[2] = { 1, 2 };

    arena_init(&the_arena);
    for (int i = 0; i < CLASSES; i++) {
        pthread_mutex_init(&classes[i].lock, NULL);
        classes[i].payload = i == 0 ? 8 : 24;
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, mutator, &numbers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    for (int i = 0; i < CLASSES; i++) {
        class_check(&classes[i]);
        assert(classes[i].allocations == classes[i].frees);
        assert(classes[i].allocations == (i == 0 ? 6 : 2));
        class_end(&classes[i]);
    }
    assert(the_arena.slabs_out == 0);
    assert(the_arena.most_out >= 2);
    return 0;
}
