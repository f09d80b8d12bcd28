//! The loaded modules of one run: run-time addresses to files and back.

use super::{image::Image, program::ProgramDebugInfo, raw_log::RawLog, sites::CodePoint};
use rustc_hash::FxHashMap;
use std::sync::Arc;

struct LoadedModule {
    start: u64,
    end: u64,
    bias: u64,
    tls_below: u64,
    tls_bytes: u64,
    path: String,
    image: Option<Option<Arc<Image>>>,
}

/// Modules by address; images are read when the first address falls into them.
pub(super) struct Modules<'a> {
    program: &'a ProgramDebugInfo,
    list: Vec<LoadedModule>,
    points: FxHashMap<u64, Option<Arc<CodePoint>>>,
}

/// An address within an image.
pub(super) struct InImage {
    pub module: u32,
    pub image: Arc<Image>,
    /// The file's own address.
    pub address: u64,
}

impl<'a> Modules<'a> {
    pub fn new(log: &RawLog<'_>, program: &'a ProgramDebugInfo) -> Modules<'a> {
        let mut list: Vec<LoadedModule> = log
            .modules()
            .map(|m| LoadedModule {
                start: m.start,
                end: m.end,
                bias: m.bias,
                tls_below: m.tls_below,
                tls_bytes: m.tls_bytes,
                path: m.path,
                image: None,
            })
            .collect();
        list.sort_by_key(|module| module.start);
        Modules {
            program,
            list,
            points: FxHashMap::default(),
        }
    }

    /// Returns whether an address lies in some module.
    pub fn holds(&self, address: u64) -> bool {
        self.index(address).is_some()
    }

    fn index(&self, address: u64) -> Option<usize> {
        let after = self.list.partition_point(|module| module.start <= address);
        let index = after.checked_sub(1)?;
        (address < self.list.get(index)?.end).then_some(index)
    }

    /// The program whose modules these are.
    pub fn program(&self) -> &'a ProgramDebugInfo {
        self.program
    }

    /// The image that a run-time address falls into.
    pub fn locate(&mut self, address: u64) -> Option<InImage> {
        let index = self.index(address)?;
        let module = self.list.get_mut(index)?;
        let program = self.program;
        let path = &module.path;
        let image = module
            .image
            .get_or_insert_with(|| program.image(path))
            .clone()?;
        let address = address.wrapping_sub(module.bias);
        Some(InImage {
            module: index as u32,
            image,
            address,
        })
    }

    /// Distance below the thread pointers in which thread-local variables lie.
    pub fn thread_locals_reach(&self) -> u64 {
        self.list
            .iter()
            .map(|module| module.tls_below)
            .max()
            .unwrap_or(0)
    }

    /// The module whose thread-local variables hold what lies so far below a thread pointer; the address
    /// is the offset in them.
    pub fn thread_local(&mut self, below: u64) -> Option<InImage> {
        let holds = |module: &LoadedModule| {
            let into = module.tls_below.checked_sub(below);
            into.is_some_and(|into| into < module.tls_bytes)
        };
        let index = self.list.iter().position(holds)?;
        let program = self.program;
        let module = self.list.get_mut(index)?;
        let path = &module.path;
        let image = module
            .image
            .get_or_insert_with(|| program.image(path))
            .clone()?;
        Some(InImage {
            module: index as u32,
            image,
            address: module.tls_below - below,
        })
    }

    /// Return address of the call of the library function that `inside` lies in, in the code around `near`.
    pub fn call_into(&mut self, inside: u64, near: u64) -> Option<u64> {
        let library = self.locate(inside.wrapping_sub(1))?;
        let (symbol, _) = library.image.code_symbol(library.address)?;
        let caller = self.locate(near.wrapping_sub(1))?;
        let ret = caller
            .image
            .next_call(caller.address, &library.image, symbol)?;
        let bias = near.wrapping_sub(1).wrapping_sub(caller.address);
        Some(ret.wrapping_add(bias))
    }

    /// The one address with this lower half whose file address satisfies `is_it`; `None` if there is none, or if
    /// there are several.
    pub fn landmark(&mut self, lower: u32, is_it: impl Fn(&Image, u64) -> bool) -> Option<u64> {
        let upper = |address: u64| address & !u64::from(u32::MAX);
        let extents: Vec<(u64, u64)> = self.list.iter().map(|m| (m.start, m.end)).collect();
        let mut found = None;
        for (start, end) in extents {
            for base in [upper(start), upper(end)] {
                let address = base | u64::from(lower);
                let is_new = start <= address && address < end && found != Some(address);
                let at = is_new.then(|| self.locate(address)).flatten();
                if at.is_some_and(|at| is_it(&at.image, at.address)) {
                    if found.is_some() {
                        return None;
                    }
                    found = Some(address);
                }
            }
        }
        found
    }

    /// Returns whether a thread notes its arrival at this address.
    pub fn is_noted(&mut self, address: u64) -> bool {
        self.locate(address)
            .is_some_and(|at| at.image.landmarks.is_noted(at.address))
    }

    /// Address of the handler for exceptions out of the call that returns to this address.
    pub fn handler(&mut self, back: u64) -> Option<u64> {
        let at = self.locate(back)?;
        let handler = at.image.landmarks.handlers.get(&at.address)?;
        Some(handler.wrapping_add(back.wrapping_sub(at.address)))
    }

    /// Source and model of the call that returns to `pc`.
    pub fn point(&mut self, pc: u64) -> Option<Arc<CodePoint>> {
        if let Some(point) = self.points.get(&pc) {
            return point.clone();
        }
        let found = self.locate(pc.wrapping_sub(1));
        let program = self.program;
        let point = found.map(|at| program.points.get(program, &at.image, at.address));
        self.points.insert(pc, point.clone());
        point
    }
}
