/* Calls functions of the C library on `text`, `copy` and `numbers`. Each comment says which bytes the call
 * reads (R) and writes (W): variable, first byte, number of bytes. The run file must say the same. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

char text[32] = "some text";
char copy[32];
char *place;
long numbers[4];
static volatile long sink;
#define USE(what) (sink = (long)(what))

static void memory(void) {
    memcpy(copy, text, 10); // R text 0 10, W copy 0 10
    memmove(copy + 1, copy, 4); // R copy 0 4, W copy 1 4
    memset(copy, 'x', 8); // W copy 0 8
    USE(memcmp(text, copy, 10)); // R text 0 1, R copy 0 1
    USE(bcmp(text, text + 5, 4)); // R text 0 1, R text 5 1
    USE(memchr(text, 't', 9)); // R text 0 6
    USE(memrchr(text, 't', 9)); // R text 8 1
    USE(rawmemchr(text, 'm')); // R text 0 3
    USE(memmem(text, 9, text + 5, 2)); // R text 0 7, R text 5 2
    USE(mempcpy(copy, text, 3)); // R text 0 3, W copy 0 3
    USE(memccpy(copy, text, 'e', 9)); // R text 0 4, W copy 0 4
    bcopy(text, copy, 2); // R text 0 2, W copy 0 2
    bzero(copy, 32); // W copy 0 32
    explicit_bzero(copy, 4); // W copy 0 4
}

static void strings(void) {
    USE(strlen(text)); // R text 0 10
    USE(strnlen(text, 4)); // R text 0 4
    strcpy(copy, text); // R text 0 10, W copy 0 10
    USE(stpcpy(copy, text + 5)); // R text 5 5, W copy 0 5
    strncpy(copy, text, 12); // R text 0 10, W copy 0 12
    USE(stpncpy(copy, text, 4)); // R text 0 4, W copy 0 4
    strcat(copy, text + 7); // R copy 0 10, R text 7 3, W copy 9 3
    strncat(copy, text, 1); // R copy 0 12, R text 0 1, W copy 11 2
    USE(strcmp(text, copy)); // R text 0 10, R copy 0 10
    USE(strncmp(text, copy, 3)); // R text 0 3, R copy 0 3
    USE(strcasecmp(text, "SOFT")); // R text 0 3
    USE(strncasecmp(text, "SOME", 4)); // R text 0 4
    USE(strcoll(text, "a")); // R text 0 10
    USE(strchr(text, 'm')); // R text 0 3
    USE(strchr(text, 'z')); // R text 0 10
    USE(strchrnul(text, ' ')); // R text 0 5
    USE(strrchr(text, 'e')); // R text 0 10
    USE(index(text, 'o')); // R text 0 2
    USE(strstr(text, "te")); // R text 0 7
    USE(strcasestr(text, "ME")); // R text 0 4
    USE(strspn(text, "omse")); // R text 0 5
    USE(strcspn(text, "t")); // R text 0 6
    USE(strpbrk(text, "ex")); // R text 0 4
    free(strdup(text)); // R text 0 10
    free(strndup(text, 3)); // R text 0 3
}

static void pieces(void) {
    strcpy(copy, "a,b"); // W copy 0 4
    USE(strtok_r(copy, ",", &place)); // R copy 0 2, W copy 1 1, W place 0 8
    USE(strtok_r(NULL, ",", &place)); // R place 0 8, R copy 2 2, W place 0 8
    USE(strtok(copy, ",")); // R copy 0 2
    place = copy; // W place 0 8
    USE(strsep(&place, ",")); // R place 0 8, R copy 0 2, W place 0 8
    USE(strerror_r(1, copy, 2)); // 
}

static void conversions(void) {
    strcpy(copy, "12 -7 x"); // W copy 0 8
    USE(atoi(copy)); // R copy 0 3
    USE(strtol(copy + 3, &place, 10)); // R copy 3 3, W place 0 8
    USE(strtod(copy, NULL)); // R copy 0 3
    USE(sscanf(copy, "%ld %*d %c", &numbers[1], (char *)&numbers[2])); // R copy 0 8, W numbers 8 8, W numbers 16 1
    USE(sscanf(copy, "%*[0-9 ]%hd", (short *)&numbers[3])); // R copy 0 8, W numbers 24 2
    USE(sprintf(copy, "%d-%s", 5, text)); // R text 0 10, W copy 0 12
    USE(snprintf(copy, 4, "%.*s|%g", 2, text, 1.5)); // R text 0 2, W copy 0 4
    USE(snprintf(copy, 32, "%g %g %d %d %d %d %s", 1.5, 2.5, 1, 2, 3, 4, text + 5)); // R text 5 5, W copy 0 21
    USE(snprintf(NULL, 0, "%Lf %s", 1.5L, text + 8)); // R text 8 2
    char *made = NULL;
    USE(asprintf(&made, "<%s>", text + 7)); // R text 7 3
    USE(strlen(made));
    free(made);
}

int main(void) {
    memory();
    strings();
    pieces();
    conversions();
    return 0;
}
