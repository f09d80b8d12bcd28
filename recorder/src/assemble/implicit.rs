//! Members without a text of their own: constructors, destructors and assignments that the compiler writes. What they do
//! stands where they are called; the line of their class says nothing of it.

use super::{
    dwarf::{DwarfEntry, Units},
    image::SourceFrame,
};
use gimli::UnitOffset;
use rustc_hash::FxHashSet;

/// Members of classes by file name, line and own name.
#[derive(Default)]
pub(super) struct ImplicitMembers(FxHashSet<(String, u32, String)>);

impl ImplicitMembers {
    /// Notes a function if it is such a member; `class` is the class around its declaration.
    pub fn note(
        &mut self,
        units: &Units,
        unit: usize,
        member: &DwarfEntry,
        class: Option<UnitOffset>,
    ) {
        let class = class.and_then(|class| units.get(unit)?.entry(class).ok());
        let Some(class) = class.filter(|class| is_special(units, unit, class, member)) else {
            return;
        };
        let (file, line) = if member.attr(gimli::DW_AT_artificial).is_some() {
            units.declared_in(unit, &class)
        } else if member.attr(gimli::DW_AT_defaulted).is_some() {
            units.declared_in(unit, member)
        } else {
            return;
        };
        if line != 0 {
            self.0.insert((file, line, units.name(unit, member)));
        }
    }

    /// Returns whether a frame is in such a member.
    pub fn have(&self, frame: &SourceFrame) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let last = |text: &str, separator: &str| {
            let name = text.rsplit(separator).next();
            name.unwrap_or(text).to_owned()
        };
        let member = (
            last(&frame.file, "/"),
            frame.line,
            last(&frame.function, "::"),
        );
        self.0.contains(&member)
    }
}

/// Returns whether a member is a constructor, a destructor or an assignment. Compilers mark a lambda's call, too, which has
/// a text.
fn is_special(units: &Units, unit: usize, class: &DwarfEntry, member: &DwarfEntry) -> bool {
    let (class, member) = (units.name(unit, class), units.name(unit, member));
    let class = class.split('<').next().unwrap_or("");
    member == "operator=" || member.starts_with('~') || !class.is_empty() && member == class
}
