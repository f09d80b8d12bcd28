//! One file of machine code, the program or a shared library: its symbols, data objects, functions
//! and unwind rules, all by the file's own addresses.

use super::{
    allocations,
    cfi::Cfi,
    dwarf::{self, DebugInfo, DwarfFunction, DwarfGlobal, DwarfReader, FrameVariable, SourceTypes},
    globals::{self, GlobalObject},
    implicit::ImplicitMembers,
    imports::Imports,
    landmarks::Landmarks,
    lift::{self, LiftedModel, LoadedFile},
    names::FunctionName,
    points::Points,
    types::{TypeId, Types},
};
use crate::wrapper::model;
use gimli::LittleEndian;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};
use rustc_hash::FxHashMap;
use std::{
    path::Path,
    sync::{Arc, Mutex, OnceLock},
    time::SystemTime,
};
use unsnarl_trace::raw::{path::SECTION, serve};

/// The instrumentation runtime that a program holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrumented {
    /// Built by `unsnarl cc`.
    ByUnsnarl,
    /// Built by `unsnarl cc --path`.
    ForPath,
    /// Linked with the compiler's own thread sanitizer.
    ByLibtsan,
    /// Not instrumented.
    No,
}

/// A symbol with an address range.
#[derive(Clone, Debug)]
pub(super) struct ImageSymbol {
    pub start: u64,
    pub size: u64,
    pub name: String,
}

/// A function symbol with an address range.
#[derive(Clone, Debug)]
pub(super) struct CodeSymbol {
    pub start: u64,
    pub size: u64,
    name: FunctionName,
}

impl CodeSymbol {
    pub fn name(&self) -> &str {
        self.name.get()
    }
}

/// One file of machine code.
pub(super) struct Image {
    /// Full path, by which images are told apart.
    pub path: String,
    /// Prefix of a location's name: empty for the program, `libfoo.so:` for a library.
    pub prefix: String,
    /// Time of the file's last modification.
    pub built: Option<SystemTime>,
    pub has_debug_info: bool,
    pub instrumented: Instrumented,
    /// `true` if it can make copies of itself ([`serve`]).
    pub serves: bool,
    /// It calls `unsnarl_check` somewhere.
    pub has_checks: bool,
    pub types: Types,
    /// Names of data whose accesses the compiler does not report.
    pub unseen: Vec<String>,
    /// Members without a text of their own.
    pub implicit: ImplicitMembers,
    sources: SourceTypes,
    pub objects: Vec<GlobalObject>,
    /// Places at which the path is noted, in a build for path mode.
    pub landmarks: Landmarks,
    /// The program model that the file carries, its units one behind the other.
    models: Arc<[u8]>,
    /// The instructions of that model.
    points: Points,
    /// The material to lift a model from, if the file carries none.
    source: Option<LiftSource>,
    /// The lifted model with its instructions.
    lifted: OnceLock<Option<(LiftedModel, Points)>>,
    /// Thread-local variables, by their offset.
    thread_locals: Vec<GlobalObject>,
    /// Ranges of `functions`, sorted.
    ranges: Vec<(u64, u64, u32)>,
    functions: Vec<DwarfFunction>,
    /// Function symbols, sorted.
    code: Vec<CodeSymbol>,
    cfi: Cfi,
    imports: Imports,
    /// Results of [`Image::next_call`] by address and name, which every run asks for again.
    next_calls: Mutex<FxHashMap<u64, FxHashMap<String, Option<u64>>>>,
    lines: Option<Mutex<addr2line::Context<DwarfReader>>>,
}

/// Debug info and content of a file.
struct LiftSource {
    dwarf: Arc<gimli::Dwarf<DwarfReader>>,
    file: LoadedFile,
}

/// One source position of an address; an address in inlined code has several.
#[derive(Clone, Debug, Default)]
pub(super) struct SourceFrame {
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub function: String,
}

