//! The compiler's intrinsics (`llvm.*`).

use super::{
    calls::{Did, MadeCall},
    floats,
    machine::PathMachine,
    memory::Fresh,
    thread::AccessChunk,
    value::{Scalar, Val},
};
use crate::{
    expr::{Binary, Comparison, Unary},
    fold,
};
use unsnarl_trace::ThreadId;

impl PathMachine<'_> {
    pub fn intrinsic(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        let name = made.name.strip_prefix("llvm.").unwrap_or(made.name);
        let nothing = [
            "lifetime",
            "dbg",
            "donothing",
            "prefetch",
            "assume",
            "invariant",
            "experimental.noalias",
            "stackrestore",
            "va_end",
            "pseudoprobe",
            "var.annotation",
            "trap",
            "debugtrap",
        ];
        if nothing.iter().any(|known| name.starts_with(known)) {
            return Ok(Did::Value(None));
        }
        for (prefix, plain) in [
            ("memcpy", "memcpy"),
            ("memmove", "memmove"),
            ("memset", "memset"),
        ] {
            if name.starts_with(prefix) {
                return self.memory_call(
                    id,
                    &MadeCall {
                        name: plain,
                        ..*made
                    },
                );
            }
        }
        if name.starts_with("va_start") {
            return self.variable_arguments(id, made);
        }
        if name.starts_with("va_copy") {
            return self.copied_arguments(id, made);
        }
        self.computed(id, made, name)
            .map(|value| Did::Value(Some(value)))
    }

    fn computed(&mut self, id: ThreadId, made: &MadeCall, name: &str) -> Result<Val, String> {
        let width = made.width.unwrap_or(64);
        let first = made.argument(0);
        let second = made.argument(1);
        let number = |this: &mut Self, bits: u128| -> Val {
            Scalar::number(&mut this.exprs, bits, width).into()
        };
        let kind = name.split('.').next().unwrap_or(name);
        if let Some(rest) = name.split_once(".with.overflow").map(|(op, _)| op) {
            let (a, b) = first.zip(second).ok_or("a call without arguments")?;
            return self.with_overflow(rest, a, b);
        }
        match kind {
            "returnaddress"
            | "frameaddress"
            | "addressofreturnaddress"
            | "stacksave"
            | "thread" => Ok(number(self, 1 << 32)),
            "expect" | "launder" | "strip" | "annotation" | "ptr" | "ssa" => made
                .arguments
                .first()
                .cloned()
                .ok_or_else(|| "a call without arguments".into()),
            "is" => Ok(number(self, 0)),
            "objectsize" => Ok(number(self, u128::MAX)),
            "threadlocal" => {
                let of = first
                    .and_then(|of| of.bits)
                    .ok_or("a call without arguments")?;
                let own = self.thread_local(id, of as u64);
                Ok(Scalar::address(&mut self.exprs, own).into())
            }
            "eh" => {
                let class = first.and_then(|class| class.bits).unwrap_or(0);
                Ok(number(self, type_number(class as u64)))
            }
            "abs" => Ok(self
                .absolute(first.ok_or("a call without arguments")?)
                .into()),
            "smax" | "smin" | "umax" | "umin" => {
                let (a, b) = first.zip(second).ok_or("a call without arguments")?;
                let op = if kind.starts_with('s') {
                    Comparison::Slt
                } else {
                    Comparison::Ult
                };
                let less = a.compare(&mut self.exprs, op, b);
                let (yes, no) = if kind.ends_with("max") {
                    (b, a)
                } else {
                    (a, b)
                };
                Ok(less.choose(&mut self.exprs, yes, no).into())
            }
            "bswap" => {
                let of = first.ok_or("a call without arguments")?;
                let bytes = self.exprs.width(of.expr) / 8;
                let mut whole = of.bytes(&mut self.exprs, 0, 1);
                for byte in 1..bytes {
                    let next = of.bytes(&mut self.exprs, byte, 1);
                    whole = whole.above(&mut self.exprs, next);
                }
                Ok(whole.into())
            }
            "fshl" | "fshr" => {
                let third = made.argument(2).ok_or("a call without arguments")?;
                let (a, b) = first.zip(second).ok_or("a call without arguments")?;
                let by = self
                    .fixed(id, third, || "how far bits are rotated".into())
                    .ok_or("a number is not known")?;
                self.funnel(kind, a, b, by)
            }
            "ctpop" | "ctlz" | "cttz" | "bitreverse" => {
                let of = first.ok_or("a call without arguments")?;
                let bits = self
                    .fixed(id, of, || "a number whose bits are counted".into())
                    .ok_or("a number is not known")?;
                Ok(number(self, counted(kind, bits, width)))
            }
            _ => self.float_function(id, made, kind),
        }
    }

    fn with_overflow(&mut self, op: &str, a: Scalar, b: Scalar) -> Result<Val, String> {
        let width = self.exprs.width(a.expr);
        let (is_signed, op) = match op {
            "sadd" => (true, Binary::Add),
            "uadd" => (false, Binary::Add),
            "ssub" => (true, Binary::Sub),
            "usub" => (false, Binary::Sub),
            "smul" => (true, Binary::Mul),
            "umul" => (false, Binary::Mul),
            _ => return Err("arithmetic with overflow of an unknown kind".into()),
        };
        let wide = width.saturating_mul(2).min(128);
        let widen = if is_signed { Unary::SExt } else { Unary::ZExt };
        let exprs = &mut self.exprs;
        let result = a.binary(exprs, op, b);
        let (a, b) = (a.unary(exprs, widen, wide), b.unary(exprs, widen, wide));
        let exact = a.binary(exprs, op, b);
        let back = result.unary(exprs, widen, wide);
        let overflows = exact.compare(exprs, Comparison::Eq, back).not(exprs);
        Ok(Val::list(vec![result.into(), overflows.into()]))
    }

    fn funnel(&mut self, kind: &str, a: Scalar, b: Scalar, by: u128) -> Result<Val, String> {
        let width = self.exprs.width(a.expr);
        let by = (by % u128::from(width.max(1))) as u8;
        if by == 0 {
            return Ok(if kind == "fshl" { a } else { b }.into());
        }
        let left = if kind == "fshl" { by } else { width - by };
        let exprs = &mut self.exprs;
        let high = Scalar::number(exprs, left.into(), width);
        let low = Scalar::number(exprs, (width - left).into(), width);
        let (high, low) = (
            a.binary(exprs, Binary::Shl, high),
            b.binary(exprs, Binary::LShr, low),
        );
        Ok(high.binary(exprs, Binary::Or, low).into())
    }

    fn float_function(&mut self, id: ThreadId, made: &MadeCall, kind: &str) -> Result<Val, String> {
        let Some(width) = made.width else {
            return self.each_element(id, made, kind);
        };
        let known = [
            "fabs",
            "sqrt",
            "floor",
            "ceil",
            "trunc",
            "rint",
            "nearbyint",
            "round",
            "copysign",
            "fmuladd",
            "fma",
            "minnum",
            "maxnum",
            "exp",
            "log",
            "pow",
            "sin",
            "cos",
        ];
        if !known.contains(&kind) {
            return Err(format!("llvm.{kind} is not known"));
        }
        let mut numbers = Vec::new();
        for argument in made.arguments.iter().filter_map(Val::scalar) {
            let bits = self.fixed(id, argument, || "a floating-point number".into());
            numbers.push(bits.and_then(|bits| floats::number(bits, width)));
        }
        let number = |row: usize| numbers.get(row).copied().flatten();
        let result = number(0).and_then(|a| {
            Some(match kind {
                "fabs" => a.abs(),
                "sqrt" => a.sqrt(),
                "floor" => a.floor(),
                "ceil" => a.ceil(),
                "trunc" => a.trunc(),
                "round" => a.round(),
                "rint" | "nearbyint" => a.round_ties_even(),
                "copysign" => a.copysign(number(1)?),
                "fmuladd" => a * number(1)? + number(2)?,
                "fma" => a.mul_add(number(1)?, number(2)?),
                "minnum" => a.min(number(1)?),
                "maxnum" => a.max(number(1)?),
                // Their last bits are the library's own.
                _ => return None,
            })
        });
        let bits = result.and_then(|result| floats::bits(result, width));
        Ok(match bits {
            Some(bits) => Scalar::number(&mut self.exprs, bits, width).into(),
            None => self
                .outside(id, format!("result of {kind}"), width, None)
                .into(),
        })
    }

    /// Applies an operation to each element of vectors.
    fn each_element(&mut self, id: ThreadId, made: &MadeCall, kind: &str) -> Result<Val, String> {
        let Some(Val::List(first)) = made.arguments.first() else {
            return Err(format!("llvm.{kind} is not known"));
        };
        let mut items = Vec::new();
        for row in 0..first.len() {
            let arguments: Vec<Val> = made
                .arguments
                .iter()
                .filter_map(|argument| match argument {
                    Val::List(of) => of.get(row).cloned(),
                    Val::Scalar(_) => Some(argument.clone()),
                })
                .collect();
            let width = arguments
                .first()
                .and_then(Val::scalar)
                .map(|first| self.exprs.width(first.expr));
            let one = MadeCall {
                name: made.name,
                arguments: &arguments,
                width,
            };
            items.push(self.computed(id, &one, kind)?);
        }
        Ok(Val::list(items))
    }

    /// A thread's own copy of a variable.
    fn thread_local(&mut self, id: ThreadId, of: u64) -> u64 {
        if let Some(&own) = self.thread_locals.get(&(id, of)) {
            return own;
        }
        let object = self.memory.object(of).cloned();
        let (name, size) = object.map_or(("?".into(), 8), |object| (object.name, object.size));
        let thread = self.run.meta.thread(id).name.clone();
        let own = self
            .memory
            .allocate(format!("{thread}:{name}"), size, Fresh::Zero);
        let mut offset = 0;
        while offset < size.min(1 << 20) {
            let step = (size - offset).min(8) as u8;
            if let Some(value) = self.memory.read(&mut self.exprs, of + offset, step) {
                self.memory
                    .write(&mut self.exprs, own + offset, step, value);
            }
            offset += u64::from(step);
        }
        self.thread_locals.insert((id, of), own);
        own
    }

    /// Models x86-64's variable argument list: arguments without a parameter lie in memory.
    fn variable_arguments(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        let list = made.argument(0).ok_or("a call without arguments")?;
        let at = self.address(id, list).ok_or("an address is not known")?;
        let more: Vec<Val> = self
            .frame(id)
            .map_or(Vec::new(), |frame| frame.more.clone());
        let area = self
            .memory
            .allocate("arguments".into(), 8 * more.len() as u64 + 8, Fresh::Zero);
        for (row, value) in more.iter().enumerate() {
            if let Some(value) = value.scalar() {
                let value = super::memory::stored(&mut self.exprs, value, 8);
                self.memory
                    .write(&mut self.exprs, area + 8 * row as u64, 8, value);
            }
        }
        let by = self.by(id, None);
        let parts = [(0, 4, 48u128), (4, 4, 176), (8, 8, area.into()), (16, 8, 0)];
        let chunks = parts.map(|(offset, size, bits)| AccessChunk {
            offset,
            size,
            value: Scalar::number(&mut self.exprs, bits, size * 8),
        });
        self.write((at, 24), by, &chunks);
        Ok(Did::Value(None))
    }

    fn copied_arguments(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        let (to, from) = made
            .argument(0)
            .zip(made.argument(1))
            .ok_or("a call without arguments")?;
        let (to, from) = self
            .address(id, to)
            .zip(self.address(id, from))
            .ok_or("an address is not known")?;
        let by = self.by(id, None);
        let chunks = self.read((from, 24), by, &|_, _, _, _| None);
        self.write((to, 24), by, &chunks);
        Ok(Did::Value(None))
    }
}

/// The number by which a landing pad distinguishes exception types.
pub(super) fn type_number(class: u64) -> u128 {
    u128::from(class >> 16 & 0x7fff_ffff)
}

fn counted(kind: &str, bits: u128, width: u8) -> u128 {
    let bits = bits & fold::mask(width);
    match kind {
        "ctpop" => bits.count_ones().into(),
        "ctlz" => u128::from(bits.leading_zeros()) - (128 - u128::from(width)),
        "cttz" => u128::from(bits.trailing_zeros()).min(width.into()),
        _ => bits.reverse_bits() >> (128 - u32::from(width)),
    }
}
