//! Walks the debug info of one file once: global variables, functions with the variables on their
//! stacks, and the layouts of their types.

use super::{
    dwarf_types::TypeBuilder,
    types::{TypeId, Types},
};
use gimli::{AttributeValue, LittleEndian, Operation, Reader as _, UnitOffset};
use rustc_hash::FxHashMap;

pub(super) type Reader = gimli::EndianArcSlice<LittleEndian>;
pub(super) type Entry = gimli::DebuggingInformationEntry<Reader>;
type Unit = gimli::Unit<Reader>;

/// A variable with a fixed address.
#[derive(Clone, Debug)]
pub(super) struct Global {
    pub address: u64,
    pub name: String,
    /// File and line of the declaration, to tell equal names apart.
    pub declared: (String, u64),
    pub kind: TypeId,
}

/// What a frame variable's offset counts from.
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
pub(super) struct Function {
    /// Name with its namespaces and classes, without parameters.
    pub name: String,
    /// Address ranges.
    pub ranges: Vec<(u64, u64)>,
    pub frame_base: FrameBase,
    pub variables: Vec<FrameVariable>,
}

/// What the walk found.
#[derive(Default)]
pub(super) struct DebugInfo {
    pub globals: Vec<Global>,
    pub functions: Vec<Function>,
    pub types: Types,
}

/// All units of a file.
pub(super) struct Units {
    dwarf: std::sync::Arc<gimli::Dwarf<Reader>>,
    list: Vec<Unit>,
}

