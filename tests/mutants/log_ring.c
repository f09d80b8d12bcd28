/*
 * A log: writers put lines into a ring, one flusher moves them to the "disk".
 * When the ring is full a writer waits; log_sync() waits until everything that
 * was written before is on the disk.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define RING	4
#define LINE	24
#define WRITERS	2
#define LINES	3

struct line {
	unsigned long seq;
	int len;
	char text[LINE];
};

static struct {
	pthread_mutex_t mtx;
	pthread_cond_t more;
	pthread_cond_t room;
	pthread_cond_t synced;
	struct line ring[RING];
	unsigned long next;	/* number of the next line */
	unsigned long flushed;	/* lines below this are on the disk */
	int stop;
} lg = {
	.mtx = PTHREAD_MUTEX_INITIALIZER,
	.more = PTHREAD_COND_INITIALIZER,
	.room = PTHREAD_COND_INITIALIZER,
	.synced = PTHREAD_COND_INITIALIZER,
};

static char disk[WRITERS * LINES * LINE];
static size_t disk_used;
static int disk_lines;

static unsigned long
log_write(const char *who, int n)
{
	struct line *l;
	unsigned long seq;

	pthread_mutex_lock(&lg.mtx);
	while (lg.next - lg.flushed >= RING)
		pthread_cond_wait(&lg.room, &lg.mtx);
	seq = lg.next;
	l = &lg.ring[seq % RING];
	l->seq = seq;
	l->len = snprintf(l->text, sizeof l->text, "%s:%d;", who, n);
	lg.next = seq + 1;
	pthread_cond_signal(&lg.more);
	pthread_mutex_unlock(&lg.mtx);
	return seq;
}

static void
log_sync(unsigned long seq)
{
	pthread_mutex_lock(&lg.mtx);
	while (lg.flushed <= seq)
		pthread_cond_wait(&lg.synced, &lg.mtx);
	pthread_mutex_unlock(&lg.mtx);
	assert(disk_lines > 0);
}

static void
to_disk(const struct line *l)
{
	assert(l->len == (int)strlen(l->text));
	memcpy(disk + disk_used, l->text, (size_t)l->len);
	disk_used += (size_t)l->len;
	disk_lines++;
}

static void *
flusher(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lg.mtx);
	for (;;) {
		while (lg.flushed == lg.next && !lg.stop)
			pthread_cond_wait(&lg.more, &lg.mtx);
		if (lg.flushed == lg.next)
			break;
		struct line l = lg.ring[lg.flushed % RING];
		assert(l.seq == lg.flushed);
		to_disk(&l);
		lg.flushed++;
		pthread_cond_signal(&lg.room);
		pthread_cond_broadcast(&lg.synced);
	}
	pthread_mutex_unlock(&lg.mtx);
	return NULL;
}

static void *
writer(void *arg)
{
	const char *who = arg;
	unsigned long seq = 0;

	for (int i = 0; i < LINES; i++)
		seq = log_write(who, i);
	log_sync(seq);
	return NULL;
}

static int
count(const char *word)
{
	int n = 0;

	for (const char *p = disk; (p = strstr(p, word)) != NULL; p++)
		n++;
	return n;
}

int
main(void)
{
	pthread_t flush, w[WRITERS];
	static const char *names[WRITERS] = { "http", "smtp" };

	pthread_create(&flush, NULL, flusher, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&w[i], NULL, writer, (void *)names[i]);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(w[i], NULL);

	pthread_mutex_lock(&lg.mtx);
	lg.stop = 1;
	pthread_cond_signal(&lg.more);
	pthread_mutex_unlock(&lg.mtx);
	pthread_join(flush, NULL);

	assert(disk_lines == WRITERS * LINES);
	assert(lg.flushed == lg.next);
	for (int i = 0; i < WRITERS; i++)
		assert(count(names[i]) == LINES);
	return 0;
}
