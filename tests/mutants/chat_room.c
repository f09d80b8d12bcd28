/* chat: rooms with members, a history of messages for each room, and an inbox for each user. A user's thread joins rooms,
 * says something, reads what came in, and leaves. Rooms without members are closed.
 *
 * directory.lock > room.lock > user.lock
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROOMS 3
#define MAX_MEMBERS 3
#define HISTORY 4
#define INBOX 8
#define TEXT 20
#define USERS 2

struct message {
  int from;
  int number;
  char text[TEXT];
};

struct user {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t mail;
  int id;
  struct message inbox[INBOX];
  int first, count;
  int received;
  int dropped;
  bool online;
};

struct room {
  pthread_mutex_t lock;
  char name[TEXT];
  struct user *members[MAX_MEMBERS];
  int n_members;
  struct message history[HISTORY];
  int n_messages;
  int users_of_handle;
  bool closed;
};

static struct {
  pthread_mutex_t lock;
  struct room *rooms[MAX_ROOMS];
  int opened, closed;
} directory = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct {
  pthread_mutex_t lock;
  int said;
  int delivered;
} stats = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void stats_add(int said, int delivered)
{
  pthread_mutex_lock(&stats.lock);
  stats.said += said;
  stats.delivered += delivered;
  pthread_mutex_unlock(&stats.lock);
}

static struct room *room_create(const char *name)
{
  struct room *room = calloc(1, sizeof *room);
  if (!room)
    return NULL;
  pthread_mutex_init(&room->lock, NULL);
  snprintf(room->name, sizeof room->name, "%s", name);
  return room;
}

static void room_destroy(struct room *room)
{
  assert(room->n_members == 0);
  pthread_mutex_destroy(&room->lock);
  free(room);
}

/* directory.lock is held */
static int directory_index(const char *name)
{
  for (int i = 0; i < MAX_ROOMS; i++)
    if (directory.rooms[i] && strcmp(directory.rooms[i]->name, name) == 0)
      return i;
  return -1;
}

static struct room *directory_open(const char *name)
{
  struct room *room = NULL;
  int at;

  pthread_mutex_lock(&directory.lock);
  at = directory_index(name);
  if (at < 0) {
    for (at = 0; at < MAX_ROOMS && directory.rooms[at]; at++)
      ;
    if (at < MAX_ROOMS && (room = room_create(name)) != NULL) {
      directory.rooms[at] = room;
      directory.opened++;
    }
  } else {
    room = directory.rooms[at];
  }
  if (room)
    room->users_of_handle++;
  pthread_mutex_unlock(&directory.lock);
  return room;
}

static void directory_close(struct room *room)
{
  int at;
  bool last;

  pthread_mutex_lock(&directory.lock);
  assert(room->users_of_handle > 0);
  last = --room->users_of_handle == 0;
  if (last) {
    at = directory_index(room->name);
    assert(at >= 0);
    directory.rooms[at] = NULL;
    directory.closed++;
  }
  pthread_mutex_unlock(&directory.lock);
  if (last)
    room_destroy(room);
}

/* How many are in rooms; each room is looked at for itself. */
static int directory_members(void)
{
  int members = 0;

  pthread_mutex_lock(&directory.lock);
  for (int i = 0; i < MAX_ROOMS; i++) {
    struct room *room = directory.rooms[i];
    if (!room)
      continue;
    pthread_mutex_lock(&room->lock);
    members += room->n_members;
    pthread_mutex_unlock(&room->lock);
  }
  pthread_mutex_unlock(&directory.lock);
  return members;
}

static bool user_deliver(struct user *user, const struct message *message)
{
  bool delivered = false;

  pthread_mutex_lock(&user->lock);
  if (user->online && user->count < INBOX) {
    user->inbox[(user->first + user->count) % INBOX] = *message;
    user->count++;
    delivered = true;
    pthread_cond_signal(&user->mail);
  } else {
    user->dropped++;
  }
  pthread_mutex_unlock(&user->lock);
  return delivered;
}

static bool user_read(struct user *user, struct message *message)
{
  pthread_mutex_lock(&user->lock);
  while (user->count == 0)
    pthread_cond_wait(&user->mail, &user->lock);
  *message = user->inbox[user->first];
  user->first = (user->first + 1) % INBOX;
  user->count--;
  user->received++;
  pthread_mutex_unlock(&user->lock);
  return message->number > 0;
}