impl Image {
    /// Reads a file's bytes; `None` when they are not an ELF file that can be understood.
    pub fn parse(bytes: &[u8], path: &Path, prefix: String) -> Option<Image> {
        let file = object::File::parse(bytes).ok()?;
        let dwarf = Arc::new(load_dwarf(&file)?);
        let debug = dwarf::read(dwarf.clone());
        let points = Points::read(&dwarf);
        let has_debug_info = !section_bytes(&file, ".debug_info").is_empty();
        let models = section_bytes(&file, model::SECTION);
        let instrumented = instrumented(&file);
        let is_lifted = models.is_empty() && instrumented != Instrumented::ForPath;
        let source = (is_lifted && calls_back(&file)).then(|| LiftSource {
            dwarf: dwarf.clone(),
            file: LoadedFile::read(&file),
        });
        let lines = addr2line::Context::from_arc_dwarf(dwarf)
            .ok()
            .filter(|_| has_debug_info);
        let code = code_symbols(&file);
        let DebugInfo {
            globals,
            thread_locals,
            functions,
            types,
            sources,
            unseen,
            implicit,
        } = debug;
        let sized = |globals: Vec<DwarfGlobal>| -> Vec<(DwarfGlobal, u64)> {
            let sized = |global: DwarfGlobal| {
                let size = types.size(global.kind);
                (global, size)
            };
            globals.into_iter().map(sized).collect()
        };
        let data = symbols(&file, SymbolKind::Data);
        let objects = globals::objects(sized(globals), data, sections(&file));
        let locals = symbols(&file, SymbolKind::Tls);
        let thread_locals = globals::objects(sized(thread_locals), locals, Vec::new());
        Some(Image {
            path: path.to_string_lossy().into_owned(),
            prefix,
            built: std::fs::metadata(path)
                .and_then(|data| data.modified())
                .ok(),
            has_debug_info,
            instrumented,
            serves: serves(&file),
            has_checks: file.section_by_name(CHECKS).is_some(),
            types,
            unseen,
            implicit,
            sources,
            objects,
            landmarks: Landmarks::read(&section_bytes(&file, SECTION)),
            models,
            points,
            source,
            lifted: OnceLock::new(),
            thread_locals,
            ranges: ranges(&functions),
            functions,
            code,
            cfi: Cfi::read(&file),
            imports: Imports::read(&file),
            next_calls: Mutex::default(),
            lines: lines.map(Mutex::new),
        })
    }

    /// The program model of its units, one behind the other.
    pub fn models(&self) -> Arc<[u8]> {
        match self.lifted() {
            Some((model, _)) => model.bytes.clone(),
            None => self.models.clone(),
        }
    }

    /// The program model's instructions.
    pub fn points(&self) -> &Points {
        self.lifted().map_or(&self.points, |(_, points)| points)
    }

    /// The model that is lifted from the machine code, when it is first asked for.
    fn lifted(&self) -> Option<&(LiftedModel, Points)> {
        let source = self.source.as_ref()?;
        let lift = || {
            let model = lift::lift(source.dwarf.clone(), &source.file, self)?;
            let points = Points::lifted(&model);
            Some((model, points))
        };
        self.lifted.get_or_init(lift).as_ref()
    }

    /// The data object or code symbol at an address.
    pub fn object(&self, address: u64) -> Option<(usize, &GlobalObject)> {
        holding(&self.objects, address)
    }

    /// The thread-local variable at an offset.
    pub fn thread_local(&self, offset: u64) -> Option<&GlobalObject> {
        holding(&self.thread_locals, offset).map(|(_, object)| object)
    }

    /// The function whose machine code holds an address.
    pub fn function(&self, address: u64) -> Option<(u32, &DwarfFunction)> {
        let after = self
            .ranges
            .partition_point(|(start, _, _)| *start <= address);
        let (_, end, index) = self.ranges.get(after.checked_sub(1)?)?;
        (address < *end).then(|| self.functions.get(*index as usize).map(|f| (*index, f)))?
    }

    /// The variables on the stack of a function.
    pub fn variables(&self, function: u32) -> &[FrameVariable] {
        self.functions
            .get(function as usize)
            .map_or(&[], |function| &function.variables)
    }

