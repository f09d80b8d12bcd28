//! Walks the debug info of one file once: global variables, functions with the variables on their
//! stacks, and the layouts of their types.

use super::{
    allocations::Element,
    definitions::ClassDefinitions,
    dwarf_types::TypeBuilder,
    implicit::ImplicitMembers,
    types::{TypeId, Types},
    unseen,
};
use gimli::{AttributeValue, LittleEndian, Operation, Reader as _, UnitOffset};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) type DwarfReader = gimli::EndianArcSlice<LittleEndian>;
pub(super) type DwarfEntry = gimli::DebuggingInformationEntry<DwarfReader>;
type DwarfUnit = gimli::Unit<DwarfReader>;

/// A variable with a fixed address.
#[derive(Clone, Debug)]
pub(super) struct DwarfGlobal {
    pub address: u64,
    pub name: String,
    /// File and line of the declaration, to tell equal names apart.
    pub declared: (String, u64),
    pub kind: TypeId,
}

/// The base of a frame variable's offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameBase {
    /// The canonical frame address.
    Cfa,
    /// The frame pointer plus an offset.
    FramePointer(i64),
    /// The stack pointer plus an offset.
    StackPointer(i64),
}

/// A variable on the stack.
#[derive(Clone, Debug)]
pub(super) struct FrameVariable {
    pub offset: i64,
    pub size: u64,
    pub name: String,
    pub kind: TypeId,
}

/// A function with machine code.
#[derive(Clone, Debug)]
pub(super) struct DwarfFunction {
    /// Name with its namespaces and classes, without parameters.
    pub name: String,
    /// Address ranges.
    pub ranges: Vec<(u64, u64)>,
    pub frame_base: FrameBase,
    pub variables: Vec<FrameVariable>,
    /// Compiled with optimization: only then do compilers report all calls in it.
    pub is_optimized: bool,
}

/// The result of the walk.
#[derive(Default)]
pub(super) struct DebugInfo {
    pub globals: Vec<DwarfGlobal>,
    /// Thread-local variables; their addresses are offsets in the file's block of them.
    pub thread_locals: Vec<DwarfGlobal>,
    pub functions: Vec<DwarfFunction>,
    pub types: Types,
    /// Types that the source may name at an allocation.
    pub sources: SourceTypes,
    /// Variables and members whose accesses the compiler does not report.
    pub unseen: Vec<String>,
    /// Members without a text of their own.
    pub implicit: ImplicitMembers,
}

/// Types by the names that the source has for them.
#[derive(Default)]
pub(super) struct SourceTypes {
    /// By the type's own name.
    pub named: FxHashMap<String, TypeId>,
    /// Pointee types of variables, by function (empty outside of functions) and name.
    pub pointees: FxHashMap<(String, String), TypeId>,
    /// Types that the C++ library's allocating functions allocate.
    pub allocators: FxHashMap<String, TypeId>,
}

impl SourceTypes {
    /// The type of an allocation in this function.
    pub fn find(&self, function: &str, element: Element<'_>) -> Option<TypeId> {
        match element {
            Element::Type(name) => self.named.get(name).copied(),
            Element::PointedToBy(name) => {
                let local = self.pointees.get(&(function.to_owned(), name.to_owned()));
                local
                    .or_else(|| self.pointees.get(&(String::new(), name.to_owned())))
                    .copied()
            }
        }
    }
}

/// All units of a file.
pub(super) struct Units {
    dwarf: std::sync::Arc<gimli::Dwarf<DwarfReader>>,
    list: Vec<DwarfUnit>,
}

