//! Who hears of each record as it is written: a schedule that is followed by its events.

use crate::{follow, state::Thread};
use unsnarl_trace::raw::RecordKind;

/// A record was written as number `index` of the log.
#[cold]
pub fn note(this: &Thread, kind: RecordKind, pc: u64, index: u64) {
    if !matches!(
        kind,
        RecordKind::Extra | RecordKind::Enter | RecordKind::Leave
    ) {
        follow::happened(this, kind, pc, index);
    }
}