    /// The type of a block of `size` bytes that code of the C++ library at `address` allocates.
    pub fn allocated_by_library(&self, address: u64, size: u64) -> Option<TypeId> {
        let frames = self.source_frames(address);
        let kinds = frames
            .iter()
            .filter_map(|frame| self.sources.allocators.get(&frame.function).copied());
        self.first_that_fits(kinds, size)
    }

    /// The first type of which one object or several in a row make a block of `size` bytes.
    fn first_that_fits(&self, kinds: impl Iterator<Item = TypeId>, size: u64) -> Option<TypeId> {
        let mut kinds = kinds;
        kinds.find(|kind| {
            let one = self.types.size(*kind);
            // Bytes are not worth a row each: they are divided by use.
            one > 1 && size >= one && size.is_multiple_of(one)
        })
    }

    /// The type of a block of `size` bytes that was allocated on this line of this function: one object or several in
    /// a row.
    pub fn allocated(&self, function: &str, line: &str, size: u64) -> Option<TypeId> {
        let elements = allocations::elements(line).into_iter();
        let kinds = elements.filter_map(|element| self.sources.find(function, element));
        self.first_that_fits(kinds, size)
    }

    /// The function symbol that holds an address, and the offset in it.
    pub fn code_symbol(&self, address: u64) -> Option<(&CodeSymbol, u64)> {
        let after = self.code.partition_point(|symbol| symbol.start <= address);
        let symbol = self.code.get(after.checked_sub(1)?)?;
        let offset = address - symbol.start;
        (offset < symbol.size).then_some((symbol, offset))
    }

    /// Start of the code with this name.
    #[cfg(test)]
    pub fn code_named(&self, name: &str) -> Option<u64> {
        self.code
            .iter()
            .find(|symbol| symbol.name() == name)
            .map(|symbol| symbol.start)
    }

    /// Return address of the next call in the function that holds `address`, seen from there, of a function of `library`,
    /// or of one that calls it in turn.
    pub fn next_call(&self, address: u64, library: &Image, callee: &CodeSymbol) -> Option<u64> {
        let (function, _) = self.code_symbol(address)?;
        let name = callee.name();
        let is_it = |called: &str| called == name || library.leads_to(called, callee);
        let find = || self.imports.call_after(function, address, is_it);
        let Ok(mut known) = self.next_calls.lock() else {
            return find();
        };
        let known = known.entry(address).or_default();
        if let Some(call) = known.get(name) {
            return *call;
        }
        let call = find();
        known.insert(name.to_owned(), call);
        call
    }

    /// Returns whether the function of this name calls another one of this library, or leaves that to a third one.
    fn leads_to(&self, name: &str, callee: &CodeSymbol) -> bool {
        let mut named = self.code.iter().filter(|symbol| symbol.name() == name);
        named.any(|symbol| {
            let own = self.imports.targets(symbol);
            let mut left_to = own.jumped.iter().filter_map(|to| self.function_at(*to));
            own.contain(callee.start)
                || left_to.any(|other| self.imports.targets(other).contain(callee.start))
        })
    }

    /// The function that begins at an address.
    fn function_at(&self, address: u64) -> Option<&CodeSymbol> {
        let found = self.code_symbol(address);
        found
            .filter(|(_, into)| *into == 0)
            .map(|(symbol, _)| symbol)
    }

    /// Possible return addresses of calls in the code, see [`Imports::returns`].
    pub fn returns(&self) -> Vec<u64> {
        self.imports.returns()
    }

    /// The machine code from an address to the end of its section.
    pub fn code_at(&self, address: u64) -> Option<&[u8]> {
        self.imports.code_at(address)
    }

    /// The name of the function that a call of this address leads to, also by a stub.
    pub fn called_name(&self, address: u64) -> Option<&str> {
        match self.code_symbol(address) {
            Some((symbol, 0)) => Some(symbol.name()),
            _ => self.imports.stub_name(address),
        }
    }

    /// The name of the function whose address the loader stores there.
    pub fn slot_name(&self, address: u64) -> Option<&str> {
        self.imports.slot_name(address)
    }

    /// The rule that yields the frame address at a place in the code.
    pub fn cfa_rule(&self, address: u64) -> Option<super::cfi::CfaAt> {
        self.cfi.rule(address)
    }

