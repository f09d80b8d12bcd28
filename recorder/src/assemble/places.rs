//! Places: memory by region and offset while a log is walked, and the locations that they become.
//!
//! A typed region divides into the leaves of its type. An untyped one (heap, unknown memory) divides
//! into *components*: accesses that overlap are one component, and what only ranges touch is cut at
//! the ends of the ranges. So two accesses have a location in common exactly if they share a byte of
//! something that is accessed as one, which is known only at the end of the run.

use super::{
    image::Image,
    types::{Leaf, LeafKind, TypeId, TypePart},
};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::{hash::BuildHasher, sync::Arc};
use unsnarl_trace::{Encoding, EncodingRow, LocationId};

/// The index of a region; 0 is "none".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct MemoryRegionId(pub u32);

/// A byte of a region. Offsets may be negative: a stack grows down from its base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct RegionByte {
    pub region: MemoryRegionId,
    pub offset: i64,
}

/// The name of a region; names of blocks are composed only when they are used.
pub(super) enum RegionName {
    Text(String),
    Block {
        word: &'static str,
        label: u32,
        thread: u16,
        ordinal: u32,
    },
}

/// The content of a region: one object of a type, or several in a row.
pub(super) struct RegionContent {
    pub image: Arc<Image>,
    pub kind: TypeId,
    /// Distance of several objects in a row.
    pub stride: Option<u64>,
}

impl RegionContent {
    /// Start of the object that holds an offset.
    fn base(&self, offset: u64) -> u64 {
        let into = self.stride.and_then(|stride| offset.checked_rem(stride));
        into.map_or(0, |into| offset - into)
    }

    fn index(&self, base: u64) -> String {
        let index = self.stride.and_then(|stride| base.checked_div(stride));
        index.map_or(String::new(), |index| format!("[{index}]"))
    }

    fn leaf_path(&self, offset: u64) -> String {
        let base = self.base(offset);
        self.index(base) + &self.image.types.leaf_path(self.kind, offset - base)
    }

    fn part_path(&self, offset: u64) -> String {
        let base = self.base(offset);
        if offset == 0 {
            return String::new();
        }
        self.index(base) + &self.image.types.part_path(self.kind, offset - base)
    }

    /// The encoding of the leaf at an offset, if that is noted.
    fn encoding(&self, offset: u64) -> Option<&Arc<Encoding>> {
        match self.at(offset) {
            TypePart::Leaf(leaf) => self.image.types.encoding(leaf.kind),
            TypePart::Gap { .. } => None,
        }
    }

    /// The part of the type at an offset, counted from the start of the region.
    fn at(&self, offset: u64) -> TypePart {
        let base = self.base(offset);
        match self.image.types.at(self.kind, offset - base) {
            TypePart::Leaf(leaf) => TypePart::Leaf(Leaf {
                start: leaf.start.saturating_add(base),
                end: leaf.end.saturating_add(base),
                ..leaf
            }),
            TypePart::Gap { end } => TypePart::Gap {
                end: end.saturating_add(base),
            },
        }
    }
}

/// Number of leaves that are found without a look into the table.
const RECENT: usize = 1 << 13;

struct MemoryRegion {
    name: RegionName,
    layout: Option<RegionContent>,
    /// Bytes that were used as one, from their beginning to behind their end.
    touched: Vec<(i64, i64)>,
    ranges: FxHashSet<(i64, u64)>,
    components: Vec<Component>,
}

impl MemoryRegion {
    /// Its name, once that is composed.
    fn text(&self) -> &str {
        match &self.name {
            RegionName::Text(name) => name,
            RegionName::Block { .. } => "",
        }
    }
}

/// A part of an untyped region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Component {
    start: i64,
    end: i64,
    only_ranges: bool,
}

/// A part of an access that is one location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccessPiece {
    /// Start of the location: its identity within the region.
    location: i64,
    /// First byte of the access that falls into it.
    pub start: i64,
    pub end: i64,
    pub holds: LeafKind,
}

/// All regions of a run, and the table of the locations that they become.
pub(super) struct MemoryRegions {
    list: Vec<MemoryRegion>,
    labels: Vec<String>,
    label_ids: FxHashMap<String, u32>,
    thread_names: Vec<String>,
    /// The location table; row 0 is "none".
    pub locations: Vec<String>,
    names: NameIndex,
    leaves: FxHashMap<(MemoryRegionId, i64), LocationId>,
    /// Leaves by their encoding.
    encoded: FxHashMap<Arc<Encoding>, Vec<LocationId>>,
    /// The leaves that were looked up last.
    recent: Vec<((MemoryRegionId, i64), LocationId)>,
    /// The first leaf that got a name.
    named: Vec<Option<(MemoryRegionId, i64)>>,
    /// Objects with their sizes that operations were noted of.
    objects: FxHashSet<(RegionByte, u64)>,
    parts: FxHashMap<(MemoryRegionId, i64), LocationId>,
    /// Types of some region have bit-fields.
    pub has_bit_fields: bool,
}

