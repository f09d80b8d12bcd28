// A line of text on a page: where the part that is shown begins and how long it is.
//
// What is wrong: a change of the text sets the offset and the length one after the other, and layout
// reads both in between: the part ends behind the text.
//
// After a bug of Mozilla's text frames.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: offset = TEXT - 3;
// expect cause 2: length = 3;
// expect interference: int from = offset;
// expect interference: int count = length;

#include <assert.h>
#include <pthread.h>

enum { TEXT = 12 };

static const char text[TEXT + 1] = "some content";
static int offset;
static int length = TEXT;
static int drawn;
static int end;

static void *reflow(void *arg)
{
    int from = offset;
    int count = length;

    end = from + count;
    for (int i = from; i < end && i < TEXT; i++)
        drawn += text[i] != ' ';
    return arg;
}

static void *change(void *arg)
{
    offset = TEXT - 3;
    length = 3;
    return arg;
}

int main(void)
{
    pthread_t layout, editor;

    pthread_create(&layout, NULL, reflow, NULL);
    pthread_create(&editor, NULL, change, NULL);
    pthread_join(layout, NULL);
    pthread_join(editor, NULL);
    assert(end <= TEXT);
    return drawn > TEXT;
}
