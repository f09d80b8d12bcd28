// The program by which `cargo xtask dist --try` tries a package: two threads count without a lock.
#include <assert.h>
#include <pthread.h>

static int hits;

static void *visit(void *unused) {
    (void)unused;
    hits++;
    return 0;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, visit, 0);
    pthread_create(&second, 0, visit, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    assert(hits == 2);
}