impl MemoryRegions {
    pub fn new(thread_names: Vec<String>) -> MemoryRegions {
        let mut regions = MemoryRegions {
            list: Vec::new(),
            labels: Vec::new(),
            label_ids: FxHashMap::default(),
            thread_names,
            locations: vec![String::new()],
            names: NameIndex::default(),
            leaves: FxHashMap::default(),
            encoded: FxHashMap::default(),
            recent: vec![((MemoryRegionId(u32::MAX), 0), LocationId(0)); RECENT],
            named: Vec::new(),
            objects: FxHashSet::default(),
            parts: FxHashMap::default(),
            has_bit_fields: false,
        };
        regions.add(RegionName::Text(String::new()), None);
        regions
    }

    pub fn add(&mut self, name: RegionName, layout: Option<RegionContent>) -> MemoryRegionId {
        let id = MemoryRegionId(self.list.len() as u32);
        let types = layout.as_ref().map(|layout| &layout.image.types);
        self.has_bit_fields |= types.is_some_and(|types| types.has_bit_fields());
        self.list.push(MemoryRegion {
            name,
            layout,
            touched: Vec::new(),
            ranges: FxHashSet::default(),
            components: Vec::new(),
        });
        id
    }

    /// Number of a text that names of blocks contain.
    pub fn label(&mut self, text: String) -> u32 {
        if let Some(id) = self.label_ids.get(&text) {
            return *id;
        }
        let id = self.labels.len() as u32;
        self.labels.push(text.clone());
        self.label_ids.insert(text, id);
        id
    }

    /// Notes an access, so that untyped memory is divided where the program divides it. An access that comes often is to be
    /// noted once.
    pub fn touch(&mut self, place: RegionByte, size: u64, is_range: bool) {
        let Some(region) = self.list.get_mut(place.region.0 as usize) else {
            return;
        };
        if region.layout.is_some() || size == 0 {
            return;
        }
        match u32::try_from(size) {
            Ok(size) if !is_range => {
                let bytes = (place.offset, place.offset.saturating_add(i64::from(size)));
                region.touched.push(bytes);
            }
            _ => {
                region.ranges.insert((place.offset, size));
            }
        }
    }

    /// Notes an operation on an object, which may come often.
    pub fn touch_object(&mut self, place: RegionByte, size: u64) {
        if self.objects.insert((place, size)) {
            self.touch(place, size, false);
        }
    }

    /// Divides all untyped regions. Called once, after the last `touch`.
    pub fn divide(&mut self) {
        for region in &mut self.list {
            let touched = std::mem::take(&mut region.touched);
            let ranges = std::mem::take(&mut region.ranges);
            region.components = components(touched, ranges);
        }
    }

    /// Calls `each` for every location that an access touches, in the order of the bytes, until it
    /// says `false`.
    pub fn pieces(&self, place: RegionByte, size: u64, mut each: impl FnMut(AccessPiece) -> bool) {
        let Some(region) = self.list.get(place.region.0 as usize) else {
            return;
        };
        let start = place.offset;
        let end = start.saturating_add_unsigned(size);
        match &region.layout {
            Some(layout) => typed_pieces(layout, start, end, &mut each),
            None => untyped_pieces(&region.components, start, end, &mut each),
        }
    }

    /// Returns whether these bytes belong to bit-fields only.
    pub fn is_within_bits(&self, place: RegionByte, size: u64) -> bool {
        let region = self.list.get(place.region.0 as usize);
        let layout = region.and_then(|region| region.layout.as_ref());
        let layout = layout.filter(|layout| layout.image.types.has_bit_fields());
        let offset = place.offset.unsigned_abs();
        layout.is_some_and(|layout| match layout.at(offset) {
            TypePart::Leaf(leaf) => leaf.holds == LeafKind::Bits && offset + size <= leaf.end,
            TypePart::Gap { .. } => false,
        })
    }

