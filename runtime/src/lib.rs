//! What runs inside the user's program.
#![cfg_attr(not(test), no_std)]
