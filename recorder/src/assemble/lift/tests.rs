//! Random machine code is executed by the processor and by its lifted operations; both give the same.

use super::*;
use crate::assemble::image::Image;
use abi::{Returned, Word};
use iced_x86::{Code, Encoder};
use proptest::prelude::*;
use rustc_hash::FxHashMap;
use std::path::Path;
use unsnarl_trace::program::{BinaryOp, CastOp, CompareOp};

/// Address that the code is lifted at.
const START: u64 = 0x1000;
/// The registers of the code, 64 and 32 bits wide, and their lowest bytes.
const WIDE: [Register; 8] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
];

fn narrow(wide: Register, bytes: usize) -> Register {
    let number = wide.number();
    let base = match bytes {
        1 => Register::AL,
        2 => Register::AX,
        4 => Register::EAX,
        _ => Register::RAX,
    };
    // Bytes have four names more, those of second bytes.
    let all = Register::values().filter(|it| it.is_gpr() && it.size() == bytes);
    let mut same = all.filter(|it| it.full_register() == wide && it.number() == number);
    same.next().unwrap_or(base)
}

/// An instruction or a few, by numbers.
fn instructions((kind, a, b, number): (u8, usize, usize, u32)) -> Vec<Instruction> {
    let (wide, other) = (WIDE[a % 8], WIDE[b % 8]);
    let [a8, a32] = [1, 4].map(|bytes| narrow(wide, bytes));
    let [b8, b16, b32] = [1, 2, 4].map(|bytes| narrow(other, bytes));
    let two = |code, a, b| Instruction::with2(code, a, b).unwrap();
    let one = |code, a| Instruction::with1(code, a).unwrap();
    let shift = number % 40;
    let flags = [
        two(Code::Cmp_rm32_r32, a32, b32),
        two(Code::Cmp_rm64_r64, wide, other),
        two(Code::Test_rm32_r32, a32, b32),
        two(Code::Sub_rm32_r32, a32, b32),
        two(Code::Add_rm64_r64, wide, other),
        two(Code::Cmp_rm8_r8, a8, b8),
        two(Code::And_rm64_r64, wide, other),
        one(Code::Neg_rm32, a32),
    ][number as usize % 8];
    let conditions = [
        Code::Sete_rm8,
        Code::Setne_rm8,
        Code::Setb_rm8,
        Code::Setae_rm8,
        Code::Setl_rm8,
        Code::Setge_rm8,
        Code::Setle_rm8,
        Code::Setg_rm8,
        Code::Sets_rm8,
        Code::Setns_rm8,
        Code::Seto_rm8,
        Code::Setno_rm8,
    ];
    let condition = conditions[(number >> 8) as usize % conditions.len()];
    match kind % 30 {
        0 => vec![two(Code::Add_rm32_r32, a32, b32)],
        1 => vec![two(Code::Add_rm64_r64, wide, other)],
        2 => vec![two(Code::Sub_rm32_r32, a32, b32)],
        3 => vec![two(Code::Sub_rm64_r64, wide, other)],
        4 => vec![two(Code::Xor_rm32_r32, a32, b32)],
        5 => vec![two(Code::Or_rm64_r64, wide, other)],
        6 => vec![two(Code::And_rm8_r8, a8, b8)],
        7 => vec![two(Code::Imul_r32_rm32, a32, b32)],
        8 => vec![two(Code::Imul_r64_rm64, wide, other)],
        9 => vec![two(Code::Mov_rm32_r32, a32, b32)],
        10 => vec![two(Code::Mov_rm64_r64, wide, other)],
        11 => vec![two(Code::Mov_rm8_r8, a8, b8)],
        12 => vec![two(Code::Movzx_r32_rm8, a32, b8)],
        13 => vec![two(Code::Movzx_r32_rm16, a32, b16)],
        14 => vec![two(Code::Movsx_r32_rm8, a32, b8)],
        15 => vec![two(Code::Movsxd_r64_rm32, wide, b32)],
        16 => vec![one(Code::Neg_rm64, wide)],
        17 => vec![one(Code::Not_rm32, a32)],
        18 => vec![Instruction::with2(Code::Shl_rm32_imm8, a32, shift).unwrap()],
        19 => vec![Instruction::with2(Code::Sar_rm64_imm8, wide, shift).unwrap()],
        20 => vec![Instruction::with2(Code::Shr_rm32_imm8, a32, shift).unwrap()],
        21 => vec![two(Code::Shl_rm64_CL, wide, Register::CL)],
        22 => vec![two(Code::Sar_rm32_CL, a32, Register::CL)],
        23 => vec![Instruction::with2(Code::Rol_rm32_imm8, a32, shift).unwrap()],
        24 => vec![Instruction::with2(Code::Mov_r32_imm32, a32, number).unwrap()],
        25 => vec![one(Code::Imul_rm64, other)],
        26 => vec![one(Code::Mul_rm32, b32)],
        27 => vec![flags, one(condition, b8)],
        28 => vec![flags, two(Code::Cmovl_r32_rm32, b32, a32)],
        _ => vec![
            two(Code::Add_rm64_r64, wide, other),
            two(Code::Adc_rm32_r32, b32, a32),
        ],
    }
}