    /// The location of a piece.
    pub fn piece_location(&mut self, region: MemoryRegionId, piece: AccessPiece) -> LocationId {
        let key = (region, piece.location);
        let slot = (piece.location >> 2) as usize ^ (region.0 as usize).wrapping_mul(0x9e5);
        let slot = slot % RECENT;
        match self.recent.get(slot) {
            Some((known, id)) if *known == key => return *id,
            _ => {}
        }
        let id = match self.leaves.get(&key) {
            Some(known) => *known,
            None => self.new_leaf(region, piece),
        };
        if let Some(recent) = self.recent.get_mut(slot) {
            *recent = (key, id);
        }
        id
    }

    fn new_leaf(&mut self, region: MemoryRegionId, piece: AccessPiece) -> LocationId {
        let here = (region, piece.location);
        let name = self.leaf_name(region, piece.location);
        let mut id = self.intern(name);
        let first = self.named.get(id.index()).copied().flatten();
        // Two bases of a class may have members of the same name, such as the pointers to their tables.
        if first.is_some_and(|(of, at)| of == region && at != piece.location) {
            let name = self.leaf_name(region, piece.location);
            id = self.intern(format!("{name}@{}", piece.location));
        }
        if self.named.len() <= id.index() {
            self.named.resize(id.index() + 1, None);
        }
        if let Some(named) = self.named.get_mut(id.index()) {
            named.get_or_insert(here);
        }
        self.leaves.insert(here, id);
        self.note_encoding(here, id);
        id
    }

    fn note_encoding(&mut self, (region, start): (MemoryRegionId, i64), id: LocationId) {
        let region = self.list.get(region.0 as usize);
        let layout = region.and_then(|region| region.layout.as_ref());
        let encoding = layout.and_then(|layout| layout.encoding(start.unsigned_abs()));
        if let Some(encoding) = encoding {
            self.encoded.entry(encoding.clone()).or_default().push(id);
        }
    }

    /// The encodings of locations, in the order of their first ones.
    pub fn encodings(&mut self) -> Vec<EncodingRow> {
        let encoded = std::mem::take(&mut self.encoded).into_iter();
        let row = |(encoding, ids): (Arc<Encoding>, _)| EncodingRow::new((*encoding).clone(), ids);
        let mut rows: Vec<EncodingRow> = encoded.map(row).collect();
        rows.sort_by_key(|row| row.locations.first().copied());
        rows
    }

    /// The location that an address stands for: the outermost part that starts there.
    pub fn part_location(&mut self, place: RegionByte) -> LocationId {
        if place.region == MemoryRegionId(0) {
            return LocationId(0);
        }
        let key = (place.region, place.offset);
        if let Some(id) = self.parts.get(&key) {
            return *id;
        }
        let name = self.part_name(place);
        let id = self.intern(name);
        self.parts.insert(key, id);
        id
    }

    /// The location of an object that is used as a whole, such as a lock.
    pub fn object_location(&mut self, place: RegionByte) -> LocationId {
        let mut first = None;
        self.pieces(place, 1, |piece| {
            first = Some(piece);
            false
        });
        match first {
            Some(piece) => self.piece_location(place.region, piece),
            None => self.part_location(place),
        }
    }

    fn intern(&mut self, name: String) -> LocationId {
        self.names.id(&mut self.locations, name)
    }

    fn leaf_name(&mut self, id: MemoryRegionId, start: i64) -> String {
        self.compose_name(id);
        let Some(region) = self.list.get(id.0 as usize) else {
            return String::new();
        };
        let base = region.text();
        if let Some(layout) = &region.layout {
            return joined(base, &layout.leaf_path(start.unsigned_abs()));
        }
        let component = find(&region.components, start);
        match component.filter(|part| part.only_ranges && part.end.abs_diff(part.start) > 8) {
            Some(part) => format!("{base}[{}..{}]", part.start, part.end),
            None => with_offset(base, start),
        }
    }

    fn part_name(&mut self, place: RegionByte) -> String {
        self.compose_name(place.region);
        let Some(region) = self.list.get(place.region.0 as usize) else {
            return String::new();
        };
        let base = region.text();
        match (&region.layout, u64::try_from(place.offset)) {
            (Some(layout), Ok(offset)) => joined(base, &layout.part_path(offset)),
            _ => with_offset(base, place.offset),
        }
    }

    /// Composes the name of a block that is used.
    fn compose_name(&mut self, id: MemoryRegionId) {
        let Some(RegionName::Block {
            word,
            label,
            thread,
            ordinal,
        }) = self.list.get(id.0 as usize).map(|region| &region.name)
        else {
            return;
        };
        let label = self.labels.get(*label as usize).map_or("?", String::as_str);
        let thread = self.thread_name(*thread);
        let name = format!("{word}({label} by {thread} #{ordinal})");
        if let Some(region) = self.list.get_mut(id.0 as usize) {
            region.name = RegionName::Text(name);
        }
    }

