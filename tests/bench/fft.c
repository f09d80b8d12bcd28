// Benchmark: fast Fourier transform of 8,192 numbers by two threads, after Cooley and Tukey (1965): the places' bits
// reversed, then butterflies stage by stage, each thread half of them, with a barrier behind each stage.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define BITS 13
#define SIZE (1 << BITS)
#define THREADS 2

static double re[SIZE], im[SIZE];
static double cosines[SIZE / 2], sines[SIZE / 2];
static pthread_barrier_t stage;

static int reversed(int place) {
    int result = 0;
    for (int bit = 0; bit < BITS; bit++)
        result |= (place >> bit & 1) << (BITS - 1 - bit);
    return result;
}

static void butterfly(int low, int high, int angle) {
    double r = re[high] * cosines[angle] - im[high] * sines[angle];
    double i = re[high] * sines[angle] + im[high] * cosines[angle];
    re[high] = re[low] - r;
    im[high] = im[low] - i;
    re[low] += r;
    im[low] += i;
}

static void *transform(void *argument) {
    long self = (long)argument;
    for (int half = 1; half < SIZE; half *= 2) {
        for (int pair = (int)self * (SIZE / 2 / THREADS); pair < (self + 1) * (SIZE / 2 / THREADS); pair++) {
            int within = pair % half;
            int low = pair / half * 2 * half + within;
            butterfly(low, low + half, within * (SIZE / 2 / half));
        }
        pthread_barrier_wait(&stage);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < SIZE / 2; i++) {
        cosines[i] = cos(-2 * M_PI * i / SIZE);
        sines[i] = sin(-2 * M_PI * i / SIZE);
    }
    for (int i = 0; i < SIZE; i++)
        re[reversed(i)] = i % 17;
    pthread_barrier_init(&stage, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, transform, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    double sum = 0;
    for (int i = 0; i < SIZE; i++)
        sum += i % 17;
    if (fabs(re[0] - sum) > 1e-6)
        abort();
    printf("%.3f %.3f\n", re[1], im[1]);
    return 0;
}
