/* Functions of the C library that work on data of the program, as library.c has those on memory and strings:
 * each comment says which bytes the call reads (R) and writes (W). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <iconv.h>
#include <inttypes.h>
#include <regex.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

char text[32] = "some text";
char copy[32];
char *place;
long numbers[24];
wchar_t wide[24];
static volatile long sink;
#define USE(what) (sink = (long)(what))

static void wide_characters(void) {
    wcscpy(wide, L"ab,c"); // W wide 0 20
    USE(wcslen(wide)); // R wide 0 20
    USE(wcsnlen(wide, 2)); // R wide 0 8
    wcsncpy(wide + 8, wide, 6); // R wide 0 20, W wide 32 24
    wcscat(wide + 8, wide); // R wide 32 20, R wide 0 20, W wide 48 20
    wcsncat(wide + 8, wide, 1); // R wide 32 36, R wide 0 4, W wide 64 8
    USE(wcscmp(wide, L"ax")); // R wide 0 8
    USE(wcsncmp(wide, L"abc", 2)); // R wide 0 8
    USE(wcschr(wide, L',')); // R wide 0 12
    USE(wcsrchr(wide, L'a')); // R wide 0 20
    free(wcsdup(wide)); // R wide 0 20
    wmemcpy(wide + 8, wide, 3); // R wide 0 12, W wide 32 12
    wmemmove(wide + 1, wide, 2); // R wide 0 8, W wide 4 8
    wmemset(wide + 8, L'x', 4); // W wide 32 16
    USE(wmemcmp(wide, L"zz", 2)); // R wide 0 4
    USE(mbstowcs(wide, text + 5, 8)); // R text 5 5, W wide 0 20
    USE(wcstombs(copy, wide, 8)); // R wide 0 20, W copy 0 5
    USE(swprintf(wide, 8, L"%d", 12)); // W wide 0 12
}

static int by_value(const void *a, const void *b) {
    long left = *(const long *)a, right = *(const long *)b;
    return left < right ? -1 : left > right;
}

static int by_value_with(const void *a, const void *b, void *sign) {
    return by_value(a, b) * *(int *)sign;
}

static void sorting(void) {
    numbers[0] = 3, numbers[1] = 1, numbers[2] = 2, numbers[3] = 1;
    qsort(numbers, 4, sizeof(long), by_value); // R numbers 0 32, W numbers 0 32
    int down = -1;
    qsort_r(numbers, 3, sizeof(long), by_value_with, &down); // R numbers 0 24, W numbers 0 24
    long key = 9;
    size_t count = 4;
    USE(lsearch(&key, numbers, &count, sizeof(long), by_value)); // W numbers 32 8
    USE(lfind(&key, numbers, &count, sizeof(long), by_value) != NULL);
    USE(bsearch(&key, numbers + 3, 2, sizeof(long), by_value) != NULL);
    if (numbers[0] != 2 || numbers[1] != 1 || numbers[2] != 1 || numbers[3] != 3 || !sink || count != 5)
        abort();
}

static void times(void) {
    struct tm *parts = (struct tm *)numbers;
    numbers[20] = 0; // W numbers 160 8
    USE(localtime_r((time_t *)&numbers[20], parts)); // R numbers 160 8, W numbers 0 56
    USE(gmtime_r((time_t *)&numbers[20], parts)); // R numbers 160 8, W numbers 0 56
    USE(strftime(copy, sizeof copy, "%Y", parts)); // R numbers 0 56, W copy 0 5
    USE(mktime(parts)); // R numbers 0 56, W numbers 0 56
    USE(timegm(parts)); // R numbers 0 56, W numbers 0 56
    USE(asctime_r(parts, copy)); // R numbers 0 56, W copy 0 26
    USE(ctime_r((time_t *)&numbers[20], copy)); // R numbers 160 8, W copy 0 26
    USE(localtime((time_t *)&numbers[20])); // R numbers 160 8
}

static void files(void) {
    USE(symlink("xy", "link"));
    USE(readlink("link", copy, sizeof copy)); // W copy 0 2
    USE(unlink("link"));
}

static void paths(void) {
    if (chdir("/"))
        abort();
    USE(getcwd(copy, sizeof copy)); // W copy 0 2
    char *found = realpath(copy, NULL); // R copy 0 2
    USE(found);
    free(found);
}

static void addresses(void) {
    strcpy(copy, "1.2.3.4"); // W copy 0 8
    USE(inet_pton(AF_INET, copy, numbers)); // R copy 0 8, W numbers 0 4
    USE(inet_ntop(AF_INET, numbers, copy, sizeof copy)); // R numbers 0 4, W copy 0 8
}

static void texts(void) {
    regex_t pattern;
    if (regcomp(&pattern, "te", 0))
        abort();
    USE(regexec(&pattern, text, 1, (regmatch_t *)numbers, 0)); // R text 0 10, W numbers 0 8
    regfree(&pattern);
    iconv_t conversion = iconv_open("UTF-8", "ASCII");
    char *from = text, *to = copy;
    size_t from_left = 4, to_left = sizeof copy;
    USE(iconv(conversion, &from, &from_left, &to, &to_left)); // R text 0 4, W copy 0 4
    iconv_close(conversion);
    strcpy(copy, "12"); // W copy 0 3
    USE(strtoimax(copy, &place, 10)); // R copy 0 3, W place 0 8
    USE(snprintf(copy, 32, "ab%n", (int *)&numbers[1])); // W copy 0 3, W numbers 8 4
}

static void streams(void) {
    FILE *file = fopen("data", "w+");
    if (!file)
        abort();
    fprintf(file, "%d %s\n", 12, text); // R text 0 10
    fputs(text, file); // R text 0 10
    fwrite(text, 1, 4, file); // R text 0 4
    rewind(file);
    USE(fscanf(file, "%ld %s", &numbers[0], copy)); // W numbers 0 8, W copy 0 5
    USE(fgets(copy, sizeof copy, file)); // W copy 0 7
    USE(fread(numbers, 8, 1, file)); // W numbers 0 8
    fclose(file);
    printf("%.4s\n", text); // R text 0 4
    dprintf(1, "%s\n", text); // R text 0 10
    USE(strcmp(copy, " text\n")); // R copy 0 7
    if (sink)
        abort();
}

int main(void) {
    wide_characters();
    sorting();
    times();
    streams();
    files();
    paths();
    addresses();
    texts();
    return 0;
}
