//! Registers that an instruction uses and defines, as far as it matters for finding one that is free.
//!
//! Everything errs on the side of "in use": an unknown instruction uses all registers and defines none.

/// A set of registers: a bit for each of the sixteen, and one for the flags.
pub type RegisterSet = u32;

/// The flags.
pub const FLAGS: RegisterSet = 1 << 16;
/// All registers and the flags.
pub const ALL: RegisterSet = (1 << 17) - 1;

const NAMES: [[&str; 4]; 16] = [
    ["rax", "eax", "ax", "al"],
    ["rbx", "ebx", "bx", "bl"],
    ["rcx", "ecx", "cx", "cl"],
    ["rdx", "edx", "dx", "dl"],
    ["rsi", "esi", "si", "sil"],
    ["rdi", "edi", "di", "dil"],
    ["rbp", "ebp", "bp", "bpl"],
    ["rsp", "esp", "sp", "spl"],
    ["r8", "r8d", "r8w", "r8b"],
    ["r9", "r9d", "r9w", "r9b"],
    ["r10", "r10d", "r10w", "r10b"],
    ["r11", "r11d", "r11w", "r11b"],
    ["r12", "r12d", "r12w", "r12b"],
    ["r13", "r13d", "r13w", "r13b"],
    ["r14", "r14d", "r14w", "r14b"],
    ["r15", "r15d", "r15w", "r15b"],
];
const RAX: RegisterSet = 1;
const RBX: RegisterSet = 1 << 1;
const RCX: RegisterSet = 1 << 2;
const RDX: RegisterSet = 1 << 3;
const RBP: RegisterSet = 1 << 6;
const RSP: RegisterSet = 1 << 7;
/// Registers that hold arguments, a count of vector arguments or the static chain.
const ARGUMENTS: RegisterSet = RAX | RCX | RDX | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 10 | RSP;
/// Registers that a call may change.
const CALLERS: RegisterSet = RAX | RCX | RDX | 1 << 4 | 1 << 5 | 0xf << 8;
/// Registers that must be preserved, and the result, when a function returns.
const RETURNED: RegisterSet = RAX | RDX | RBX | RBP | RSP | 0xf << 12;

/// Registers that may be taken when they are free, the best first.
const SCRATCH: [usize; 9] = [11, 10, 9, 8, 2, 3, 4, 5, 0];

/// A register's name with 64 or 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register(usize);

impl Register {
    /// Its full name, without the percent sign.
    pub fn whole(self) -> &'static str {
        NAMES.get(self.0).map_or("", |names| names[0])
    }

    /// The name of its lower half.
    pub fn half(self) -> &'static str {
        NAMES.get(self.0).map_or("", |names| names[1])
    }
}

/// Up to `count` registers that are free where `live` are in use; fewer when there are not so many.
pub fn free(live: RegisterSet, count: usize) -> Vec<Register> {
    let free = SCRATCH.iter().filter(|number| live & 1 << **number == 0);
    free.take(count).map(|number| Register(*number)).collect()
}

/// `count` registers that may be saved and taken, other than these and those in `used`.
pub fn others(taken: &[Register], used: RegisterSet, count: usize) -> Vec<Register> {
    let mut all = SCRATCH.iter().map(|number| Register(*number));
    let is_other = |one: &Register| !taken.contains(one) && used & 1 << one.0 == 0;
    all.by_ref().filter(is_other).take(count).collect()
}

/// The registers that results of calls and exceptions are in.
pub const RESULTS: RegisterSet = RAX | RDX;

/// The registers that these operands name.
pub fn named(operands: &[&str]) -> RegisterSet {
    operands.iter().fold(0, |set, text| set | mentioned(text))
}

/// The registers that an instruction may set: any of them when it is not known.
pub fn set(operation: &str, operands: &[&str]) -> RegisterSet {
    let is_known = is_explicit(operation) || operation.starts_with('j');
    if is_known { named(operands) } else { ALL }
}

/// The number of a register, and `true` if writing to this name defines all of it.
fn register(name: &str) -> Option<(usize, bool)> {
    let high = ["ah", "bh", "ch", "dh"];
    if let Some(at) = high.iter().position(|high| *high == name) {
        return [0, 1, 2, 3].get(at).map(|number| (*number, false));
    }
    NAMES.iter().enumerate().find_map(|(number, names)| {
        let width = names.iter().position(|known| *known == name)?;
        Some((number, width < 2))
    })
}

