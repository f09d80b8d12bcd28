//! Edits of C and C++ text that hold a mutex over some lines, and smaller ones for waits and joins. They are
//! derived from the syntax tree; code that it does not show is a reason to refuse.

pub mod barrier;
pub mod change;
pub mod claim;
pub mod conditions;
pub mod declare;
pub mod declared;
mod exchange;
mod expression;
mod flow;
pub mod gap;
pub mod guard;
pub mod hold;
pub mod left_value;
mod local;
pub mod lock_order;
pub mod locks;
pub mod member;
pub mod move_behind;
pub mod move_statement;
pub mod one_step;
pub mod precondition;
pub mod set_first;
pub mod signals;
pub mod source;
mod spin;
mod substitute;
#[cfg(test)]
mod tests;
pub mod unjoined;
pub mod unlock;
pub mod uses;
pub mod waits;
mod watch;
pub mod weak;
pub mod wrapped_waits;

/// Reason why an edit cannot be made, in words that continue "not offered: ".
pub type EditRefusal = String;
pub use declare::style as guard_style;
pub use declared::{DeclaredVariable, declared_type, declares_callable, is_recursive, variables};
pub use guard::every;
pub use watch::name as function_name;
