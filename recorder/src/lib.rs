//! Compiler wrapper, launching, symbolizing and replay.
