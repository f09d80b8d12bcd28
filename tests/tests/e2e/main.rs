//! End-to-end tests: real compilers, real programs, the command line as a user calls it.

mod bad_input;
mod branches;
mod build_systems;
mod callers;
mod debugger;
mod debugging_page;
mod determinism;
mod editor;
mod exactness;
mod filter;
mod free_mode;
mod killed;
mod library;
mod minimize;
mod names;
mod orders;
mod outside;
mod pages;
mod path_mode;
mod primitives;
mod programs;
mod proposals;
mod real_programs;
mod replays;
mod schedules;
mod unusual;
