/* What a run may share with others that are made at the same time: the first argument says what. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PORT = 45817 };

static int counter;
static const char *mode;

static int is(const char *name) { return !strcmp(mode, name); }

static void *add(void *unused) {
    int seen = counter;
    counter = seen + 1;
    return unused;
}

static int count_runs(void) {
    FILE *file = fopen("count.txt", "r+");
    int runs = 0;
    if (!file)
        file = fopen("count.txt", "w+");
    if (fscanf(file, "%d", &runs) != 1)
        runs = 0;
    rewind(file);
    fprintf(file, "%d\n", runs + 1);
    fclose(file);
    return runs;
}

static void use_port(int port, int connects) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (connects)
        connect(fd, (struct sockaddr *)&name, sizeof name);
    else if (bind(fd, (struct sockaddr *)&name, sizeof name) || listen(fd, 1))
        exit(3);
    close(fd);
}

int main(int argc, char **argv) {
    int runs = 0;
    pthread_t threads[2];
    mode = argc > 1 ? argv[1] : "plain";
    if (is("file"))
        runs = count_runs();
    if (is("port") || is("connect"))
        use_port(PORT, is("connect"));
    if (is("any-port"))
        use_port(0, 0);
    if (is("null"))
        fclose(fopen("/dev/null", "w"));
    if (is("child") && system("true"))
        return 4;
    if (is("fork")) {
        pid_t child = fork();
        if (!child)
            _exit(0);
        waitpid(child, 0, 0);
    }
    if (is("memory")) {
        close(shm_open("/unsnarl-shares", O_RDWR | O_CREAT, 0600));
        shm_unlink("/unsnarl-shares");
    }
    if (is("lock")) {
        int fd = open(argv[0], O_RDONLY);
        flock(fd, LOCK_SH);
        close(fd);
    }
    if (is("remove"))
        unlink("nothing");
    if (is("signal"))
        kill(1, SIGCONT);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    if (is("file-seldom") && counter != 2)
        runs = count_runs();
    return counter != 2 || runs % 7 == 6;
}
