//! Bounds of versions, as weak as suffices, and their preconditions through assignments.
//!
//! A bound is a range of signed numbers. `x = y - 50` carries one through exactly, up to where it would
//! overflow; so a range may end a little above the smallest number of its width, which only says that nothing
//! overflows.

use crate::{
    Binary, Comparison, ExprId, ExprNode, Exprs, SymbolId, Unary,
    invariants::{
        encode::EncodedPath,
        range::{Bound, expression, signed, whole},
        rewrite::replaced,
        solve::SatisfiabilityQuery,
    },
};

/// Precondition of a bound on a value.
pub(in crate::invariants) enum Carried {
    /// The bound holds for every input.
    Always,
    /// The bound holds when this version is in that range.
    To(SymbolId, Bound),
    /// The precondition is not the range of one version.
    No,
}

/// The range that a version must be in for a value computed from it to be in this one. A range smaller than
/// necessary only leaves out overflows.
pub(in crate::invariants) fn carried(exprs: &Exprs, value: ExprId, bound: Bound) -> Carried {
    let (mut value, mut bound) = (value, bound);
    loop {
        let width = exprs.width(value);
        let all = whole(width);
        bound = bound.and(all);
        if bound.low > bound.high {
            return Carried::No;
        }
        let number = |id| Some(signed(exprs.constant(id)?, width));
        let next = match exprs.node(value) {
            ExprNode::Symbol(symbol) => return Carried::To(symbol, bound),
            ExprNode::Constant(bits) => {
                return match bound.holds(signed(bits, width)) {
                    true => Carried::Always,
                    false => Carried::No,
                };
            }
            ExprNode::Unary(Unary::SExt | Unary::Extract(0), of) => Some((of, bound)),
            ExprNode::Unary(Unary::ZExt, of) => Some((
                of,
                Bound {
                    low: bound.low.max(0),
                    ..bound
                },
            )),
            ExprNode::Binary(op, a, b) => through(op, (a, number(a)), (b, number(b)), bound),
            _ => None,
        };
        match next {
            Some(next) => (value, bound) = next,
            None => return Carried::No,
        }
    }
}

fn through(
    op: Binary,
    (a, first): (ExprId, Option<i128>),
    (b, second): (ExprId, Option<i128>),
    bound: Bound,
) -> Option<(ExprId, Bound)> {
    let Bound { low, high } = bound;
    match (op, first, second) {
        (Binary::Add, None, Some(by)) => {
            let (low, high) = (low.checked_sub(by)?, high.checked_sub(by)?);
            Some((a, Bound { low, high }))
        }
        (Binary::Sub, Some(from), None) => {
            let (low, high) = (from.checked_sub(high)?, from.checked_sub(low)?);
            Some((b, Bound { low, high }))
        }
        (Binary::Mul, None, Some(by)) if by > 0 => {
            let low = low.div_euclid(by) + i128::from(low.rem_euclid(by) != 0);
            Some((
                a,
                Bound {
                    low,
                    high: high.div_euclid(by),
                },
            ))
        }
        _ => None,
    }
}

/// The exact value of a version as a bound; `None` where it is not known.
pub(in crate::invariants) fn exact(encoding: &EncodedPath, symbol: SymbolId) -> Option<Bound> {
    let var = encoding.var(symbol)?;
    Some(Bound::exactly(signed(var.recorded?, var.width)))
}

/// The candidate bounds, weakest first. Truth values and zero are stated exactly: nobody writes `done <= 0`.
///
/// If several versions are added up, no bound may extend to the end of its type: the bound left for the others
/// would have to be stated (`0 <= available`), though it only says that nothing overflows.
fn choices(encoding: &EncodedPath, symbol: SymbolId, is_alone: bool) -> Vec<Bound> {
    let (Some(var), Some(Bound { low: number, .. })) =
        (encoding.var(symbol), exact(encoding, symbol))
    else {
        return Vec::new();
    };
    // An address is kept exactly, since other objects lie above it.
    let is_address = var.width == 64 && number >= 1 << 32;
    if var.width == 1 || number == 0 || is_address {
        return Vec::new();
    }
    let all = whole(var.width);
    let parts = match (is_alone, var.width) {
        (true, _) => &[0, 1][..],
        (false, 64) => &[4, 8, 12, 0, 1],
        (false, _) => &[4, 6, 0, 1],
    };
    let ends = parts.iter().flat_map(|by| {
        let (low, high) = (all.low >> by, all.high >> by);
        [(low, number), (number, high)]
    });
    let ranges = ends.chain([(0, number)]);
    let fitting = ranges.filter(|(low, high)| low < high);
    fitting.map(|(low, high)| Bound { low, high }).collect()
}

