// More threads over its life than are alive at once.
#include <assert.h>
#include <pthread.h>
static int total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *add(void *a) { (void)a; pthread_mutex_lock(&lock); total++; pthread_mutex_unlock(&lock); return NULL; }
int main(void)
{
    for (int i = 0; i < 1500; i++) {
        pthread_t t[2];
        pthread_create(&t[0], NULL, add, NULL);
        pthread_create(&t[1], NULL, add, NULL);
        pthread_join(t[0], NULL);
        pthread_join(t[1], NULL);
    }
    assert(total == 3000);
    return 0;
}
