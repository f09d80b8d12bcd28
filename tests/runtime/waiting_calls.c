// Calls that wait in the kernel, or might: each gives the turn away, none keeps the others waiting.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int link_ends[2], bell;
static int word;
static char inbox[8];

static void *futex_waiter(void *arg)
{
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0)
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return arg;
}
static void futex(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, futex_waiter, NULL);
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(thread, NULL);
    struct timespec limit = {1, 0};
    assert(syscall(SYS_futex, &word, FUTEX_WAIT, 1, &limit, NULL, 0) == -1 && errno == ETIMEDOUT);
    assert(syscall(SYS_futex, &word, FUTEX_WAIT, 7, NULL, NULL, 0) == -1 && errno == EAGAIN);
    assert(syscall(SYS_gettid) == gettid());
}
static void *vector_reader(void *arg)
{
    char a[3], b[3];
    struct iovec parts[2] = {{a, 3}, {b, 3}};
    assert(readv(link_ends[0], parts, 2) == 6);
    assert(memcmp(a, "abc", 3) == 0 && memcmp(b, "def", 3) == 0);
    uint64_t rings;
    assert(eventfd_read(bell, &rings) == 0 && rings == 5);
    return arg;
}
static void vectors(void)
{
    pthread_t thread;
    assert(pipe2(link_ends, O_CLOEXEC) == 0);
    bell = eventfd(0, 0);
    pthread_create(&thread, NULL, vector_reader, NULL);
    struct iovec parts[2] = {{"ab", 2}, {"cdef", 4}};
    assert(writev(link_ends[1], parts, 2) == 6);
    assert(eventfd_write(bell, 5) == 0);
    pthread_join(thread, NULL);
}
static void *flood_reader(void *arg)
{
    char *all = malloc(1 << 18);
    size_t got = 0;
    while (got < 1 << 18) {
        ssize_t n = read(link_ends[0], all + got, (1 << 18) - got);
        assert(n > 0);
        got += n;
    }
    free(all);
    return arg;
}
static void flood(void)
{
    pthread_t thread;
    char *all = calloc(1, 1 << 18);
    assert(pipe(link_ends) == 0);
    pthread_create(&thread, NULL, flood_reader, NULL);
    assert(write(link_ends[1], all, 1 << 18) == 1 << 18);
    pthread_join(thread, NULL);
    free(all);
}
static void *server(void *arg)
{
    int listener = *(int *)arg;
    int fd = accept(listener, NULL, NULL);
    assert(fd >= 0);
    assert(recv(fd, inbox, 6, MSG_WAITALL) == 6);
    assert(sendto(fd, "ok", 3, 0, NULL, 0) == 3);
    close(fd);
    return arg;
}
static void tcp(void)
{
    pthread_t thread;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    assert(bind(listener, (void *)&at, sizeof at) == 0 && listen(listener, 1) == 0);
    assert(getsockname(listener, (void *)&at, &length) == 0);
    pthread_create(&thread, NULL, server, &listener);
    assert(connect(fd, (void *)&at, sizeof at) == 0);
    assert(send(fd, "hel", 3, 0) == 3 && send(fd, "lo", 3, 0) == 3);
    char reply[3];
    assert(recvfrom(fd, reply, 3, 0, NULL, NULL) == 3 && strcmp(reply, "ok") == 0);
    pthread_join(thread, NULL);
    assert(strcmp(inbox, "hello") == 0);
    close(fd), close(listener);
}
static void *poller(void *arg)
{
    struct pollfd wanted = {.fd = link_ends[0], .events = POLLIN};
    struct timespec limit = {100, 0};
    assert(ppoll(&wanted, 1, &limit, NULL) >= 0);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(link_ends[0], &set);
    assert(pselect(link_ends[0] + 1, &set, NULL, NULL, NULL, NULL) == 1);
    return arg;
}
static void polls(void)
{
    pthread_t thread;
    assert(pipe(link_ends) == 0);
    pthread_create(&thread, NULL, poller, NULL);
    assert(write(link_ends[1], "x", 1) == 1);
    pthread_join(thread, NULL);
}
static FILE *lines;
static char first_line[32];
static void *line_reader(void *arg)
{
    char *line = NULL;
    size_t room = 0;
    assert(fgets(first_line, sizeof first_line, lines) && strcmp(first_line, "one two\n") == 0);
    assert(getline(&line, &room, lines) == 6 && strcmp(line, "three\n") == 0);
    assert(getc(lines) == 'e' && ungetc('E', lines) == 'E');
    char rest[4];
    assert(fread(rest, 1, 4, lines) == 4 && memcmp(rest, "End\n", 4) == 0);
    assert(getc(lines) == EOF && feof(lines));
    free(line);
    return arg;
}
static void streams(void)
{
    pthread_t thread;
    assert(pipe(link_ends) == 0);
    lines = fdopen(link_ends[0], "r");
    FILE *out = fdopen(link_ends[1], "w");
    pthread_create(&thread, NULL, line_reader, NULL);
    fputs("one ", out), fflush(out), sched_yield();
    fputs("two\nthree\nend\n", out), fclose(out);
    pthread_join(thread, NULL);
    fclose(lines);
}
static void *printer(void *arg)
{
    flockfile(stderr);
    fputs("a", stderr), sched_yield(), fputs("b", stderr);
    funlockfile(stderr);
    return arg;
}
static void stream_locks(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, printer, NULL);
    fputs("c", stderr);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
static int held;
static void *locker(void *arg)
{
    int fd = open("lock", O_RDWR | O_CREAT, 0600);
    assert(flock(fd, LOCK_EX) == 0);
    assert(!held), held = 1, sched_yield(), held = 0;
    assert(flock(fd, LOCK_UN) == 0);
    struct flock region = {.l_type = F_WRLCK};
    assert(fcntl(fd, F_SETLKW, &region) == 0);
    close(fd);
    return arg;
}
static void file_locks(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, locker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
static void *opener(void *arg)
{
    int fd = open("fifo", O_RDONLY);
    char byte;
    assert(fd >= 0 && read(fd, &byte, 1) == 1 && byte == 'f');
    close(fd);
    return arg;
}
static void fifos(void)
{
    pthread_t thread;
    unlink("fifo");
    assert(mkfifo("fifo", 0600) == 0);
    pthread_create(&thread, NULL, opener, NULL);
    int fd = open("fifo", O_WRONLY);
    assert(fd >= 0 && write(fd, "f", 1) == 1);
    pthread_join(thread, NULL);
    close(fd);
}
static void *child_maker(void *arg)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    assert(system("exit 3") == 3 << 8);
    FILE *out = popen("echo said", "r");
    char text[16];
    assert(fgets(text, 16, out) && strcmp(text, "said\n") == 0 && pclose(out) == 0);
    return arg;
}
static void children(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, child_maker, NULL);
    pthread_join(thread, NULL);
}
int main(int count, char **words)
{
    struct { const char *name; void (*run)(void); } all[] = {
        {"futex", futex}, {"vectors", vectors}, {"flood", flood}, {"tcp", tcp}, {"polls", polls}, {"streams", streams},
        {"locks", stream_locks}, {"files", file_locks}, {"fifos", fifos}, {"children", children}};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (count < 2 || strcmp(words[1], all[i].name) == 0)
            all[i].run();
    return 0;
}