    /// First address, file and line of each piece of the code in a range that has a line, by address.
    pub fn lines(&self, from: u64, to: u64) -> Vec<(u64, String, u32)> {
        let Some(Ok(lines)) = self.lines.as_ref().map(|lines| lines.lock()) else {
            return Vec::new();
        };
        let Ok(ranges) = lines.find_location_range(from, to) else {
            return Vec::new();
        };
        let known = ranges.filter_map(|(start, _, at)| {
            let line = at.line.filter(|line| *line != 0)?;
            Some((start, super::names::path(at.file?), line))
        });
        known.collect()
    }

    /// The folder that the code at an address was compiled in: names in the program's own text are relative to it.
    pub fn compiled_in(&self, address: u64) -> Option<String> {
        let lines = self.lines.as_ref()?.lock().ok()?;
        let unit = lines.find_dwarf_and_unit(address).skip_all_loads()?;
        let folder = unit.comp_dir.as_ref()?;
        Some(gimli::Reader::to_string_lossy(folder).ok()?.into_owned())
    }

    /// The source positions of an address, innermost first.
    pub fn source_frames(&self, address: u64) -> Vec<SourceFrame> {
        // No file has code up there, and the reader of line tables adds to the address.
        if address > u64::MAX / 2 {
            return Vec::new();
        }
        let Some(lines) = &self.lines else {
            return Vec::new();
        };
        let Ok(lines) = lines.lock() else {
            return Vec::new();
        };
        let Ok(mut frames) = lines.find_frames(address).skip_all_loads() else {
            return Vec::new();
        };
        let mut found = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            found.push(source_frame(&frame));
        }
        found
    }
}

/// Lines of the source by addresses in a file of machine code.
pub(crate) struct SourceLines(addr2line::Context<DwarfReader>);

impl SourceLines {
    /// Reads the debug info of a file; `None` if it has none that can be understood.
    pub(crate) fn of(file: &object::File<'_>) -> Option<SourceLines> {
        let context = addr2line::Context::from_arc_dwarf(Arc::new(load_dwarf(file)?));
        context.ok().map(SourceLines)
    }

    /// The line of an address.
    pub(crate) fn at(&self, address: u64) -> Option<u32> {
        self.0.find_location(address).ok()??.line
    }
}

fn holding(objects: &[GlobalObject], address: u64) -> Option<(usize, &GlobalObject)> {
    let after = objects.partition_point(|object| object.start <= address);
    let index = after.checked_sub(1)?;
    let object = objects.get(index)?;
    (address < object.end).then_some((index, object))
}

fn source_frame(frame: &addr2line::Frame<'_, DwarfReader>) -> SourceFrame {
    let name = frame.function.as_ref().and_then(|function| {
        function
            .raw_name()
            .ok()
            .map(|name| super::names::function(&name))
    });
    let location = frame.location.as_ref();
    SourceFrame {
        file: location
            .and_then(|at| at.file)
            .map(super::names::path)
            .unwrap_or_default(),
        line: location.and_then(|at| at.line).unwrap_or(0),
        column: location.and_then(|at| at.column).unwrap_or(0),
        function: name.unwrap_or_default(),
    }
}

fn load_dwarf(file: &object::File<'_>) -> Option<gimli::Dwarf<DwarfReader>> {
    let load = |id: gimli::SectionId| -> Result<DwarfReader, gimli::Error> {
        Ok(DwarfReader::new(
            section_bytes(file, id.name()),
            LittleEndian,
        ))
    };
    gimli::Dwarf::load(load).ok()
}

/// The bytes of a section, empty when it is missing.
pub(super) fn section_bytes(file: &object::File<'_>, name: &str) -> Arc<[u8]> {
    let data = file
        .section_by_name(name)
        .and_then(|section| section.uncompressed_data().ok());
    data.map_or_else(|| Arc::from([].as_slice()), |data| Arc::from(&*data))
}

fn ranges(functions: &[DwarfFunction]) -> Vec<(u64, u64, u32)> {
    let mut ranges: Vec<(u64, u64, u32)> = functions
        .iter()
        .zip(0u32..)
        .flat_map(|(function, i)| {
            function
                .ranges
                .iter()
                .map(move |range| (range.0, range.1, i))
        })
        .collect();
    ranges.sort_unstable();
    ranges.dedup_by_key(|range| range.0);
    ranges
}

