#include "config.h"

#include "checksum.h"
#include "lz.h"
#include "pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: packer [-d] [-t THREADS] [-b BLOCK] [-v] INPUT OUTPUT\n"
    "  -d  unpack\n"
    "  -t  worker threads (2)\n"
    "  -b  bytes in a block (32768), at most 65535\n"
    "  -v  say what was done\n";

static long number(const char *text, long least, long most)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text || value < least || value > most) {
        fprintf(stderr, "packer: `%s` is not a number from %ld to %ld\n", text, least, most);
        exit(2);
    }
    return value;
}

static int open_or_exit(const char *name, int flags)
{
    int descriptor = open(name, flags, 0666);

    if (descriptor < 0) {
        fprintf(stderr, "packer: %s: %s\n", name, strerror(errno));
        exit(EXIT_FAILURE);
    }
    return descriptor;
}

int main(int argc, char **argv)
{
    struct options options = { .block_size = 32768, .workers = 2 };
    struct totals totals;
    bool unpacks = false, verbose = false;
    int option, result;

    while ((option = getopt(argc, argv, "dt:b:v")) != -1) {
        switch (option) {
        case 'd':
            unpacks = true;
            break;
        case 't':
            options.workers = (int)number(optarg, 1, 64);
            break;
        case 'b':
            options.block_size = (size_t)number(optarg, 64, LZ_MAX_BLOCK);
            break;
        case 'v':
            verbose = true;
            break;
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    if (argc - optind != 2) {
        fputs(usage, stderr);
        return 2;
    }
    checksum_init();
    options.in = open_or_exit(argv[optind], O_RDONLY);
    options.out = open_or_exit(argv[optind + 1], O_WRONLY | O_CREAT | O_TRUNC);
#ifdef HAVE_POSIX_FADVISE
    posix_fadvise(options.in, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
    result = unpacks ? unpack(&options, &totals) : pack(&options, &totals);
    close(options.in);
    if (close(options.out) != 0 && result == 0) {
        fprintf(stderr, "packer: %s: %s\n", argv[optind + 1], strerror(errno));
        result = -1;
    }
    if (result == 0 && verbose)
        fprintf(stderr, "%llu blocks, %llu bytes to %llu\n", (unsigned long long)totals.blocks,
                (unsigned long long)totals.bytes_in, (unsigned long long)totals.bytes_out);
    return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
