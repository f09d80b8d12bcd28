//! Bounds of versions at their recorded values, as weak as suffices.

use crate::{
    invariants::{encode::Encoding, solve::Asker},
    symbolic::{Compare, ExprId, SymbolId},
};

/// What is said of a version beside its recorded value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::invariants) enum Bound {
    /// At most.
    Most,
    /// At least.
    Least,
    /// At most, and not negative.
    Range,
    /// Exactly.
    Exact,
}

impl Bound {
    pub const ALL: [Bound; 4] = [Bound::Most, Bound::Least, Bound::Range, Bound::Exact];

    /// The weakest that says both.
    pub fn and(self, other: Bound) -> Bound {
        match (self, other) {
            (a, b) if a == b => a,
            (Bound::Most, Bound::Range) | (Bound::Range, Bound::Most) => Bound::Range,
            _ => Bound::Exact,
        }
    }
}

/// The bound as a condition; `None` for a version whose value is not known, or one that the bound does not fit.
pub(in crate::invariants) fn expression(
    encoding: &mut Encoding,
    symbol: SymbolId,
    bound: Bound,
) -> Option<ExprId> {
    let var = encoding.var(symbol)?;
    let (width, bits) = (var.width, var.recorded?);
    let exprs = &mut encoding.exprs;
    let (version, number) = (exprs.symbol(symbol, width), exprs.number(bits, width));
    Some(match bound {
        Bound::Most => exprs.compare(Compare::Sle, version, number),
        Bound::Least => exprs.compare(Compare::Sle, number, version),
        Bound::Range => exprs.compare(Compare::Ule, version, number),
        Bound::Exact => exprs.compare(Compare::Eq, version, number),
    })
}

/// Which bounds are tried, weakest first. Truth values and zero are told exactly: nobody writes `done <= 0`.
fn choices(encoding: &Encoding, symbol: SymbolId) -> &'static [Bound] {
    let Some(var) = encoding.var(symbol) else {
        return &[];
    };
    let bits = var.recorded.unwrap_or(0);
    let is_negative = bits.checked_shr(u32::from(var.width).saturating_sub(1)) == Some(1);
    // An address is what it is: above it lies something else.
    let is_address = var.width == 64 && bits >= 1 << 32 && !is_negative;
    match (var.width, bits) {
        (1, _) | (_, 0) => &[],
        _ if is_address => &[],
        _ if is_negative => &[Bound::Most, Bound::Least],
        _ => &[Bound::Most, Bound::Least, Bound::Range],
    }
}

/// Bounds of these versions from which all of `wanted` follows: none for as many versions as possible, then weak
/// ones, in the order given. `None` when not even the exact values suffice.
pub(super) fn weakest(
    encoding: &mut Encoding,
    asker: &mut Asker,
    symbols: &[SymbolId],
    wanted: &[ExprId],
) -> Option<Vec<(SymbolId, Bound)>> {
    let mut chosen: Vec<(SymbolId, Option<Bound>)> = symbols
        .iter()
        .map(|symbol| (*symbol, Some(Bound::Exact)))
        .collect();
    if !suffices(encoding, asker, &chosen, wanted) {
        return None;
    }
    for at in 0..chosen.len() {
        let Some((symbol, _)) = chosen.get(at).copied() else {
            continue;
        };
        let weaker = choices(encoding, symbol).iter().map(|bound| Some(*bound));
        for bound in [None].into_iter().chain(weaker) {
            let mut trial = chosen.clone();
            if let Some(slot) = trial.get_mut(at) {
                slot.1 = bound;
            }
            if suffices(encoding, asker, &trial, wanted) {
                chosen = trial;
                break;
            }
        }
    }
    let told = chosen.into_iter();
    Some(
        told.filter_map(|(symbol, bound)| Some((symbol, bound?)))
            .collect(),
    )
}

fn suffices(
    encoding: &mut Encoding,
    asker: &mut Asker,
    chosen: &[(SymbolId, Option<Bound>)],
    wanted: &[ExprId],
) -> bool {
    let exact: Vec<(SymbolId, ExprId)> = chosen
        .iter()
        .filter(|(_, bound)| *bound == Some(Bound::Exact))
        .filter_map(|(symbol, _)| {
            let var = encoding.var(*symbol)?;
            let (bits, width) = (var.recorded?, var.width);
            Some((*symbol, encoding.exprs.number(bits, width)))
        })
        .collect();
    let mut given = Vec::new();
    for (symbol, bound) in chosen {
        let bound = bound.filter(|bound| *bound != Bound::Exact);
        given.extend(bound.and_then(|bound| expression(encoding, *symbol, bound)));
    }
    wanted.iter().all(|&wanted| {
        let with = |symbol: SymbolId| {
            let at = exact.binary_search_by_key(&symbol, |one| one.0).ok()?;
            exact.get(at).map(|one| one.1)
        };
        let wanted = crate::invariants::rewrite::replaced(&mut encoding.exprs, wanted, &with);
        match encoding.exprs.constant(wanted) {
            Some(bits) => bits == 1,
            None => asker.implies(&mut encoding.exprs, &given, wanted),
        }
    })
}
