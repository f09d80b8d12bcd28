//! Functions that wait or synchronize and have no entry here, by what a recording of a program that calls them lacks.
//!
//! `unsnarl doctor --coverage` reads this table and the names of the entries from the archive. No program gets it: the
//! linker leaves its section out. Functions that are in neither table pass through, and neither wait for another thread nor
//! order threads. Who writes an entry for a function takes it out here.

/// Puts names into the table. A name that ends in `*` stands for all functions that begin so and have no entry.
macro_rules! unmodelled {
    ($($class:literal: $($name:literal)*;)*) => {
        core::arch::global_asm!(
            ".pushsection .unsnarl_unmodelled,\"e\",@progbits",
            $($(concat!(".asciz \"", $class, " ", $name, "\""),)*)*
            ".popsection",
        );
    };
}

unmodelled! {
    // They wait in the kernel for another thread, process or message, and keep the turn.
    "keeps-turn":
        "aio_suspend" "aio_suspend64" "lio_listio" "lio_listio64"
        "mq_receive" "mq_timedreceive" "__mq_timedreceive_time64" "mq_send" "mq_timedsend"
        "msgrcv" "msgsnd" "semop" "semtimedop"
        "pthread_clockjoin_np"
        "sigpause" "__sigpause" "__xpg_sigpause"
        "__nanosleep" "__poll" "__recv" "__recvfrom_chk" "__wait" "__waitpid" "__sigsuspend" "__sigtimedwait"
        "tcdrain" "gai_suspend"
        "getaddrinfo" "getnameinfo" "gethostbyname" "gethostbyname2" "gethostbyname_r" "gethostbyname2_r"
        "gethostbyaddr" "gethostbyaddr_r"
        "GOMP_*" "__kmpc_*";
    // They take locks that are not virtual: a thread that finds one taken keeps the turn, and the order is not recorded.
    "own-lock":
        "__pthread_mutex_lock" "__pthread_mutex_trylock" "__pthread_mutex_unlock"
        "__pthread_rwlock_rdlock" "__pthread_rwlock_tryrdlock" "__pthread_rwlock_wrlock" "__pthread_rwlock_trywrlock"
        "__pthread_rwlock_unlock" "__pthread_once"
        "pthread_mutex_setprioceiling";
    // Threads that they start are not recorded.
    "own-threads":
        "aio_read" "aio_read64" "aio_write" "aio_write64" "aio_fsync" "aio_fsync64" "getaddrinfo_a" "mq_notify"
        "clone" "__clone";
    // They send signals, which arrive at a step that is not the recorder's choice.
    "own-signals":
        "pthread_sigqueue" "killpg" "tgkill";
    // What they make is shared with other processes, and the recorder's semaphores are this process's own.
    "other-processes":
        "sem_open";
}
