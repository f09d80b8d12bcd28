/* Two threads add three times each to a counter without a lock, with much private work between. Three
 * additions must be lost for the assertion to fail: several switches at the right steps among
 * many steps at which a switch does nothing. */
#include <assert.h>
#include <pthread.h>

static int total, table[64];

static int work(int seed) {
    int scratch[16];
    for (int i = 0; i < 16; i++)
        scratch[i] = seed * i;
    int sum = 0;
    for (int i = 0; i < 16; i++)
        sum += scratch[i] + table[i];
    return sum;
}

static void *add(void *result) {
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += work(i);
        int before = total;
        total = before + 1;
    }
    *(int *)result = sum;
    return 0;
}

int main(void) {
    int results[2];
    pthread_t threads[2];
    for (int i = 0; i < 64; i++)
        table[i] = i;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, add, &results[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(total > 3);
    return 0;
}
