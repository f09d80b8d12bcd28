// A consumer adds up a table while another thread prints its heading; then the table is dropped.
//
// What is wrong: main() waits for the printer, but not for the consumer, before it drops the table.
// Nothing keeps the consumer from reading a table that is gone.
//
// After the "WrongAccessOrder" example of the literature on order violations.
//
// expect kind: order-violation
// expect cause: table = NULL;
// expect interference: assert(table != NULL);
// expect interference: return table->cells[row];

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 4 };

struct table {
    const char *title;
    const char *unit;
    long cells[ROWS];
};

static struct table *table;
static char heading[64];

static struct table *new_table(const char *title, const char *unit)
{
    struct table *new = malloc(sizeof *new);
    new->title = title;
    new->unit = unit;
    for (int row = 0; row < ROWS; row++)
        new->cells[row] = 10 * (row + 1);
    return new;
}

static long cell(int row)
{
    assert(table != NULL);
    return table->cells[row];
}

static void *consume(void *arg)
{
    long *total = arg;
    for (int row = 0; row < ROWS; row++)
        *total += cell(row);
    return NULL;
}

static void *print_heading(void *arg)
{
    const struct table *shown = arg;
    snprintf(heading, sizeof heading, "%s (%s)", shown->title, shown->unit);
    puts(heading);
    return NULL;
}

static void drop_table(void)
{
    struct table *old = table;
    table = NULL;
    free(old);
}

int main(void)
{
    static long total;
    pthread_t consumer, printer;

    table = new_table("Takings", "euro");
    pthread_create(&consumer, NULL, consume, &total);
    pthread_create(&printer, NULL, print_heading, table);

    pthread_join(printer, NULL);
    drop_table();
    pthread_join(consumer, NULL);
    printf("total %ld\n", total);
    return 0;
}
