// The second thread ends the program while the first one counts on, and a handler counts anew.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;
static struct counts {
    int first, second, third, fourth;
} counts, seen_last;
static const char *how;

static void forget(void)
{
    total = 0;
}

static void *count(void *unused)
{
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        total++;
        counts.second = total;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *look(void *unused)
{
    pthread_mutex_lock(&lock);
    seen_last = counts; // a step with a row for each member
    int seen = total;
    pthread_mutex_unlock(&lock);
    if (seen > 20)
        return unused;
    if (strcmp(how, "_exit") == 0)
        _exit(3); // gives up
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(3); // gives up
    exit(3); // gives up
}

int main(int count_of, char **arguments)
{
    pthread_t counting, looking;
    how = count_of > 1 ? arguments[1] : "exit";
    atexit(forget);
    pthread_create(&counting, 0, count, 0);
    pthread_create(&looking, 0, look, 0);
    pthread_join(looking, 0);
    pthread_join(counting, 0);
    return 0;
}
