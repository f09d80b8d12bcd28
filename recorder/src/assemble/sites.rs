//! Sites: addresses in the code as places in the source.

use super::{
    image::{Image, SourceFrame},
    names,
    program::ProgramDebugInfo,
};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex};
use unsnarl_trace::{SiteId, SiteRow, meta::is_system};

/// The source places of one address in the code, the same in every run.
#[derive(Debug)]
pub(super) struct CodePoint {
    /// The innermost position in the user's own code.
    pub user: Option<SiteRow>,
    /// Sites of inlined calls in the user's code around it, outermost first.
    pub inlined: Vec<SiteRow>,
    /// The best known position, when there is none in the user's code.
    pub any: SiteRow,
    /// The function with machine code at the address is the user's own; inlined ones do not count.
    pub is_user_function: bool,
    /// The function with machine code at the address, by its start, to compare.
    pub function: Option<u64>,
}

type SiteKey = (String, u64);

/// Points of all runs by module and address.
#[derive(Default)]
pub(super) struct PointCache(Mutex<FxHashMap<SiteKey, Arc<CodePoint>>>);

impl PointCache {
    /// The point at a file's own address.
    pub fn get(&self, program: &ProgramDebugInfo, image: &Image, address: u64) -> Arc<CodePoint> {
        let make = || Arc::new(point(program, image, address));
        match self.0.lock() {
            Ok(mut known) => known
                .entry((image.path.clone(), address))
                .or_insert_with(make)
                .clone(),
            Err(_) => make(),
        }
    }
}

fn point(program: &ProgramDebugInfo, image: &Image, address: u64) -> CodePoint {
    let frames = frames_near(image, address);
    let is_own = |frame: &SourceFrame| {
        !frame.file.is_empty() && !is_system(&frame.file) && !image.implicit.have(frame)
    };
    let mut users = frames
        .iter()
        .filter(|frame| frame.line != 0 && is_own(frame));
    let user = users.next();
    let symbol = image.code_symbol(address);
    let name = |frame: &SourceFrame| match (frame.function.as_str(), symbol) {
        // The debug info has no name for a lambda, the symbol does.
        ("" | "operator()", Some((symbol, _))) if names::is_lambda(symbol.name()) => {
            names::lambda(symbol.name())
        }
        ("", Some((symbol, _))) => symbol.name().to_owned(),
        (name, _) if names::is_lambda(name) => names::lambda(name),
        (name, _) => name.to_owned(),
    };
    let row = |frame: &SourceFrame| SiteRow {
        file: frame.file.clone(),
        line: frame.line,
        column: frame.column,
        function: name(frame),
        text: program.sources.line(&frame.file, frame.line),
    };
    // Without lines the offset keeps different places of a function apart.
    let bare = || SiteRow {
        function: match symbol {
            Some((symbol, offset)) => format!("{}{}+{offset:#x}", image.prefix, symbol.name()),
            None => format!("{}{address:#x}", image.prefix),
        },
        ..SiteRow::default()
    };
    let outermost = image.source_frames(address).pop();
    CodePoint {
        is_user_function: outermost.is_some_and(|frame| is_own(&frame)),
        user: user.map(row),
        inlined: users.rev().map(row).collect(),
        any: frames
            .first()
            .filter(|frame| frame.line != 0)
            .map_or_else(bare, row),
        function: image
            .code_symbol(address)
            .map(|(symbol, _)| symbol.start)
            .or_else(|| {
                image
                    .function(address)?
                    .1
                    .ranges
                    .first()
                    .map(|range| range.0)
            }),
    }
}

/// The source frames of an address. Compiler-generated code has no line and gets those of the code shortly before it
/// in the same function.
fn frames_near(image: &Image, address: u64) -> Vec<SourceFrame> {
    const BYTES_BACK: u64 = 48;
    let frames = image.source_frames(address);
    if frames.is_empty() || frames.iter().any(|frame| frame.line != 0) {
        return frames;
    }
    let start = image
        .code_symbol(address)
        .map_or(address, |(symbol, _)| symbol.start);
    (start.max(address.saturating_sub(BYTES_BACK))..address)
        .rev()
        .map(|earlier| image.source_frames(earlier))
        .find(|frames| frames.iter().any(|frame| frame.line != 0))
        .unwrap_or(frames)
}

/// The site table of one run: equal rows are one site. Row 0 is "not known".
pub(super) struct SiteTable {
    pub rows: Vec<SiteRow>,
    ids: FxHashMap<SiteRow, SiteId>,
}

impl Default for SiteTable {
    fn default() -> SiteTable {
        let unknown = SiteRow::default();
        let ids = FxHashMap::from_iter([(unknown.clone(), SiteId(0))]);
        SiteTable {
            rows: vec![unknown],
            ids,
        }
    }
}

impl SiteTable {
    /// The id of a row.
    pub fn id(&mut self, row: &SiteRow) -> SiteId {
        if let Some(id) = self.ids.get(row) {
            return *id;
        }
        let id = SiteId(self.rows.len() as u32);
        self.rows.push(row.clone());
        self.ids.insert(row.clone(), id);
        id
    }

    /// `bank.c:22`, as it stands in names of heap blocks.
    pub fn label(&self, id: SiteId) -> String {
        match self.rows.get(id.index()) {
            Some(row) if row.line != 0 => {
                format!("{}:{}", names::file_name(&row.file), row.line)
            }
            Some(row) if !row.function.is_empty() => row.function.clone(),
            _ => "?".to_owned(),
        }
    }
}