/// Bounds of these versions that together imply `wanted`: none for as many versions as possible, then weak
/// ones, in the order given. `None` when not even the exact values suffice.
pub(super) fn weakest(
    encoding: &mut EncodedPath,
    asker: &mut SatisfiabilityQuery,
    symbols: &[SymbolId],
    wanted: &[ExprId],
) -> Option<Vec<(SymbolId, Bound)>> {
    let mut chosen: Vec<(SymbolId, Option<Bound>)> = Vec::new();
    for &symbol in symbols {
        chosen.push((symbol, Some(exact(encoding, symbol)?)));
    }
    if !suffices(encoding, asker, &chosen, wanted) {
        return None;
    }
    for (at, &symbol) in symbols.iter().enumerate() {
        let mut weaker = choices(encoding, symbol, symbols.len() == 1);
        weaker.extend(preimage(encoding, &chosen, symbol, wanted));
        let weaker = weaker.into_iter().map(Some);
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

/// The range that a version may have given the recorded values of all others, if it is a range.
fn preimage(
    encoding: &mut EncodedPath,
    chosen: &[(SymbolId, Option<Bound>)],
    symbol: SymbolId,
    wanted: &[ExprId],
) -> Option<Bound> {
    let others: Vec<(SymbolId, ExprId)> = chosen
        .iter()
        .filter(|(other, _)| *other != symbol)
        .filter_map(|(other, _)| {
            let var = encoding.var(*other)?;
            let (bits, width) = (var.recorded?, var.width);
            Some((*other, encoding.exprs.number(bits, width)))
        })
        .collect();
    let with = |symbol: SymbolId| {
        let at = others.binary_search_by_key(&symbol, |one| one.0).ok()?;
        others.get(at).map(|one| one.1)
    };
    let mut joint: Option<Bound> = None;
    for &wanted in wanted {
        let wanted = replaced(&mut encoding.exprs, wanted, &with);
        if encoding.exprs.constant(wanted) == Some(1) {
            continue;
        }
        let (value, bound) = compared(&encoding.exprs, wanted)?;
        let Carried::To(_, bound) = carried(&encoding.exprs, value, bound) else {
            return None;
        };
        joint = Some(joint.map_or(bound, |joint| joint.and(bound)));
    }
    let was = exact(encoding, symbol)?;
    joint.filter(|joint| joint.and(was) == was && joint.low < joint.high)
}

/// The value and the range that it is compared with.
fn compared(exprs: &Exprs, id: ExprId) -> Option<(ExprId, Bound)> {
    match exprs.node(id) {
        ExprNode::Compare(Comparison::Sle, a, b) => {
            let all = whole(exprs.width(a));
            let number = |id| Some(signed(exprs.constant(id)?, exprs.width(id)));
            match (number(a), number(b)) {
                (Some(low), None) => Some((b, Bound { low, ..all })),
                (None, Some(high)) => Some((a, Bound { high, ..all })),
                _ => None,
            }
        }
        ExprNode::Binary(Binary::And, a, b) => {
            let ((value, a), (other, b)) = (compared(exprs, a)?, compared(exprs, b)?);
            (value == other).then(|| (value, a.and(b)))
        }
        _ => None,
    }
}

fn suffices(
    encoding: &mut EncodedPath,
    asker: &mut SatisfiabilityQuery,
    chosen: &[(SymbolId, Option<Bound>)],
    wanted: &[ExprId],
) -> bool {
    let mut known: Vec<(SymbolId, ExprId)> = Vec::new();
    let mut given = Vec::new();
    for &(symbol, bound) in chosen {
        let Some((bound, width)) = bound.zip(encoding.var(symbol).map(|var| var.width)) else {
            continue;
        };
        match bound.low == bound.high {
            true => known.push((symbol, encoding.exprs.number(bound.low as u128, width))),
            false => given.push(expression(&mut encoding.exprs, symbol, width, bound)),
        }
    }
    wanted.iter().all(|&wanted| {
        let with = |symbol: SymbolId| {
            let at = known.binary_search_by_key(&symbol, |one| one.0).ok()?;
            known.get(at).map(|one| one.1)
        };
        let wanted = replaced(&mut encoding.exprs, wanted, &with);
        match encoding.exprs.constant(wanted) {
            Some(bits) => bits == 1,
            None => asker.implies(&mut encoding.exprs, &given, wanted),
        }
    })
}
