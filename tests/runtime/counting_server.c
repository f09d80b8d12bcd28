/* A server that counts requests, one thread for each connection, and loses some: two threads count at a time. Its port is
 * drawn by the kernel and written to port.txt. With an argument it ends by itself upon SIGTERM, with that exit status; the
 * handler writes to a pipe that is polled with the port, so that a signal before the wait ends it, too. */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile int requests;
static pthread_barrier_t both;
static int over[2];

static void end(int signal)
{
    char byte = (char)signal;
    if (write(over[1], &byte, 1) != 1)
        _exit(8);
}

/* Counts a request when the other one has come, too: whether one is lost is up to the schedule and not to the client. */
static void count(void)
{
    pthread_barrier_wait(&both);
    int seen = requests;
    requests = seen + 1;
}

static void *serve(void *place)
{
    int fd = (int)(long)place;
    char wish;
    while (read(fd, &wish, 1) == 1) {
        if (wish == '+')
            count();
        char answer = (char)requests;
        if (write(fd, &answer, 1) != 1)
            break;
    }
    close(fd);
    return NULL;
}

static int listening(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&name, sizeof name) || listen(fd, 8))
        exit(9);
    getsockname(fd, (struct sockaddr *)&name, &length);
    FILE *file = fopen("port.txt", "w");
    fprintf(file, "%d\n", ntohs(name.sin_port));
    fclose(file);
    printf("listening\n");
    fflush(stdout);
    return fd;
}

int main(int words, char **word)
{
    struct sigaction action = {.sa_handler = end};
    if (pipe(over) || pthread_barrier_init(&both, NULL, 2))
        return 9;
    if (words > 1)
        sigaction(SIGTERM, &action, NULL);
    int door = listening();
    struct pollfd waited[] = {{.fd = over[0], .events = POLLIN}, {.fd = door, .events = POLLIN}};
    while (!(waited[0].revents & POLLIN)) {
        pthread_t thread;
        if (poll(waited, 2, -1) < 1 || !(waited[1].revents & POLLIN))
            continue;
        int fd = accept(door, NULL, NULL);
        if (fd >= 0 && pthread_create(&thread, NULL, serve, (void *)(long)fd) == 0)
            pthread_detach(thread);
    }
    return words > 1 ? atoi(word[1]) : 0;
}
