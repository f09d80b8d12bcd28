// Prices by name, read often and extended seldom, behind a GRWLock; how often a name was asked for is counted behind a
// GRecMutex, which its functions take one within the other.
//
// What is wrong: price_of() looks for the name as a reader, lets go of the lock, and adds the name as a writer without
// looking again. Two threads add the same name.
//
// expect kind: atomicity-violation
// expect cause 1: for (int i = 0; i < table.used; i++)
// expect cause 2: int slot = table.used++;
// expect interference: int slot = table.used++;
// expect also: table.entries[slot].name = name;

#include <assert.h>
#include <glib.h>
#include <string.h>

enum { SLOTS = 8 };

struct entry {
    const char *name;
    int price;
};

static struct {
    GRWLock lock;
    struct entry entries[SLOTS];
    int used;
} table;

static struct {
    GRecMutex lock;
    int requests;
} statistics;

static void count(void)
{
    g_rec_mutex_lock(&statistics.lock);
    statistics.requests++;
    g_rec_mutex_unlock(&statistics.lock);
}

static void count_twice(void)
{
    g_rec_mutex_lock(&statistics.lock);
    count();
    count();
    g_rec_mutex_unlock(&statistics.lock);
}

static int find(const char *name)
{
    for (int i = 0; i < table.used; i++)
        if (strcmp(table.entries[i].name, name) == 0)
            return i;
    return -1;
}

static int add(const char *name, int price)
{
    int slot = table.used++;
    table.entries[slot].name = name;
    table.entries[slot].price = price;
    return slot;
}

static int price_of(const char *name)
{
    count_twice();
    g_rw_lock_reader_lock(&table.lock);
    int slot = find(name);
    int price = slot < 0 ? 0 : table.entries[slot].price;
    g_rw_lock_reader_unlock(&table.lock);
    if (slot >= 0)
        return price;

    price = (int)strlen(name) * 100;
    g_rw_lock_writer_lock(&table.lock);
    add(name, price);
    g_rw_lock_writer_unlock(&table.lock);
    return price;
}

static gpointer client(gpointer unused)
{
    (void)unused;
    assert(price_of("pear") == 400);
    return NULL;
}

int main(void)
{
    g_rw_lock_init(&table.lock);
    g_rec_mutex_init(&statistics.lock);
    GThread *clients[2];
    for (int i = 0; i < 2; i++)
        clients[i] = g_thread_new("client", client, NULL);
    for (int i = 0; i < 2; i++)
        g_thread_join(clients[i]);
    assert(statistics.requests == 4);
    assert(table.used == 1);
    g_rw_lock_clear(&table.lock);
    g_rec_mutex_clear(&statistics.lock);
    return 0;
}
