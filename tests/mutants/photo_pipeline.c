/* Photos go through three stages: decode, scale, write. Buffers come from a pool with a fixed number of them, and go back
   to it in the end; a stage says that it has ended by a photo with number -1. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_MAX 2
#define BUFFERS 3
#define PHOTOS 5
#define SIDE 4

struct photo
{
    int number;
    unsigned char pixels[SIDE];
    int stage;
};

struct channel
{
    pthread_mutex_t m;
    pthread_cond_t changed;
    struct photo *items[QUEUE_MAX];
    int count;
    int sent;
};

struct pool
{
    pthread_mutex_t m;
    pthread_cond_t freed;
    struct photo storage[BUFFERS];
    struct photo *free_list[BUFFERS];
    int free_count;
    int lowest;
};

static struct channel decoded, scaled;
static struct pool pool;
static struct photo end_of_photos = { .number = -1 };
static int written[PHOTOS];
static int written_count;

static void channel_init(struct channel *c)
{
    pthread_mutex_init(&c->m, NULL);
    pthread_cond_init(&c->changed, NULL);
    c->count = 0;
    c->sent = 0;
}

static void channel_send(struct channel *c, struct photo *p)
{
    pthread_mutex_lock(&c->m);
    while (c->count == QUEUE_MAX)
    {
        pthread_cond_wait(&c->changed, &c->m);
    }
    c->items[c->count] = p;
    c->count++;
    c->sent++;
    pthread_mutex_unlock(&c->m);
    pthread_cond_broadcast(&c->changed);
}

static struct photo *channel_receive(struct channel *c)
{
    struct photo *p;
    pthread_mutex_lock(&c->m);
    while (c->count == 0)
    {
        pthread_cond_wait(&c->changed, &c->m);
    }
    p = c->items[0];
    c->count--;
    memmove(c->items, c->items + 1, (size_t)c->count * sizeof c->items[0]);
    pthread_mutex_unlock(&c->m);
    pthread_cond_broadcast(&c->changed);
    return p;
}

static void pool_init(struct pool *p)
{
    pthread_mutex_init(&p->m, NULL);
    pthread_cond_init(&p->freed, NULL);
    for (int i = 0; i < BUFFERS; i++)
    {
        p->free_list[i] = &p->storage[i];
    }
    p->free_count = BUFFERS;
    p->lowest = BUFFERS;
}

static struct photo *pool_get(struct pool *p)
{
    struct photo *photo;
    pthread_mutex_lock(&p->m);
    while (p->free_count == 0)
    {
        pthread_cond_wait(&p->freed, &p->m);
    }
    p->free_count--;
    photo = p->free_list[p->free_count];
    if (p->free_count < p->lowest)
    {
        p->lowest = p->free_count;
    }
    pthread_mutex_unlock(&p->m);
    assert(photo->stage == 0);
    return photo;
}

static void pool_put(struct pool *p, struct photo *photo)
{
    pthread_mutex_lock(&p->m);
    assert(p->free_count < BUFFERS);
    photo->stage = 0;
    p->free_list[p->free_count] = photo;
    p->free_count++;
    pthread_cond_signal(&p->freed);
    pthread_mutex_unlock(&p->m);
}

static void *scaler(void *unused)
{
    struct photo *photo;
    (void)unused;
    while ((photo = channel_receive(&decoded))->number >= 0)
    {
        assert(photo->stage == 1);
        for (int i = 0; i < SIDE; i++)
        {
            photo->pixels[i] /= 2;
        }
        photo->stage = 2;
        channel_send(&scaled, photo);
    }
    channel_send(&scaled, photo);
    return NULL;
}

static void *writer(void *unused)
{
    struct photo *photo;
    (void)unused;
    while ((photo = channel_receive(&scaled))->number >= 0)
    {
        assert(photo->stage == 2);
        for (int i = 0; i < SIDE; i++)
        {
            assert(photo->pixels[i] == (photo->number * 8 + i) / 2);
        }
        written[photo->number]++;
        written_count++;
        pool_put(&pool, photo);
    }
    return NULL;
}

int main(void)
{
    pthread_t scale, write;

    channel_init(&decoded);
    channel_init(&scaled);
    pool_init(&pool);
    pthread_create(&scale, NULL, scaler, NULL);
    pthread_create(&write, NULL, writer, NULL);
    for (int n = 0; n < PHOTOS; n++)
    {
        struct photo *photo = pool_get(&pool);
        for (int i = 0; i < SIDE; i++)
        {
            photo->pixels[i] = (unsigned char)(n * 8 + i);
        }
        photo->stage = 1;
        photo->number = n;
        channel_send(&decoded, photo);
    }
    channel_send(&decoded, &end_of_photos);
    pthread_join(scale, NULL);
    pthread_join(write, NULL);

    assert(written_count == PHOTOS);
    for (int n = 0; n < PHOTOS; n++)
    {
        assert(written[n] == 1);
    }
    assert(pool.free_count == BUFFERS);
    assert(pool.lowest >= 0 && pool.lowest < BUFFERS);
    assert(decoded.sent == PHOTOS + 1 && scaled.sent == PHOTOS + 1);
    return 0;
}