/// Machine code of instructions and a return.
fn encoded(all: &[Instruction]) -> Vec<u8> {
    let mut encoder = Encoder::new(64);
    let mut at = START;
    for one in all.iter().chain([&Instruction::with(Code::Retnq)]) {
        at += encoder.encode(one, at).unwrap() as u64;
    }
    encoder.take_buffer()
}

/// The result that the processor computes.
fn executed(code: &[u8], arguments: [u64; 6]) -> u64 {
    // SAFETY: a fresh mapping of the kernel's choice, unmapped below.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            code.len(),
            libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert_ne!(memory, libc::MAP_FAILED);
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the code uses registers that a callee may change, and returns.
    unsafe {
        std::ptr::copy_nonoverlapping(code.as_ptr(), memory.cast(), code.len());
        type Function = extern "C" fn(u64, u64, u64, u64, u64, u64) -> u64;
        let result = std::mem::transmute::<*mut libc::c_void, Function>(memory)(a, b, c, d, e, f);
        libc::munmap(memory, code.len());
        result
    }
}

/// The lifted operations of the code.
fn lifted(code: Vec<u8>) -> (Unit, Layout) {
    let length = code.len() as u64;
    let file = LoadedFile::of_code(START, code);
    let program = std::fs::read("/bin/true").unwrap();
    let image = Image::parse(&program, Path::new("/bin/true"), String::new()).unwrap();
    let mut tables = UnitTables::default();
    tables.begin((String::new(), String::new()));
    let mut lifter = FileLifter {
        file: &file,
        image: &image,
        abis: &Abis::default(),
        tables,
        data: DataRows::default(),
        addresses: Vec::new(),
        ends: Vec::new(),
        left: MOST_CODE,
    };
    let abi = Abi::of_integers(6, Returned::One(Word::Integer(64)));
    let code = decode::decode(&file, (START, &[(START, START + length)]), &|_| false).unwrap();
    let states = stack_states(&code).unwrap();
    let frame = FrameObjects::new(&code, &states, (&[], &[]), false).unwrap();
    let function = DefinedFunction::default();
    let (layout, _) = lifter
        .body(&code, (&states, &frame), &abi, &function)
        .unwrap();
    (lifter.tables.unit, layout)
}