    /// A thread's name, `?` when the log does not know it.
    pub fn thread_name(&self, thread: u16) -> &str {
        self.thread_names
            .get(usize::from(thread))
            .map_or("?", String::as_str)
    }
}

/// Locations by name, without a copy of the names: there may be as many as the program has memory.
#[derive(Default)]
struct NameIndex {
    by_hash: FxHashMap<u64, LocationId>,
    /// Names with the hash of another one.
    others: FxHashMap<String, LocationId>,
}

impl NameIndex {
    /// The location with this name.
    #[cfg(test)]
    fn get(&self, table: &[String], name: &str) -> Option<LocationId> {
        let first = *self.by_hash.get(&hash(name))?;
        self.known(table, first, name)
    }

    /// The location with this name; `first` is that with its hash.
    fn known(&self, table: &[String], first: LocationId, name: &str) -> Option<LocationId> {
        match table.get(first.index()) {
            Some(known) if known == name => Some(first),
            _ => self.others.get(name).copied(),
        }
    }

    /// The location with this name, which may be new.
    fn id(&mut self, table: &mut Vec<String>, name: String) -> LocationId {
        let id = LocationId(table.len() as u32);
        let first = *self.by_hash.entry(hash(&name)).or_insert(id);
        if first != id {
            if let Some(known) = self.known(table, first, &name) {
                return known;
            }
            self.others.insert(name.clone(), id);
        }
        table.push(name);
        id
    }
}

fn hash(name: &str) -> u64 {
    FxBuildHasher.hash_one(name)
}

/// `base+8`, `base-16`, or just the base for 0.
fn with_offset(base: &str, offset: i64) -> String {
    match offset {
        0 => base.to_owned(),
        _ => format!("{base}{offset:+}"),
    }
}

fn joined(base: &str, path: &str) -> String {
    let mut name = String::with_capacity(base.len() + path.len());
    name.push_str(base);
    name.push_str(path);
    name
}

fn typed_pieces(
    layout: &RegionContent,
    start: i64,
    end: i64,
    each: &mut impl FnMut(AccessPiece) -> bool,
) {
    let mut at = start;
    let mut found_any = false;
    while at < end {
        match layout.at(at.unsigned_abs()) {
            TypePart::Leaf(leaf) => {
                let leaf_end = i64::try_from(leaf.end).unwrap_or(i64::MAX);
                let location = i64::try_from(leaf.start).unwrap_or(i64::MAX);
                let stop = leaf_end.min(end);
                found_any = true;
                if stop <= at
                    || !each(AccessPiece {
                        location,
                        start: at,
                        end: stop,
                        holds: leaf.holds,
                    })
                {
                    return;
                }
                at = stop;
            }
            TypePart::Gap { end: gap_end } => {
                let gap_end = i64::try_from(gap_end).unwrap_or(i64::MAX);
                if gap_end <= at || gap_end >= end {
                    break;
                }
                at = gap_end;
            }
        }
    }
    if !found_any {
        // Nothing but padding, which somebody uses all the same.
        each(AccessPiece {
            location: start,
            start,
            end,
            holds: LeafKind::Unknown,
        });
    }
}

fn untyped_pieces(
    components: &[Component],
    start: i64,
    end: i64,
    each: &mut impl FnMut(AccessPiece) -> bool,
) {
    let first = components.partition_point(|part| part.end <= start);
    for part in components
        .iter()
        .skip(first)
        .take_while(|part| part.start < end)
    {
        let piece = AccessPiece {
            location: part.start,
            start: part.start.max(start),
            end: part.end.min(end),
            holds: LeafKind::Unknown,
        };
        if !each(piece) {
            return;
        }
    }
}

fn find(components: &[Component], offset: i64) -> Option<&Component> {
    let part = components.get(components.partition_point(|part| part.end <= offset))?;
    (part.start <= offset).then_some(part)
}

/// The components of a region: sorted, without overlap.
fn components(mut touched: Vec<(i64, i64)>, ranges: FxHashSet<(i64, u64)>) -> Vec<Component> {
    touched.sort_unstable();
    let merged = merge(touched);
    if ranges.is_empty() {
        let component = |(start, end)| Component {
            start,
            end,
            only_ranges: false,
        };
        return merged.into_iter().map(component).collect();
    }
    let mut ranges: Vec<(i64, i64)> = ranges
        .into_iter()
        .map(|(start, size)| (start, start.saturating_add_unsigned(size)))
        .collect();
    ranges.sort_unstable();
    let mut cuts: Vec<i64> = ranges
        .iter()
        .flat_map(|(start, end)| [*start, *end])
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    with_ranges(&merged, &merge(ranges), &cuts)
}

