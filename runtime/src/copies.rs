//! Structure assignment as gcc instruments it: for `to = from` it calls back for the write, then for the read, and
//! only then copies. A write that was logged at its callback would precede the events at the read's; so it is kept
//! back until then. The code behind the callback shows whether a write is of this kind: it is, if nothing but the
//! argument of another callback is prepared there.

use core::{
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Progress of a thread's copy. Zeroed memory is "there is none".
pub struct Copying {
    copied: Cell<Copied>,
    state: Cell<u8>,
}

const KEPT_BACK: u8 = 1;
const LOGGED: u8 = 2;

impl Copying {
    /// Keeps a write back.
    #[inline(always)]
    pub fn keep_back(&self, write: Copied) {
        self.copied.set(write);
        self.state.set(KEPT_BACK);
    }

    /// The write that was kept back, for the callback of the matching read.
    #[inline(always)]
    pub fn take(&self) -> Option<Copied> {
        let state = self.state.replace(0);
        (state == KEPT_BACK).then(|| self.copied.get())
    }

    /// Returns whether nothing is kept back and nothing was copied just before.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.state.get() == 0
    }

    /// Notes that the write was logged: the copy is the thread's next step.
    pub fn logged(&self, write: Copied) {
        self.copied.set(write);
        self.state.set(LOGGED);
    }

    /// Returns whether a call of `memcpy` is the copy of the write that was logged just before.
    pub fn is_done_by(&self, to: *const u8, bytes: usize) -> bool {
        let copied = self.copied.get();
        let is_it = self.state.get() == LOGGED && copied.addr == to && copied.bytes == bytes;
        if is_it {
            self.state.set(0);
        }
        is_it
    }
}

/// A write that is kept back.
#[derive(Clone, Copy)]
pub struct Copied {
    pub addr: *const u8,
    pub bytes: usize,
    pub pc: u64,
    pub flags: u8,
    /// `true` if it came from the callback for ranges.
    pub is_range: bool,
}

/// Cached answers by place: the program counter, with its highest bit set when the answer is yes. Several threads may
/// write at a time: an entry is one word, and overwriting it only loses an answer.
static KNOWN: [AtomicU64; 4096] = [const { AtomicU64::new(0) }; 4096];

const YES: u64 = 1 << 63;

/// Returns whether the store behind the callback that returns to `pc` happens only after another callback.
#[inline(always)]
pub fn follows_callback(pc: u64) -> bool {
    let slot = (pc ^ pc >> 12) as usize & 4095;
    let Some(known) = KNOWN.get(slot) else {
        return false;
    };
    let answer = known.load(Relaxed);
    if answer & !YES == pc {
        return answer & YES != 0;
    }
    // SAFETY: `pc` is where the program goes on: code, to be executed next.
    let found = unsafe { leads_to_call(pc as *const u8) };
    known.store(if found { pc | YES } else { pc }, Relaxed);
    found
}

/// Bound for the instructions that prepare the arguments of a callback.
const MOST: usize = 12;

/// Returns whether the code at `code` reaches a call and stores nothing on the way.
///
/// # Safety
/// `code` is where the program continues: the bytes that are read lie before the first instruction that is not known to
/// go on behind itself.
#[inline(never)]
unsafe fn leads_to_call(code: *const u8) -> bool {
    let mut at = code;
    for _ in 0..MOST {
        // SAFETY: the caller's: all instructions up to here go on with the next.
        match unsafe { instruction(at) } {
            Step::Harmless(length) => at = at.wrapping_add(length),
            Step::Call => return true,
            Step::Other => return false,
        }
    }
    false
}

enum Step {
    /// An instruction of this length that changes registers only.
    Harmless(usize),
    Call,
    Other,
}

