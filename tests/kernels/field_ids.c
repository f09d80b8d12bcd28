// A query marks the fields of a table that it uses with its number, counts them, and goes over them later.
//
// What is wrong: another query puts its number on a field between the count and the loop, which then runs
// over the last field.
//
// After bug 644 of MySQL.
//
// expect kind: atomicity-violation
// expect cause: if (fields[i] == OURS)
// expect cause: if (fields[at] == OURS)
// expect interference: fields[1] = THEIRS;

#include <assert.h>
#include <pthread.h>

enum { FIELDS = 2, OURS = 7, THEIRS = 8 };

static int fields[FIELDS] = {OURS, OURS};

static int count_used(void)
{
    int used = 0;
    for (int i = 0; i < FIELDS; i++)
        if (fields[i] == OURS)
            used++;
    return used;
}

static void *join_tables(void *arg)
{
    int used = count_used();
    for (int at = 0; used > 0; at++) {
        assert(at < FIELDS);
        if (fields[at] == OURS)
            used--;
    }
    return arg;
}

static void *fix_fields(void *arg)
{
    fields[1] = THEIRS;
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, join_tables, NULL);
    pthread_create(&threads[1], NULL, fix_fields, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
