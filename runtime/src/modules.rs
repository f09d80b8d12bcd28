//! Loaded modules: for naming addresses later, and for telling the program's calls from those that the C library, the
//! unwinder and the C++ library make for themselves.

use crate::state::{SHARED, header};
use core::{
    cell::Cell,
    ffi::{c_char, c_int, c_void},
    ptr::null_mut,
    sync::atomic::Ordering::Relaxed,
};
use unsnarl_trace::raw;

/// Libraries whose own calls are not the program's. They call back into the program only by way of
/// instrumented code, which is recorded as itself.
const SYSTEM: [&[u8]; 8] = [
    b"libc.",
    b"libgcc_s.",
    b"ld-linux",
    b"libpthread.",
    b"libm.",
    b"libdl.",
    b"linux-vdso",
    b"libubsan.",
];
const CPP: [&[u8]; 3] = [b"libstdc++.", b"libc++.", b"libc++abi."];

/// An address range.
struct Extent {
    start: Cell<usize>,
    end: Cell<usize>,
}

impl Extent {
    const fn empty() -> Extent {
        Extent {
            start: Cell::new(0),
            end: Cell::new(0),
        }
    }

    fn holds(&self, address: usize) -> bool {
        self.start.get() <= address && address < self.end.get()
    }

    fn set(&self, module: &raw::Module) {
        self.start.set(module.start as usize);
        self.end.set(module.end as usize);
    }
}

struct Extents {
    program: Extent,
    system: [Extent; 8],
    cpp: [Extent; 2],
}

// SAFETY: written at the start and under the loader's lock; a torn read can only misjudge a call that
// runs while a library is being loaded.
unsafe impl Sync for Extents {}

static EXTENTS: Extents = Extents {
    program: Extent::empty(),
    system: [const { Extent::empty() }; 8],
    cpp: [const { Extent::empty() }; 2],
};

/// Offset of a program counter from the program's load address; `None` in libraries.
#[inline(always)]
pub fn place_in_program(pc: u64) -> Option<u32> {
    let inside = EXTENTS.program.holds(pc as usize);
    inside.then(|| (pc as usize - EXTENTS.program.start.get()) as u32)
}

/// Returns whether `pc` is in the C library, the loader or the unwinder.
#[inline(always)]
pub fn is_system(pc: u64) -> bool {
    let pc = pc as usize;
    !EXTENTS.program.holds(pc) && EXTENTS.system.iter().any(|extent| extent.holds(pc))
}

/// Returns whether `pc` is in the C++ library.
#[inline(always)]
pub fn is_cpp_library(pc: u64) -> bool {
    let pc = pc as usize;
    !EXTENTS.program.holds(pc) && EXTENTS.cpp.iter().any(|extent| extent.holds(pc))
}

/// Returns whether the program or a library lies at `address`.
pub fn is_loaded_at(address: usize) -> bool {
    let header = header();
    let count = (header.modules.load(Relaxed) as usize).min(raw::MAX_MODULES);
    let table = SHARED.header.get() as usize + header.modules_at as usize;
    (0..count).any(|index| {
        // SAFETY: the table has MAX_MODULES places.
        let module = unsafe { &*(table as *const raw::Module).add(index) };
        (module.start..module.end).contains(&(address as u64))
    })
}

/// Notes whether a module is the program, a system library or the C++ library.
fn classify(module: &raw::Module) {
    let path = module.path.split(|&byte| byte == 0).next().unwrap_or(&[]);
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(&[]);
    if name.is_empty() {
        return EXTENTS.program.set(module);
    }
    let named = |prefixes: &[&[u8]]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let extents: &[Extent] = match (named(&SYSTEM), named(&CPP)) {
        (true, _) => &EXTENTS.system,
        (_, true) => &EXTENTS.cpp,
        _ => return,
    };
    let known = extents
        .iter()
        .find(|extent| extent.start.get() == module.start as usize);
    let place = known.or_else(|| extents.iter().find(|extent| extent.end.get() == 0));
    if let Some(place) = place {
        place.set(module);
    }
}

/// Notes the loaded modules, so that addresses can be named later.
pub fn note() {
    let header = header();
    header.modules.store(0, Relaxed);
    // SAFETY: the callback matches; it writes within the table.
    unsafe { libc::dl_iterate_phdr(Some(note_one), null_mut()) };
}

unsafe extern "C" fn note_one(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    let header = header();
    let index = header.modules.load(Relaxed) as usize;
    if index >= raw::MAX_MODULES {
        return 1;
    }
    // SAFETY: the loader passes a valid description; the table has MAX_MODULES places.
    unsafe {
        let base = SHARED.header.get() as usize + header.modules_at as usize;
        let module = &mut *(base as *mut raw::Module).add(index);
        let (start, end) = extent(&*info);
        module.bias = (*info).dlpi_addr;
        (module.start, module.end) = (start, end);
        (module.tls_below, module.tls_bytes) = thread_locals(&*info);
        copy_path(&mut module.path, (*info).dlpi_name);
        classify(module);
    }
    header.modules.store(index as u32 + 1, Relaxed);
    0
}

/// The calling thread's pointer: by the ABI it stands at its own address.
pub fn thread_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: every thread has one.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr fs:[0]",
            out(reg) pointer,
            options(nostack, preserves_flags, readonly),
        );
    }
    pointer
}

/// Offset of the module's thread-local variables below the thread pointer, and their size. Those of libraries that
/// are loaded later are put anywhere, in each thread elsewhere.
///
/// # Safety
/// `info` is as the loader passes it.
unsafe fn thread_locals(info: &libc::dl_phdr_info) -> (u64, u64) {
    /// Distance within which the loader puts the variables of modules that it loads at the start.
    const NEAR: u64 = 1 << 20;
    let below = match info.dlpi_tls_data.is_null() {
        true => 0,
        false => thread_pointer().wrapping_sub(info.dlpi_tls_data as u64),
    };
    let headers = 0..usize::from(info.dlpi_phnum);
    // SAFETY: the caller's.
    let mut segments = headers.map(|i| unsafe { &*info.dlpi_phdr.add(i) });
    match segments.find(|segment| segment.p_type == libc::PT_TLS) {
        Some(segment) if below < NEAR => (below, segment.p_memsz),
        _ => (0, 0),
    }
}

/// # Safety
/// `info` is as the loader passes it.
unsafe fn extent(info: &libc::dl_phdr_info) -> (u64, u64) {
    let (mut start, mut end) = (u64::MAX, 0);
    for i in 0..usize::from(info.dlpi_phnum) {
        // SAFETY: the caller's.
        let segment = unsafe { &*info.dlpi_phdr.add(i) };
        if segment.p_type == libc::PT_LOAD {
            let first = info.dlpi_addr + segment.p_vaddr;
            start = start.min(first);
            end = end.max(first + segment.p_memsz);
        }
    }
    (start, end)
}

/// # Safety
/// `name` is null or NUL-terminated.
unsafe fn copy_path(path: &mut [u8; 232], name: *const c_char) {
    path.fill(0);
    if name.is_null() {
        return;
    }
    let last = path.len() - 1;
    for (i, place) in path.iter_mut().take(last).enumerate() {
        // SAFETY: the caller's; stops at the NUL.
        let byte = unsafe { *name.add(i) } as u8;
        if byte == 0 {
            break;
        }
        *place = byte;
    }
}