/// The result of the operations; `None` where they need something that is not known.
fn interpreted((unit, layout): &(Unit, Layout), arguments: [u64; 6]) -> Option<u64> {
    let mut values: FxHashMap<u32, u128> = FxHashMap::default();
    values.extend((0..).zip(arguments.map(u128::from)));
    let width = |ty: TypeId| match unit.ty(ty).unwrap().kind {
        unsnarl_trace::program::TypeKind::Integer(bits) => bits,
        _ => 64,
    };
    for one in &layout.instructions {
        let get = |operand: &Operand| match operand {
            Operand::Value(value) => values.get(&value.0).copied(),
            Operand::Constant(id) => match unit.constant(*id) {
                Some(Constant::Integer { bits, .. }) => Some(*bits),
                _ => None,
            },
        };
        let to = width(one.ty);
        let made = match &one.op {
            Op::Binary { op, a, b } => get(a).zip(get(b)).map(|(a, b)| binary(*op, a, b, to)),
            Op::Cast { op, of, from } => get(of).map(|of| cast(*op, of, width(*from))),
            Op::Compare { op, a, b, of } => {
                let both = get(a).zip(get(b));
                both.map(|(a, b)| u128::from(compare(*op, a, b, width(*of))))
            }
            Op::Select { condition, yes, no } => match get(condition)? {
                1 => get(yes),
                _ => get(no),
            },
            Op::Return(value) => return get(&value.unwrap()).map(|it| it as u64),
            Op::Unknown(text) => panic!("not understood: {text}"),
            _ => None,
        };
        if let (Some(result), Some(made)) = (one.result, made) {
            values.insert(result.0, made & unit::mask(to));
        }
    }
    None
}

fn signed(bits: u128, width: u32) -> i128 {
    (bits << (128 - width)) as i128 >> (128 - width)
}

fn binary(op: BinaryOp, a: u128, b: u128, width: u32) -> u128 {
    let shift = |by: u128| u32::try_from(by).unwrap().min(127);
    match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl if b >= u128::from(width) => 0,
        BinaryOp::Shl => a << shift(b),
        BinaryOp::LShr => a >> shift(b),
        BinaryOp::AShr => (signed(a, width) >> shift(b)) as u128,
        _ => panic!("{op:?} is not made here"),
    }
}

fn cast(op: CastOp, of: u128, from: u32) -> u128 {
    match op {
        CastOp::SExt => signed(of, from) as u128,
        _ => of,
    }
}

fn compare(op: CompareOp, a: u128, b: u128, width: u32) -> bool {
    let (s, t) = (signed(a, width), signed(b, width));
    match op {
        CompareOp::Eq => a == b,
        CompareOp::Ne => a != b,
        CompareOp::Ult => a < b,
        CompareOp::Ule => a <= b,
        CompareOp::Ugt => a > b,
        CompareOp::Uge => a >= b,
        CompareOp::Slt => s < t,
        CompareOp::Sle => s <= t,
        CompareOp::Sgt => s > t,
        CompareOp::Sge => s >= t,
        _ => panic!("{op:?} is not made here"),
    }
}

/// Numbers near the borders of all widths are as likely as others.
fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (0u64..4).prop_map(|it| it.wrapping_sub(2)),
        (0u32..64, -1i64..2).prop_map(|(bit, by)| (1u64 << bit).wrapping_add_signed(by)),
    ]
}

proptest! {
    #[test]
    fn lifted_code_does_what_the_processor_does(
        choices in proptest::collection::vec((0u8..30, 0usize..8, 0usize..8, any::<u32>()), 1..24),
        arguments in proptest::collection::vec(numbers(), 6),
    ) {
        let arguments: [u64; 6] = arguments.try_into().unwrap();
        // All registers begin with something, and all end in the result.
        let copy = |to, from| Instruction::with2(Code::Mov_rm64_r64, to, from).unwrap();
        let add = |from| Instruction::with2(Code::Add_rm64_r64, Register::RAX, from).unwrap();
        let mut all = vec![copy(Register::RAX, Register::RDI), copy(Register::R10, Register::RSI)];
        all.extend(choices.into_iter().flat_map(instructions));
        all.extend(WIDE.into_iter().skip(1).map(add));
        let code = encoded(&all);
        let wanted = executed(&code, arguments);
        let model = lifted(code);
        prop_assert_eq!(interpreted(&model, arguments), Some(wanted), "{:?}", all);
    }
}
