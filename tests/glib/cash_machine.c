// An account behind a GMutex, from which a cash machine takes money while the salary arrives.
//
// What is wrong: withdraw() reads the balance in one critical section and writes it in another one. What is paid in
// between is lost.
//
// expect kind: atomicity-violation
// expect cause 1: long available = account.balance;
// expect cause 2: account.balance = available - amount;
// expect interference: account.balance += amount;

#include <assert.h>
#include <glib.h>

static struct {
    GMutex lock;
    long balance;
} account;

static void deposit(long amount)
{
    g_mutex_lock(&account.lock);
    account.balance += amount;
    g_mutex_unlock(&account.lock);
}

static gboolean withdraw(long amount)
{
    g_mutex_lock(&account.lock);
    long available = account.balance;
    g_mutex_unlock(&account.lock);

    if (available < amount)
        return FALSE;

    g_mutex_lock(&account.lock);
    account.balance = available - amount;
    g_mutex_unlock(&account.lock);
    return TRUE;
}

static gpointer payroll(gpointer unused)
{
    (void)unused;
    deposit(200);
    return NULL;
}

static gpointer cash_machine(gpointer unused)
{
    (void)unused;
    withdraw(50);
    return NULL;
}

int main(void)
{
    g_mutex_init(&account.lock);
    account.balance = 300;
    GThread *first = g_thread_new("payroll", payroll, NULL);
    GThread *second = g_thread_new("cash machine", cash_machine, NULL);
    g_thread_join(first);
    g_thread_join(second);
    assert(account.balance == 450);
    g_mutex_clear(&account.lock);
    return 0;
}
