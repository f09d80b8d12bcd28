/* A server that waits for its client to connect, and never again: it looks whether something has been sent, and does a step
 * of its own work when not. How often it looks is up to the client's pace. Its port is drawn by the kernel and written to
 * port.txt. It ends when the client has closed the connection, and not upon SIGTERM. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int looks, sum, over;

static void work(void)
{
    pthread_mutex_lock(&lock);
    looks++;
    pthread_mutex_unlock(&lock);
    usleep(5000);
}

static void *other(void *unused)
{
    int ends = 0;
    while (!ends) {
        pthread_mutex_lock(&lock);
        ends = over;
        pthread_mutex_unlock(&lock);
        usleep(7000);
    }
    return unused;
}

static int listening(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(fd, (struct sockaddr *)&name, sizeof name) || listen(fd, 8))
        return -1;
    getsockname(fd, (struct sockaddr *)&name, &length);
    FILE *file = fopen("port.txt", "w");
    fprintf(file, "%d\n", ntohs(name.sin_port));
    fclose(file);
    return fd;
}

/* With an argument the server asks poll before it reads. */
static void serve(int fd, int asks)
{
    for (;;) {
        char bytes[8];
        struct pollfd asked = {.fd = fd, .events = POLLIN};
        if (asks && poll(&asked, 1, 3) == 0) {
            work();
            continue;
        }
        ssize_t came = read(fd, bytes, sizeof bytes);
        if (came == 0)
            return;
        if (came < 0)
            work();
        for (ssize_t i = 0; i < came; i++)
            sum += bytes[i] - '0';
    }
}

int main(int words, char **word)
{
    pthread_t thread;
    int door = listening(), fd;
    (void)word;
    signal(SIGTERM, SIG_IGN);
    if (door < 0 || pthread_create(&thread, NULL, other, NULL))
        return 9;
    struct pollfd waited = {.fd = door, .events = POLLIN};
    poll(&waited, 1, -1);
    while ((fd = accept(door, NULL, NULL)) < 0)
        work();
    fcntl(fd, F_SETFL, O_NONBLOCK);
    serve(fd, words > 1);
    pthread_mutex_lock(&lock);
    over = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    printf("looked %d times, sum %d\n", looks, sum);
    return sum == 10 ? 0 : 3;
}
