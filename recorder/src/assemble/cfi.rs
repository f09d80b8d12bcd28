//! Unwind rules: how to get the canonical frame address from the registers at a place in the code.

use super::{dwarf::DwarfReader, image::section_bytes};
use gimli::{CfaRule, LittleEndian, UnwindContext, UnwindSection as _};
use object::{Object as _, ObjectSection as _};

/// The canonical frame address as a register plus an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CfaAt {
    StackPointer(i64),
    FramePointer(i64),
}

/// The `.eh_frame` of a file.
pub(super) struct Cfi {
    section: gimli::EhFrame<DwarfReader>,
    bases: gimli::BaseAddresses,
    /// Start, end and place of each entry, sorted.
    entries: Vec<(u64, u64, usize)>,
}

impl Cfi {
    /// Reads the section and notes where its entries are.
    pub fn read(file: &object::File<'_>) -> Cfi {
        let bytes = section_bytes(file, ".eh_frame");
        let mut section = gimli::EhFrame::from(DwarfReader::new(bytes, LittleEndian));
        section.set_address_size(8);
        let at = |name| {
            file.section_by_name(name)
                .map_or(0, |section| section.address())
        };
        let bases = gimli::BaseAddresses::default()
            .set_eh_frame(at(".eh_frame"))
            .set_text(at(".text"))
            .set_got(at(".got"));
        let mut entries = Vec::new();
        let mut all = section.entries(&bases);
        while let Ok(Some(entry)) = all.next() {
            let gimli::CieOrFde::Fde(partial) = entry else {
                continue;
            };
            let Ok(entry) = partial.parse(gimli::EhFrame::cie_from_offset) else {
                continue;
            };
            entries.push((entry.initial_address(), entry.end_address(), entry.offset()));
        }
        entries.sort_unstable();
        Cfi {
            section,
            bases,
            entries,
        }
    }

    /// The rule in force at an address.
    pub fn rule(&self, address: u64) -> Option<CfaAt> {
        let after = self
            .entries
            .partition_point(|(start, _, _)| *start <= address);
        let (_, end, offset) = self.entries.get(after.checked_sub(1)?)?;
        if address >= *end {
            return None;
        }
        let cie = gimli::EhFrame::cie_from_offset;
        let entry = self
            .section
            .fde_from_offset(&self.bases, (*offset).into(), cie)
            .ok()?;
        let mut context = UnwindContext::new();
        let row = entry
            .unwind_info_for_address(&self.section, &self.bases, &mut context, address)
            .ok()?;
        match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => match *register {
                gimli::X86_64::RSP => Some(CfaAt::StackPointer(*offset)),
                gimli::X86_64::RBP => Some(CfaAt::FramePointer(*offset)),
                _ => None,
            },
            CfaRule::Expression(_) => None,
        }
    }
}