/// # Safety
/// `at` points to an instruction.
unsafe fn instruction(at: *const u8) -> Step {
    // SAFETY: the caller's; a byte is looked at only when those before say that there is one.
    let byte = |i: usize| unsafe { at.wrapping_add(i).read() };
    let prefix = usize::from(byte(0) & 0xf0 == 0x40);
    let wide = prefix == 1 && byte(0) & 8 != 0;
    let opcode = byte(prefix);
    // Behind the opcode: whether there must be two registers, and the bytes that follow the operands.
    let (opcodes, registers_only, immediate) = match opcode {
        0xe8 => return Step::Call,
        0xff if byte(prefix + 1) == 0x15 => return Step::Call,
        0x90 => return Step::Harmless(prefix + 1),
        0x98 => return Step::Harmless(prefix + 1),
        0xb8..=0xbf => return Step::Harmless(prefix + if wide { 9 } else { 5 }),
        // lea, mov from memory, movslq, and arithmetic from memory.
        0x8d | 0x8b | 0x63 | 0x03 | 0x2b | 0x33 | 0x0b | 0x23 => (1, false, 0),
        // mov and arithmetic between registers.
        0x89 | 0x01 | 0x29 | 0x31 | 0x09 | 0x21 => (1, true, 0),
        0xc7 | 0x81 => (1, true, 4),
        0x83 | 0xc1 => (1, true, 1),
        0xd1 => (1, true, 0),
        0x69 => (1, false, 4),
        0x6b => (1, false, 1),
        0x0f => match byte(prefix + 1) {
            0xb6 | 0xb7 | 0xbe | 0xbf | 0xaf | 0x1f => (2, false, 0),
            _ => return Step::Other,
        },
        _ => return Step::Other,
    };
    let modes = byte(prefix + opcodes);
    if registers_only && modes >> 6 != 3 {
        return Step::Other;
    }
    let base = if modes & 7 == 4 && modes >> 6 != 3 {
        Some(byte(prefix + opcodes + 1) & 7)
    } else {
        None
    };
    Step::Harmless(prefix + opcodes + operands(modes, base) + immediate)
}

/// Bytes of the operands: the mode byte, a scale byte with its base register, a displacement.
fn operands(modes: u8, base: Option<u8>) -> usize {
    let displacement = match (modes >> 6, modes & 7, base) {
        (0, 5, _) | (0, _, Some(5)) | (2, ..) => 4,
        (1, ..) => 1,
        _ => 0,
    };
    1 + usize::from(base.is_some()) + displacement
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_copies_from_stores() {
        let copies: [&[u8]; 4] = [
            // lea 0x2ea4(%rip),%rdi; call
            &[0x48, 0x8d, 0x3d, 0xa4, 0x2e, 0, 0, 0xe8, 0, 0, 0, 0],
            // mov -0x8(%rbp),%rax; mov $0x20,%esi; mov %rax,%rdi; call
            &[
                0x48, 0x8b, 0x45, 0xf8, 0xbe, 0x20, 0, 0, 0, 0x48, 0x89, 0xc7, 0xe8, 0, 0, 0, 0,
            ],
            // mov 0x8(%rsp),%rdi; add $0x10,%rdi; call *0x2ea4(%rip)
            &[
                0x48, 0x8b, 0x7c, 0x24, 8, 0x48, 0x83, 0xc7, 0x10, 0xff, 0x15, 0xa4, 0x2e, 0, 0,
            ],
            // lea (%rax,%rdx,4),%rdi; call
            &[0x48, 0x8d, 0x3c, 0x90, 0xe8, 0, 0, 0, 0],
        ];
        let stores: [&[u8]; 4] = [
            // movl $0x1,0x2ea4(%rip); call
            &[0xc7, 0x05, 0xa4, 0x2e, 0, 0, 1, 0, 0, 0, 0xe8, 0, 0, 0, 0],
            // mov -0x8(%rbp),%rax; mov %edx,(%rax); call
            &[0x48, 0x8b, 0x45, 0xf8, 0x89, 0x10, 0xe8, 0, 0, 0, 0],
            // movaps %xmm0,(%rax)
            &[0x0f, 0x29, 0x00, 0xe8, 0, 0, 0, 0],
            // ret
            &[0xc3],
        ];
        for code in copies {
            // SAFETY: the instructions end in a call.
            assert!(unsafe { leads_to_call(code.as_ptr()) }, "{code:x?}");
        }
        for code in stores {
            // SAFETY: the instructions end in one that is not gone past.
            assert!(!unsafe { leads_to_call(code.as_ptr()) }, "{code:x?}");
        }
    }
}