impl Units {
    pub fn read(dwarf: std::sync::Arc<gimli::Dwarf<DwarfReader>>) -> Units {
        let mut list = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            list.extend(dwarf.unit(header));
        }
        Units { dwarf, list }
    }

    pub fn get(&self, unit: usize) -> Option<&DwarfUnit> {
        self.list.get(unit)
    }

    /// Number of units.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Address ranges of the machine code that an entry stands for.
    pub fn ranges(&self, unit: &DwarfUnit, entry: &DwarfEntry) -> Vec<(u64, u64)> {
        let mut ranges = Vec::new();
        let Ok(mut found) = self.dwarf.die_ranges(unit, entry) else {
            return ranges;
        };
        while let Ok(Some(range)) = found.next() {
            if range.begin < range.end && range.begin != 0 {
                ranges.push((range.begin, range.end));
            }
        }
        ranges
    }

    /// File and line of a declaration.
    pub fn declared_in(&self, unit: usize, entry: &DwarfEntry) -> (String, u32) {
        let (file, line) = self.declared(unit, entry);
        (file, u32::try_from(line).unwrap_or(0))
    }

    /// The entry that an attribute refers to.
    pub fn target(
        &self,
        unit: usize,
        value: AttributeValue<DwarfReader>,
    ) -> Option<(usize, UnitOffset)> {
        match value {
            AttributeValue::UnitRef(offset) => Some((unit, offset)),
            AttributeValue::DebugInfoRef(offset) => {
                let after = self.list.partition_point(|unit| {
                    unit.header
                        .debug_info_offset()
                        .is_some_and(|start| start.0 <= offset.0)
                });
                let unit = after.checked_sub(1)?;
                Some((unit, offset.to_unit_offset(&self.list.get(unit)?.header)?))
            }
            _ => None,
        }
    }

    /// `DW_AT_name`, empty when there is none.
    pub fn name(&self, unit: usize, entry: &DwarfEntry) -> String {
        self.text(unit, entry.attr_value(gimli::DW_AT_name))
            .unwrap_or_default()
    }

    pub fn text(&self, unit: usize, value: Option<AttributeValue<DwarfReader>>) -> Option<String> {
        let text = self.dwarf.attr_string(self.list.get(unit)?, value?).ok()?;
        Some(text.to_string_lossy().ok()?.into_owned())
    }

    /// The first type that a template was made for.
    pub fn template_type(&self, unit: usize, entry: &DwarfEntry) -> Option<DwarfEntry> {
        let is_type = |child: &DwarfEntry| child.tag() == gimli::DW_TAG_template_type_parameter;
        self.children(unit, entry).into_iter().find(is_type)
    }

    /// The linker's name of a function, for people.
    fn linkage_name(&self, unit: usize, entry: &DwarfEntry) -> Option<String> {
        let name = self.text(unit, entry.attr_value(gimli::DW_AT_linkage_name))?;
        Some(super::names::function(&name))
    }

    /// The direct children of an entry.
    pub fn children(&self, unit: usize, entry: &DwarfEntry) -> Vec<DwarfEntry> {
        let mut children = Vec::new();
        let Some(unit) = self.list.get(unit) else {
            return children;
        };
        let Ok(mut tree) = unit.entries_tree(Some(entry.offset())) else {
            return children;
        };
        let Ok(root) = tree.root() else {
            return children;
        };
        let mut nodes = root.children();
        while let Ok(Some(node)) = nodes.next() {
            children.push(node.entry().clone());
        }
        children
    }

    /// Returns whether the unit's source is not one of the runtime's own.
    pub fn is_c_family(&self, unit: usize) -> bool {
        let language = self.get(unit).and_then(|unit| {
            let root = unit.entry(unit.header.root_offset()).ok()?;
            match root.attr_value(gimli::DW_AT_language)? {
                AttributeValue::Language(language) => Some(language),
                _ => None,
            }
        });
        language != Some(gimli::DW_LANG_Rust)
    }

    fn declared(&self, unit: usize, entry: &DwarfEntry) -> (String, u64) {
        let line = entry
            .attr(gimli::DW_AT_decl_line)
            .and_then(|line| line.udata_value());
        let file = match entry.attr_value(gimli::DW_AT_decl_file) {
            Some(AttributeValue::FileIndex(index)) => self.file_name(unit, index),
            _ => None,
        };
        (file.unwrap_or_default(), line.unwrap_or(0))
    }

    fn file_name(&self, unit: usize, index: u64) -> Option<String> {
        let program = self.list.get(unit)?.line_program.as_ref()?;
        let path = self.text(unit, Some(program.header().file(index)?.path_name()))?;
        path.rsplit('/').next().map(str::to_owned)
    }
}

