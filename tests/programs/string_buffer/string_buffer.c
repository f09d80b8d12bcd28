// A growing string that locks itself in every operation.
//
// What is wrong: buffer_append() asks the source for its length and then for its characters. Each
// call is safe alone, but when the source is cut short between the two, the length is out of date
// and characters are taken that are no longer there.
//
// After java.lang.StringBuffer.append(StringBuffer) of JDK 1.4.
//
// expect kind: atomicity-violation
// expect cause 1: size_t length = buffer->length;
// expect cause 2: assert(first + count <= buffer->length);
// expect interference: buffer->length = length;

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CAPACITY = 64 };

struct buffer {
    pthread_mutex_t lock;
    size_t length;
    char text[CAPACITY];
};

static struct buffer greeting = {PTHREAD_MUTEX_INITIALIZER, 11, "hello world"};
static struct buffer page = {PTHREAD_MUTEX_INITIALIZER, 0, ""};

static size_t buffer_length(struct buffer *buffer)
{
    pthread_mutex_lock(&buffer->lock);
    size_t length = buffer->length;
    pthread_mutex_unlock(&buffer->lock);
    return length;
}

static void buffer_truncate(struct buffer *buffer, size_t length)
{
    pthread_mutex_lock(&buffer->lock);
    buffer->length = length;
    buffer->text[length] = '\0';
    pthread_mutex_unlock(&buffer->lock);
}

static void buffer_copy(struct buffer *buffer, size_t first, size_t count, char *to)
{
    pthread_mutex_lock(&buffer->lock);
    assert(first + count <= buffer->length);
    memcpy(to, buffer->text + first, count);
    pthread_mutex_unlock(&buffer->lock);
}

static void buffer_append(struct buffer *to, struct buffer *from)
{
    char copy[CAPACITY];
    size_t count = buffer_length(from);
    buffer_copy(from, 0, count, copy);

    pthread_mutex_lock(&to->lock);
    if (to->length + count < CAPACITY) {
        memcpy(to->text + to->length, copy, count);
        to->length += count;
        to->text[to->length] = '\0';
    }
    pthread_mutex_unlock(&to->lock);
}

static void *render(void *arg)
{
    (void)arg;
    buffer_append(&page, &greeting);
    return NULL;
}

static void *shorten(void *arg)
{
    (void)arg;
    buffer_truncate(&greeting, 5);
    return NULL;
}

int main(void)
{
    pthread_t renderer, editor;

    pthread_create(&renderer, NULL, render, NULL);
    pthread_create(&editor, NULL, shorten, NULL);
    pthread_join(renderer, NULL);
    pthread_join(editor, NULL);

    printf("[%s]\n", page.text);
    assert(page.length == 5 || page.length == 11);
    return 0;
}
