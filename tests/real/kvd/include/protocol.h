#ifndef PROTOCOL_H
#define PROTOCOL_H

#include "store.h"

#include <stddef.h>

/* Longest line, with its end. */
#define LINE_MAX_BYTES 256

/* Carries out one line (without its end) and writes the reply with its end:
 *
 *   get KEY         VALUE text | NONE
 *   set KEY text    OK
 *   add KEY number  VALUE sum
 *   del KEY         OK | NONE
 *   count           VALUE number
 *
 * and ERROR reason for everything else. Changes the line. Returns the length of the reply. */
size_t protocol_execute(struct store *store, char *line, char *reply, size_t capacity);

#endif
