//! Protocol between the recorder and a program that serves copies: the program is started once, and makes a copy of
//! itself for each run, before any code of it or its libraries has run.
//!
//! Standard input is a socket, and the descriptor that the environment names for the log is not open. The
//! program says first whether it serves. Then each message of the recorder is one byte that comes with four
//! descriptors: standard input, standard output, standard error and the log. The copy answers with its process
//! number and goes on; an error of the kernel's is answered as a negative number. All answers are [`i32`]s.
//!
//! A message without descriptors is a filter of system calls, in the kernel's form, for all copies from then on. The
//! answer comes with the descriptor at which the kernel asks about calls that the filter names.

/// Name of a symbol in every program that can serve in this way.
pub const SYMBOL: &str = "unsnarl_serves_2";
/// The program serves.
pub const READY: i32 = 1;
/// The program does not serve: other code of it comes before the runtime.
pub const NOT_FIRST: i32 = -1;
/// The program does not serve: the C library keeps the number of a thread at a place that the runtime does not know.
pub const UNKNOWN_LIBRARY: i32 = -2;
/// Descriptors that come with a message.
pub const DESCRIPTORS: usize = 4;
/// Most bytes of a filter.
pub const MOST_FILTER: usize = 4096;
