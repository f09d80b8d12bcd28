#include "protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct command {
    const char *name;
    int words; /* after the name */
    int (*run)(struct store *store, char **words, char *reply, size_t capacity);
};

static int run_get(struct store *store, char **words, char *reply, size_t capacity)
{
    char *value = store_get(store, words[0]);
    int length;

    if (value == NULL)
        return snprintf(reply, capacity, "NONE\n");
    length = snprintf(reply, capacity, "VALUE %s\n", value);
    free(value);
    return length;
}

static int run_set(struct store *store, char **words, char *reply, size_t capacity)
{
    if (store_set(store, words[0], words[1]) != 0)
        return snprintf(reply, capacity, "ERROR out of memory\n");
    return snprintf(reply, capacity, "OK\n");
}

static int run_add(struct store *store, char **words, char *reply, size_t capacity)
{
    long sum;

    if (store_add(store, words[0], strtol(words[1], NULL, 10), &sum) != 0)
        return snprintf(reply, capacity, "ERROR not a number\n");
    return snprintf(reply, capacity, "VALUE %ld\n", sum);
}

static int run_del(struct store *store, char **words, char *reply, size_t capacity)
{
    return snprintf(reply, capacity, store_delete(store, words[0]) ? "OK\n" : "NONE\n");
}

static int run_count(struct store *store, char **words, char *reply, size_t capacity)
{
    (void)words;
    return snprintf(reply, capacity, "VALUE %zu\n", store_count(store));
}

static const struct command commands[] = {
    { "get", 1, run_get }, { "set", 2, run_set },     { "add", 2, run_add },
    { "del", 1, run_del }, { "count", 0, run_count },
};

/* Cuts the first word off; the last one wanted is all the rest. */
static char *next_word(char **rest, int is_last)
{
    char *word = *rest + strspn(*rest, " ");
    size_t length = is_last ? strlen(word) : strcspn(word, " ");

    if (length == 0)
        return NULL;
    *rest = word + length;
    if (**rest != '\0')
        *(*rest)++ = '\0';
    return word;
}

static int execute(struct store *store, char *line, char *reply, size_t capacity)
{
    char *rest = line, *words[2], *name = next_word(&rest, 0);

    for (size_t i = 0; name != NULL && i < sizeof commands / sizeof *commands; i++) {
        const struct command *command = &commands[i];
        if (strcmp(command->name, name) != 0)
            continue;
        for (int word = 0; word < command->words; word++) {
            words[word] = next_word(&rest, word + 1 == command->words);
            if (words[word] == NULL)
                return snprintf(reply, capacity, "ERROR %s needs %d words\n", name, command->words);
        }
        return command->run(store, words, reply, capacity);
    }
    return snprintf(reply, capacity, "ERROR unknown command\n");
}

size_t protocol_execute(struct store *store, char *line, char *reply, size_t capacity)
{
    int length = execute(store, line, reply, capacity);
    return length < 0 ? 0 : (size_t)length < capacity ? (size_t)length : capacity - 1;
}
