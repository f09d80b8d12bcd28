#include "work.h"

void work_init(struct work *work)
{
    pthread_mutex_init(&work->lock, NULL);
    pthread_cond_init(&work->changed, NULL);
    work->first = NULL;
    work->last = &work->first;
    work->closed = false;
}

void work_destroy(struct work *work)
{
    pthread_cond_destroy(&work->changed);
    pthread_mutex_destroy(&work->lock);
}

void work_push(struct work *work, struct session *session)
{
    session->waiting = NULL;
    pthread_mutex_lock(&work->lock);
    *work->last = session;
    work->last = &session->waiting;
    pthread_cond_signal(&work->changed);
    pthread_mutex_unlock(&work->lock);
}

struct session *work_pop(struct work *work)
{
    struct session *session;

    pthread_mutex_lock(&work->lock);
    while (work->first == NULL && !work->closed)
        pthread_cond_wait(&work->changed, &work->lock);
    session = work->first;
    if (session != NULL) {
        work->first = session->waiting;
        if (work->first == NULL)
            work->last = &work->first;
    }
    pthread_mutex_unlock(&work->lock);
    return session;
}

void work_close(struct work *work)
{
    pthread_mutex_lock(&work->lock);
    work->closed = true;
    pthread_cond_broadcast(&work->changed);
    pthread_mutex_unlock(&work->lock);
}