/// The registers that a text mentions.
pub fn mentioned(text: &str) -> RegisterSet {
    let words = text.split('%').skip(1);
    words.fold(0, |set, word| {
        let end = word
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(word.len());
        let number = register(word.get(..end).unwrap_or(""));
        set | number.map_or(0, |(number, _)| 1 << number)
    })
}

/// The registers that an instruction uses and those that it defines.
pub fn effects(operation: &str, operands: &[&str]) -> (RegisterSet, RegisterSet) {
    let all: RegisterSet = operands.iter().fold(0, |set, text| set | mentioned(text));
    match operation {
        "call" | "callq" => return call(operands, all),
        "ret" | "retq" => return (RETURNED, 0),
        "jmp" | "jmpq" => return (all, 0),
        "cltq" | "cwtl" | "cbtw" | "cltd" | "cqto" | "cwtd" | "mul" | "mulb" | "mulw" | "mull"
        | "mulq" | "div" | "divb" | "divw" | "divl" | "divq" | "idiv" | "idivb" | "idivw"
        | "idivl" | "idivq" => return (RAX | RDX | all, 0),
        "nop" | "nopw" | "nopl" | "endbr64" | "ud2" | "vzeroupper" | "fwait" | "emms" => {
            return (all, 0);
        }
        _ => {}
    }
    if operation.starts_with("imul") && operands.len() == 1 {
        return (RAX | RDX | all, 0);
    }
    if let Some(condition) = operation.strip_prefix('j') {
        let is_flags = !matches!(condition, "cxz" | "ecxz" | "rcxz");
        return if is_flags { (FLAGS | all, 0) } else { (ALL, 0) };
    }
    if !is_explicit(operation) {
        return (ALL, 0);
    }
    explicit(operation, operands)
}

fn call(operands: &[&str], mentioned: RegisterSet) -> (RegisterSet, RegisterSet) {
    let is_plain = operands
        .iter()
        .all(|text| !text.contains("@tls") && !text.contains("thunk") && !text.contains("TLS"));
    if is_plain {
        (ARGUMENTS | mentioned, CALLERS | FLAGS)
    } else {
        (ALL, 0)
    }
}

/// Returns whether such an instruction uses nothing but its operands and the flags.
fn is_explicit(operation: &str) -> bool {
    const STARTS: [&str; 41] = [
        "mov", "leal", "leaq", "leaw", "add", "sub", "adc", "sbb", "cmp", "test", "and", "or",
        "xor", "not", "neg", "inc", "dec", "shl", "shr", "sal", "sar", "rol", "ror", "imul", "set",
        "cmov", "bt", "bsf", "bsr", "tzcnt", "lzcnt", "popcnt", "bswap", "push", "pop", "cvt", "p",
        "sqrt", "xchg", "f", "v",
    ];
    const ENDS: [&str; 4] = ["ss", "sd", "ps", "pd"];
    /// Instructions among them that use more.
    const BUT: [&str; 12] = [
        "cmpxchg", "cmpsb", "cmpsw", "cmpsl", "cmpsq", "pcmp", "vpcmp", "pushf", "popf", "fx",
        "vmaskmov", "pconfig",
    ];
    /// Instructions that copy strings; with more letters they extend.
    const COPIES: [&str; 4] = ["movsb", "movsw", "movsl", "movsq"];
    let starts = |start: &&str| operation.starts_with(start);
    let is_known = STARTS.iter().any(starts) || ENDS.iter().any(|end| operation.ends_with(end));
    is_known && !BUT.iter().any(starts) && !COPIES.contains(&operation)
}

fn explicit(operation: &str, operands: &[&str]) -> (RegisterSet, RegisterSet) {
    let Some((target, sources)) = operands.split_last() else {
        return (ALL, 0);
    };
    let used: RegisterSet = sources.iter().fold(0, |set, text| set | mentioned(text));
    let flags = flags_defined(operation);
    let uses_flags = uses_flags(operation);
    let is_cleared = matches!(operation, "xorl" | "xorq" | "subl" | "subq")
        && sources.len() == 1
        && sources.first() == Some(target);
    let whole = target.strip_prefix('%').and_then(register);
    match whole {
        Some((number, true)) if is_cleared => (uses_flags, 1 << number | flags),
        Some((number, true)) if overwrites(operation) => (used | uses_flags, 1 << number | flags),
        _ => (used | uses_flags | mentioned(target), flags),
    }
}

