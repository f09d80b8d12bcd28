//! The processor's flags as what they were set by, and conditions on them as comparisons.

use super::body::LiftedBody;
use iced_x86::ConditionCode;
use unsnarl_trace::program::{BinaryOp, CastOp, CompareOp, Op, Operand};

/// The operation that set the flags.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) enum Flags {
    /// Something that is not understood.
    #[default]
    Unknown,
    /// `a - b`, of so many bits.
    Difference { a: Operand, b: Operand, width: u32 },
    /// `a + b`, with its result.
    Sum {
        a: Operand,
        b: Operand,
        result: Operand,
        width: u32,
    },
    /// A result that neither carries nor overflows.
    Result { value: Operand, width: u32 },
    /// A result of which only sign and zero are known.
    Number { value: Operand, width: u32 },
    /// A comparison of floating-point numbers.
    Floats { a: Operand, b: Operand, width: u32 },
}

impl LiftedBody<'_> {
    fn compare(&mut self, op: CompareOp, a: Operand, b: Operand, of: u32) -> Operand {
        let (ty, of) = (self.tables.integer(1), self.tables.integer(of));
        self.emit(Op::Compare { op, a, b, of }, ty)
    }

    fn compare_floats(&mut self, op: CompareOp, a: Operand, b: Operand, of: u32) -> Operand {
        let (ty, of) = (self.tables.integer(1), self.tables.float(of));
        self.emit(Op::Compare { op, a, b, of }, ty)
    }

    /// A condition on the flags as a number of one bit; `None` where it is not understood.
    pub fn condition(&mut self, flags: Flags, code: ConditionCode) -> Option<Operand> {
        match flags {
            Flags::Unknown => None,
            Flags::Difference { a, b, width } => self.of_difference(code, (a, b), width),
            Flags::Sum {
                a,
                b,
                result,
                width,
            } => self.of_sum(code, (a, b, result), width),
            Flags::Result { value, width } => self.of_result(code, value, width),
            Flags::Number { value, width } => match code {
                ConditionCode::e | ConditionCode::ne | ConditionCode::s | ConditionCode::ns => {
                    self.of_result(code, value, width)
                }
                _ => None,
            },
            Flags::Floats { a, b, width } => {
                let op = of_floats(code)?;
                Some(self.compare_floats(op, a, b, width))
            }
        }
    }

    fn of_difference(
        &mut self,
        code: ConditionCode,
        (a, b): (Operand, Operand),
        width: u32,
    ) -> Option<Operand> {
        let op = match code {
            ConditionCode::e => CompareOp::Eq,
            ConditionCode::ne => CompareOp::Ne,
            ConditionCode::b => CompareOp::Ult,
            ConditionCode::ae => CompareOp::Uge,
            ConditionCode::be => CompareOp::Ule,
            ConditionCode::a => CompareOp::Ugt,
            ConditionCode::l => CompareOp::Slt,
            ConditionCode::ge => CompareOp::Sge,
            ConditionCode::le => CompareOp::Sle,
            ConditionCode::g => CompareOp::Sgt,
            ConditionCode::s | ConditionCode::ns => {
                let value = self.binary(BinaryOp::Sub, a, b, width);
                return self.of_result(code, value, width);
            }
            ConditionCode::o | ConditionCode::no => {
                return Some(self.overflows(BinaryOp::Sub, (a, b), width, code));
            }
            _ => return None,
        };
        Some(self.compare(op, a, b, width))
    }

    /// The operation on numbers of twice the width, whose result is exact.
    fn exact(&mut self, op: BinaryOp, (a, b): (Operand, Operand), width: u32) -> Operand {
        let wide = 2 * width;
        let a = self.cast(CastOp::SExt, a, width, wide);
        let b = self.cast(CastOp::SExt, b, width, wide);
        self.binary(op, a, b, wide)
    }

    fn overflows(
        &mut self,
        op: BinaryOp,
        operands: (Operand, Operand),
        width: u32,
        code: ConditionCode,
    ) -> Operand {
        let exact = self.exact(op, operands, width);
        let low = self.resized(exact, 2 * width, width);
        let back = self.cast(CastOp::SExt, low, width, 2 * width);
        let op = match code {
            ConditionCode::o => CompareOp::Ne,
            _ => CompareOp::Eq,
        };
        self.compare(op, exact, back, 2 * width)
    }

    fn of_sum(
        &mut self,
        code: ConditionCode,
        (a, b, result): (Operand, Operand, Operand),
        width: u32,
    ) -> Option<Operand> {
        let signed = match code {
            ConditionCode::e | ConditionCode::ne | ConditionCode::s | ConditionCode::ns => {
                return self.of_result(code, result, width);
            }
            ConditionCode::b => return Some(self.compare(CompareOp::Ult, result, a, width)),
            ConditionCode::ae => return Some(self.compare(CompareOp::Uge, result, a, width)),
            ConditionCode::o | ConditionCode::no => {
                return Some(self.overflows(BinaryOp::Add, (a, b), width, code));
            }
            ConditionCode::l => CompareOp::Slt,
            ConditionCode::ge => CompareOp::Sge,
            ConditionCode::le => CompareOp::Sle,
            ConditionCode::g => CompareOp::Sgt,
            _ => return None,
        };
        let exact = self.exact(BinaryOp::Add, (a, b), width);
        let zero = self.number(0, 2 * width);
        Some(self.compare(signed, exact, zero, 2 * width))
    }

    fn of_result(&mut self, code: ConditionCode, value: Operand, width: u32) -> Option<Operand> {
        let zero = self.number(0, width);
        let op = match code {
            ConditionCode::e | ConditionCode::be => CompareOp::Eq,
            ConditionCode::ne | ConditionCode::a => CompareOp::Ne,
            ConditionCode::s | ConditionCode::l => CompareOp::Slt,
            ConditionCode::ns | ConditionCode::ge => CompareOp::Sge,
            ConditionCode::le => CompareOp::Sle,
            ConditionCode::g => CompareOp::Sgt,
            ConditionCode::b | ConditionCode::o => return Some(self.number(0, 1)),
            ConditionCode::ae | ConditionCode::no => return Some(self.number(1, 1)),
            _ => return None,
        };
        Some(self.compare(op, value, zero, width))
    }
}

/// The comparison behind `ucomisd a, b`: unordered numbers set all three flags.
fn of_floats(code: ConditionCode) -> Option<CompareOp> {
    Some(match code {
        ConditionCode::a => CompareOp::FOgt,
        ConditionCode::ae => CompareOp::FOge,
        ConditionCode::b => CompareOp::FUlt,
        ConditionCode::be => CompareOp::FUle,
        ConditionCode::e => CompareOp::FUeq,
        ConditionCode::ne => CompareOp::FOne,
        ConditionCode::p => CompareOp::FUno,
        ConditionCode::np => CompareOp::FOrd,
        _ => return None,
    })
}
