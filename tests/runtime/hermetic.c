// What a program asks the world and gets another answer each time, or after the world has changed. The
// answer decides how the run goes on; the argument says what is asked.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

static int shared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static unsigned folded(const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    unsigned sum = 0;
    for (size_t i = 0; i < count; i++)
        sum = sum * 31 + byte[i];
    return sum;
}

static unsigned read_through(const char *path, int buffered)
{
    unsigned char bytes[48];
    FILE *file = fopen(path, "r");
    assert(file);
    if (!buffered)
        setvbuf(file, NULL, _IONBF, 0);
    assert(fread(bytes, 1, sizeof bytes, file) == sizeof bytes);
    int last = getc(file);
    fclose(file);
    return folded(bytes, sizeof bytes) + last;
}

static unsigned stream_of_random(void) { return read_through("/dev/urandom", 1); }
static unsigned unbuffered_random(void) { return read_through("/dev/random", 0); }

static unsigned random_calls(void)
{
    unsigned char bytes[16];
    unsigned sum = arc4random() + arc4random_uniform(1000);
    assert(getentropy(bytes, sizeof bytes) == 0);
    sum += folded(bytes, sizeof bytes);
    assert(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
    sum += folded(bytes, sizeof bytes);
    arc4random_buf(bytes, sizeof bytes);
    return sum + folded(bytes, sizeof bytes);
}

static unsigned status_of(const struct stat *status)
{
    return folded(&status->st_mtim, sizeof status->st_mtim) + folded(&status->st_ino, sizeof status->st_ino) +
           status->st_size + status->st_mode;
}

static unsigned by_path(void)
{
    struct stat status, link;
    assert(stat("thing", &status) == 0 && lstat("thing", &link) == 0);
    return status_of(&status) + status_of(&link);
}

static unsigned by_descriptor(void)
{
    struct stat status;
    int file = open("thing", O_RDONLY);
    assert(file >= 0 && fstat(file, &status) == 0);
    close(file);
    return status_of(&status);
}

static unsigned by_folder(void)
{
    struct stat status;
    struct statx extended;
    assert(fstatat(AT_FDCWD, "thing", &status, 0) == 0);
    assert(statx(AT_FDCWD, "thing", 0, STATX_ALL, &extended) == 0);
    return status_of(&status) + extended.stx_mtime.tv_nsec + extended.stx_size;
}

static unsigned existence(void) { return access("thing", R_OK) == 0 ? 7 : 21; }

static unsigned size_by_seeking(void)
{
    FILE *file = fopen("thing", "r");
    assert(file && fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    assert(fseek(file, size / 2, SEEK_SET) == 0);
    int middle = getc(file);
    int fd = fileno(file);
    off_t end = lseek(fd, 0, SEEK_END);
    fclose(file);
    return size * 5 + middle + end;
}

static unsigned own_port(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, peer, seen;
    socklen_t length = sizeof name;
    int listens = socket(AF_INET, SOCK_STREAM, 0), asks = socket(AF_INET, SOCK_STREAM, 0);
    assert(bind(listens, (struct sockaddr *)&name, length) == 0 && listen(listens, 1) == 0);
    assert(getsockname(listens, (struct sockaddr *)&name, &length) == 0 && length == sizeof name);
    assert(connect(asks, (struct sockaddr *)&name, length) == 0);
    int accepted = accept(listens, (struct sockaddr *)&peer, &length);
    assert(accepted >= 0 && length == sizeof peer);
    assert(getsockname(asks, (struct sockaddr *)&seen, &length) == 0 && seen.sin_port == peer.sin_port);
    assert(getpeername(asks, (struct sockaddr *)&seen, &length) == 0 && seen.sin_port == name.sin_port);
    assert(write(asks, "x", 1) == 1 && read(accepted, &seen, 1) == 1);
    close(accepted);
    close(asks);
    close(listens);
    return ntohs(name.sin_port) + 3 * ntohs(peer.sin_port);
}

static unsigned datagrams(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, from;
    socklen_t length = sizeof name;
    char byte;
    int takes = socket(AF_INET, SOCK_DGRAM, 0), sends = socket(AF_INET, SOCK_DGRAM, 0);
    assert(bind(takes, (struct sockaddr *)&name, length) == 0);
    assert(getsockname(takes, (struct sockaddr *)&name, &length) == 0);
    assert(sendto(sends, "x", 1, 0, (struct sockaddr *)&name, length) == 1);
    assert(recvfrom(takes, &byte, 1, 0, (struct sockaddr *)&from, &length) == 1);
    struct iovec answer = {"y", 1};
    struct msghdr message = {.msg_name = &from, .msg_namelen = length, .msg_iov = &answer, .msg_iovlen = 1};
    assert(sendmsg(takes, &message, 0) == 1 && recv(sends, &byte, 1, 0) == 1 && byte == 'y');
    close(takes);
    close(sends);
    return ntohs(from.sin_port);
}

/* Takes the processor's time, as much as the machine happens to need. */
static void work(void)
{
    static volatile unsigned sink;
    for (int i = 0; i < 30000; i++)
        sink += i;
}

static unsigned time_used(void)
{
    struct rusage used;
    struct tms spans;
    work();
    clock_t ticks = times(&spans);
    assert(getrusage(RUSAGE_SELF, &used) == 0);
    return clock() + used.ru_utime.tv_usec + used.ru_minflt + used.ru_maxrss + ticks + spans.tms_utime;
}

static unsigned machine(void)
{
    double load[1] = {0};
    getloadavg(load, 1);
    return sched_getcpu() + sysconf(_SC_AVPHYS_PAGES) + folded(load, sizeof load);
}

static const struct {
    const char *name;
    unsigned (*ask)(void);
} modes[] = {
    {"stream_of_random", stream_of_random},
    {"unbuffered_random", unbuffered_random},
    {"random_calls", random_calls},
    {"by_path", by_path},
    {"by_descriptor", by_descriptor},
    {"by_folder", by_folder},
    {"existence", existence},
    {"size_by_seeking", size_by_seeking},
    {"own_port", own_port},
    {"datagrams", datagrams},
    {"time_used", time_used},
    {"machine", machine},
};

/* So many steps as the answer says. */
static void *go(void *answer)
{
    for (unsigned i = 0; i < *(unsigned *)answer % 61; i++) {
        pthread_mutex_lock(&mutex);
        shared++;
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

int main(int words, char **word)
{
    for (size_t i = 0; words > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(word[1], modes[i].name)) {
            pthread_t threads[2];
            unsigned answer = modes[i].ask();
            for (int t = 0; t < 2; t++)
                pthread_create(&threads[t], NULL, go, &answer);
            for (int t = 0; t < 2; t++)
                pthread_join(threads[t], NULL);
            return 0;
        }
    return 2;
}
