// Texts that share their letters until one of them is changed. The letters are counted, and whoever lets go of
// them last frees them.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct letters {
    atomic_int refs;
    size_t length;
    char data[];
} letters;

static atomic_int alive;
static atomic_long made;

static letters *letters_new(const char *from, size_t length)
{
    letters *made_now = malloc(sizeof *made_now + length + 1);
    made_now->length = length;
    memcpy(made_now->data, from, length);
    made_now->data[length] = '\0';
    atomic_store(&made_now->refs, 1);
    atomic_fetch_add(&alive, 1);
    atomic_fetch_add(&made, 1);
    return made_now;
}

static letters *letters_share(letters *l)
{
    atomic_fetch_add(&l->refs, 1);
    return l;
}

static void letters_release(letters *l)
{
    if (atomic_fetch_sub(&l->refs, 1) == 1) {
        atomic_fetch_sub(&alive, 1);
        free(l);
    }
}

typedef struct {
    letters *body;
} text;

static text text_copy(const text *other)
{
    text copy = { letters_share(other->body) };
    return copy;
}

static void text_set(text *t, size_t at, char c)
{
    if (atomic_load(&t->body->refs) > 1) {
        letters *own = letters_new(t->body->data, t->body->length);
        letters_release(t->body);
        t->body = own;
    }
    t->body->data[at] = c;
}

static void text_drop(text *t)
{
    letters_release(t->body);
    t->body = NULL;
}

typedef struct {
    text title;
    char mark;
    int ok;
} editor;

static void *edit(void *arg)
{
    editor *e = arg;
    text draft = text_copy(&e->title);
    text_set(&draft, 0, e->mark);
    assert(draft.body->data[0] == e->mark);
    assert(e->title.body->data[0] == 'h');
    text second = text_copy(&draft);
    text_drop(&draft);
    text_set(&second, 1, e->mark);
    e->ok = second.body->data[0] == e->mark && second.body->data[1] == e->mark
        && strcmp(second.body->data + 2, "adline") == 0;
    text_drop(&second);
    text_drop(&e->title);
    return NULL;
}

int main(void)
{
    enum { EDITORS = 3 };
    pthread_t threads[EDITORS];
    editor editors[EDITORS];
    text headline = { letters_new("headline", 8) };

    for (int i = 0; i < EDITORS; i++) {
        editors[i].title = text_copy(&headline);
        editors[i].mark = (char)('A' + i);
        editors[i].ok = 0;
        pthread_create(&threads[i], NULL, edit, &editors[i]);
    }
    text_drop(&headline);
    for (int i = 0; i < EDITORS; i++)
        pthread_join(threads[i], NULL);

    for (int i = 0; i < EDITORS; i++)
        assert(editors[i].ok);
    assert(atomic_load(&alive) == 0);
    assert(atomic_load(&made) == 1 + EDITORS);
    return 0;
}
