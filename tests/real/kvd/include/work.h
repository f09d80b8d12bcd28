#ifndef WORK_H
#define WORK_H

#include "session.h"

/* Sessions that have lines to carry out, first come, first served. */
struct work {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct session *first;
    struct session **last;
    bool closed;
};

void work_init(struct work *work);
void work_destroy(struct work *work);
void work_push(struct work *work, struct session *session);
/* Waits for a session. NULL when no more will come. */
struct session *work_pop(struct work *work);
void work_close(struct work *work);

#endif
