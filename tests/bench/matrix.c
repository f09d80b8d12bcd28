// Benchmark: two threads multiply the halves of a square matrix.

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { MOST = 256 };

static int size = 100;
static double a[MOST][MOST], b[MOST][MOST], product[MOST][MOST];

static void *multiply(void *arg)
{
    int half = *(const int *)arg;
    for (int i = half * size / 2; i < (half + 1) * size / 2; i++)
        for (int j = 0; j < size; j++) {
            double sum = 0;
            for (int k = 0; k < size; k++)
                sum += a[i][k] * b[k][j];
            product[i][j] = sum;
        }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    int halves[2] = {0, 1};

    if (argc > 1)
        size = atoi(argv[1]);
    if (size < 2 || size > MOST)
        return 2;
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) {
            a[i][j] = i + j;
            b[i][j] = i == j;
        }
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, multiply, &halves[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(product[1][size - 1] == size);
    return 0;
}
