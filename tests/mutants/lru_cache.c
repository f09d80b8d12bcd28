/* A cache of pages. The table finds a page by its key, the list has them in the order of their last use, and a page that
 * somebody has pinned stays. A page that is being loaded is in the table already, so that it is loaded once. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4
#define CAPACITY 3
#define PAGE 16
#define KEYS 5

typedef enum {
	LOADING,
	READY,
	BAD
} PageState;

typedef struct Page {
	int key;
	PageState state;
	int pins;
	int version;
	int dirty;
	char data[PAGE];
	struct Page *chain;
	struct Page *newer, *older;
} Page;

typedef struct {
	pthread_mutex_t latch;
	pthread_cond_t loaded;
	pthread_cond_t unpinned;
	Page *buckets[BUCKETS];
	Page *newest, *oldest;
	int used;
	int hits, misses, evictions, writebacks;
} Cache;

typedef struct {
	pthread_mutex_t lock;
	int reads;
	int writes;
	int versions[KEYS];
} Store;

static Store store = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int store_read(Store *s, int key, char *to)
{
	int version;

	if (key < 0 || key >= KEYS)
		return -1;
	pthread_mutex_lock(&s->lock);
	s->reads++;
	version = s->versions[key];
	pthread_mutex_unlock(&s->lock);
	snprintf(to, PAGE, "page %d", key);
	return version;
}

static void store_write(Store *s, int key, int version)
{
	pthread_mutex_lock(&s->lock);
	assert(version > s->versions[key]);
	s->versions[key] = version;
	s->writes++;
	pthread_mutex_unlock(&s->lock);
}

static unsigned bucket_of(int key)
{
	return (unsigned)key * 2654435761u % BUCKETS;
}

static Page *table_find(Cache *c, int key)
{
	Page *p = c->buckets[bucket_of(key)];

	while (p != NULL && p->key != key)
		p = p->chain;
	return p;
}

static void table_add(Cache *c, Page *p)
{
	Page **bucket = &c->buckets[bucket_of(p->key)];

	p->chain = *bucket;
	*bucket = p;
}

static void table_remove(Cache *c, Page *p)
{
	Page **link = &c->buckets[bucket_of(p->key)];

	while (*link != p) {
		assert(*link != NULL);
		link = &(*link)->chain;
	}
	*link = p->chain;
}

static void list_add(Cache *c, Page *p)
{
	p->newer = NULL;
	p->older = c->newest;
	if (c->newest != NULL)
		c->newest->newer = p;
	else
		c->oldest = p;
	c->newest = p;
}

static void list_remove(Cache *c, Page *p)
{
	if (p->newer != NULL)
		p->newer->older = p->older;
	else
		c->newest = p->older;
	if (p->older != NULL)
		p->older->newer = p->newer;
	else
		c->oldest = p->newer;
	p->newer = p->older = NULL;
}

/* Takes the page that was not used for longest out; the latch is held. */
static Page *evict(Cache *c)
{
	Page *p = c->oldest;

	while (p != NULL && p->pins > 0)
		p = p->newer;
	if (p == NULL)
		return NULL;
	assert(p->state == READY);
	table_remove(c, p);
	list_remove(c, p);
	c->used--;
	c->evictions++;
	return p;
}

static void page_free(Cache *c, Page *p)
{
	if (p->dirty) {
		store_write(&store, p->key, p->version);
		c->writebacks++;
	}
	free(p);
}

static Page *page_new(int key)
{
	Page *p = calloc(1, sizeof *p);

	if (p == NULL)
		abort();
	p->key = key;
	p->state = LOADING;
	return p;
}

/* Lets go of a page, and of its memory if it could not be loaded; the latch is held. */
static void release(Cache *c, Page *p)
{
	assert(p->pins > 0);
	p->pins--;
	if (p->state == BAD && p->pins == 0) {
		table_remove(c, p);
		list_remove(c, p);
		c->used--;
		free(p);
	}
	pthread_cond_broadcast(&c->unpinned);
}

/* The latch is held, but not while the page is read. */
static void load(Cache *c, Page *p)
{
	char data[PAGE];
	int version;

	c->misses++;
	pthread_mutex_unlock(&c->latch);
	version = store_read(&store, p->key, data);
	pthread_mutex_lock(&c->latch);
	if (version < 0) {
		p->state = BAD;
	} else {
		p->version = version;
		memcpy(p->data, data, sizeof data);
		p->state = READY;
	}
	pthread_cond_broadcast(&c->loaded);
}

