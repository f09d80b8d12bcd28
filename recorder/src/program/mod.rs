//! From the compiler's textual intermediate representation to the program model.
//!
//! [`lines`] finds functions and instructions in the text and numbers them; both the model and what is
//! compiled ([`crate::wrapper`]) take their numbers from there, so they agree.

pub mod lines;
