//! Runs that are copies of one process are those of a program that is started anew each time.

use anyhow::{Context, Result, ensure};
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::Stdio,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace, build::build_of, permit};
use unsnarl_recorder::{
    launch::{Output, Starter},
    log::Limits,
    record::{Executed, Goal, Job, Recording, RunPlan, execute, record, strategy::Strategy},
    target::{self, Target},
};
use unsnarl_trace::{Chances, Criteria, Outcome};

fn job(workspace: &Workspace, command: &str, starter: &Starter) -> Job {
    let words = vec![command.into()];
    Job {
        parent: None,
        permit: permit(&workspace.path().join(command), &words, workspace.path()),
        command: words,
        directory: workspace.path().to_owned(),
        stdin: None,
        output: Output::Kept,
        timeout: Duration::from_secs(60),
        // Some programs never end.
        limits: Limits {
            events: 50_000,
            steps: 100_000,
            ..Limits::default()
        },
        criteria: Criteria::default(),
        starter: starter.clone(),
    }
}

fn recording(job: Job, runs: u64, out: &str) -> Recording {
    Recording {
        out: job.directory.join(out),
        job,
        strategy: Strategy::Portfolio,
        chances: Chances::default(),
        seed: 3,
        shard: None,
        goal: Goal::of(Some(runs), None),
        keep_passing: u64::MAX,
        filter: true,
        names_data: false,
        minimize: false,
        max_disk: u64::MAX,
    }
}

/// The run files of a campaign, by name.
fn recorded(recording: &Recording, target: &Target) -> Result<BTreeMap<String, Vec<u8>>> {
    record(recording, &target.program, &AtomicBool::new(false), |_| {})?;
    contents(&recording.out)
}

fn contents(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // The models of a build lie in a folder among the runs.
        if entry.file_type()?.is_dir() {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        files.insert(name, fs::read(entry.path())?);
    }
    Ok(files)
}

/// Both ways of starting a program give the same files; and what keeps it from being copied, if
/// something does.
fn compare(workspace: &Workspace, command: &str, runs: u64) -> Result<Option<String>> {
    let target = target::open(command.as_ref(), workspace.path())?;
    let (copied, anew) = (Starter::default(), Starter::anew());
    let one = recorded(
        &recording(job(workspace, command, &copied), runs, "copied"),
        &target,
    )?;
    let two = recorded(
        &recording(job(workspace, command, &anew), runs, "anew"),
        &target,
    )?;
    ensure!(!one.is_empty(), "{command}: nothing was recorded");
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    ensure!(
        names(&one) == names(&two),
        "{command}: {:?}\nand\n{:?}",
        names(&one),
        names(&two)
    );
    ensure!(one == two, "{command}: same names, other bytes");
    fs::remove_dir_all(workspace.path().join("copied"))?;
    fs::remove_dir_all(workspace.path().join("anew"))?;
    Ok(copied.obstacle())
}

/// A program gives the same files either way, as the compiler builds it if there is one.
fn copies_are_the_same(name: &str, compiler: TestedCompiler) -> Result<()> {
    let program = TestProgram::open(name)?;
    if compiler.command(program.is_cpp()).is_none() {
        return Ok(());
    }
    let workspace = Workspace::new()?;
    let command = program.compile(&workspace, compiler)?;
    let obstacle = compare(&workspace, &command, 12)?;
    ensure!(obstacle.is_none(), "{obstacle:?}");
    Ok(())
}

/// A third of the programs, by their names so that another program more or less changes nothing, each by one of the compilers;
/// all of them by both under [`matrix`].
#[test]
fn copies_of_a_third_of_the_programs_give_the_same_files() -> Result<()> {
    let is_one = |name: &String| name.bytes().map(u32::from).sum::<u32>().is_multiple_of(3);
    for name in TestProgram::names()?.into_iter().filter(is_one) {
        let (compiler, _) = build_of(&name);
        copies_are_the_same(&name, compiler).with_context(|| format!("{name} {compiler:?}"))?;
    }
    Ok(())
}

mod matrix {
    use super::*;

    #[test]
    fn copies_by_both_compilers_give_the_same_files() -> Result<()> {
        for name in TestProgram::names()? {
            for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
                copies_are_the_same(&name, compiler)
                    .with_context(|| format!("{name} {compiler:?}"))?;
            }
        }
        Ok(())
    }
}

