// Threads that access the same memory again and again between two steps that others can notice. With an argument the
// program fails at its end.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { SIDE = 12, ROUNDS = 24 };

struct state {
    unsigned ready : 1;
    unsigned rounds : 7;
    char name[11];
    long sum;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long shared[SIDE];
static long left[SIDE][SIDE], right[SIDE][SIDE];
static struct state states[2];

static void add(long *to, long what)
{
    *to += what;
}

static void multiply(long *product, long *scratch)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            product[i * SIDE + j] = 0;
            for (int k = 0; k < SIDE; k++) {
                scratch[0] = left[i][k] * right[k][j];
                add(&product[i * SIDE + j], scratch[0]);
            }
        }
}

static void name_it(struct state *state, int round)
{
    for (int i = 0; i < 10; i++)
        state->name[i] = (char)('a' + (round + i) % 26);
    state->ready = round % 2;
    state->rounds = round;
}

static void *work(void *arg)
{
    struct state *state = arg;
    long *product = malloc(SIDE * SIDE * sizeof *product);
    long scratch[2];
    for (int round = 0; round < ROUNDS; round++) {
        multiply(product, scratch);
        name_it(state, round);
        name_it(state, round + 1);
        for (int i = 0; i < SIDE; i++)
            state->sum += product[i * SIDE] + state->name[i % 10];
        pthread_mutex_lock(&lock);
        for (int i = 0; i < SIDE; i++)
            shared[i] += state->sum;
        pthread_mutex_unlock(&lock);
    }
    free(product);
    return 0;
}

int main(int count, char **arguments)
{
    pthread_t threads[2];
    for (int i = 0; i < SIDE * SIDE; i++) {
        left[i / SIDE][i % SIDE] = i;
        right[i / SIDE][i % SIDE] = SIDE - i;
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, &states[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(count == 1 || shared[0] == 0);
    return arguments[0] == 0;
}
