/* Samples from a decoder to a sound card: one producer, one consumer, no lock. A position is written by one side only.
 * Underruns are counted by the card and read by the decoder when it is done. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#define FRAMES 4
#define TOTAL 7

struct frame {
    int16_t left, right;
    uint32_t stamp;
};

static struct {
    struct frame frames[FRAMES];
    atomic_uint written;
    atomic_uint played;
    atomic_int volume;
    atomic_int generation;
    int balance;
} ring;

static int sum_of_stamps;
static int loudness;
static atomic_int clients;

static int ring_write(int16_t left, int16_t right, uint32_t stamp)
{
    unsigned at = atomic_load_explicit(&ring.written, memory_order_relaxed);
    if (at - atomic_load_explicit(&ring.played, memory_order_acquire) == FRAMES)
        return 0;
    struct frame *frame = &ring.frames[at % FRAMES];
    frame->left = left;
    frame->right = right;
    frame->stamp = stamp;
    atomic_store_explicit(&ring.written, at + 1, memory_order_release);
    return 1;
}

static int ring_read(struct frame *frame)
{
    unsigned at = atomic_load_explicit(&ring.played, memory_order_relaxed);
    if (at == atomic_load_explicit(&ring.written, memory_order_acquire))
        return 0;
    *frame = ring.frames[at % FRAMES];
    atomic_store_explicit(&ring.played, at + 1, memory_order_release);
    return 1;
}

static void *decode(void *unused)
{
    (void)unused;
    atomic_fetch_add(&clients, 1);
    for (uint32_t stamp = 1; stamp <= TOTAL; stamp++) {
        while (!ring_write((int16_t)stamp, (int16_t)-stamp, stamp))
            sched_yield();
    }
    atomic_fetch_sub(&clients, 1);
    return NULL;
}

static void *mix(void *unused)
{
    (void)unused;
    atomic_fetch_add(&clients, 1);
    ring.balance = 3;
    atomic_store(&ring.volume, 8);
    atomic_store(&ring.generation, 1);
    atomic_fetch_sub(&clients, 1);
    return NULL;
}

static void *play(void *unused)
{
    struct frame frame;
    uint32_t expected = 1;

    (void)unused;
    while (atomic_load(&ring.generation) == 0)
        sched_yield();
    loudness = atomic_load(&ring.volume) * ring.balance;
    assert(loudness == 24);
    while (expected <= TOTAL) {
        if (!ring_read(&frame)) {
            sched_yield();
            continue;
        }
        assert(frame.stamp == expected);
        assert(frame.left == (int16_t)expected && frame.right == (int16_t)-expected);
        sum_of_stamps += (int)frame.stamp;
        expected++;
    }
    return NULL;
}

int main(void)
{
    pthread_t decoder, mixer, card;

    atomic_init(&ring.written, 0);
    atomic_init(&ring.played, 0);
    pthread_create(&card, NULL, play, NULL);
    pthread_create(&decoder, NULL, decode, NULL);
    pthread_create(&mixer, NULL, mix, NULL);
    pthread_join(decoder, NULL);
    pthread_join(mixer, NULL);
    pthread_join(card, NULL);

    assert(sum_of_stamps == TOTAL * (TOTAL + 1) / 2);
    assert(atomic_load(&clients) == 0);
    assert(atomic_load(&ring.played) == TOTAL);
    return 0;
}
