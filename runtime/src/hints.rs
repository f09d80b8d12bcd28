//! Words of a program for a race detector: libraries say them in their headers where code is built as for one.
//!
//! The recorder needs none of them for code that is built for recording: it sees the accesses by which its locks work. The
//! functions have to be there, or such a program could not be linked, and do nothing.

/// Defines functions that do nothing and return 0. The symbols are weak, as in [`crate::entry`].
macro_rules! nothing {
    ($($name:ident)*) => {
        core::arch::global_asm!(
            ".pushsection .text.unsnarl_hints,\"ax\",@progbits",
            ".balign 16",
            $(concat!(
                ".weak ", stringify!($name), "\n.type ", stringify!($name), ",@function\n", stringify!($name), ":",
            ),)*
            ".cfi_startproc",
            "xor eax, eax",
            "ret",
            ".cfi_endproc",
            ".popsection",
        );
    };
}

nothing! {
    __tsan_acquire __tsan_release __tsan_flush_memory
    __tsan_mutex_create __tsan_mutex_destroy
    __tsan_mutex_pre_lock __tsan_mutex_post_lock __tsan_mutex_pre_unlock __tsan_mutex_post_unlock
    __tsan_mutex_pre_signal __tsan_mutex_post_signal __tsan_mutex_pre_divert __tsan_mutex_post_divert
    __tsan_external_register_tag __tsan_external_register_header __tsan_external_assign_tag
    __tsan_external_read __tsan_external_write
    __tsan_get_current_fiber __tsan_create_fiber __tsan_destroy_fiber __tsan_switch_to_fiber __tsan_set_fiber_name
    AnnotateHappensBefore AnnotateHappensAfter WTFAnnotateHappensBefore WTFAnnotateHappensAfter
    AnnotateCondVarSignal AnnotateCondVarSignalAll AnnotateCondVarWait
    AnnotateMutexIsNotPHB AnnotateMutexIsUsedAsCondVar
    AnnotateRWLockCreate AnnotateRWLockCreateStatic AnnotateRWLockDestroy AnnotateRWLockAcquired AnnotateRWLockReleased
    AnnotatePCQCreate AnnotatePCQDestroy AnnotatePCQPut AnnotatePCQGet
    AnnotateBenignRace AnnotateBenignRaceSized WTFAnnotateBenignRaceSized AnnotateExpectRace AnnotateFlushExpectedRaces
    AnnotateIgnoreReadsBegin AnnotateIgnoreReadsEnd AnnotateIgnoreWritesBegin AnnotateIgnoreWritesEnd
    AnnotateIgnoreSyncBegin AnnotateIgnoreSyncEnd AnnotateEnableRaceDetection
    AnnotatePublishMemoryRange AnnotateUnpublishMemoryRange AnnotateNewMemory AnnotateTraceMemory
    AnnotateThreadName AnnotateFlushState AnnotateNoOp
    RunningOnValgrind ThreadSanitizerQuery
}
