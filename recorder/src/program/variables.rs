//! Variables of functions, with the values that hold them or their addresses.

use super::{
    body::Body,
    cursor::Cursor,
    globals::Debug,
    metadata::{MetadataNode, elements, reference},
};
use rustc_hash::FxHashSet;
use unsnarl_trace::program::{Function, Operand, ValueId, Variable};

/// Reads `#dbg_declare(...)`, `#dbg_value(...)` or `#dbg_assign(...)`. Records that name no value of the function
/// (but a constant, or nothing any more) are skipped.
pub(super) fn record<'t>(
    body: &mut Body<'_, 't>,
    debug: &mut Debug<'t>,
    text: &'t str,
    function: &mut Function,
) {
    let text = text.trim();
    let Some((kind, parts)) = text.split_once('(') else {
        return;
    };
    let parts: Vec<&'t str> = elements(parts.strip_suffix(')').unwrap_or(parts)).collect();
    let part = |at: usize| parts.get(at).copied().unwrap_or("");
    let is_address = kind == "#dbg_declare";
    let held = HeldValue {
        by: part(0),
        is_address,
        variable: part(1),
        expression: part(2),
    };
    function.variables.extend(held.read(body, debug));
    if kind == "#dbg_assign" {
        let held = HeldValue {
            by: part(4),
            is_address: true,
            variable: part(1),
            expression: part(5),
        };
        function.variables.extend(held.read(body, debug));
    }
}

/// The value that a record gives a variable.
struct HeldValue<'t> {
    /// Type and value.
    by: &'t str,
    is_address: bool,
    variable: &'t str,
    expression: &'t str,
}

impl<'t> HeldValue<'t> {
    fn read(&self, body: &mut Body<'_, 't>, debug: &mut Debug<'t>) -> Option<Variable> {
        let value = self.value(body)?;
        let node = debug.metadata.node(reference(self.variable)?)?;
        let expression: Vec<&str> = MetadataNode::read(self.expression)?.elements().collect();
        let (rest, fragment) = fragment(&expression)?;
        let unit = &mut body.tables.unit;
        let ty = debug.types.of(unit, node, "type");
        // One more step on the way to the variable.
        let (is_address, ty) = match (rest, self.is_address) {
            ([], is_address) => (is_address, ty),
            (["DW_OP_deref"], false) => (true, ty),
            (["DW_OP_deref"], true) => (true, debug.types.pointer_to(unit, ty)),
            _ => return None,
        };
        Some(Variable {
            name: node.text("name"),
            ty,
            value,
            is_address,
            line: node
                .number("line")
                .and_then(|line| line.try_into().ok())
                .unwrap_or(0),
            is_parameter: node.number("arg").is_some(),
            fragment,
        })
    }

    fn value(&self, body: &mut Body<'_, 't>) -> Option<ValueId> {
        let mut text = Cursor::new(self.by);
        if !super::types::begins_type(text.peek()) {
            return None;
        }
        match body.typed(&mut text) {
            Ok((_, Operand::Value(value))) => Some(value),
            _ => None,
        }
    }
}

/// Offset and count.
type Bits = (u64, u64);

/// Splits an expression into its operations and the fragment that they yield, if it ends with one.
fn fragment<'e, 't>(expression: &'e [&'t str]) -> Option<(&'e [&'t str], Option<Bits>)> {
    match expression {
        [rest @ .., "DW_OP_LLVM_fragment", offset, size] => {
            Some((rest, Some((offset.parse().ok()?, size.parse().ok()?))))
        }
        _ => Some((expression, None)),
    }
}

/// Removes duplicates: optimized code repeats facts.
pub(super) fn without_repetitions(variables: &mut Vec<Variable>) {
    let mut seen = FxHashSet::default();
    variables.retain(|variable| {
        let key = (
            variable.name.clone(),
            variable.ty,
            variable.value,
            variable.is_address,
            variable.line,
            variable.fragment,
        );
        seen.insert(key)
    });
}