/// A program that says what it sees of the world around it.
const LOOKING: &str = "#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
extern char **environ;
static void show(const char *path) {
    char text[65536];
    FILE *file = fopen(path, \"r\");
    size_t length = fread(text, 1, sizeof text - 1, file);
    for (size_t i = 0; i < length; i++)
        putchar(text[i] ? text[i] : '|');
    putchar('\\n');
    fclose(file);
}
int main(int argc, char **argv) {
    for (int i = 0; i < argc; i++)
        printf(\"argument %s\\n\", argv[i]);
    for (char **entry = environ; *entry; entry++)
        printf(\"environment %s\\n\", *entry);
    char folder[4096];
    printf(\"folder %s\\n\", getcwd(folder, sizeof folder));
    pid_t self = getpid();
    printf(\"leader %d, first thread %d, parent %d\\n\", getpgrp() == self,
           syscall(SYS_gettid) == self, getppid() == atoi(getenv(\"PARENT\")));
    printf(\"session %d\\n\", getsid(0));
    DIR *numbers = opendir(\"/proc/self/fd\");
    for (struct dirent *entry; (entry = readdir(numbers));) {
        char target[4096] = \"\";
        int number = atoi(entry->d_name);
        if (entry->d_name[0] == '.' || number == dirfd(numbers))
            continue;
        readlinkat(dirfd(numbers), entry->d_name, target, sizeof target - 1);
        printf(\"descriptor %d %.4s %o %o\\n\", number, target, fcntl(number, F_GETFL), fcntl(number, F_GETFD));
    }
    closedir(numbers);
    int next = open(\"/dev/null\", O_RDONLY);
    printf(\"next descriptor %d\\n\", next);
    for (int kind = 0; kind < RLIM_NLIMITS; kind++) {
        struct rlimit limit;
        getrlimit(kind, &limit);
        printf(\"limit %d %ld %ld\\n\", kind, (long)limit.rlim_cur, (long)limit.rlim_max);
    }
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, 0, &blocked);
    for (int number = 1; number < 32; number++) {
        struct sigaction action;
        sigaction(number, 0, &action);
        printf(\"signal %d %d %d\\n\", number, sigismember(&blocked, number), action.sa_handler == SIG_IGN);
    }
    int death;
    prctl(PR_GET_PDEATHSIG, &death);
    printf(\"death %d, mask %o, priority %d\\n\", death, umask(0), getpriority(PRIO_PROCESS, 0));
    show(\"/proc/self/cmdline\");
    show(\"/proc/self/environ\");
    show(\"/proc/self/comm\");
    show(\"/proc/self/loginuid\");
    struct rusage children;
    getrusage(RUSAGE_CHILDREN, &children);
    printf(\"children %ld\\n\", children.ru_maxrss);
    pthread_mutexattr_t kind;
    pthread_mutex_t lock;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock, &kind);
    int first = pthread_mutex_lock(&lock);
    printf(\"own lock %d %d\\n\", first, pthread_mutex_lock(&lock));
    char byte;
    ssize_t got = read(0, &byte, 1);
    printf(\"input %zd %c\\n\", got, byte);
    return 0;
}
";

#[test]
fn a_copy_sees_what_a_new_process_sees() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("looking.c", LOOKING)?;
    let input = workspace.write("input", "xyz")?;
    let words = ["cc", "-g", "looking.c", "-o", "looking", "-pthread"];
    workspace.unsnarl(&words)?.exits(0)?;
    let target = target::open("./looking".as_ref(), workspace.path())?;
    let parent = format!("PARENT={}", std::process::id());
    let see = |starter: &Starter| -> Result<Vec<String>> {
        let mut job = job(&workspace, "./looking", starter);
        job.command = vec!["another name".into(), "with".into(), "words".into()];
        let program = workspace.path().join("./looking");
        job.permit = permit(&program, &job.command, workspace.path());
        job.stdin = Some(input.clone());
        // The environment is long, and every byte of it is printed.
        job.limits.events = 1 << 20;
        let stop = AtomicBool::new(false);
        let mut seen = Vec::new();
        for _ in 0..3 {
            let Executed { run, finished, .. } =
                execute(&job, &target.program, &RunPlan::default(), &stop)?;
            ensure!(
                run.meta.outcome == Outcome::Passed,
                "{}",
                finished.stderr.text()
            );
            seen.push(finished.stdout.text());
        }
        Ok(seen)
    };
    // SAFETY: the other threads of this process ask for no variable of this name.
    unsafe { std::env::set_var("PARENT", parent.trim_start_matches("PARENT=")) };
    let copied = Starter::default();
    let (ones, others) = (see(&copied)?, see(&Starter::anew())?);
    ensure!(copied.obstacle().is_none(), "{:?}", copied.obstacle());
    let known = |line: &&str| !line.contains("UNSNARL_LOG_FD=");
    for (one, other) in ones.iter().zip(&others) {
        let lines = |text: &str| {
            text.lines()
                .filter(known)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let (one, other) = (lines(one), lines(other));
        let differs = one.iter().zip(&other).find(|(one, other)| one != other);
        ensure!(differs.is_none() && one.len() == other.len(), "{differs:?}");
        let all = one.join("\n");
        for text in [
            "leader 1, first thread 1, parent 1",
            "own lock 0 35",
            "input 1 x",
            "death 9",
        ] {
            ensure!(all.contains(text), "no `{text}` in {all}");
        }
    }
    Ok(())
}

/// A library that starts a thread, opens a file, counts and prints, all before `main`.
const LIBRARY: &str = "#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
int library_count;
int library_file;
char library_byte;
static void *count(void *unused) { library_count++; return unused; }
__attribute__((constructor)) static void begin(void) {
    pthread_t thread;
    pthread_create(&thread, 0, count, 0);
    pthread_join(thread, 0);
    library_file = open(\"state\", O_RDONLY);
    read(library_file, &library_byte, 1);
    printf(\"the library begins\\n\");
}
";

const USER: &str = "#include <assert.h>
#include <pthread.h>
extern int library_count, library_file;
extern char library_byte;
static void *look(void *unused) {
    assert(library_count == 1 && library_byte == 'a');
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, look, 0);
    pthread_join(thread, 0);
    return 0;
}
";

#[test]
fn what_libraries_do_before_main_is_done_in_every_copy() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("library.c", LIBRARY)?;
    workspace.write("user.c", USER)?;
    workspace.write("state", "abc")?;
    let words = ["-shared", "-fPIC", "library.c", "-o", "liblibrary.so"];
    workspace.run("gcc", &words)?.exits(0)?;
    let words = [
        "cc",
        "-g",
        "user.c",
        "-o",
        "user",
        "-pthread",
        "-L.",
        "-llibrary",
    ];
    let words = [&words[..], &["-Wl,-rpath,$ORIGIN"]].concat();
    workspace.unsnarl(&words)?.exits(0)?;
    ensure!(compare(&workspace, "./user", 6)?.is_none());
    let (target, starter) = (
        target::open("./user".as_ref(), workspace.path())?,
        Starter::default(),
    );
    for _ in 0..3 {
        let job = job(&workspace, "./user", &starter);
        let stop = AtomicBool::new(false);
        let executed = execute(&job, &target.program, &RunPlan::default(), &stop)?;
        ensure!(executed.run.meta.outcome == Outcome::Passed);
        let said = executed.finished.stdout.text();
        ensure!(said == "the library begins\n", "{said}");
    }
    Ok(())
}

/// Code of the program's own that runs before everything else.
const FIRST: &str = "#include <assert.h>
#include <pthread.h>
static int begun;
static void begin(void) { begun++; }
__attribute__((section(\".preinit_array\"), used)) static void (*const entry)(void) = begin;
static void *look(void *unused) { assert(begun == 1); return unused; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, look, 0);
    pthread_join(thread, 0);
    return 0;
}
";

#[test]
fn a_program_that_cannot_be_copied_is_started_anew() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("first.c", FIRST)?;
    workspace
        .unsnarl(&["cc", "-g", "first.c", "-o", "first", "-pthread"])?
        .exits(0)?;
    let obstacle = compare(&workspace, "./first", 4)?.context("it was copied")?;
    ensure!(obstacle.contains(".preinit_array"), "{obstacle}");
    workspace
        .record(&["-n", "3"], "./first")?
        .exits(0)?
        .says(&[
            "3 runs: 3 passed",
            "started anew for each run",
            ".preinit_array",
        ])?;
    workspace.record(&["-n", "1"], "./first")?.exits(0)?;
    Ok(())
}

/// Processes of the program in this folder, and their groups.
fn processes(program: &Path) -> Result<Vec<i32>> {
    let program = program.canonicalize()?;
    let mut found = Vec::new();
    for process in fs::read_dir("/proc")? {
        let process = process?;
        // Those that end meanwhile, and other people's, have none that can be read.
        if fs::read_link(process.path().join("exe")).is_ok_and(|exe| exe == program) {
            found.extend(process.file_name().to_string_lossy().parse::<i32>());
        }
    }
    Ok(found)
}

#[test]
fn no_run_is_lost_with_the_process_that_is_copied() -> Result<()> {
    let workspace = Workspace::new()?;
    let command = TestProgram::open("bank_account")?.compile(&workspace, TestedCompiler::Gcc)?;
    let target = target::open(command.as_ref(), workspace.path())?;
    let anew = recording(job(&workspace, &command, &Starter::anew()), 30, "anew");
    let anew = recorded(&anew, &target)?;
    let recording = recording(job(&workspace, &command, &Starter::default()), 30, "copied");
    let program = workspace.path().join(&command);
    let (mut killed, mut failed) = (0, None);
    record(
        &recording,
        &target.program,
        &AtomicBool::new(false),
        |observed| {
            if observed.tally.runs % 3 != 0 {
                return;
            }
            match processes(&program) {
                Ok(left) => killed += left.iter().filter(|process| end(**process)).count(),
                Err(error) => failed = Some(error),
            }
        },
    )?;
    ensure!(failed.is_none(), "{failed:?}");
    ensure!(killed >= 8, "{killed} were killed");
    ensure!(contents(&recording.out)? == anew, "other runs");
    drop(recording);
    ensure!(processes(&program)?.is_empty(), "something is left");
    Ok(())
}

fn end(process: i32) -> bool {
    // SAFETY: a process that this test has started, between two runs: the one that is copied.
    unsafe { libc::kill(process, libc::SIGKILL) == 0 }
}

/// Ends well the first time; later it starts a process and never ends.
const HANGING: &str = "#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <pthread.h>
static volatile int stop;
static void *spin(void *unused) {
    while (!stop)
        pause();
    return unused;
}
int main(void) {
    pthread_t thread;
    if (open(\"begun\", O_CREAT | O_EXCL, 0600) >= 0)
        stop = 1;
    else if (fork() == 0)
        for (;;)
            pause();
    pthread_create(&thread, 0, spin, 0);
    if (!stop) {
        char byte;
        int ends[2];
        pipe(ends);
        read(ends[0], &byte, 1);
    }
    pthread_join(thread, 0);
    return 0;
}
";

fn hanging() -> Result<Workspace> {
    let workspace = Workspace::new()?;
    workspace.write("hanging.c", HANGING)?;
    workspace
        .unsnarl(&["cc", "-g", "hanging.c", "-o", "hanging", "-pthread"])?
        .exits(0)?;
    Ok(workspace)
}

#[test]
fn a_time_out_ends_the_copy_and_what_it_started() -> Result<()> {
    let workspace = hanging()?;
    let target = target::open("./hanging".as_ref(), workspace.path())?;
    let starter = Starter::default();
    let mut job = job(&workspace, "./hanging", &starter);
    let stop = AtomicBool::new(false);
    let first = execute(&job, &target.program, &RunPlan::default(), &stop)?;
    ensure!(first.run.meta.outcome == Outcome::Passed);
    job.timeout = Duration::from_millis(400);
    let mut servers = Vec::new();
    for _ in 0..3 {
        let executed = execute(&job, &target.program, &RunPlan::default(), &stop)?;
        // Its threads wait for signals, which only somebody outside could send.
        ensure!(
            executed.run.meta.outcome == Outcome::CutShort,
            "{:?}",
            executed.run.meta.outcome
        );
        // The child that it made is killed, but it is init that waits for it.
        let begin = Instant::now();
        let left = loop {
            let left = processes(&workspace.path().join("hanging"))?;
            if left.len() == 1 || begin.elapsed() > Duration::from_secs(20) {
                break left;
            }
        };
        servers.extend(left);
    }
    servers.dedup();
    ensure!(servers.len() == 1, "{servers:?}");
    ensure!(starter.obstacle().is_none(), "{:?}", starter.obstacle());
    Ok(())
}

#[test]
fn a_killed_recorder_leaves_neither_copies_nor_what_is_copied() -> Result<()> {
    let workspace = hanging()?;
    let program = workspace.path().join("hanging");
    let words = ["record", "-n", "3", "--timeout", "600", "--", "./hanging"];
    let mut recorder = workspace
        .unsnarl_command(&words)?
        .stderr(Stdio::null())
        .spawn()?;
    // What is copied, the copy, and its child.
    while processes(&program)?.len() < 3 {
        ensure!(recorder.try_wait()?.is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    recorder.kill()?;
    recorder.wait()?;
    // The program's own child is nobody's to end, as without a recorder.
    let begin = Instant::now();
    while processes(&program)?.len() > 1 {
        ensure!(
            begin.elapsed() < Duration::from_secs(60),
            "{:?}",
            processes(&program)?
        );
        std::thread::yield_now();
    }
    for left in processes(&program)? {
        end(left);
    }
    Ok(())
}