/// Reads everything that is needed of a file's debug info.
pub(super) fn read(dwarf: std::sync::Arc<gimli::Dwarf<DwarfReader>>) -> DebugInfo {
    let units = Units::read(dwarf);
    let mut declared = DeclaredFacts::default();
    for unit in (0..units.list.len()).filter(|unit| units.is_c_family(*unit)) {
        declared.unit(&units, unit);
    }
    let defined = std::mem::take(&mut declared.classes).found();
    let mut walk = DwarfWalk {
        units: &units,
        names: &declared.names,
        types: TypeBuilder::new(&units, &declared.in_std, &defined),
        globals: Vec::new(),
        thread_locals: Vec::new(),
        functions: Vec::new(),
        sources: SourceTypes::default(),
        unseen: Vec::new(),
        implicit: ImplicitMembers::default(),
        is_by_clang: false,
    };
    for unit in (0..units.list.len()).filter(|unit| units.is_c_family(*unit)) {
        walk.unit(unit);
    }
    DebugInfo {
        globals: walk.globals,
        thread_locals: walk.thread_locals,
        functions: walk.functions,
        types: walk.types.types,
        sources: walk.sources,
        unseen: walk.unseen,
        implicit: walk.implicit,
    }
}

/// An entry by unit and offset.
pub(super) type EntryId = (usize, usize);

/// Facts that have to be known before the walk, because references may point forwards.
#[derive(Default)]
struct DeclaredFacts {
    /// Qualified names of functions, variables and members.
    names: FxHashMap<EntryId, String>,
    /// Types that stand in namespace `std`.
    in_std: FxHashSet<EntryId>,
    /// Classes, and where they are defined.
    classes: ClassDefinitions,
}

impl DeclaredFacts {
    fn unit(&mut self, units: &Units, unit: usize) {
        let Some(header) = units.get(unit) else {
            return;
        };
        // Depth and qualified name of what encloses the entry.
        let mut scopes: Vec<(isize, String)> = Vec::new();
        let mut cursor = header.entries();
        while let Ok(Some(entry)) = cursor.next_dfs() {
            while scopes
                .last()
                .is_some_and(|(depth, _)| *depth >= entry.depth())
            {
                scopes.pop();
            }
            let outer = scopes.last().map_or("", |(_, path)| path.as_str());
            let is_scope = encloses(entry.tag());
            if !is_scope && !is_named(entry.tag()) {
                continue;
            }
            let name = units.name(unit, entry);
            let path = qualified(outer, &name);
            let id = (unit, entry.offset().0);
            if is_type(entry.tag()) && (outer == "std" || outer.starts_with("std::")) {
                self.in_std.insert(id);
            }
            if is_class(entry.tag()) && !name.is_empty() {
                self.classes.see(id, entry, &path);
            }
            if is_named(entry.tag()) && !name.is_empty() {
                self.names.insert(id, path.clone());
            }
            if is_scope {
                scopes.push((entry.depth(), path));
            }
        }
    }
}

fn encloses(tag: gimli::DwTag) -> bool {
    let is_namespace = tag == gimli::DW_TAG_namespace;
    is_namespace
        || is_type(tag)
        || tag == gimli::DW_TAG_union_type
        || tag == gimli::DW_TAG_subprogram
}

fn is_named(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_subprogram
            | gimli::DW_TAG_variable
            | gimli::DW_TAG_formal_parameter
            | gimli::DW_TAG_member
    )
}

fn is_class(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type
    )
}

fn is_type(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_typedef
    )
}

struct DwarfWalk<'a> {
    units: &'a Units,
    names: &'a FxHashMap<EntryId, String>,
    types: TypeBuilder<'a>,
    globals: Vec<DwarfGlobal>,
    thread_locals: Vec<DwarfGlobal>,
    functions: Vec<DwarfFunction>,
    sources: SourceTypes,
    unseen: Vec<String>,
    implicit: ImplicitMembers,
    /// `true` if clang made the unit that is being walked.
    is_by_clang: bool,
}

/// Bound for a chain of origins: a definition refers to a declaration, that perhaps to another one.
const MAX_ORIGINS: usize = 4;

/// Something that encloses entries: a namespace, type, function or block.
struct DwarfScope {
    depth: isize,
    /// Qualified name.
    path: String,
    /// Index of the enclosing function with machine code.
    function: Option<usize>,
    /// Qualified name of the enclosing function, empty outside of functions.
    within: String,
    /// The class, if it is one.
    class: Option<UnitOffset>,
}

