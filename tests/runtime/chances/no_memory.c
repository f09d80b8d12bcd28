/* Copies words without asking whether there is memory for them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *words[2];

static void *copy(void *word) {
    char *mine = malloc(strlen(word) + 1);
    strcpy(mine, word);
    pthread_mutex_lock(&lock);
    words[words[0] != NULL] = mine;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, copy, "one");
    pthread_create(&threads[1], NULL, copy, "two");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    free(words[0]);
    free(words[1]);
    return 0;
}
