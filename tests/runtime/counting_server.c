/* A server that counts requests, one thread for each connection, and loses some: two threads count at a time. Its port is
 * drawn by the kernel and written to port.txt. With an argument it ends by itself upon SIGTERM, with that exit status. */
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile int requests;
static volatile sig_atomic_t is_over;

static void end(int signal)
{
    is_over = signal;
}

/* Looks, works for a while, and writes. */
static void count(void)
{
    int seen = requests;
    for (volatile int work = 0; work < 2000; work++)
        ;
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
    if (words > 1)
        sigaction(SIGTERM, &action, NULL);
    int door = listening();
    while (!is_over) {
        int fd = accept(door, NULL, NULL);
        pthread_t thread;
        if (fd >= 0 && pthread_create(&thread, NULL, serve, (void *)(long)fd) == 0)
            pthread_detach(thread);
    }
    return words > 1 ? atoi(word[1]) : 0;
}