impl Units {
    fn read(dwarf: std::sync::Arc<gimli::Dwarf<Reader>>) -> Units {
        let mut list = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            list.extend(dwarf.unit(header));
        }
        Units { dwarf, list }
    }

    pub fn get(&self, unit: usize) -> Option<&Unit> {
        self.list.get(unit)
    }

    /// The entry that an attribute refers to.
    pub fn target(
        &self,
        unit: usize,
        value: AttributeValue<Reader>,
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
    pub fn name(&self, unit: usize, entry: &Entry) -> String {
        self.text(unit, entry.attr_value(gimli::DW_AT_name))
            .unwrap_or_default()
    }

    fn text(&self, unit: usize, value: Option<AttributeValue<Reader>>) -> Option<String> {
        let text = self.dwarf.attr_string(self.list.get(unit)?, value?).ok()?;
        Some(text.to_string_lossy().ok()?.into_owned())
    }

    /// The direct children of an entry.
    pub fn children(&self, unit: usize, entry: &Entry) -> Vec<Entry> {
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

    fn is_c_family(&self, unit: usize) -> bool {
        let language = self.get(unit).and_then(|unit| {
            let root = unit.entry(unit.header.root_offset()).ok()?;
            match root.attr_value(gimli::DW_AT_language)? {
                AttributeValue::Language(language) => Some(language),
                _ => None,
            }
        });
        language != Some(gimli::DW_LANG_Rust)
    }

    fn declared(&self, unit: usize, entry: &Entry) -> (String, u64) {
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
pub(super) fn read(dwarf: std::sync::Arc<gimli::Dwarf<Reader>>) -> DebugInfo {
    let units = Units::read(dwarf);
    let in_std = (0..units.list.len()).fold(FxHashMap::default(), |mut found, unit| {
        types_in_std(&units, unit, &mut found);
        found
    });
    let mut walk = Walk {
        units: &units,
        types: TypeBuilder::new(&units, &in_std),
        globals: Vec::new(),
        functions: Vec::new(),
    };
    for unit in 0..units.list.len() {
        if units.is_c_family(unit) {
            walk.unit(unit);
        }
    }
    DebugInfo {
        globals: walk.globals,
        functions: walk.functions,
        types: walk.types.types,
    }
}

/// Notes the type entries directly in namespace `std` (and its inline namespaces).
fn types_in_std(units: &Units, unit: usize, found: &mut FxHashMap<(usize, usize), ()>) {
    let Some(header) = units.get(unit) else {
        return;
    };
    let mut cursor = header.entries();
    let mut std_depth: Option<isize> = None;
    while let Ok(Some(entry)) = cursor.next_dfs() {
        if std_depth.is_some_and(|depth| entry.depth() <= depth) {
            std_depth = None;
        }
        let is_namespace = entry.tag() == gimli::DW_TAG_namespace;
        if is_namespace && std_depth.is_none() && units.name(unit, entry) == "std" {
            std_depth = Some(entry.depth());
        }
        let is_type = matches!(
            entry.tag(),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_typedef
        );
        if is_type && std_depth.is_some() {
            found.insert((unit, entry.offset().0), ());
        }
    }
}

struct Walk<'a> {
    units: &'a Units,
    types: TypeBuilder<'a>,
    globals: Vec<Global>,
    functions: Vec<Function>,
}

/// Something that encloses entries: a namespace, type, function or block.
struct Scope {
    depth: isize,
    /// Qualified name.
    path: String,
    /// Index of the enclosing function with machine code.
    function: Option<usize>,
}

impl Walk<'_> {
    fn unit(&mut self, unit: usize) {
        let Some(header) = self.units.get(unit) else {
            return;
        };
        let mut scopes: Vec<Scope> = Vec::new();
        let mut names = FxHashMap::default();
        let mut cursor = header.entries();
        while let Ok(Some(entry)) = cursor.next_dfs() {
            while scopes
                .last()
                .is_some_and(|scope| scope.depth >= entry.depth())
            {
                scopes.pop();
            }
            self.entry(unit, entry, &mut scopes, &mut names);
        }
    }

    fn entry(
        &mut self,
        unit: usize,
        entry: &Entry,
        scopes: &mut Vec<Scope>,
        names: &mut FxHashMap<usize, String>,
    ) {
        let outer = scopes.last();
        let (outer_path, function) =
            outer.map_or(("", None), |scope| (scope.path.as_str(), scope.function));
        match entry.tag() {
            gimli::DW_TAG_namespace
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_union_type => {
                let path = qualified(outer_path, &self.units.name(unit, entry));
                scopes.push(Scope {
                    depth: entry.depth(),
                    path,
                    function,
                });
            }
            gimli::DW_TAG_subprogram => {
                let path = self.full_name(unit, entry, outer_path, names);
                names.insert(entry.offset().0, path.clone());
                let function = self.function(unit, entry, &path);
                scopes.push(Scope {
                    depth: entry.depth(),
                    path,
                    function,
                });
            }
            gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter | gimli::DW_TAG_member => {
                let path = self.full_name(unit, entry, outer_path, names);
                names.insert(entry.offset().0, path.clone());
                self.variable(unit, entry, path, function);
            }
            _ => {}
        }
    }

    /// Qualified name; a definition takes that of its declaration.
    fn full_name(
        &self,
        unit: usize,
        entry: &Entry,
        outer: &str,
        names: &FxHashMap<usize, String>,
    ) -> String {
        let own = self.units.name(unit, entry);
        if !own.is_empty() {
            return qualified(outer, &own);
        }
        let origin = self.origin(unit, entry);
        match origin {
            Some((at, offset)) if at == unit && names.contains_key(&offset.0) => {
                names.get(&offset.0).cloned().unwrap_or_default()
            }
            Some((at, offset)) => self
                .units
                .get(at)
                .and_then(|unit| unit.entry(offset).ok())
                .map_or(String::new(), |entry| self.units.name(at, &entry)),
            None => String::new(),
        }
    }

    fn origin(&self, unit: usize, entry: &Entry) -> Option<(usize, UnitOffset)> {
        let value = entry
            .attr_value(gimli::DW_AT_specification)
            .or_else(|| entry.attr_value(gimli::DW_AT_abstract_origin))?;
        self.units.target(unit, value)
    }

    fn function(&mut self, unit: usize, entry: &Entry, name: &str) -> Option<usize> {
        let header = self.units.get(unit)?;
        let mut found = self.units.dwarf.die_ranges(header, entry).ok()?;
        let mut ranges = Vec::new();
        while let Ok(Some(range)) = found.next() {
            if range.begin < range.end && range.begin != 0 {
                ranges.push((range.begin, range.end));
            }
        }
        if ranges.is_empty() {
            return None;
        }
        let frame_base = frame_base(header, entry).unwrap_or(FrameBase::Cfa);
        let name = name.to_owned();
        self.functions.push(Function {
            name,
            ranges,
            frame_base,
            variables: Vec::new(),
        });
        self.functions.len().checked_sub(1)
    }

    fn variable(
        &mut self,
        unit: usize,
        entry: &Entry,
        path: String,
        function: Option<usize>,
    ) -> Option<()> {
        let place = self.place(unit, entry)?;
        let (mut described_in, mut described) = (unit, entry.clone());
        for _ in 0..4 {
            if described.attr(gimli::DW_AT_type).is_some() {
                break;
            }
            let (at, offset) = self.origin(described_in, &described)?;
            described = self.units.get(at)?.entry(offset).ok()?;
            described_in = at;
        }
        let kind = self.types.type_of(described_in, &described)?;
        match place {
            Place::Fixed(address) => {
                let declared = self.units.declared(described_in, &described);
                self.globals.push(Global {
                    address,
                    name: path,
                    declared,
                    kind,
                });
            }
            Place::Frame(offset) => {
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

    fn place(&self, unit: usize, entry: &Entry) -> Option<Place> {
        let header = self.units.get(unit)?;
        let value = entry.attr_value(gimli::DW_AT_location)?;
        if let Some(expression) = value.exprloc_value() {
            return self.expression(header, expression);
        }
        let mut list = self.units.dwarf.attr_locations(header, value).ok()??;
        while let Ok(Some(part)) = list.next() {
            let place = self.expression(header, part.data);
            if let Some(Place::Frame(_)) = place {
                return place;
            }
        }
        None
    }

    /// The place that an expression of one operation names.
    fn expression(&self, unit: &Unit, expression: gimli::Expression<Reader>) -> Option<Place> {
        let mut operations = expression.operations(unit.encoding());
        let place = match operations.next().ok()?? {
            Operation::Address { address } => Place::Fixed(address),
            Operation::AddressIndex { index } => {
                Place::Fixed(self.units.dwarf.address(unit, index).ok()?)
            }
            Operation::FrameOffset { offset } => Place::Frame(offset),
            _ => return None,
        };
        operations.next().ok()?.is_none().then_some(place)
    }
}

enum Place {
    Fixed(u64),
    Frame(i64),
}

fn frame_base(unit: &Unit, entry: &Entry) -> Option<FrameBase> {
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
