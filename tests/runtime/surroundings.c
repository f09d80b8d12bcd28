// What a program may do to its surroundings: descriptors, folders, limits, rights, process groups. It
// goes on with threads behind that. The argument says what it does.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 5, NOBODY = 65534, NOT_ALLOWED = 77 };

static int shared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *count(void *arg)
{
    for (int i = 0; i < STEPS; i++) {
        pthread_mutex_lock(&mutex);
        shared++;
        pthread_mutex_unlock(&mutex);
    }
    return arg;
}

static void limit(int what, rlim_t to)
{
    struct rlimit limit;
    assert(getrlimit(what, &limit) == 0);
    limit.rlim_cur = to;
    assert(setrlimit(what, &limit) == 0);
}

static void needs(int allowed)
{
    if (!allowed)
        exit(NOT_ALLOWED);
}

static void close_from(void) { closefrom(0); }
static void close_a_range(void) { assert(close_range(0, ~0U, 0) == 0); }
static void close_unshared(void) { assert(close_range(3, ~0U, CLOSE_RANGE_UNSHARE) == 0); }

static void close_one_by_one(void)
{
    for (int fd = 0; fd < 4096; fd++)
        close(fd);
}

static void put_others_over_all(void)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 64; fd++)
        if (fd != null)
            assert(dup2(null, fd) == fd);
}

static void go_elsewhere(void) { assert(chdir("/") == 0); }

static void remove_own_folder(void)
{
    assert(mkdir("gone", 0700) == 0 && chdir("gone") == 0);
    assert(rmdir("../gone") == 0);
}

static void change_root(void)
{
    assert(mkdir("root", 0700) == 0 || errno == EEXIST);
    needs(chroot("root") == 0);
    assert(chdir("/") == 0);
}