fn code_symbols(file: &object::File<'_>) -> Vec<CodeSymbol> {
    let all = file.symbols().chain(file.dynamic_symbols());
    let wanted = all.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    let mut symbols: Vec<CodeSymbol> = wanted
        .filter_map(|symbol| {
            Some(CodeSymbol {
                start: symbol.address(),
                size: symbol.size(),
                name: FunctionName::of(symbol.name().ok()?),
            })
        })
        .collect();
    symbols.sort_by_key(|symbol| symbol.start);
    symbols.dedup_by(|later, first| {
        let is_same = later.start == first.start;
        if is_same && later.size != first.size && later.name.is_before(&first.name) {
            first.size = later.size;
        }
        if is_same {
            first.name.join(std::mem::take(&mut later.name));
        }
        is_same
    });
    symbols
}

fn symbols(file: &object::File<'_>, kind: SymbolKind) -> Vec<ImageSymbol> {
    let all = file.symbols().chain(file.dynamic_symbols());
    let wanted = all.filter(|symbol| symbol.kind() == kind && symbol.is_definition());
    let mut symbols: Vec<ImageSymbol> = wanted
        .filter_map(|symbol| {
            let name = super::names::function(symbol.name().ok()?);
            Some(ImageSymbol {
                start: symbol.address(),
                size: symbol.size(),
                name,
            })
        })
        .collect();
    // Of several names for one address the shortest: `main` rather than `__main_alias`.
    symbols.sort_by(|a, b| (a.start, a.name.len(), &a.name).cmp(&(b.start, b.name.len(), &b.name)));
    symbols.dedup_by_key(|symbol| symbol.start);
    symbols
}

fn sections(file: &object::File<'_>) -> Vec<ImageSymbol> {
    let section = |section: object::Section<'_, '_>| {
        let name = section.name().ok()?.to_owned();
        let is_loaded = section.address() != 0 && section.kind() != object::SectionKind::Tls;
        let is_loaded = is_loaded && section.kind() != object::SectionKind::UninitializedTls;
        is_loaded.then(|| ImageSymbol {
            start: section.address(),
            size: section.size(),
            name,
        })
    };
    let mut sections: Vec<ImageSymbol> = file.sections().filter_map(section).collect();
    sections.sort_by_key(|section| section.start);
    sections
}

/// Section that `unsnarl.h` makes in each file that calls `unsnarl_check`.
const CHECKS: &str = "unsnarl_checks";

/// Returns whether code of the file calls the instrumentation's callbacks.
fn calls_back(file: &object::File<'_>) -> bool {
    let mut names = file.symbols().chain(file.dynamic_symbols());
    names.any(|symbol| symbol.name().is_ok_and(|name| name.starts_with("__tsan_")))
}

fn serves(file: &object::File<'_>) -> bool {
    let mut names = file.symbols().filter_map(|symbol| symbol.name().ok());
    names.any(|name| name == serve::SYMBOL)
}

fn instrumented(file: &object::File<'_>) -> Instrumented {
    let (mut has_runtime, mut calls, mut is_libtsan) = (false, false, false);
    let mut is_for_path = false;
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let name = symbol.name().unwrap_or("");
        has_runtime |= name == "__tsan_func_entry" && symbol.is_definition();
        calls |= name.starts_with("__tsan_");
        is_for_path |= name == "unsnarl_path_build";
        is_libtsan |= name == "__tsan_on_report" || name.contains("6__tsan");
    }
    if is_libtsan || calls && needs_libtsan(file) {
        Instrumented::ByLibtsan
    } else if is_for_path {
        Instrumented::ForPath
    } else if has_runtime {
        Instrumented::ByUnsnarl
    } else {
        Instrumented::No
    }
}

/// The name of the shared libtsan among those of the libraries to load.
fn needs_libtsan(file: &object::File<'_>) -> bool {
    section_bytes(file, ".dynstr")
        .windows(8)
        .any(|part| part == b"libtsan.")
}
