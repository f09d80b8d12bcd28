//! Steps as symbols inside of their explanation, and as a hierarchy in which each step is called by the one before.

use super::{location, range, uri};
use crate::{
    chain::ChainedStep, encoding::Encoding, host::ServerState, marks::LineSpot,
    outline::OutlinedExplanation,
};
use serde_json::json;
use tower_lsp::lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyItem, CallHierarchyOutgoingCall, DocumentSymbol,
    DocumentSymbolResponse, Range, SymbolInformation, SymbolKind,
};

/// The outline of a file: explanations with their steps inside, or one list for clients that know no nesting.
pub fn document_symbols(
    explanations: Vec<OutlinedExplanation>,
    state: &ServerState,
) -> DocumentSymbolResponse {
    let encoding = state.encoding;
    let explanations = explanations.into_iter();
    if state.nests {
        let nested = explanations.map(|one| nested(one, encoding));
        return DocumentSymbolResponse::Nested(nested.collect());
    }
    DocumentSymbolResponse::Flat(explanations.flat_map(|one| flat(one, encoding)).collect())
}

fn nested(explanation: OutlinedExplanation, encoding: Encoding) -> DocumentSymbol {
    let head = range(&explanation.spot, encoding);
    let steps = explanation.steps.into_iter();
    let steps: Vec<DocumentSymbol> = steps
        .map(|(spot, text)| symbol(text, SymbolKind::EVENT, range(&spot, encoding)))
        .collect();
    let whole = steps.iter().fold(head, |whole, step| Range {
        start: whole.start.min(step.range.start),
        end: whole.end.max(step.range.end),
    });
    DocumentSymbol {
        detail: Some(explanation.class.to_owned()),
        range: whole,
        selection_range: head,
        children: Some(steps),
        ..symbol(explanation.name, SymbolKind::NAMESPACE, head)
    }
}

#[allow(deprecated, reason = "the structure has no other constructor")]
fn symbol(name: String, kind: SymbolKind, range: Range) -> DocumentSymbol {
    DocumentSymbol {
        name,
        detail: None,
        kind,
        tags: None,
        deprecated: None,
        range,
        selection_range: range,
        children: None,
    }
}

fn flat(explanation: OutlinedExplanation, encoding: Encoding) -> Vec<SymbolInformation> {
    #[allow(deprecated, reason = "the structure has no other constructor")]
    let symbol = |spot: &LineSpot, name: &str, kind, container: Option<&str>| {
        Some(SymbolInformation {
            name: name.to_owned(),
            kind,
            tags: None,
            deprecated: None,
            location: location(spot, encoding)?,
            container_name: container.map(str::to_owned),
        })
    };
    let name = explanation.name.as_str();
    let head = symbol(&explanation.spot, name, SymbolKind::NAMESPACE, None);
    let steps = explanation.steps.iter();
    let steps = steps.filter_map(|(spot, text)| symbol(spot, text, SymbolKind::EVENT, Some(name)));
    head.into_iter().chain(steps).collect()
}

/// Steps as items of a hierarchy, which know the place of each in its explanation.
pub fn step_items(steps: Vec<ChainedStep>, encoding: Encoding) -> Vec<CallHierarchyItem> {
    let item = |step: ChainedStep| {
        let range = range(&step.spot, encoding);
        Some(CallHierarchyItem {
            name: step.title,
            kind: SymbolKind::EVENT,
            tags: None,
            detail: Some(step.function).filter(|function| !function.is_empty()),
            uri: uri(&step.spot.path)?,
            range,
            selection_range: range,
            data: Some(json!({ "explanation": step.explanation, "step": step.index })),
        })
    };
    steps.into_iter().filter_map(item).collect()
}

/// The explanation and the index of the step that an item stands for; `None` for an item of another server.
pub fn step_of(item: &CallHierarchyItem) -> Option<(&str, usize)> {
    let data = item.data.as_ref()?;
    let index = usize::try_from(data.get("step")?.as_u64()?).ok()?;
    Some((data.get("explanation")?.as_str()?, index))
}

/// Steps that ran before, as callers.
pub fn previous_calls(steps: Vec<CallHierarchyItem>) -> Vec<CallHierarchyIncomingCall> {
    let call = |from: CallHierarchyItem| CallHierarchyIncomingCall {
        from_ranges: vec![from.selection_range],
        from,
    };
    steps.into_iter().map(call).collect()
}

/// Steps that run after an item, as what it calls.
pub fn next_calls(
    item: &CallHierarchyItem,
    steps: Vec<CallHierarchyItem>,
) -> Vec<CallHierarchyOutgoingCall> {
    let call = |to| CallHierarchyOutgoingCall {
        to,
        from_ranges: vec![item.selection_range],
    };
    steps.into_iter().map(call).collect()
}
