/* A program that scripts start: two threads count without a lock. With the word "tell" it prints its count, whatever that
 * is; with "check" it ends with status 1 when one is lost; with "hang" it waits for a signal that never comes. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static volatile int counted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *count(void *unused)
{
    int seen = counted;
    counted = seen + 1;
    return unused;
}

int main(int words, char **word)
{
    const char *wish = words > 1 ? word[1] : "tell";
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, count, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (strcmp(wish, "hang") == 0) {
        pthread_mutex_lock(&lock);
        pthread_cond_wait(&never, &lock);
    }
    printf("counted %d\n", counted);
    return strcmp(wish, "check") == 0 && counted != 2;
}
