// A single track with a passing loop: a train takes a section for itself before it enters it, and gives back the one
// behind. The signal box knows which sections are taken and lets trains of one direction through in turn.
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { SECTIONS = 4, LOOP = 2, TRAINS = 3 };
enum direction { EASTBOUND, WESTBOUND };

struct section {
    int capacity;
    int trains;
    int last_train;
    int passages;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t cleared;
    struct section sections[SECTIONS];
    int on_line[2];
    int admitted;
    int entries;
} box = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .cleared = PTHREAD_COND_INITIALIZER,
};

struct train {
    pthread_t driver;
    int number;
    enum direction direction;
    int position;
    int sections_seen;
};

static int entry_of(enum direction direction)
{
    return direction == EASTBOUND ? 0 : SECTIONS - 1;
}

static int step_of(enum direction direction)
{
    return direction == EASTBOUND ? 1 : -1;
}

static bool is_clear(int section)
{
    return box.sections[section].trains < box.sections[section].capacity;
}

// Only one train of each direction may be between the ends, so that they always meet in the loop.
static void admit(struct train *train)
{
    pthread_mutex_lock(&box.lock);
    while (box.on_line[train->direction] > 0)
        pthread_cond_wait(&box.cleared, &box.lock);
    box.on_line[train->direction]++;
    box.admitted++;
    pthread_mutex_unlock(&box.lock);
}

static void enter(struct train *train, int section)
{
    int behind = train->position;

    pthread_mutex_lock(&box.lock);
    while (!is_clear(section))
        pthread_cond_wait(&box.cleared, &box.lock);
    struct section *next = &box.sections[section];
    next->trains++;
    assert(next->trains <= next->capacity);
    next->last_train = train->number;
    next->passages++;
    box.entries++;
    if (behind >= 0) {
        box.sections[behind].trains--;
        pthread_cond_broadcast(&box.cleared);
    }
    pthread_mutex_unlock(&box.lock);
    train->position = section;
    train->sections_seen++;
}

static void leave_line(struct train *train)
{
    pthread_mutex_lock(&box.lock);
    struct section *last = &box.sections[train->position];
    assert(last->trains > 0);
    last->trains--;
    box.on_line[train->direction]--;
    pthread_cond_broadcast(&box.cleared);
    pthread_mutex_unlock(&box.lock);
    train->position = -1;
}

static void *drive(void *arg)
{
    struct train *self = arg;
    int section = entry_of(self->direction);

    admit(self);
    while (section >= 0 && section < SECTIONS) {
        enter(self, section);
        section += step_of(self->direction);
    }
    leave_line(self);
    return NULL;
}

int main(void)
{
    struct train trains[TRAINS];

    for (int i = 0; i < SECTIONS; i++)
        box.sections[i].capacity = 1;
    // Both ends are stations with a second platform, as the loop is.
    box.sections[0].capacity = 2;
    box.sections[LOOP].capacity = 2;
    box.sections[SECTIONS - 1].capacity = 2;
    for (int i = 0; i < TRAINS; i++) {
        trains[i].number = 100 + i;
        trains[i].direction = i % 2 == 0 ? EASTBOUND : WESTBOUND;
        trains[i].position = -1;
        trains[i].sections_seen = 0;
        pthread_create(&trains[i].driver, NULL, drive, &trains[i]);
    }
    for (int i = 0; i < TRAINS; i++)
        pthread_join(trains[i].driver, NULL);

    for (int i = 0; i < TRAINS; i++) {
        assert(trains[i].position == -1);
        assert(trains[i].sections_seen == SECTIONS);
    }
    assert(box.admitted == TRAINS);
    assert(box.entries == TRAINS * SECTIONS);
    for (int i = 0; i < SECTIONS; i++) {
        assert(box.sections[i].trains == 0);
        assert(box.sections[i].passages == TRAINS);
    }
    assert(box.on_line[EASTBOUND] == 0 && box.on_line[WESTBOUND] == 0);
    return 0;
}