impl DwarfWalk<'_> {
    fn unit(&mut self, unit: usize) {
        let Some(header) = self.units.get(unit) else {
            return;
        };
        self.is_by_clang = unseen::is_by_clang(self.units, unit);
        let mut scopes: Vec<DwarfScope> = Vec::new();
        let mut cursor = header.entries();
        while let Ok(Some(entry)) = cursor.next_dfs() {
            while scopes
                .last()
                .is_some_and(|scope| scope.depth >= entry.depth())
            {
                scopes.pop();
            }
            self.entry(unit, entry, &mut scopes);
        }
    }

    fn entry(&mut self, unit: usize, entry: &DwarfEntry, scopes: &mut Vec<DwarfScope>) {
        let outer = scopes.last();
        let (outer_path, function, within) = outer.map_or(("", None, ""), |scope| {
            (scope.path.as_str(), scope.function, scope.within.as_str())
        });
        let (tag, depth) = (entry.tag(), entry.depth());
        self.unseen(unit, entry, outer_path);
        if tag == gimli::DW_TAG_subprogram {
            let class = outer.and_then(|scope| scope.class);
            self.implicit.note(self.units, unit, entry, class);
            let path = self.full_name(unit, entry, outer_path);
            self.allocator(unit, entry, &self.units.name(unit, entry));
            let function = self.function(unit, entry, &path);
            scopes.push(DwarfScope {
                depth,
                within: path.clone(),
                path,
                function,
                class: None,
            });
        } else if encloses(tag) || tag == gimli::DW_TAG_base_type {
            let name = self.units.name(unit, entry);
            let path = qualified(outer_path, &name);
            self.allocator(unit, entry, &name);
            self.named_type(unit, entry, &path);
            scopes.push(DwarfScope {
                depth,
                within: within.to_owned(),
                path,
                function,
                class: is_class(tag).then_some(entry.offset()),
            });
        } else if matches!(tag, gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter) {
            self.pointer(unit, entry, within);
            if entry.attr(gimli::DW_AT_location).is_some() {
                let path = self.full_name(unit, entry, outer_path);
                self.variable(unit, entry, path, function);
            }
        }
    }

    /// Notes data of the program's own whose accesses the compiler does not report: members, and variables that have
    /// a place for the whole run.
    fn unseen(&mut self, unit: usize, entry: &DwarfEntry, outer: &str) {
        if !self.is_by_clang || outer.starts_with("std") {
            return;
        }
        let is_data = match entry.tag() {
            gimli::DW_TAG_member => true,
            gimli::DW_TAG_variable => matches!(
                self.place(unit, entry, None),
                Some(DwarfPlace::Fixed(_) | DwarfPlace::ThreadLocal(_))
            ),
            _ => false,
        };
        if !is_data {
            return;
        }
        let name = self.units.name(unit, entry);
        let is_own = !name.is_empty() && !name.starts_with('_') && !outer.starts_with('_');
        if is_own && unseen::is_unseen(self.units, unit, entry) {
            let name = qualified(outer, &name);
            if !self.unseen.contains(&name) {
                self.unseen.push(name);
            }
        }
    }

    /// Notes a function of the C++ library that allocates objects of a type that its template names: the one of an
    /// allocator class, or `make_unique`.
    fn allocator(&mut self, unit: usize, entry: &DwarfEntry, name: &str) -> Option<()> {
        let is_class = ["__new_allocator<", "new_allocator<", "allocator<"]
            .iter()
            .any(|start| name.starts_with(start));
        let function = match (is_class, name.starts_with("make_unique<")) {
            (true, _) => {
                let children = self.units.children(unit, entry);
                let mut named = children.into_iter().filter(|child| {
                    child.tag() == gimli::DW_TAG_subprogram
                        && self.units.name(unit, child) == "allocate"
                });
                named.next()?
            }
            (false, true) => entry.clone(),
            _ => return None,
        };
        let linked = self.units.linkage_name(unit, &function)?;
        let parameter = self.units.template_type(unit, entry)?;
        let kind = self.types.type_of(unit, &parameter)?;
        self.sources.allocators.insert(linked, kind);
        Some(())
    }

    /// Notes a type by name, if the user may have written it.
    fn named_type(&mut self, unit: usize, entry: &DwarfEntry, path: &str) {
        let is_declaration = entry.attr(gimli::DW_AT_declaration).is_some();
        let is_library = path.starts_with("std") || path.starts_with('_') || path.is_empty();
        if is_declaration || is_library || entry.tag() == gimli::DW_TAG_namespace {
            return;
        }
        if let Some(kind) = self.types.named(unit, entry) {
            let short = path.rsplit("::").next().unwrap_or(path).to_owned();
            self.sources.named.entry(short).or_insert(kind);
            self.sources.named.insert(path.to_owned(), kind);
        }
    }

    /// Notes the type that a variable points to.
    fn pointer(&mut self, unit: usize, entry: &DwarfEntry, within: &str) {
        let name = self.units.name(unit, entry);
        if name.is_empty() || within.starts_with("std::") {
            return;
        }
        if let Some(kind) = self.types.pointee_of(unit, entry) {
            self.sources
                .pointees
                .insert((within.to_owned(), name), kind);
        }
    }

    /// Qualified name; a definition takes that of its declaration.
    fn full_name(&self, unit: usize, entry: &DwarfEntry, outer: &str) -> String {
        let own = self.units.name(unit, entry);
        if !own.is_empty() {
            return qualified(outer, &own);
        }
        let (mut at, mut origin) = (unit, entry.clone());
        for _ in 0..MAX_ORIGINS {
            let Some((unit, offset)) = self.origin(at, &origin) else {
                break;
            };
            if let Some(name) = self.names.get(&(unit, offset.0)) {
                return name.clone();
            }
            let next = self
                .units
                .get(unit)
                .and_then(|unit| unit.entry(offset).ok());
            let Some(next) = next else { break };
            (at, origin) = (unit, next);
        }
        String::new()
    }

    fn origin(&self, unit: usize, entry: &DwarfEntry) -> Option<(usize, UnitOffset)> {
        let value = entry
            .attr_value(gimli::DW_AT_specification)
            .or_else(|| entry.attr_value(gimli::DW_AT_abstract_origin))?;
        self.units.target(unit, value)
    }

    fn function(&mut self, unit: usize, entry: &DwarfEntry, name: &str) -> Option<usize> {
        let header = self.units.get(unit)?;
        let ranges = self.units.ranges(header, entry);
        if ranges.is_empty() {
            return None;
        }
        let frame_base = frame_base(header, entry).unwrap_or(FrameBase::Cfa);
        let has = |name| entry.attr_value(name).is_some();
        let is_optimized = has(gimli::DW_AT_call_all_calls)
            || has(gimli::DW_AT_call_all_tail_calls)
            || has(gimli::DW_AT_GNU_all_call_sites)
            || has(gimli::DW_AT_GNU_all_tail_call_sites);
        let name = name.to_owned();
        self.functions.push(DwarfFunction {
            name,
            ranges,
            frame_base,
            variables: Vec::new(),
            is_optimized,
        });
        self.functions.len().checked_sub(1)
    }

    fn variable(
        &mut self,
        unit: usize,
        entry: &DwarfEntry,
        path: String,
        function: Option<usize>,
    ) -> Option<()> {
        // String literals and unnamed parameters are nothing that a person could look for.
        let place = self
            .place(unit, entry, function)
            .filter(|_| !path.is_empty() && !path.ends_with("::"))?;
        let (mut described_in, mut described) = (unit, entry.clone());
        for _ in 0..MAX_ORIGINS {
            if described.attr(gimli::DW_AT_type).is_some() {
                break;
            }
            let (at, offset) = self.origin(described_in, &described)?;
            described = self.units.get(at)?.entry(offset).ok()?;
            described_in = at;
        }
        let kind = self.types.type_of(described_in, &described)?;
        match place {
            DwarfPlace::Fixed(address) | DwarfPlace::ThreadLocal(address) => {
                let declared = self.units.declared(described_in, &described);
                let list = match place {
                    DwarfPlace::Fixed(_) => &mut self.globals,
                    _ => &mut self.thread_locals,
                };
                list.push(DwarfGlobal {
                    address,
                    name: path,
                    declared,
                    kind,
                });
            }
            DwarfPlace::Frame(offset) => {
                // The function's own name is not part of the variable's.
                let name = path.rsplit("::").next().unwrap_or(&path).to_owned();
                let size = self.types.types.size(kind);
                let variables = &mut self.functions.get_mut(function?)?.variables;
                variables.push(FrameVariable {
                    offset,
                    size,
                    name,
                    kind,
                });
            }
        }
        Some(())
    }

    fn place(
        &self,
        unit: usize,
        entry: &DwarfEntry,
        function: Option<usize>,
    ) -> Option<DwarfPlace> {
        let header = self.units.get(unit)?;
        let base = function.and_then(|function| self.functions.get(function));
        let base = base.map_or(FrameBase::Cfa, |function| function.frame_base);
        let value = entry.attr_value(gimli::DW_AT_location)?;
        if let Some(expression) = value.exprloc_value() {
            return self.expression(header, expression, base);
        }
        let mut list = self.units.dwarf.attr_locations(header, value).ok()??;
        while let Ok(Some(part)) = list.next() {
            let place = self.expression(header, part.data, base);
            if let Some(DwarfPlace::Frame(_)) = place {
                return place;
            }
        }
        None
    }

    /// The place that an expression of one operation names.
    fn expression(
        &self,
        unit: &DwarfUnit,
        expression: gimli::Expression<DwarfReader>,
        base: FrameBase,
    ) -> Option<DwarfPlace> {
        let mut operations = expression.operations(unit.encoding());
        let place = match operations.next().ok()?? {
            Operation::Address { address } => DwarfPlace::Fixed(address),
            Operation::AddressIndex { index } => {
                DwarfPlace::Fixed(self.units.dwarf.address(unit, index).ok()?)
            }
            Operation::FrameOffset { offset } => DwarfPlace::Frame(offset),
            Operation::RegisterOffset {
                register, offset, ..
            } => DwarfPlace::Frame(from_register(register, offset, base)?),
            Operation::UnsignedConstant { value } => DwarfPlace::ThreadLocal(value),
            _ => return None,
        };
        match (operations.next().ok()?, place) {
            (None, DwarfPlace::Fixed(_) | DwarfPlace::Frame(_)) => Some(place),
            (Some(Operation::TLS), DwarfPlace::Fixed(offset) | DwarfPlace::ThreadLocal(offset)) => {
                operations
                    .next()
                    .ok()?
                    .is_none()
                    .then_some(DwarfPlace::ThreadLocal(offset))
            }
            _ => None,
        }
    }
}

