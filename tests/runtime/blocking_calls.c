// Threads that talk through pipes and sockets, with and without poll: none may keep the others waiting
// while it waits in the kernel.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGES = 3 };

static int requests[2], replies[2], bell[2];
static char inbox[16];

static void *serve(void *arg)
{
    for (int i = 0; i < MESSAGES; i++) {
        int number;
        assert(read(requests[0], &number, sizeof number) == sizeof number);
        number *= 2;
        assert(write(replies[1], &number, sizeof number) == sizeof number);
    }
    assert(send(bell[1], "done", 5, 0) == 5);
    return arg;
}

static void *listen_for_bell(void *arg)
{
    int epoll = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN, .data.fd = bell[0]}, got;
    assert(epoll_ctl(epoll, EPOLL_CTL_ADD, bell[0], &wanted) == 0);
    assert(epoll_wait(epoll, &got, 1, -1) == 1 && got.data.fd == bell[0]);
    assert(recv(bell[0], inbox, sizeof inbox, 0) == 5);
    close(epoll);
    return arg;
}

static int ask(int number)
{
    int reply = 0;
    assert(write(requests[1], &number, sizeof number) == sizeof number);
    struct pollfd wanted = {.fd = replies[0], .events = POLLIN};
    assert(poll(&wanted, 1, -1) == 1);
    assert(read(replies[0], &reply, sizeof reply) == sizeof reply);
    return reply;
}

static void nothing_comes(void)
{
    struct pollfd wanted = {.fd = replies[0], .events = POLLIN};
    assert(poll(&wanted, 1, 50) == 0);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(replies[0], &set);
    struct timeval limit = {.tv_usec = 50000};
    assert(select(replies[0] + 1, &set, NULL, NULL, &limit) == 0);
}

int main(void)
{
    pthread_t server, listener;
    assert(pipe(requests) == 0 && pipe(replies) == 0);
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, bell) == 0);
    pthread_create(&server, NULL, serve, NULL);
    pthread_create(&listener, NULL, listen_for_bell, NULL);
    for (int i = 0; i < MESSAGES; i++)
        assert(ask(i) == 2 * i);
    pthread_join(server, NULL);
    pthread_join(listener, NULL);
    assert(strcmp(inbox, "done") == 0);
    nothing_comes();
    return 0;
}
