#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stddef.h>

/* Texts by name, for many threads. Every shard has its own lock. */
struct store;

struct store *store_new(size_t shards);
void store_free(struct store *store);

/* The value of `key`, copied for the caller to free; NULL when there is none. */
char *store_get(struct store *store, const char *key);

/* Returns -1 without memory. */
int store_set(struct store *store, const char *key, const char *value);

/* False when there was none. */
bool store_delete(struct store *store, const char *key);

/* Adds to the number that `key` holds (0 when there is none) as one step; the sum is in `sum`.
 * Returns -1 when the value is no number. */
int store_add(struct store *store, const char *key, long amount, long *sum);

/* How many keys there are. */
size_t store_count(struct store *store);

#endif