static Page *insert(Cache *c, int key)
{
	Page *p = page_new(key);

	p->pins = 1;
	table_add(c, p);
	list_add(c, p);
	c->used++;
	assert(c->used <= CAPACITY);
	return p;
}

static Page *cache_pin(Cache *c, int key)
{
	Page *p;

	pthread_mutex_lock(&c->latch);
	for (;;) {
		p = table_find(c, key);
		if (p != NULL) {
			p->pins++;
			c->hits++;
			list_remove(c, p);
			list_add(c, p);
			while (p->state == LOADING)
				pthread_cond_wait(&c->loaded, &c->latch);
			break;
		}
		if (c->used == CAPACITY) {
			Page *old = evict(c);
			if (old == NULL) {
				pthread_cond_wait(&c->unpinned, &c->latch);
				continue;
			}
			page_free(c, old);
		}
		p = insert(c, key);
		load(c, p);
		break;
	}
	if (p->state == BAD) {
		release(c, p);
		p = NULL;
	}
	pthread_mutex_unlock(&c->latch);
	return p;
}

static void cache_unpin(Cache *c, Page *p)
{
	pthread_mutex_lock(&c->latch);
	release(c, p);
	pthread_mutex_unlock(&c->latch);
}

/* The caller has pinned it. */
static void cache_change(Cache *c, Page *p)
{
	pthread_mutex_lock(&c->latch);
	p->version++;
	p->dirty = 1;
	pthread_mutex_unlock(&c->latch);
}

static void cache_init(Cache *c)
{
	memset(c, 0, sizeof *c);
	pthread_mutex_init(&c->latch, NULL);
	pthread_cond_init(&c->loaded, NULL);
	pthread_cond_init(&c->unpinned, NULL);
}

static void cache_check(Cache *c)
{
	int in_table = 0, in_list = 0;

	pthread_mutex_lock(&c->latch);
	for (int b = 0; b < BUCKETS; b++)
		for (Page *p = c->buckets[b]; p != NULL; p = p->chain) {
			assert(bucket_of(p->key) == (unsigned)b);
			in_table++;
		}
	for (Page *p = c->newest; p != NULL; p = p->older) {
		assert(p->older == NULL || p->older->newer == p);
		in_list++;
	}
	assert(in_table == c->used);
	assert(in_list == c->used);
	pthread_mutex_unlock(&c->latch);
}

static void cache_flush(Cache *c)
{
	Page *p;

	pthread_mutex_lock(&c->latch);
	while ((p = evict(c)) != NULL)
		page_free(c, p);
	pthread_mutex_unlock(&c->latch);
}

typedef struct {
	pthread_t thread;
	Cache *cache;
	const int *keys;
	int changes;
	int failures;
} Reader;

static void *read_pages(void *arg)
{
	Reader *self = arg;
	char expected[PAGE];

	for (const int *key = self->keys; *key != -2; key++) {
		Page *p = cache_pin(self->cache, *key);
		if (p == NULL) {
			self->failures++;
			continue;
		}
		snprintf(expected, sizeof expected, "page %d", *key);
		assert(strcmp(p->data, expected) == 0);
		if (*key % 2 == 0) {
			cache_change(self->cache, p);
			self->changes++;
		}
		cache_unpin(self->cache, p);
	}
	cache_check(self->cache);
	return NULL;
}

int main(void)
{
	static const int first[] = { 0, 1, 2, 0, -2 };
	static const int second[] = { 2, 3, 0, 9, -2 };
	static const int *plans[] = { first, second };
	Cache cache;
	Reader readers[2];
	int changes = 0, versions = 0, failures = 0;

	cache_init(&cache);
	for (int i = 0; i < 2; i++) {
		readers[i].cache = &cache;
		readers[i].keys = plans[i];
		readers[i].changes = 0;
		readers[i].failures = 0;
		pthread_create(&readers[i].thread, NULL, read_pages, &readers[i]);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(readers[i].thread, NULL);
		changes += readers[i].changes;
		failures += readers[i].failures;
	}
	cache_check(&cache);
	cache_flush(&cache);

	assert(cache.used == 0);
	assert(failures == 1);
	assert(cache.hits + cache.misses == 8);
	assert(store.reads == cache.misses - failures);
	assert(store.writes == cache.writebacks);
	assert(cache.evictions == store.reads);
	for (int key = 0; key < KEYS; key++)
		versions += store.versions[key];
	assert(versions == changes);
	return 0;
}
