// A dictionary that whoever asks it first fills, and that two threads ask for a word each.
//
// What is wrong: the first thread says that the dictionary is there before it has put the words in. The
// other one does not wait then, and looks at the words that are there already, with those behind them
// still to come.
//
// expect kind: order-violation
// expect cause: int count = atomic_load(&words.count);
// expect interference: atomic_fetch_add(&words.count, 1);
// expect also: atomic_store(&words.ready, true);
//
// still wrong: gcc -O2, clang -O0, clang -O2

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const known[] = {"lock", "wait", "post", "join"};
enum { KNOWN = sizeof known / sizeof *known };

static struct {
    pthread_mutex_t filling;
    atomic_bool ready;
    atomic_int count;
    const char *word[KNOWN];
} words = {.filling = PTHREAD_MUTEX_INITIALIZER};

static void add(const char *word)
{
    words.word[atomic_load(&words.count)] = word;
    atomic_fetch_add(&words.count, 1);
}

static void fill(void)
{
    pthread_mutex_lock(&words.filling);
    if (!atomic_load(&words.ready)) {
        atomic_store(&words.ready, true);
        for (int i = 0; i < KNOWN; i++)
            add(known[i]);
    }
    pthread_mutex_unlock(&words.filling);
}

static bool is_known(const char *word)
{
    if (!atomic_load(&words.ready))
        fill();
    int count = atomic_load(&words.count);
    for (int i = 0; i < count; i++)
        if (strcmp(words.word[i], word) == 0)
            return true;
    return false;
}

static void *check(void *word)
{
    if (!is_known(word)) {
        fprintf(stderr, "'%s' is not spelled right\n", (const char *)word);
        exit(3);
    }
    return NULL;
}

int main(void)
{
    pthread_t editor, printer;

    pthread_create(&editor, NULL, check, "join");
    pthread_create(&printer, NULL, check, "wait");
    pthread_join(editor, NULL);
    pthread_join(printer, NULL);
    printf("%d words\n", atomic_load(&words.count));
    return 0;
}
