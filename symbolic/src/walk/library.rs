//! Small library functions with a known result.

use super::{
    calls::{Did, MadeCall},
    machine::PathMachine,
    value::{Scalar, Val},
};
use unsnarl_trace::ThreadId;

impl PathMachine<'_> {
    /// Models functions without relevant side effects.
    pub fn small_call(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        let number = |this: &mut Self, bits: u128| -> Val {
            Scalar::number(&mut this.exprs, bits, made.width.unwrap_or(32)).into()
        };
        match made.name {
            "abs" | "labs" | "llabs" => {
                let of = made.argument(0).ok_or("a call without arguments")?;
                Ok(Did::Value(Some(self.absolute(of).into())))
            }
            "__cxa_atexit" | "atexit" => {
                let function = made.argument(0).ok_or("a call without arguments")?;
                let argument = made.arguments.get(1).cloned().into_iter().collect();
                if let Some(thread) = self.threads.first_mut() {
                    thread.at_exit.push((function, argument));
                }
                Ok(Did::Value(Some(number(self, 0))))
            }
            "__cxa_thread_atexit" | "atexit_thread" => Ok(Did::Value(Some(number(self, 0)))),
            "__errno_location" => {
                let place = self.errno(id);
                Ok(Did::Value(Some(
                    Scalar::address(&mut self.exprs, place).into(),
                )))
            }
            _ => Ok(Did::Strange),
        }
    }

    fn errno(&mut self, id: ThreadId) -> u64 {
        let name = format!("{}:errno", self.run.meta.thread(id).name);
        match self.memory.named(&name) {
            Some(object) => object.base,
            None => self.memory.allocate(name, 4, super::memory::Fresh::Unknown),
        }
    }

    /// The absolute value.
    pub fn absolute(&mut self, of: Scalar) -> Scalar {
        use crate::expr::{Binary, Comparison};
        let width = self.exprs.width(of.expr);
        let zero = Scalar::number(&mut self.exprs, 0, width);
        let is_negative = of.compare(&mut self.exprs, Comparison::Slt, zero);
        let negated = zero.binary(&mut self.exprs, Binary::Sub, of);
        is_negative.choose(&mut self.exprs, negated, of)
    }
}
