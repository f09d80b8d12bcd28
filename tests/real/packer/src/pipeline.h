#ifndef PIPELINE_H
#define PIPELINE_H

#include <stddef.h>
#include <stdint.h>

/* What a run is asked to do. */
struct options {
    int in;              /* descriptors */
    int out;
    size_t block_size;
    int workers;
};

/* What a run has done. */
struct totals {
    uint64_t blocks;
    uint64_t bytes_in;
    uint64_t bytes_out;
};

/* Packs `in` into `out` with several threads. Returns 0, or -1 with a message on standard error. */
int pack(const struct options *options, struct totals *totals);

/* The opposite. */
int unpack(const struct options *options, struct totals *totals);

#endif
