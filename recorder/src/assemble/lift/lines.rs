//! Places of machine instructions in the source.

use super::{super::image::Image, unit::UnitTables};
use unsnarl_trace::program::{DebugPlace, PlaceId};

/// Places of the code in some ranges.
#[derive(Default)]
pub(super) struct Places {
    /// First address of each piece of code, sorted, with its place.
    pieces: Vec<(u64, PlaceId)>,
}

impl Places {
    /// Looks all pieces of the ranges up.
    pub fn new(image: &Image, ranges: &[(u64, u64)], tables: &mut UnitTables) -> Places {
        let mut pieces = Vec::new();
        for &(from, to) in ranges {
            let starts = image.lines(from, to).into_iter().map(|(start, _, _)| start);
            for start in starts {
                pieces.push((start, place(image, start, tables)));
            }
            pieces.push((to, PlaceId(0)));
        }
        pieces.sort_by_key(|(start, _)| *start);
        Places { pieces }
    }

    /// The place of an instruction; not known for address 0.
    pub fn at(&self, address: u64) -> PlaceId {
        let after = self.pieces.partition_point(|(start, _)| *start <= address);
        let piece = after.checked_sub(1).and_then(|at| self.pieces.get(at));
        piece.map_or(PlaceId(0), |(_, place)| *place)
    }
}

/// The row of an address's place: of inlined code each place knows where it was inlined.
fn place(image: &Image, address: u64, tables: &mut UnitTables) -> PlaceId {
    let mut outer = PlaceId(0);
    for frame in image.source_frames(address).iter().rev() {
        let place = DebugPlace {
            line: frame.line,
            column: frame.column,
            inlined_at: outer,
            ..DebugPlace::NOWHERE
        };
        outer = tables.place(&frame.file, &frame.function, place);
    }
    outer
}
