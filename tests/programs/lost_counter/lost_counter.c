// Two threads count the words of their half of a text into one counter.
//
// What is wrong: `words++` is a read and a write. When both threads read the same number, one word
// is not counted.
//
// expect kind: atomicity-violation
// expect cause: words++;
// expect interference: words++;

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static const char *const halves[2] = {"the quick brown fox", "jumps over the dog"};
static int words;

static void *count_words(void *arg)
{
    const char *text = arg;
    char before = ' ';
    for (; *text != '\0'; text++) {
        if (before == ' ' && *text != ' ')
            words++;
        before = *text;
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, count_words, (void *)halves[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    printf("%d words\n", words);
    assert(words == 8);
    return 0;
}
