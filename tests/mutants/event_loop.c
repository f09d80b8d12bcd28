/*
 * An event loop: one thread runs what others post, timers in the order of their time, and subscriptions to named
 * signals. Objects that a callback uses are held by a count until nobody refers to them.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct loop loop;
typedef struct object object;
typedef void (*callback)(loop *, object *, int);

enum { MAX_TIMERS = 4, MAX_SUBSCRIBERS = 3, SIGNALS = 2 };

struct object {
    atomic_int references;
    int kind;
    int handled;
    int sum;
};

struct event {
    struct event *next;
    callback run;
    object *target;
    int argument;
};

struct timer {
    unsigned long due;
    callback run;
    object *target;
    int id;
};

struct subscriber {
    object *target;
    callback run;
};

struct loop {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;

    struct event *head, *tail;
    int posted, dispatched;

    struct timer timers[MAX_TIMERS];
    int timer_count;
    int timer_ids;
    unsigned long now;

    struct {
        pthread_mutex_t mutex;
        struct subscriber list[MAX_SUBSCRIBERS];
        int count;
        int raised;
    } signals[SIGNALS];

    bool quit;
};

static atomic_int objects_alive;

static object *object_new(int kind)
{
    object *o = malloc(sizeof *o);

    if (o == NULL)
        abort();
    o->kind = kind;
    o->handled = 0;
    o->sum = 0;
    atomic_init(&o->references, 1);
    atomic_fetch_add(&objects_alive, 1);
    return o;
}

static object *object_ref(object *o)
{
    int before = atomic_fetch_add(&o->references, 1);

    assert(before > 0);
    return o;
}

static void object_unref(object *o)
{
    int before = atomic_fetch_sub(&o->references, 1);

    assert(before > 0);
    if (before > 1)
        return;
    atomic_fetch_sub(&objects_alive, 1);
    free(o);
}

/* Timers are kept with the next one at the end. The loop's mutex is held. */
static void timer_insert(loop *l, struct timer timer)
{
    int at = l->timer_count;

    while (at > 0 && l->timers[at - 1].due < timer.due) {
        l->timers[at] = l->timers[at - 1];
        at--;
    }
    l->timers[at] = timer;
    l->timer_count++;
}

static bool timer_due(const loop *l)
{
    return l->timer_count > 0 && l->timers[l->timer_count - 1].due <= l->now;
}

static int loop_add_timer(loop *l, unsigned long delay, callback run, object *target)
{
    struct timer timer = { .run = run };

    timer.target = object_ref(target);
    pthread_mutex_lock(&l->mutex);
    if (l->timer_count == MAX_TIMERS) {
        pthread_mutex_unlock(&l->mutex);
        object_unref(target);
        return -1;
    }
    timer.due = l->now + delay;
    timer.id = ++l->timer_ids;
    timer_insert(l, timer);
    pthread_cond_signal(&l->wake);
    pthread_mutex_unlock(&l->mutex);
    return timer.id;
}

static bool loop_cancel_timer(loop *l, int id)
{
    object *target = NULL;

    pthread_mutex_lock(&l->mutex);
    for (int i = 0; i < l->timer_count; i++) {
        if (l->timers[i].id != id)
            continue;
        target = l->timers[i].target;
        for (int j = i; j + 1 < l->timer_count; j++)
            l->timers[j] = l->timers[j + 1];
        l->timer_count--;
        break;
    }
    pthread_mutex_unlock(&l->mutex);
    if (target == NULL)
        return false;
    object_unref(target);
    return true;
}

static void loop_post(loop *l, callback run, object *target, int argument)
{
    struct event *event = malloc(sizeof *event);

    event->next = NULL;
    event->run = run;
    event->target = object_ref(target);
    event->argument = argument;
    pthread_mutex_lock(&l->mutex);
    if (l->tail != NULL)
        l->tail->next = event;
    else
        l->head = event;
    l->tail = event;
    l->posted++;
    pthread_cond_signal(&l->wake);
    pthread_mutex_unlock(&l->mutex);
}

static bool loop_subscribe(loop *l, int signal, callback run, object *target)
{
    bool room;

    pthread_mutex_lock(&l->signals[signal].mutex);
    room = l->signals[signal].count < MAX_SUBSCRIBERS;
    if (room) {
        struct subscriber *s = &l->signals[signal].list[l->signals[signal].count];
        s->target = object_ref(target);
        s->run = run;
        l->signals[signal].count++;
    }
    pthread_mutex_unlock(&l->signals[signal].mutex);
    return room;
}

