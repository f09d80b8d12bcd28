//! One event from the words of its line.

use super::{
    FLAGS, ORDERS,
    build::{ScriptedRun, blank},
    words::{self, LineWords},
};
use crate::{
    model::{Event, EventKind, ThreadId, Value, flags},
    raw::WaitsFor,
};

/// Size in bytes of an access that does not give its size.
const SIZE: u32 = 4;
/// Prefix of the call stack of an event.
pub(super) const VIA: &str = "via=";
/// Bytes of an address.
const POINTER: u32 = 8;

impl ScriptedRun {
    /// Reads the rest of an event's line.
    pub(super) fn event(
        &mut self,
        thread: ThreadId,
        words: &mut LineWords<'_>,
    ) -> Result<(), String> {
        let word = words
            .take()
            .ok_or("expected what the thread does, as in `main R x`")?;
        let kind = super::kind(word).ok_or_else(|| format!("`{word}` is no kind of event"))?;
        let mut event = blank(thread, kind);
        self.operand(&mut event, words)?;
        let rest = std::iter::from_fn(|| words.take_if(|word| !word.starts_with('@')));
        let (modifying, values): (Vec<&str>, Vec<&str>) = rest.partition(|word| is_modifier(word));
        modify(&mut event, &modifying)?;
        for word in &modifying {
            if let Some(calls) = word.strip_prefix(VIA) {
                event.stack = self.stack(calls)?;
            }
        }
        self.values(&mut event, &values)?;
        self.place(&mut event, words)?;
        let other = event.other_thread();
        if event.names_thread() && event.value.is_some() && !other.is_some_and(|id| self.has(id)) {
            return Err("there is no such thread".to_owned());
        }
        if let Some(child) = other.filter(|_| kind == EventKind::Fork) {
            self.created(child, event.site);
        }
        self.push(event);
        Ok(())
    }

    /// The location, or the thread of a fork or join.
    fn operand(&mut self, event: &mut Event, words: &mut LineWords<'_>) -> Result<(), String> {
        let mut names_thread = matches!(event.kind, EventKind::Fork | EventKind::Join);
        if event.kind == EventKind::Blocked {
            let word = words
                .take()
                .ok_or("expected what it waits for, as in `main blocked lock m`")?;
            let waits = super::waits_for(word).ok_or_else(|| {
                let words = WaitsFor::ALL.map(WaitsFor::name).join(", ");
                format!("`{word}` is nothing to wait for: one of {words}")
            })?;
            event.size = waits as u32;
            names_thread = waits == WaitsFor::Join;
        }
        let Some(word) = words.take_if(is_operand) else {
            return Ok(());
        };
        if names_thread {
            event.value = Some(Value::Bits(u64::from(self.thread(words::name(word))?.0)));
        } else {
            event.location = self.location(words::name(word));
        }
        Ok(())
    }

    fn values(&mut self, event: &mut Event, words: &[&str]) -> Result<(), String> {
        for word in words {
            if let Some((old, new)) = words::exchange(word, event.size) {
                (event.old, event.value) = (Some(old), Some(Value::Bits(new)));
            } else if let Some(given) = words::given(word, event.size) {
                event.value = Some(given.value(|name| self.location(name)));
            } else {
                return Err(format!("`{word}` is no value, modifier or site"));
            }
        }
        if matches!(event.value, Some(Value::Address(_))) && event.size == SIZE {
            event.size = POINTER;
        }
        Ok(())
    }

    fn place(&mut self, event: &mut Event, words: &mut LineWords<'_>) -> Result<(), String> {
        let Some(site) = words.take() else {
            return Ok(());
        };
        let function = words.take().map(words::name);
        let text = words.rest();
        let text = text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'))
            .unwrap_or(text);
        event.site = self.site(event.thread, site, function, text)?;
        Ok(())
    }
}

fn is_operand(word: &str) -> bool {
    !word.starts_with(['=', '@']) && !word.contains("->") && !is_modifier(word)
}

fn is_modifier(word: &str) -> bool {
    word.starts_with("size=")
        || word.starts_with(VIA)
        || order(word).is_some()
        || flag(word).is_some()
}

fn order(word: &str) -> Option<u16> {
    ORDERS
        .iter()
        .position(|name| *name == word)
        .and_then(|n| u16::try_from(n + 1).ok())
}

fn flag(word: &str) -> Option<u16> {
    FLAGS
        .iter()
        .find(|(name, _)| *name == word)
        .map(|(_, bit)| *bit)
}

fn modify(event: &mut Event, words: &[&str]) -> Result<(), String> {
    if event.kind.is_access() {
        event.size = SIZE;
    }
    let mut given_order = None;
    for word in words {
        if let Some(size) = word.strip_prefix("size=") {
            event.size = size.parse().map_err(|_| format!("`{word}` is no size"))?;
        }
        event.flags |= flag(word).unwrap_or(0);
        given_order = order(word).or(given_order);
    }
    let default = event.kind.is_atomic() || event.kind == EventKind::Fence;
    let order = given_order
        .or(default.then_some(ORDERS.len() as u16))
        .unwrap_or(0);
    event.flags |= order << flags::ORDER_SHIFT;
    Ok(())
}
