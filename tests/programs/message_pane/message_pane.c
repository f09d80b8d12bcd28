// A mail window: one thread loads the account into the pane, another clears the pane when the
// user changes to another folder.
//
// What is wrong: the content of the pane and the flag that says whether an account is loaded are each
// changed under the lock, but one after the other. Clearing in between leaves a flag that does not
// fit the content.
//
// After a bug of Mozilla's mail client (clearing the message pane).
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: set_content(42);
// expect cause 1: set_content(0);
// expect cause 1: content = value;
// expect cause 2: set_loaded(true);
// expect cause 2: set_loaded(false);
// expect cause 2: account_loaded = value;
// expect interference: set_content(42);
// expect interference: set_loaded(true);
// expect interference: set_content(0);
// expect interference: set_loaded(false);
// expect interference: content = value;
// expect interference: account_loaded = value;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int content;
static bool account_loaded;

static void set_content(int value)
{
    pthread_mutex_lock(&lock);
    content = value;
    pthread_mutex_unlock(&lock);
}

static void set_loaded(bool value)
{
    pthread_mutex_lock(&lock);
    account_loaded = value;
    pthread_mutex_unlock(&lock);
}

static void *load_account(void *arg)
{
    set_content(42);
    set_loaded(true);
    return arg;
}

static void *clear_pane(void *arg)
{
    set_content(0);
    set_loaded(false);
    return arg;
}

int main(void)
{
    pthread_t loader, window;

    pthread_create(&loader, NULL, load_account, NULL);
    pthread_create(&window, NULL, clear_pane, NULL);
    pthread_join(loader, NULL);
    pthread_join(window, NULL);
    assert(account_loaded == (content != 0));
    return 0;
}
