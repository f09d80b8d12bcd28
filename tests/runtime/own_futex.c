// A wait by an instruction of its own, past the C library.
#include <pthread.h>
#include <unistd.h>
#include <linux/futex.h>
#include <sys/syscall.h>
static int word;
static long futex(int *at, int op, int value)
{
    long result;
    register long none __asm__("r10") = 0;
    __asm__ volatile("syscall" : "=a"(result) : "0"(202L), "D"(at), "S"(op), "d"(value), "r"(none) : "rcx", "r11", "memory");
    return result;
}
static void *waker(void *a) { (void)a; __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST); futex(&word, FUTEX_WAKE, 1); return NULL; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, waker, NULL);
    while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
        futex(&word, FUTEX_WAIT, 0);
    pthread_join(t, NULL);
    return 0;
}