#[derive(Clone, Copy)]
enum DwarfPlace {
    Fixed(u64),
    /// Offset in the file's block of thread-local variables.
    ThreadLocal(u64),
    Frame(i64),
}

/// Converts an offset from a register to one from the frame base. The code has frame pointers: the wrapper sees to
/// that.
fn from_register(register: gimli::Register, offset: i64, base: FrameBase) -> Option<i64> {
    /// Distance from the frame pointer to the canonical frame address: the return address and the caller's frame
    /// pointer lie between them.
    const SAVED: i64 = 16;
    match (register, base) {
        (gimli::X86_64::RBP, FrameBase::FramePointer(base))
        | (gimli::X86_64::RSP, FrameBase::StackPointer(base)) => offset.checked_sub(base),
        (gimli::X86_64::RBP, FrameBase::Cfa) => offset.checked_sub(SAVED),
        _ => None,
    }
}

fn frame_base(unit: &DwarfUnit, entry: &DwarfEntry) -> Option<FrameBase> {
    let expression = entry.attr_value(gimli::DW_AT_frame_base)?.exprloc_value()?;
    let mut operations = expression.operations(unit.encoding());
    let (register, offset) = match operations.next().ok()?? {
        Operation::CallFrameCFA => return Some(FrameBase::Cfa),
        Operation::Register { register } => (register, 0),
        Operation::RegisterOffset {
            register, offset, ..
        } => (register, offset),
        _ => return None,
    };
    match register {
        gimli::X86_64::RBP => Some(FrameBase::FramePointer(offset)),
        gimli::X86_64::RSP => Some(FrameBase::StackPointer(offset)),
        _ => None,
    }
}

fn qualified(outer: &str, name: &str) -> String {
    match (outer, name) {
        ("", _) => name.to_owned(),
        (_, "") => outer.to_owned(),
        _ => format!("{outer}::{name}"),
    }
}
