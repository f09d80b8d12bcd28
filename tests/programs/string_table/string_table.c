// A script engine's statistics of its strings: how many there are and how long they are together.
//
// What is wrong: new strings are added to the two counters in two critical sections; a report in
// between has a number that does not fit the length.
//
// After a bug of Mozilla's script engine (totals of the string pool).
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: total_strings++;
// expect cause 2: total_length += LENGTH;
// expect interference: report->strings = total_strings;
// expect interference: report->length = total_length;
//
// still wrong: gcc -O2, clang -O2

#include <assert.h>
#include <pthread.h>

enum { STRINGS = 3, LENGTH = 8 };

struct report {
    int strings;
    int length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char pool[STRINGS][LENGTH];
static int total_strings;
static int total_length;

static void count_string(void)
{
    pthread_mutex_lock(&lock);
    total_strings++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    total_length += LENGTH;
    pthread_mutex_unlock(&lock);
}

static void *make_strings(void *arg)
{
    for (int i = 0; i < STRINGS; i++) {
        for (int j = 0; j < LENGTH; j++)
            pool[i][j] = (char)('a' + j);
        count_string();
    }
    return arg;
}

static void *report_totals(void *arg)
{
    struct report *report = arg;

    pthread_mutex_lock(&lock);
    report->strings = total_strings;
    report->length = total_length;
    pthread_mutex_unlock(&lock);
    assert(report->strings * LENGTH == report->length);
    return NULL;
}

int main(void)
{
    pthread_t maker, reporter;
    struct report report;

    pthread_create(&maker, NULL, make_strings, NULL);
    pthread_create(&reporter, NULL, report_totals, &report);
    pthread_join(maker, NULL);
    pthread_join(reporter, NULL);
    return 0;
}
