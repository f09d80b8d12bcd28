/*
 * unsnarl.h: what a program can tell unsnarl about its schedules.
 *
 * `unsnarl cc` and `unsnarl c++` find this file by themselves. A copy of it may lie in a project, too: with every other
 * compiler, and in a program that is not being recorded, the functions do nothing, or what is said beside them.
 *
 * C99 and C++, with gcc or clang.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef UNSNARL_H
#define UNSNARL_H

#ifdef __cplusplus
extern "C" {
#endif

/* The runtime's part. These are null where the program is not linked with it. */
__attribute__((weak)) void unsnarl_runtime_atomic_begin(void);
__attribute__((weak)) void unsnarl_runtime_atomic_end(void);
__attribute__((weak)) unsigned unsnarl_runtime_choose(unsigned count);
__attribute__((weak)) void unsnarl_runtime_assume(int holds);
__attribute__((weak)) void unsnarl_runtime_check_begin(void);
__attribute__((weak)) void unsnarl_runtime_check_end(void);

/*
 * Begins a region in which no other thread runs, unless this one waits for something, yields or spins. Regions nest, and
 * belong to the thread that begins them. They are for models of hardware and of library code that is known to be atomic;
 * an operation in the program needs a lock.
 */
static inline void unsnarl_atomic_begin(void)
{
    if (unsnarl_runtime_atomic_begin)
        unsnarl_runtime_atomic_begin();
}

/* Ends the region that the calling thread began last. */
static inline void unsnarl_atomic_end(void)
{
    if (unsnarl_runtime_atomic_end)
        unsnarl_runtime_atomic_end();
}

/*
 * Returns a number below `count`, which is part of the schedule: random strategies draw it, the exhaustive search tries
 * them all, and a replay repeats it. Returns 0 in a program that is not being recorded.
 */
static inline unsigned unsnarl_choose(unsigned count)
{
    return unsnarl_runtime_choose ? unsnarl_runtime_choose(count) : 0;
}

/*
 * Says that only schedules count in which `holds` is not 0: other runs end here, and neither pass nor fail. Does nothing
 * in a program that is not being recorded.
 */
static inline void unsnarl_assume(int holds)
{
    if (unsnarl_runtime_assume)
        unsnarl_runtime_assume(holds);
}

/* Marks a file that calls unsnarl_check, so that the recorder knows of it before the program runs. */
#if defined(__ELF__) && defined(__x86_64__)
#define UNSNARL_MARK_CHECK() \
    __asm__ volatile(".pushsection unsnarl_checks,\"\",@progbits\n\t.byte 1\n\t.popsection")
#else
#define UNSNARL_MARK_CHECK() ((void)0)
#endif

static inline void unsnarl_check_begin_(void)
{
    UNSNARL_MARK_CHECK();
    if (unsnarl_runtime_check_begin)
        unsnarl_runtime_check_begin();
}

static inline void unsnarl_check_end_(void)
{
    if (unsnarl_runtime_check_end)
        unsnarl_runtime_check_end();
}

#ifdef __cplusplus
}

/* Ends a check also when an exception leaves the callback. */
struct unsnarl_check_scope_ {
    unsnarl_check_scope_() { unsnarl_check_begin_(); }
    ~unsnarl_check_scope_() { unsnarl_check_end_(); }
};

extern "C" {
#endif

/*
 * Calls `callback(argument)`, whose schedules are to be explored: a recording of the program chooses among threads within
 * these calls only. Everything else (the set-up, other tests) runs in the default order of threads, the same in each run. In
 * a program that is not being recorded this is a plain call.
 */
static inline void unsnarl_check(void (*callback)(void *), void *argument)
{
#ifdef __cplusplus
    unsnarl_check_scope_ scope;
    callback(argument);
#else
    unsnarl_check_begin_();
    callback(argument);
    unsnarl_check_end_();
#endif
}

#ifdef __cplusplus
}
#endif

#endif
