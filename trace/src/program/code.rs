//! Functions, blocks and instructions.

use super::{
    data::ConstantId,
    debug::{PlaceId, Variable},
    types::TypeId,
};
use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
pub(super) use id;

id! {
    /// A row of [`Unit::functions`](super::Unit::functions).
    FunctionId
}
id! {
    /// A row of [`Function::blocks`].
    BlockId
}
id! {
    /// A value of a function: parameters come first, then results in the order of the text.
    ValueId
}
id! {
    /// The number of an instruction in its unit, from 1, in the order of the text; 0 is "not known".
    PointNumber
}

/// A function.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Function {
    /// The linker's name.
    pub name: String,
    /// The source's name, demangled and without parameters; the linker's where the debug info has none.
    pub display: String,
    /// Other units do not see it.
    pub is_local: bool,
    /// Types of the parameters: values 0 and on.
    pub parameters: Vec<TypeId>,
    /// Size in bytes of what is copied for the call (`byval`), for each parameter; 0 for the others.
    pub by_value: Vec<u64>,
    /// `true` if it accepts more arguments than it has parameters.
    pub is_variadic: bool,
    /// Type of the result.
    pub result: TypeId,
    /// Number of values.
    pub values: u32,
    /// Blocks, the entry first; none when it is only declared.
    pub blocks: Vec<Block>,
    /// Instructions of all blocks in order.
    pub instructions: Vec<Instruction>,
    /// The point of the first of them; of one that is only declared: that of the next function.
    pub first_point: PointNumber,
    /// Place of the definition.
    pub place: PlaceId,
    /// Its variables and parameters as the source has them.
    pub variables: Vec<Variable>,
}

impl Function {
    /// The instructions of a block; none for a block that is not there.
    pub fn block(&self, id: BlockId) -> &[Instruction] {
        let block = self.blocks.get(id.index());
        let range = block.map_or(0..0, |block| block.from as usize..block.to as usize);
        self.instructions.get(range).unwrap_or(&[])
    }
}

/// A block: instructions that run one after the other.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Block {
    /// Its label, for people who look at the model.
    pub label: String,
    /// Its first instruction: index into [`Function::instructions`].
    pub from: u32,
    /// One past its last instruction.
    pub to: u32,
}

/// An instruction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Instruction {
    /// The operation.
    pub op: Op,
    /// The value that it makes.
    pub result: Option<ValueId>,
    /// Type of that value, `void` where there is none; of a store that of what it stores.
    pub ty: TypeId,
    /// Place in the source.
    pub place: PlaceId,
}

/// An operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Operand {
    /// A value of the function.
    Value(ValueId),
    /// A constant.
    Constant(ConstantId),
}

/// A factor of an address: operand times bytes, the operand sign-extended to 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Scaled {
    /// The index.
    pub index: Operand,
    /// Bytes of one step.
    pub bytes: i64,
}

/// A case of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SwitchCase {
    /// The value, zero-extended.
    pub bits: u128,
    /// The target block.
    pub to: BlockId,
}

/// The operation of an instruction. Operands are typed by the tables; types stand here only where nothing else
/// determines them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "the fields are those of the intermediate code's reference"
)]
pub enum Op {
    /// Memory of the frame: `count` times `size` bytes.
    Alloca {
        ty: TypeId,
        size: u64,
        count: Operand,
    },
    Load {
        address: Operand,
        is_atomic: bool,
    },
    Store {
        value: Operand,
        address: Operand,
        is_atomic: bool,
    },
    /// Address arithmetic: `base + bytes + sum(index * bytes)`. Elements that are structures are resolved.
    Address {
        base: Operand,
        bytes: i64,
        scaled: Vec<Scaled>,
    },
    Binary {
        op: BinaryOp,
        a: Operand,
        b: Operand,
    },
    /// Floating-point negation.
    Negate(Operand),
    /// `from` is the type of the operand.
    Cast {
        op: CastOp,
        of: Operand,
        from: TypeId,
    },
    /// `of` is the type of the operands.
    Compare {
        op: CompareOp,
        a: Operand,
        b: Operand,
        of: TypeId,
    },
    Select {
        condition: Operand,
        yes: Operand,
        no: Operand,
    },
    Phi(Vec<(BlockId, Operand)>),
    Freeze(Operand),
    Jump(BlockId),
    Branch {
        condition: Operand,
        yes: BlockId,
        no: BlockId,
    },
    Switch {
        value: Operand,
        cases: Vec<SwitchCase>,
        default: BlockId,
    },
    /// Jump to a label's address; one of these.
    IndirectJump {
        address: Operand,
        to: Vec<BlockId>,
    },
    Return(Option<Operand>),
    Unreachable,
    /// Continuation of unwinding.
    Resume(Operand),
    /// `invoke` when `unwind` is set: then `normal` is as well, and the call ends its block.
    Call {
        callee: Operand,
        arguments: Vec<Operand>,
        /// Size in bytes of what is copied for the call, for each argument; 0 for the others.
        by_value: Vec<u64>,
        normal: Option<BlockId>,
        unwind: Option<BlockId>,
    },
    /// Inline assembly.
    Assembly {
        text: String,
        arguments: Vec<Operand>,
    },
    /// The block in which unwinding resumes the program; `catches` are the addresses of the types of exceptions, null
    /// for all.
    LandingPad {
        is_cleanup: bool,
        catches: Vec<Operand>,
    },
    /// Part of an aggregate: which element of which element.
    Extract {
        of: Operand,
        path: Vec<u32>,
    },
    Insert {
        into: Operand,
        value: Operand,
        path: Vec<u32>,
    },
    ExtractElement {
        of: Operand,
        index: Operand,
    },
    InsertElement {
        into: Operand,
        value: Operand,
        index: Operand,
    },
    /// Elements of both operands one behind the other; `None` is any value.
    Shuffle {
        a: Operand,
        b: Operand,
        mask: Vec<Option<u32>>,
    },
    CompareExchange {
        address: Operand,
        expected: Operand,
        new: Operand,
    },
    AtomicUpdate {
        op: BinaryOp,
        address: Operand,
        value: Operand,
    },
    Fence,
    VariableArgument {
        list: Operand,
    },
    /// An instruction that was not understood, with its original text.
    Unknown(String),
}

/// Operations on two operands of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are those of the intermediate code")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
    /// The new value (only of atomic updates).
    Exchange,
    /// The value not (a and b) (only of atomic updates).
    Nand,
    Max,
    Min,
    UMax,
    UMin,
}

/// Conversions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are those of the intermediate code")]
pub enum CastOp {
    Trunc,
    ZExt,
    SExt,
    FPTrunc,
    FPExt,
    FPToUI,
    FPToSI,
    UIToFP,
    SIToFP,
    PtrToInt,
    IntToPtr,
    BitCast,
    AddrSpaceCast,
}

/// Comparisons of integers, addresses (signed and unsigned) and floating-point numbers (ordered and unordered).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are those of the intermediate code")]
pub enum CompareOp {
    Eq,
    Ne,
    Ugt,
    Uge,
    Ult,
    Ule,
    Sgt,
    Sge,
    Slt,
    Sle,
    FFalse,
    FOeq,
    FOgt,
    FOge,
    FOlt,
    FOle,
    FOne,
    FOrd,
    FUeq,
    FUgt,
    FUge,
    FUlt,
    FUle,
    FUne,
    FUno,
    FTrue,
}