static void become_nobody(void)
{
    needs(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
}

static void become_nobody_for_good(void)
{
    needs(setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0);
    needs(setresuid(NOBODY, NOBODY, NOBODY) == 0);
}

static void forbid_dumps(void) { assert(prctl(PR_SET_DUMPABLE, 0) == 0); }
static void forbid_privileges(void) { assert(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0); }

static void filter_calls(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    forbid_privileges();
    needs(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    assert(open("/dev/null", O_RDONLY) == -1 && errno == EACCES);
}

static void few_descriptors(void) { limit(RLIMIT_NOFILE, 3); }
static void small_stack(void) { limit(RLIMIT_STACK, 64 << 10); }
static void no_locked_memory(void) { limit(RLIMIT_MEMLOCK, 0); }

static void little_memory(void)
{
    void *(*volatile get)(size_t) = malloc;
    limit(RLIMIT_DATA, 128 << 20);
    assert(!get(512 << 20) && errno == ENOMEM);
}

static void small_files(void)
{
    char bytes[200] = "";
    limit(RLIMIT_FSIZE, 100);
    signal(SIGXFSZ, SIG_IGN);
    int file = open("small", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert(write(file, bytes, sizeof bytes) == 100);
    assert(write(file, bytes, sizeof bytes) == -1 && errno == EFBIG);
    close(file);
}

static void leave_session(void)
{
    setsid();
    setpgid(0, 0);
}

static void close_output(void)
{
    fclose(stdout);
    close(2);
}

static void ignore_broken_pipes(void)
{
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    assert(pipe(ends) == 0);
    close(ends[0]);
    assert(write(ends[1], "x", 1) == -1 && errno == EPIPE);
}

static void break_pipe(void)
{
    int ends[2];
    assert(pipe(ends) == 0);
    close(ends[0]);
    write(ends[1], "x", 1);
}

static void forbid_all_files(void)
{
    umask(0777);
    int file = open("secret", O_CREAT | O_RDWR, 0666);
    assert(file >= 0 && unlink("secret") == 0);
    close(file);
}

static void clear_environment(void) { clearenv(); }

static void ask_about_itself(void)
{
    pid_t process = getpid(), thread = (pid_t)syscall(SYS_gettid);
    struct sched_param parameters;
    assert(sched_getscheduler(thread) == SCHED_OTHER);
    assert(sched_getparam(process, &parameters) == 0);
    errno = 0;
    assert(getpriority(PRIO_PROCESS, (id_t)thread) != -1 || errno == 0);
    assert(syscall(SYS_tgkill, process, thread, 0) == 0);
    assert(syscall(SYS_sched_getscheduler, thread) == SCHED_OTHER);
}

/* Libraries for parallel loops start as many threads as there are processors for them. */
static void count_processors(void)
{
    cpu_set_t set;
    assert(sched_getaffinity(getpid(), sizeof set, &set) == 0);
    int processors = CPU_COUNT(&set);
    assert(sysconf(_SC_NPROCESSORS_ONLN) == 1 || processors > 1);
    assert(pthread_getaffinity_np(pthread_self(), sizeof set, &set) == 0);
    assert(CPU_COUNT(&set) == processors);
    /* What it chooses itself is what it is told. */
    for (int i = 0; processors > 1; i++)
        if (CPU_ISSET(i, &set)) {
            CPU_CLR(i, &set);
            processors--;
        }
    assert(sched_setaffinity(0, sizeof set, &set) == 0);
    assert(sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1);
}

static void wait_by_the_clock_of_c11(void)
{
    struct timespec now, other;
    assert(timespec_get(&now, TIME_UTC) == TIME_UTC && timespec_get(&other, 0) == 0);
    clock_gettime(CLOCK_REALTIME, &other);
    assert(other.tv_sec - now.tv_sec <= 1);
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    now.tv_sec++;
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&never, &mutex, &now) != ETIMEDOUT) {
    }
    pthread_mutex_unlock(&mutex);
}

void __tsan_acquire(void *);
void __tsan_release(void *);
void __tsan_mutex_create(void *, unsigned);
void AnnotateBenignRaceSized(const char *, int, const volatile void *, long, const char *);

/* Headers of libraries do so where code is built as for a race detector. */
static void tell_a_race_detector(void)
{
    __tsan_mutex_create(&mutex, 0);
    __tsan_release(&shared);
    __tsan_acquire(&shared);
    AnnotateBenignRaceSized(__FILE__, __LINE__, &shared, sizeof shared, "counted under a lock");
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"close_from", close_from},
    {"close_a_range", close_a_range},
    {"close_unshared", close_unshared},
    {"close_one_by_one", close_one_by_one},
    {"put_others_over_all", put_others_over_all},
    {"go_elsewhere", go_elsewhere},
    {"remove_own_folder", remove_own_folder},
    {"change_root", change_root},
    {"become_nobody", become_nobody},
    {"become_nobody_for_good", become_nobody_for_good},
    {"forbid_dumps", forbid_dumps},
    {"forbid_privileges", forbid_privileges},
    {"filter_calls", filter_calls},
    {"few_descriptors", few_descriptors},
    {"small_stack", small_stack},
    {"no_locked_memory", no_locked_memory},
    {"little_memory", little_memory},
    {"small_files", small_files},
    {"leave_session", leave_session},
    {"close_output", close_output},
    {"ignore_broken_pipes", ignore_broken_pipes},
    {"break_pipe", break_pipe},
    {"forbid_all_files", forbid_all_files},
    {"clear_environment", clear_environment},
    {"ask_about_itself", ask_about_itself},
    {"count_processors", count_processors},
    {"wait_by_the_clock_of_c11", wait_by_the_clock_of_c11},
    {"tell_a_race_detector", tell_a_race_detector},
    {"nothing", NULL},
};

static void change(const char *what)
{
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(what, modes[i].name)) {
            if (modes[i].run)
                modes[i].run();
            return;
        }
    exit(2);
}

int main(int words, char **word)
{
    pthread_t before, behind;
    pthread_create(&before, NULL, count, NULL);
    change(words > 1 ? word[1] : "nothing");
    assert(pthread_create(&behind, NULL, count, NULL) == 0);
    pthread_join(before, NULL);
    pthread_join(behind, NULL);
    return shared == 2 * STEPS ? 0 : 1;
}