static int user_offline(struct user *user)
{
  int unread;

  pthread_mutex_lock(&user->lock);
  user->online = false;
  unread = user->count;
  user->count = 0;
  pthread_mutex_unlock(&user->lock);
  return unread;
}

static bool room_join(struct room *room, struct user *user)
{
  pthread_mutex_lock(&room->lock);
  if (room->n_members == MAX_MEMBERS) {
    pthread_mutex_unlock(&room->lock);
    return false;
  }
  room->members[room->n_members] = user;
  room->n_members++;
  pthread_mutex_unlock(&room->lock);
  return true;
}

static void room_leave(struct room *room, struct user *user)
{
  pthread_mutex_lock(&room->lock);
  for (int i = 0; i < room->n_members; i++) {
    if (room->members[i] == user) {
      room->members[i] = room->members[room->n_members - 1];
      room->members[room->n_members - 1] = NULL;
      room->n_members--;
      break;
    }
  }
  pthread_mutex_unlock(&room->lock);
}

static int room_say(struct room *room, struct user *from, const char *text)
{
  struct message message = { .from = from->id };
  int delivered = 0;

  snprintf(message.text, sizeof message.text, "%s", text);
  pthread_mutex_lock(&room->lock);
  message.number = room->n_messages + 1;
  room->history[room->n_messages % HISTORY] = message;
  room->n_messages++;
  for (int i = 0; i < room->n_members; i++)
    delivered += user_deliver(room->members[i], &message);
  pthread_mutex_unlock(&room->lock);
  stats_add(1, delivered);
  return delivered;
}

static int room_history(struct room *room, struct message *to)
{
  int n;

  pthread_mutex_lock(&room->lock);
  n = room->n_messages < HISTORY ? room->n_messages : HISTORY;
  for (int i = 0; i < n; i++)
    to[i] = room->history[(room->n_messages - n + i) % HISTORY];
  pthread_mutex_unlock(&room->lock);
  return n;
}

static int leftovers;

static void *chat(void *arg)
{
  struct user *self = arg;
  struct message message, history[HISTORY];
  struct room *lobby = directory_open("lobby");
  int last = 0, own = 0, n;

  assert(lobby);
  if (!room_join(lobby, self))
    abort();
  for (int i = 0; i < 2; i++) {
    int reached = room_say(lobby, self, i ? "bye" : "hello");
    assert(reached >= 1);
  }
  while (own < 2 && user_read(self, &message)) {
    assert(message.number > last);
    last = message.number;
    if (message.from == self->id)
      own++;
    assert(strcmp(message.text, "hello") == 0 || strcmp(message.text, "bye") == 0);
  }
  n = directory_members();
  assert(n >= 1 && n <= USERS);
  n = room_history(lobby, history);
  assert(n >= 2);
  for (int i = 1; i < n; i++)
    assert(history[i].number == history[i - 1].number + 1);
  room_leave(lobby, self);
  directory_close(lobby);

  n = user_offline(self);
  pthread_mutex_lock(&stats.lock);
  leftovers += n;
  pthread_mutex_unlock(&stats.lock);
  return NULL;
}

int main(void)
{
  static struct user users[USERS];
  int received = 0, dropped = 0;

  for (int i = 0; i < USERS; i++) {
    pthread_mutex_init(&users[i].lock, NULL);
    pthread_cond_init(&users[i].mail, NULL);
    users[i].id = 100 + i;
    users[i].online = true;
    pthread_create(&users[i].thread, NULL, chat, &users[i]);
  }
  for (int i = 0; i < USERS; i++) {
    pthread_join(users[i].thread, NULL);
    received += users[i].received;
    dropped += users[i].dropped;
  }

  assert(stats.said == 2 * USERS);
  assert(stats.delivered == received + leftovers);
  assert(dropped == 0);
  assert(directory.opened == directory.closed);
  assert(directory.opened >= 1 && directory.opened <= USERS);
  for (int i = 0; i < MAX_ROOMS; i++)
    assert(directory.rooms[i] == NULL);
  return 0;
}
