/* Outgoing mail: clients hand in letters, carriers take them away. The office closes at night, and whatever
 * was handed in before that is still delivered. */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define BAG 3
#define CLIENTS 2
#define CARRIERS 2
#define LETTERS 4

struct letter {
    int sender;
    int number;
    int postage;
};

struct office {
    pthread_mutex_t desk;
    pthread_cond_t arrived;
    pthread_cond_t taken;
    struct letter *bag[BAG];
    unsigned head, used;
    bool closed;
    int handed_in;
    int turned_away;
};

static struct office office;

struct carrier {
    pthread_t thread;
    int delivered;
    int postage;
    int last_of[CLIENTS];
};

static void office_open(struct office *o)
{
    pthread_mutex_init(&o->desk, NULL);
    pthread_cond_init(&o->arrived, NULL);
    pthread_cond_init(&o->taken, NULL);
    o->head = 0;
    o->used = 0;
    o->closed = false;
}

static bool hand_in(struct office *o, struct letter *letter)
{
    pthread_mutex_lock(&o->desk);
    while (o->used == BAG && !o->closed)
        pthread_cond_wait(&o->taken, &o->desk);
    if (o->closed) {
        o->turned_away++;
        pthread_mutex_unlock(&o->desk);
        return false;
    }
    unsigned slot = (o->head + o->used) % BAG;
    assert(o->bag[slot] == NULL);
    o->bag[slot] = letter;
    o->used++;
    o->handed_in++;
    pthread_cond_signal(&o->arrived);
    pthread_mutex_unlock(&o->desk);
    return true;
}

static struct letter *take(struct office *o)
{
    pthread_mutex_lock(&o->desk);
    while (o->used == 0) {
        if (o->closed) {
            pthread_mutex_unlock(&o->desk);
            return NULL;
        }
        pthread_cond_wait(&o->arrived, &o->desk);
    }
    struct letter *letter = o->bag[o->head];
    assert(letter != NULL);
    o->bag[o->head] = NULL;
    o->head = (o->head + 1) % BAG;
    o->used--;
    pthread_cond_signal(&o->taken);
    pthread_mutex_unlock(&o->desk);
    return letter;
}

static void office_close(struct office *o)
{
    pthread_mutex_lock(&o->desk);
    o->closed = true;
    pthread_mutex_unlock(&o->desk);
    pthread_cond_broadcast(&o->arrived);
    pthread_cond_broadcast(&o->taken);
}

static void *client(void *arg)
{
    int me = *(int *)arg;
    for (int i = 0; i < LETTERS; i++) {
        struct letter *letter = malloc(sizeof *letter);
        letter->sender = me;
        letter->number = i + 1;
        letter->postage = 10 + i;
        if (!hand_in(&office, letter))
            free(letter);
    }
    return NULL;
}

static void *carry(void *arg)
{
    struct carrier *self = arg;
    struct letter *letter;
    while ((letter = take(&office)) != NULL) {
        assert(letter->number > self->last_of[letter->sender]);
        self->last_of[letter->sender] = letter->number;
        self->postage += letter->postage;
        self->delivered++;
        free(letter);
    }
    return NULL;
}

int main(void)
{
    pthread_t clients[CLIENTS];
    int names[CLIENTS];
    struct carrier carriers[CARRIERS] = {0};

    office_open(&office);
    for (int i = 0; i < CARRIERS; i++)
        pthread_create(&carriers[i].thread, NULL, carry, &carriers[i]);
    for (int i = 0; i < CLIENTS; i++) {
        names[i] = i;
        pthread_create(&clients[i], NULL, client, &names[i]);
    }
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    office_close(&office);

    int delivered = 0, postage = 0;
    for (int i = 0; i < CARRIERS; i++) {
        pthread_join(carriers[i].thread, NULL);
        delivered += carriers[i].delivered;
        postage += carriers[i].postage;
    }
    assert(office.turned_away == 0);
    assert(office.handed_in == CLIENTS * LETTERS);
    assert(delivered == office.handed_in);
    assert(postage == CLIENTS * (10 + 11 + 12 + 13));
    assert(office.used == 0);
    return 0;
}
