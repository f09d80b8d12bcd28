/* Who loses the exchange believes that somebody else has won it. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int leader;

static void *stand(void *unused) {
    int nobody = 0;
    if (!atomic_compare_exchange_weak(&leader, &nobody, 1))
        assert(atomic_load(&leader) != 0);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, stand, NULL);
    pthread_create(&threads[1], NULL, stand, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
