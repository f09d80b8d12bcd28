//! The language server of unsnarl.
