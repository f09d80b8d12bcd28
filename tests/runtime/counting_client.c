/* Asks a counting server twice at a time, and says so when one request was lost. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static int connected(void)
{
    int port = 0, fd = socket(AF_INET, SOCK_STREAM, 0);
    FILE *file = fopen("port.txt", "r");
    if (!file || fscanf(file, "%d", &port) != 1)
        return -1;
    fclose(file);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(fd, (struct sockaddr *)&name, sizeof name) ? -1 : fd;
}

static int answer(int fd)
{
    char count;
    return read(fd, &count, 1) == 1 ? count : -1;
}

int main(void)
{
    int one = connected(), other = connected();
    if (one < 0 || other < 0 || write(one, "+", 1) != 1 || write(other, "+", 1) != 1) {
        printf("nobody is there\n");
        return 2;
    }
    answer(one);
    answer(other);
    int count = write(one, "?", 1) == 1 ? answer(one) : -1;
    printf("counted %d of 2 requests\n", count);
    return count != 2;
}
