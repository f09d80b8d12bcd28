//! The table that a build for path mode leaves in a program: the places at which the path is noted, and the form of
//! the notes.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::raw::path::{AddressRole, ROW_BYTES};

/// The places of one file, by its own addresses.
#[derive(Default)]
pub(super) struct Landmarks {
    /// Starts and ends of functions, sorted.
    functions: Vec<(u64, u64)>,
    pub announced: FxHashSet<u64>,
    pub branches: FxHashSet<u64>,
    pub returns: FxHashSet<u64>,
    pub here: FxHashSet<u64>,
    pub jumps: FxHashSet<u64>,
    pub leaders: FxHashSet<u64>,
    /// Ends of code that is passed over.
    pub pieces: FxHashMap<u64, u64>,
    /// Handlers of exceptions out of a call.
    pub handlers: FxHashMap<u64, u64>,
}

impl Landmarks {
    /// Reads the table.
    pub fn read(section: &[u8]) -> Landmarks {
        let mut read = Landmarks::default();
        for row in section.chunks_exact(ROW_BYTES) {
            let number = |at: usize| {
                let bytes = row.get(at..).and_then(|rest| rest.first_chunk());
                bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
            };
            let place = row.last().and_then(|place| AddressRole::from_u8(*place));
            // The linker leaves 0 or 1 for code that it left out.
            if let Some(place) = place.filter(|_| number(0) > 1) {
                read.add(place, number(0), number(8));
            }
        }
        read.functions.sort_unstable();
        read
    }

    fn add(&mut self, place: AddressRole, at: u64, more: u64) {
        match place {
            AddressRole::Announced => {
                self.announced.insert(at);
                self.functions.push((at, more));
            }
            AddressRole::Function => self.functions.push((at, more)),
            AddressRole::Branch => drop(self.branches.insert(at)),
            AddressRole::Return => drop(self.returns.insert(at)),
            AddressRole::Here => drop(self.here.insert(at)),
            AddressRole::Jump => drop(self.jumps.insert(at)),
            AddressRole::Leader => drop(self.leaders.insert(at)),
            AddressRole::Piece => drop(self.pieces.insert(at, more)),
            AddressRole::Handler => drop(self.handlers.insert(at, more)),
        }
    }

    /// Returns whether an address lies in a function whose path is noted.
    pub fn holds(&self, address: u64) -> bool {
        let after = self
            .functions
            .partition_point(|(start, _)| *start <= address);
        let function = after.checked_sub(1).and_then(|at| self.functions.get(at));
        function.is_some_and(|(_, end)| address < *end)
    }

    /// Returns whether a thread notes its arrival at this address.
    pub fn is_noted(&self, address: u64) -> bool {
        self.announced.contains(&address) || self.here.contains(&address)
    }

    /// Returns whether a function whose path is noted begins there.
    pub fn is_function(&self, address: u64) -> bool {
        self.functions
            .binary_search_by_key(&address, |(start, _)| *start)
            .is_ok()
    }
}
