//! Fixes of programs that take their locks by functions and classes of their own: they hold when they are built.

use anyhow::{Context, Result, ensure};
use std::fs;
use unsnarl_e2e::{Program, Workspace};

const TAKE: &str = "void take_lock(pthread_mutex_t *mutex)\n{\n    pthread_mutex_lock(mutex);\n}\n";
const RELEASE: &str =
    "void release_lock(pthread_mutex_t *mutex)\n{\n    pthread_mutex_unlock(mutex);\n}\n";
const DECLARED: &str = "#include <pthread.h>\nvoid take_lock(pthread_mutex_t *mutex);\nvoid release_lock(pthread_mutex_t *mutex);\n";

/// The program with its calls of pthread_mutex_lock and unlock behind functions, which `head` declares or defines.
fn wrapped(name: &str, head: &str) -> Result<String> {
    let text = fs::read_to_string(Program::open(name)?.source)?;
    let text = text
        .replace("pthread_mutex_lock(", "take_lock(")
        .replace("pthread_mutex_unlock(", "release_lock(");
    let last = text.rfind("#include").context("there are headers")?;
    let end = text.get(last..).and_then(|rest| rest.find('\n'));
    let (before, after) = text.split_at(last + end.context("a line ends")? + 1);
    Ok(format!("{before}{head}{after}"))
}

/// The first fix keeps the lock that there is, and holds when it is built by `build`.
fn holds(workspace: &Workspace, build: &str) -> Result<()> {
    let own = build.replace("$CC ", "cc ").replace("$CXX ", "c++ ");
    let words: Vec<&str> = own.split(' ').collect();
    workspace.unsnarl(&words)?.exits(0)?;
    workspace
        .record(&["-n", "3000", "--until-failing", "3"], "./prog")?
        .exits(1)?;
    let (_, explanations) = workspace.explain()?;
    let first = explanations.first().context("nothing is explained")?;
    let fix = first.fixes.first();
    let fix = fix.with_context(|| format!("no fix: {:?}", first.not_fixed))?;
    ensure!(fix.title.starts_with("keep `"), "{}", fix.title);
    workspace
        .unsnarl(&["verify", &first.id, "--random", "50", "--build", build])?
        .exits(0)?
        .says(&[
            "holds: no failure and no deadlock in ",
            "without it schedule ",
        ])?;
    Ok(())
}

#[test]
fn a_lock_behind_a_function() -> Result<()> {
    let workspace = Workspace::new()?;
    let head = format!("static {TAKE}static {RELEASE}");
    fs::write(
        workspace.path().join("prog.c"),
        wrapped("bank_account", &head)?,
    )?;
    holds(&workspace, "$CC -g -o prog prog.c -pthread")
}

#[test]
fn a_lock_behind_a_function_of_another_file() -> Result<()> {
    let workspace = Workspace::new()?;
    let file = |name: &str| workspace.path().join(name);
    fs::write(
        file("prog.c"),
        wrapped("running_average", "#include \"locks.h\"\n")?,
    )?;
    fs::write(file("locks.h"), DECLARED)?;
    fs::write(
        file("locks.c"),
        format!("#include \"locks.h\"\n{TAKE}{RELEASE}"),
    )?;
    holds(&workspace, "$CC -g -o prog prog.c locks.c -pthread")
}

const HOLDER: &str = r#"
#include <cassert>
#include <mutex>
#include <thread>

class Holder {
public:
    explicit Holder(std::mutex &mutex) : mutex_(mutex) { mutex_.lock(); }
    ~Holder() { mutex_.unlock(); }

private:
    std::mutex &mutex_;
};

struct Account {
    std::mutex lock;
    long balance = 300;
};

static Account account;

static void deposit(long amount)
{
    Holder holder(account.lock);
    account.balance += amount;
}

static void withdraw(long amount)
{
    long available;
    {
        Holder holder(account.lock);
        available = account.balance;
    }
    if (available < amount)
        return;
    {
        Holder holder(account.lock);
        account.balance = available - amount;
    }
}

int main()
{
    std::thread payroll(deposit, 200);
    std::thread machine(withdraw, 50);
    payroll.join();
    machine.join();
    assert(account.balance == 450);
}
"#;

#[test]
fn a_lock_behind_a_class() -> Result<()> {
    let workspace = Workspace::new()?;
    fs::write(workspace.path().join("prog.cpp"), HOLDER)?;
    holds(&workspace, "$CXX -g -o prog prog.cpp -pthread")
}