/// Unions of intervals that overlap; those that only touch stay apart.
fn merge(sorted: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    let mut merged: Vec<(i64, i64)> = Vec::with_capacity(sorted.len());
    for (start, end) in sorted {
        match merged.last_mut() {
            Some(last) if start < last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// Adds parts that only ranges cover, cut where a range starts or ends.
fn with_ranges(touched: &[(i64, i64)], covered: &[(i64, i64)], cuts: &[i64]) -> Vec<Component> {
    let mut all: Vec<Component> = Vec::with_capacity(touched.len() + cuts.len());
    let mut add_cut = |mut from: i64, to: i64| {
        let first = cuts.partition_point(|cut| *cut <= from);
        for cut in cuts.iter().skip(first).take_while(|cut| **cut < to) {
            all.push(Component {
                start: from,
                end: *cut,
                only_ranges: true,
            });
            from = *cut;
        }
        all.push(Component {
            start: from,
            end: to,
            only_ranges: true,
        });
    };
    for (start, end) in covered {
        let mut from = *start;
        let first = touched.partition_point(|part| part.1 <= from);
        for part in touched.iter().skip(first).take_while(|part| part.0 < *end) {
            if from < part.0 {
                add_cut(from, part.0);
            }
            from = from.max(part.1);
        }
        if from < *end {
            add_cut(from, *end);
        }
    }
    all.extend(touched.iter().map(|(start, end)| Component {
        start: *start,
        end: *end,
        only_ranges: false,
    }));
    all.sort_by_key(|part| part.start);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spans<'t>(touched: impl IntoIterator<Item = &'t (i64, u32)>) -> Vec<(i64, i64)> {
        let span = |(start, size): &(i64, u32)| (*start, start + i64::from(*size));
        touched.into_iter().map(span).collect()
    }

    fn shown(touched: &[(i64, u32)], ranges: &[(i64, u64)]) -> Vec<(i64, i64, bool)> {
        components(spans(touched), ranges.iter().copied().collect())
            .iter()
            .map(|part| (part.start, part.end, part.only_ranges))
            .collect()
    }

    #[test]
    fn ranges_fill_what_accesses_leave() {
        assert_eq!(
            shown(&[(8, 8), (12, 8), (24, 4)], &[(0, 64)]),
            [
                (0, 8, true),
                (8, 20, false),
                (20, 24, true),
                (24, 28, false),
                (28, 64, true)
            ]
        );
        assert_eq!(
            shown(&[], &[(0, 16), (8, 16)]),
            [(0, 8, true), (8, 16, true), (16, 24, true)]
        );
    }

    #[test]
    fn names_with_one_hash_are_told_apart() {
        let mut table = vec![String::new()];
        let mut names = NameIndex::default();
        let first = names.id(&mut table, "first".to_owned());
        names.by_hash.insert(hash("second"), first);
        let second = names.id(&mut table, "second".to_owned());
        assert_ne!(first, second);
        assert_eq!(names.get(&table, "first"), Some(first));
        assert_eq!(names.id(&mut table, "second".to_owned()), second);
        assert_eq!(table, ["", "first", "second"]);
    }

    proptest! {
        /// Components are disjoint, cover exactly the bytes that are touched, no access cuts through
        /// one that another non-range access touches, and no range cuts one that only ranges touch.
        #[test]
        fn components_divide(
            touched in proptest::collection::hash_set((-40i64..40, 1u32..12), 0..8),
            ranges in proptest::collection::hash_set((-40i64..40, 1u64..40), 0..6),
        ) {
            let parts = components(spans(&touched), ranges.iter().copied().collect());
            let covers = |byte: i64| {
                touched.iter().any(|(s, n)| *s <= byte && byte < s + i64::from(*n))
                    || ranges.iter().any(|(s, n)| *s <= byte && byte < s + *n as i64)
            };
            for byte in -50..100 {
                let holding = parts.iter().filter(|p| p.start <= byte && byte < p.end).count();
                prop_assert_eq!(holding, usize::from(covers(byte)));
            }
            for (start, size) in &touched {
                let end = start + i64::from(*size);
                let inside = parts.iter().filter(|p| p.start < end && *start < p.end).count();
                prop_assert_eq!(inside, 1);
            }
            for (start, size) in &ranges {
                let end = start + *size as i64;
                for part in parts.iter().filter(|p| p.only_ranges && p.start < end && *start < p.end) {
                    prop_assert!(*start <= part.start && part.end <= end);
                }
            }
        }
    }
}