static void loop_unsubscribe(loop *l, int signal, object *target)
{
    int left = 0, gone = 0;

    pthread_mutex_lock(&l->signals[signal].mutex);
    for (int i = 0; i < l->signals[signal].count; i++) {
        if (l->signals[signal].list[i].target == target)
            gone++;
        else
            l->signals[signal].list[left++] = l->signals[signal].list[i];
    }
    l->signals[signal].count = left;
    pthread_mutex_unlock(&l->signals[signal].mutex);
    while (gone-- > 0)
        object_unref(target);
}

static int loop_raise(loop *l, int signal, int argument)
{
    int told;

    pthread_mutex_lock(&l->signals[signal].mutex);
    l->signals[signal].raised++;
    for (told = 0; told < l->signals[signal].count; told++) {
        struct subscriber *s = &l->signals[signal].list[told];
        loop_post(l, s->run, s->target, argument);
    }
    pthread_mutex_unlock(&l->signals[signal].mutex);
    return told;
}

static struct event *next_event(loop *l)
{
    struct event *event = l->head;

    if (event == NULL)
        return NULL;
    l->head = event->next;
    if (l->head == NULL)
        l->tail = NULL;
    l->dispatched++;
    assert(l->dispatched <= l->posted);
    return event;
}

static void *loop_run(void *argument)
{
    loop *l = argument;

    pthread_mutex_lock(&l->mutex);
    for (;;) {
        struct event *event = next_event(l);
        if (event != NULL) {
            pthread_mutex_unlock(&l->mutex);
            event->run(l, event->target, event->argument);
            object_unref(event->target);
            free(event);
            pthread_mutex_lock(&l->mutex);
            continue;
        }
        l->now++;
        if (timer_due(l)) {
            struct timer timer = l->timers[--l->timer_count];
            pthread_mutex_unlock(&l->mutex);
            timer.run(l, timer.target, timer.id);
            object_unref(timer.target);
            pthread_mutex_lock(&l->mutex);
            continue;
        }
        if (l->timer_count > 0)
            continue;
        if (l->quit)
            break;
        pthread_cond_wait(&l->wake, &l->mutex);
    }
    pthread_mutex_unlock(&l->mutex);
    return NULL;
}

static void loop_start(loop *l)
{
    pthread_mutex_init(&l->mutex, NULL);
    pthread_cond_init(&l->wake, NULL);
    for (int i = 0; i < SIGNALS; i++)
        pthread_mutex_init(&l->signals[i].mutex, NULL);
    pthread_create(&l->thread, NULL, loop_run, l);
}

static void loop_stop(loop *l)
{
    pthread_mutex_lock(&l->mutex);
    l->quit = true;
    pthread_cond_signal(&l->wake);
    pthread_mutex_unlock(&l->mutex);
    pthread_join(l->thread, NULL);
}

static void add(loop *l, object *o, int n)
{
    (void)l;
    assert(o->kind == 7 || o->kind == 8);
    o->sum += n;
    o->handled++;
}

static void alarm_rang(loop *l, object *o, int id)
{
    assert(id > 0);
    o->handled++;
    loop_post(l, add, o, 100);
}

struct poster {
    pthread_t thread;
    loop *loop;
    object *counter;
    int told;
    bool cancelled;
};

static void *post_things(void *argument)
{
    struct poster *self = argument;
    object *own = object_new(8);

    loop_subscribe(self->loop, 1, add, own);
    loop_post(self->loop, add, self->counter, 1);
    int id = loop_add_timer(self->loop, 2, alarm_rang, self->counter);
    self->told += loop_raise(self->loop, 0, 10);
    self->cancelled = loop_cancel_timer(self->loop, id);
    loop_unsubscribe(self->loop, 1, own);
    object_unref(own);
    object_unref(self->counter);
    return NULL;
}

int main(void)
{
    static loop l;
    struct poster posters[2];
    object *counter = object_new(7);
    int told = 0, rang = 0;

    loop_start(&l);
    loop_subscribe(&l, 0, add, counter);
    for (int i = 0; i < 2; i++) {
        posters[i].loop = &l;
        posters[i].counter = object_ref(counter);
        posters[i].told = 0;
        pthread_create(&posters[i].thread, NULL, post_things, &posters[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(posters[i].thread, NULL);
        told += posters[i].told;
        rang += !posters[i].cancelled;
    }
    loop_unsubscribe(&l, 0, counter);
    loop_stop(&l);

    assert(told == 2);
    assert(l.posted == l.dispatched);
    assert(l.posted == 2 + told + rang);
    assert(counter->sum == 2 + 10 * told + 100 * rang);
    assert(counter->handled == 2 + told + 2 * rang);
    object_unref(counter);
    assert(atomic_load(&objects_alive) == 0);
    return 0;
}
