/*
 * A file system in memory. Directories have a lock each; what concerns two of them takes the lock of the one with
 * the smaller inode number first. The superblock comes after directories, the change log after the superblock.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LENGTH 8
#define FILES_PER_DIR 5
#define DIRECTORIES 3

struct inode {
	int number;
	int links;
	int size;
};

struct entry {
	char name[NAME_LENGTH];
	struct inode *inode;
};

struct directory {
	pthread_mutex_t lock;
	int number;
	int used;
	unsigned changes;
	struct entry entries[FILES_PER_DIR];
};

static struct {
	pthread_mutex_t lock;
	int next_inode;
	int inodes;
	int bytes;
} super = { .lock = PTHREAD_MUTEX_INITIALIZER, .next_inode = 100 };

static struct {
	pthread_mutex_t lock;
	unsigned records;
	int inodes_then;
} change_log = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct directory directories[DIRECTORIES];

/* The inode's directory is locked, or nobody knows it yet. */
static void account(int inodes, int bytes)
{
	pthread_mutex_lock(&super.lock);
	pthread_mutex_lock(&change_log.lock);
	super.inodes += inodes;
	super.bytes += bytes;
	change_log.records++;
	change_log.inodes_then = super.inodes;
	pthread_mutex_unlock(&change_log.lock);
	pthread_mutex_unlock(&super.lock);
}

static void check_log(void)
{
	pthread_mutex_lock(&super.lock);
	pthread_mutex_lock(&change_log.lock);
	assert(super.inodes == change_log.inodes_then);
	assert(super.inodes >= 0 && super.bytes >= 0);
	pthread_mutex_unlock(&change_log.lock);
	pthread_mutex_unlock(&super.lock);
}

static int new_number(void)
{
	int number;

	pthread_mutex_lock(&super.lock);
	number = super.next_inode;
	super.next_inode++;
	pthread_mutex_unlock(&super.lock);
	return number;
}

static int lookup(const struct directory *dir, const char *name)
{
	for (int i = 0; i < dir->used; i++)
		if (strcmp(dir->entries[i].name, name) == 0)
			return i;
	return -1;
}

static void remove_entry(struct directory *dir, int at)
{
	dir->used--;
	dir->entries[at] = dir->entries[dir->used];
	dir->entries[dir->used].inode = NULL;
	dir->changes++;
}

static void add_entry(struct directory *dir, const char *name, struct inode *inode)
{
	struct entry *entry = &dir->entries[dir->used];

	assert(entry->inode == NULL);
	strcpy(entry->name, name);
	entry->inode = inode;
	dir->used++;
	dir->changes++;
}

static int create(struct directory *dir, const char *name, int size)
{
	struct inode *inode = malloc(sizeof *inode);

	inode->links = 1;
	inode->size = size;
	inode->number = new_number();
	pthread_mutex_lock(&dir->lock);
	if (dir->used == FILES_PER_DIR || lookup(dir, name) >= 0) {
		pthread_mutex_unlock(&dir->lock);
		free(inode);
		return -EEXIST;
	}
	add_entry(dir, name, inode);
	account(1, size);
	pthread_mutex_unlock(&dir->lock);
	return 0;
}

static int move_file(struct directory *from, struct directory *to, const char *name)
{
	struct directory *first = from, *second = to;
	int at, result = -ENOENT;

	if (first->number > second->number) {
		first = to;
		second = from;
	}
	pthread_mutex_lock(&first->lock);
	pthread_mutex_lock(&second->lock);
	at = lookup(from, name);
	if (at >= 0 && to->used < FILES_PER_DIR && lookup(to, name) < 0) {
		struct inode *inode = from->entries[at].inode;
		remove_entry(from, at);
		add_entry(to, name, inode);
		result = 0;
	}
	pthread_mutex_unlock(&second->lock);
	pthread_mutex_unlock(&first->lock);
	return result;
}

static int link_file(struct directory *low, struct directory *high, const char *name, const char *other)
{
	int at;

	assert(low->number < high->number);
	pthread_mutex_lock(&low->lock);
	pthread_mutex_lock(&high->lock);
	at = lookup(low, name);
	if (at < 0 || high->used == FILES_PER_DIR || lookup(high, other) >= 0) {
		pthread_mutex_unlock(&high->lock);
		pthread_mutex_unlock(&low->lock);
		return -ENOENT;
	}
	struct inode *inode = low->entries[at].inode;
	inode->links++;
	add_entry(high, other, inode);
	pthread_mutex_unlock(&high->lock);
	pthread_mutex_unlock(&low->lock);
	return 0;
}

/* A link may be in any other directory, so all of them are locked while the links are counted. */
static int unlink_file(struct directory *dir, const char *name)
{
	struct inode *inode = NULL;
	int at, left = 0;

	for (int i = 0; i < DIRECTORIES; i++)
		pthread_mutex_lock(&directories[i].lock);
	at = lookup(dir, name);
	if (at >= 0) {
		inode = dir->entries[at].inode;
		remove_entry(dir, at);
		left = --inode->links;
		if (left == 0)
			account(-1, -inode->size);
	}
	for (int i = DIRECTORIES - 1; i >= 0; i--)
		pthread_mutex_unlock(&directories[i].lock);
	if (inode == NULL)
		return -ENOENT;
	if (left == 0)
		free(inode);
	return 0;
}

static int total_size(struct directory *low, struct directory *high)
{
	int sum = 0;

	pthread_mutex_lock(&low->lock);
	pthread_mutex_lock(&high->lock);
	for (int i = 0; i < low->used; i++)
		sum += low->entries[i].inode->size;
	for (int i = 0; i < high->used; i++)
		sum += high->entries[i].inode->size;
	pthread_mutex_unlock(&high->lock);
	pthread_mutex_unlock(&low->lock);
	return sum;
}

static void *editor(void *unused)
{
	(void)unused;
	assert(create(&directories[0], "draft", 10) == 0);
	assert(move_file(&directories[0], &directories[1], "draft") == 0);
	assert(move_file(&directories[1], &directories[0], "draft") == 0);
	check_log();
	assert(unlink_file(&directories[0], "draft") == 0);
	return NULL;
}

static void *archiver(void *unused)
{
	int size;

	(void)unused;
	assert(create(&directories[1], "copy", 7) == 0);
	assert(link_file(&directories[0], &directories[1], "readme", "me") == 0);
	size = total_size(&directories[0], &directories[1]);
	assert(size == 17 || size == 27 || size == 13 || size == 23);
	assert(unlink_file(&directories[1], "me") == 0);
	assert(move_file(&directories[1], &directories[2], "copy") == 0);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < DIRECTORIES; i++) {
		pthread_mutex_init(&directories[i].lock, NULL);
		directories[i].number = i + 1;
	}
	assert(create(&directories[0], "readme", 5) == 0);
	pthread_create(&threads[0], NULL, editor, NULL);
	pthread_create(&threads[1], NULL, archiver, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);

	check_log();
	assert(super.inodes == 2 && super.bytes == 12);
	assert(super.next_inode == 103);
	assert(change_log.records == 4);
	assert(directories[0].used == 1 && directories[0].changes == 5);
	assert(directories[1].used == 0 && directories[1].changes == 6);
	assert(directories[2].used == 1 && directories[2].changes == 1);
	for (int i = 0; i < DIRECTORIES; i++) {
		for (int at = 0; at < directories[i].used; at++) {
			assert(directories[i].entries[at].inode->links == 1);
			free(directories[i].entries[at].inode);
		}
	}
	return 0;
}