/// Returns whether the last operand, if it is a whole register, is written without being read.
fn overwrites(operation: &str) -> bool {
    const MOVES: [&str; 22] = [
        "movl", "movq", "movabsq", "leal", "leaq", "movzbl", "movzwl", "movzbq", "movzwq",
        "movsbl", "movswl", "movsbq", "movswq", "movslq", "movzx", "movsx", "movd", "vmovd",
        "vmovq", "popq", "movmskpd", "pmovmskb",
    ];
    MOVES.contains(&operation) || operation.starts_with("cvtt") && operation.contains("2si")
}

fn uses_flags(operation: &str) -> RegisterSet {
    const USERS: [&str; 8] = ["set", "cmov", "adc", "sbb", "rcl", "rcr", "adox", "fcmov"];
    let uses = USERS.iter().any(|user| operation.starts_with(user));
    if uses { FLAGS } else { 0 }
}

/// The flags, if the instruction defines all that programs test.
fn flags_defined(operation: &str) -> RegisterSet {
    const DEFINERS: [&str; 9] = [
        "add", "sub", "cmp", "test", "and", "xor", "neg", "ucomi", "comi",
    ];
    let plain = |start: &&str| {
        let rest = operation.strip_prefix(*start);
        rest.is_some_and(|rest| matches!(rest, "" | "b" | "w" | "l" | "q" | "ss" | "sd"))
    };
    let is_vector = matches!(
        operation,
        "addss" | "addsd" | "subss" | "subsd" | "cmpss" | "cmpsd"
    );
    let defines = DEFINERS.iter().any(plain) && !is_vector
        || matches!(operation, "orb" | "orw" | "orl" | "orq");
    if defines { FLAGS } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &str) -> RegisterSet {
        let names = names.split_whitespace();
        names.fold(0, |set, name| match name {
            "flags" => set | FLAGS,
            name => set | 1 << register(name).unwrap().0,
        })
    }

    #[test]
    fn what_instructions_use_and_define() {
        let table = [
            ("movl %eax, %ebx", "rax", "rbx"),
            ("movb %al, %bl", "rax rbx", ""),
            ("movl 4(%rdi,%rcx,8), %edx", "rdi rcx", "rdx"),
            ("movl %edx, 4(%rdi)", "rdx rdi", ""),
            ("addq %rax, %rcx", "rax rcx", "flags"),
            ("addsd %xmm0, %xmm1", "", ""),
            ("xorl %eax, %eax", "", "rax flags"),
            ("incl %ecx", "rcx", ""),
            ("shll %cl, %edx", "rcx rdx", ""),
            ("jne .L3", "flags", ""),
            ("sete %al", "rax flags", ""),
            ("cmovne %ecx, %edx", "rcx rdx flags", ""),
            ("idivl %esi", "rax rdx rsi", ""),
            ("cltq", "rax rdx", ""),
            ("movsbl %al, %ecx", "rax", "rcx"),
            ("movsd %xmm0, (%rsi)", "rsi", ""),
            ("pushq %rbx", "rbx", ""),
        ];
        for (line, uses, defines) in table {
            let (operation, rest) = line.split_once(' ').unwrap_or((line, ""));
            let operands: Vec<&str> = super::super::text::operands(rest);
            let found = effects(operation, &operands);
            assert_eq!(found, (set(uses), set(defines)), "{line}");
        }
    }

    #[test]
    fn what_is_not_known_uses_everything() {
        for operation in [
            "rep",
            "cpuid",
            "cmpxchgq",
            "movsl",
            "movsb",
            "mulx",
            "pcmpestri",
            "vpcmpistri",
            "jrcxz",
            "loop",
            "xlatb",
            "pushfq",
            "stosb",
            "rdtsc",
            "syscall",
            "lock",
            "leave",
        ] {
            assert_eq!(effects(operation, &["%rax"]), (ALL, 0), "{operation}");
        }
        assert_eq!(effects("call", &["*x@tlscall(%rax)"]), (ALL, 0));
    }
}
