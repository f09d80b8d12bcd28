/* Printers are counted by a semaphore; which of them is free is noted under a lock. Quotas of the departments are
 * checked before a page is printed. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#define PRINTERS 2
#define USERS 3
#define DEPARTMENTS 2
#define PAGES 2

typedef struct Printer {
    bool busy;
    int pages;
    int user;
} Printer;

typedef struct Department {
    pthread_mutex_t lock;
    int quota;
    int used;
    int denied;
} Department;

static Printer printers[PRINTERS];
static sem_t available;
static sem_t startup;
static pthread_mutex_t roomLock = PTHREAD_MUTEX_INITIALIZER;
static Department departments[DEPARTMENTS];
static int printed;

typedef struct User {
    pthread_t thread;
    int number;
    int department;
    int received;
} User;

static int claimPrinter(int user)
{
    int found = -1;

    sem_wait(&available);
    pthread_mutex_lock(&roomLock);
    for (int i = 0; i < PRINTERS && found < 0; i++) {
        if (!printers[i].busy)
            found = i;
    }
    assert(found >= 0);
    printers[found].busy = true;
    printers[found].user = user;
    pthread_mutex_unlock(&roomLock);
    return found;
}

static void returnPrinter(int number)
{
    pthread_mutex_lock(&roomLock);
    assert(printers[number].busy);
    printers[number].busy = false;
    printed += 1;
    pthread_mutex_unlock(&roomLock);
    sem_post(&available);
}

static bool takeQuota(Department *department)
{
    bool granted;

    pthread_mutex_lock(&department->lock);
    granted = department->used < department->quota;
    if (granted)
        department->used++;
    else
        department->denied++;
    assert(department->used <= department->quota);
    pthread_mutex_unlock(&department->lock);
    return granted;
}

static void *printPages(void *arg)
{
    User *self = arg;

    sem_wait(&startup);
    for (int page = 0; page < PAGES; page++) {
        if (!takeQuota(&departments[self->department]))
            continue;
        int number = claimPrinter(self->number);
        printers[number].pages++;
        assert(printers[number].user == self->number);
        returnPrinter(number);
        self->received++;
    }
    return NULL;
}

int main(void)
{
    User users[USERS];
    int pages = 0, received = 0;

    sem_init(&available, 0, PRINTERS);
    sem_init(&startup, 0, 0);
    for (int i = 0; i < USERS; i++) {
        users[i].number = i + 1;
        users[i].department = i % DEPARTMENTS;
        users[i].received = 0;
        pthread_create(&users[i].thread, NULL, printPages, &users[i]);
    }
    for (int i = 0; i < DEPARTMENTS; i++) {
        pthread_mutex_init(&departments[i].lock, NULL);
        departments[i].quota = 3 - i;
        departments[i].used = 0;
    }
    for (int i = 0; i < USERS; i++)
        sem_post(&startup);
    for (int i = 0; i < USERS; i++) {
        pthread_join(users[i].thread, NULL);
        received += users[i].received;
    }

    for (int i = 0; i < PRINTERS; i++) {
        assert(!printers[i].busy);
        pages += printers[i].pages;
    }
    assert(departments[0].used == 3 && departments[0].denied == 1);
    assert(departments[1].used == 2 && departments[1].denied == 0);
    assert(pages == 5);
    assert(received == pages);
    assert(printed == pages);
    return 0;
}
