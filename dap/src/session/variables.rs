//! Variables, as gdb's variable objects, which live until the program moves.

use super::{
    Failure, Served, Session, body,
    references::{FrameKey, Holder, outdated},
};
use crate::{
    bodies::{ValueBody, VariableBody},
    mi::{Results, quoted},
    requests::{SetVariableArguments, VariablesArguments},
    subject::Provider,
};
use std::io::Write;

/// Children that are shown at once.
const SHOWN: usize = 1000;

impl<P: Provider, W: Write> Session<P, W> {
    pub(super) fn variables(&mut self, of: VariablesArguments) -> Served {
        let id = of.variables_reference;
        let variables = match self.active()?.references.holder(id)? {
            Holder::Scope { frame, arguments } => self.in_scope(id, frame, arguments)?,
            Holder::Object(object) => self.children(id, &object, of)?,
        };
        body(serde_json::json!({ "variables": variables }))
    }

    fn in_scope(
        &mut self,
        id: usize,
        frame: FrameKey,
        arguments: bool,
    ) -> Result<Vec<VariableBody>, Failure> {
        let command = format!("-stack-list-variables {} --no-values", frame.options());
        let answer = self.ask(&command)?;
        let own = answer.tuples("variables");
        let own = own.filter(|variable| (variable.text("arg") == "1") == arguments);
        let names: Vec<String> = own
            .map(|variable| variable.text("name").to_owned())
            .collect();
        let mut all = Vec::new();
        for name in names {
            // A variable that gdb cannot read has no value, and the others have theirs.
            if let Ok((object, results)) = self.create(&name, &frame.options()) {
                all.push(self.variable(id, name, &object, &results));
            }
        }
        Ok(all)
    }

    /// Makes a variable object of an expression.
    pub(super) fn create(
        &mut self,
        expression: &str,
        options: &str,
    ) -> Result<(String, Results), Failure> {
        let results = self.ask(&format!("-var-create {options} - * {}", quoted(expression)))?;
        let object = results.text("name").to_owned();
        if let Some(active) = &mut self.active {
            active.references.roots.push(object.clone());
        }
        Ok((object, results))
    }

    fn variable(
        &mut self,
        id: usize,
        name: String,
        object: &str,
        results: &Results,
    ) -> VariableBody {
        let variables_reference = self.reference(object, results);
        if let Some(active) = &mut self.active {
            let known = (id, name.clone());
            active.references.names.insert(known, object.to_owned());
        }
        VariableBody {
            name,
            value: results.text("value").to_owned(),
            type_name: results.text("type").to_owned(),
            variables_reference,
        }
    }

    /// Id of a variable object that has children; 0 for others.
    pub(super) fn reference(&mut self, object: &str, results: &Results) -> usize {
        let has_children = results.number("numchild").unwrap_or(0u32) > 0
            || results.number("has_more").unwrap_or(0u32) > 0;
        match &mut self.active {
            Some(active) if has_children => {
                active.references.hold(Holder::Object(object.to_owned()))
            }
            _ => 0,
        }
    }

    fn children(
        &mut self,
        id: usize,
        object: &str,
        of: VariablesArguments,
    ) -> Result<Vec<VariableBody>, Failure> {
        let count = if of.count == 0 {
            SHOWN
        } else {
            of.count.min(SHOWN)
        };
        let end = of.start.saturating_add(count);
        let command = format!(
            "-var-list-children --all-values {object} {} {end}",
            of.start
        );
        let answer = self.ask(&command)?;
        let children: Vec<Results> = answer.tuples("children").cloned().collect();
        let mut all = Vec::new();
        for child in &children {
            let inner = child.text("name");
            // `public` and the like of C++ are no members.
            if child.text("type").is_empty() && child.text("value").is_empty() {
                all.extend(self.children(id, inner, of)?);
            } else {
                let name = child.text("exp").to_owned();
                all.push(self.variable(id, name, inner, child));
            }
        }
        if answer.number("has_more").unwrap_or(0u32) > 0 {
            all.push(more(end));
        }
        Ok(all)
    }

    pub(super) fn set_variable(&mut self, of: &SetVariableArguments) -> Served {
        let key = (of.variables_reference, of.name.clone());
        let object = self.active()?.references.names.get(&key);
        let object = object.cloned().ok_or_else(outdated)?;
        let answer = self.ask(&format!("-var-assign {object} {}", quoted(&of.value)))?;
        let value = answer.text("value").to_owned();
        body(ValueBody {
            result: value.clone(),
            value,
            type_name: String::new(),
            variables_reference: 0,
        })
    }

    /// Lets go of what the client knows: the program is about to move.
    pub(super) fn forget_references(&mut self) -> Result<(), Failure> {
        let active = self.active.as_mut().ok_or_else(super::nothing_runs)?;
        let roots = std::mem::take(&mut active.references).roots;
        for root in roots {
            self.ask(&format!("-var-delete {root}"))?;
        }
        Ok(())
    }
}

/// The end of a long list.
fn more(shown: usize) -> VariableBody {
    VariableBody {
        name: "…".to_owned(),
        value: format!("more than {shown}: evaluate the one that you look for"),
        type_name: String::new(),
        variables_reference: 0,
    }
}
