//! The instructions that note a thread's path, and the table that says where they stand.
//!
//! A note is one to nine bytes in the thread's memory ([`unsnarl_trace::raw::path`]). Nothing but free
//! registers is changed: where there are none, some are kept in a vector register that the file does
//! not use, or on the stack below what a function may use without moving the stack pointer.

use super::{
    liveness::NextSteps,
    plan::AssemblyPlan,
    registers::{self, FLAGS, Register, RegisterSet, free, others},
    text::{AssemblyStep, label as label_of},
};
use std::collections::{BTreeMap, HashSet};
use unsnarl_trace::raw::path::{AddressRole, mark};

/// Text to insert before and behind lines.
#[derive(Default)]
pub struct AssemblyNotes {
    pub before: BTreeMap<usize, String>,
    pub behind: BTreeMap<usize, String>,
    /// The table, to stand at the end.
    pub table: String,
    is_shared: bool,
    /// Vector registers that the file does not use.
    spare: Vec<String>,
    count: usize,
    /// Code that runs when a thread's memory is full, by part.
    asides: BTreeMap<usize, String>,
}

/// Registers for a note.
struct TakenRegisters {
    registers: Vec<Register>,
    save: String,
    restore: String,
}

/// Functions that return more than once.
const RETURNING_AGAIN: [&str; 8] = [
    "setjmp",
    "_setjmp",
    "sigsetjmp",
    "__sigsetjmp",
    "getcontext",
    "vfork",
    "savectx",
    "__vfork",
];

impl AssemblyNotes {
    /// All notes of a file, or the part of it that cannot get its own. `is_shared`: it is for a shared
    /// library.
    pub fn of(plan: &AssemblyPlan<'_>, is_shared: bool) -> Result<AssemblyNotes, usize> {
        let mut notes = AssemblyNotes {
            is_shared,
            spare: spare_vectors(&plan.text.lines),
            ..AssemblyNotes::default()
        };
        notes.functions(plan)?;
        let pads: HashSet<usize> = plan.pads.values().copied().collect();
        for (number, step) in plan.text.steps.iter().enumerate() {
            if let Some(part) = plan.part_of(number) {
                let text = notes.step(plan, number, step, part, pads.contains(&number));
                let text = text.ok_or(part)?;
                notes
                    .before
                    .entry(step.lines.0)
                    .or_default()
                    .push_str(&text);
            }
        }
        let leaders = plan.leaders();
        for label in leaders.iter().filter(|label| label.starts_with('.')) {
            let step = plan.text.labels.get(label);
            if step.and_then(|step| plan.part_of(*step)).is_some() {
                notes.row(AddressRole::Leader, label, "0");
            }
        }
        notes.close(plan);
        Ok(notes)
    }

    /// The text before a step; text behind it is noted in passing.
    fn step(
        &mut self,
        plan: &AssemblyPlan<'_>,
        number: usize,
        step: &AssemblyStep<'_>,
        part: usize,
        is_pad: bool,
    ) -> Option<String> {
        let mut text = String::new();
        if is_pad {
            text += &self.here(plan, number, part)?;
        }
        if plan.looks.contains(&number) {
            text += &self.look(plan.live.get(number).copied()?, part)?;
        }
        text += &self.jump(plan, number, step, part)?;
        self.call(plan, number, step, part)?;
        self.piece(step, &mut text);
        Some(text)
    }

    fn label(&mut self, kind: char) -> String {
        self.count += 1;
        format!(".Lunsnarl_{kind}{}", self.count)
    }

    fn row(&mut self, place: AddressRole, at: &str, more: &str) {
        self.table += &format!("\t.quad {at}, {more}\n\t.byte {}\n", place as u8);
    }

    /// Adds labels of the functions, and the notes at their beginnings.
    fn functions(&mut self, plan: &AssemblyPlan<'_>) -> Result<(), usize> {
        let leaders = plan.leaders();
        for number in 0..plan.text.parts.len() {
            if plan.left.get(number) != Some(&false) {
                continue;
            }
            self.head(plan, number, &leaders).ok_or(number)?;
        }
        Ok(())
    }

    fn head(
        &mut self,
        plan: &AssemblyPlan<'_>,
        number: usize,
        leaders: &HashSet<&str>,
    ) -> Option<()> {
        let part = plan.text.parts.get(number)?;
        let label = function(number);
        let line = self.behind.entry(part.lines.0).or_default();
        *line += &format!("{label}:\n");
        let place = match plan.is_announced(number) {
            true => AddressRole::Announced,
            false => AddressRole::Function,
        };
        self.row(place, &label, &format!("{label}_end"));
        let mut first = plan.text.labels.get(part.name).copied()?;
        let mut line = part.lines.0 + 1;
        if plan.step(first)?.operation == "endbr64" {
            line = plan.step(first)?.lines.0 + 1;
            first += 1;
        }
        // Before the first label that jumps lead to: those do not enter the function.
        let end = plan.step(first)?.lines.0;
        let lines = plan.text.lines.get(line..end).unwrap_or(&[]);
        let is_leader = |line: &&str| label_of(line).is_some_and(|label| leaders.contains(label));
        line += lines.iter().position(is_leader).unwrap_or(lines.len());
        let text = self.entry(plan, first, number)?;
        self.before.entry(line).or_default().push_str(&text);
        Some(())
    }

    /// The note that a function is entered.
    fn entry(&mut self, plan: &AssemblyPlan<'_>, step: usize, part: usize) -> Option<String> {
        let live = plan.live.get(step).copied()?;
        if !plan.is_announced(part) {
            return self.look(live, part);
        }
        let taken = self.take(live, 2, 0)?;
        let address = taken.registers.get(1).copied()?;
        let body = format!(
            "\tmovb ${}, ({{}})\n\tleaq {}(%rip), %{}\n\tmovl %{}, 1({{}})\n",
            mark::ENTERED,
            function(part),
            address.whole(),
            address.half()
        );
        let look = self.look(live, part)?;
        Some(self.append(&taken, &body, 5) + &look)
    }

    /// The note that control comes here from elsewhere: at the handler of an exception.
    fn here(&mut self, plan: &AssemblyPlan<'_>, step: usize, part: usize) -> Option<String> {
        let live = plan.live.get(step).copied()?;
        let label = self.label('h');
        let note = self.here_at(&label, live, part)?;
        self.row(AddressRole::Here, &label, "0");
        Some(format!("{label}:\n{note}"))
    }

    fn here_at(&mut self, label: &str, live: RegisterSet, part: usize) -> Option<String> {
        let taken = self.take(live, 2, 0)?;
        if taken.save.contains("push") {
            return None;
        }
        let address = taken.registers.get(1).copied()?;
        let body = format!(
            "\tmovb ${}, ({{}})\n\tleaq {label}(%rip), %{}\n\tmovl %{}, 1({{}})\n\tmovl %esp, 5({{}})\n",
            mark::HERE,
            address.whole(),
            address.half(),
        );
        let look = self.look(live, part)?;
        Some(self.append(&taken, &body, 9) + &look)
    }

    /// Adds the note of a jump that depends on data.
    fn jump(
        &mut self,
        plan: &AssemblyPlan<'_>,
        number: usize,
        step: &AssemblyStep<'_>,
        part: usize,
    ) -> Option<String> {
        let live = plan.live.get(number).copied()?;
        let label = self.label('b');
        match plan.ways.get(number)? {
            NextSteps::Either(_) | NextSteps::OnOrOut => {
                let condition = step.operation.strip_prefix('j')?;
                let taken = self.take(live, 1, 0)?;
                self.row(AddressRole::Branch, &label, "0");
                let note = self.append(&taken, &format!("\tset{condition} ({{}})\n"), 1);
                Some(format!("{note}{label}:\n"))
            }
            NextSteps::Anywhere => {
                let target = step.operands.first()?.strip_prefix('*')?;
                let uses = registers::mentioned(target);
                let taken = self.take(live, 2, uses)?;
                let at_stack = target.contains("%rsp") && taken.save.contains("push");
                if at_stack {
                    return None;
                }
                let address = taken.registers.get(1).copied()?;
                let body = format!(
                    "\tmovb ${}, ({{}})\n\tmovl %{}, 1({{}})\n",
                    mark::JUMPED,
                    address.half()
                );
                self.row(AddressRole::Jump, &label, "0");
                let fetch = format!("\tmovq {target}, %{}\n", address.whole());
                let note = self.append(&taken, &format!("{fetch}{body}"), 5);
                let look = self.look(live | uses, part)?;
                Some(format!("{note}{look}{label}:\n"))
            }
            _ => Some(String::new()),
        }
    }

    /// Adds the note behind a call.
    fn call(
        &mut self,
        plan: &AssemblyPlan<'_>,
        number: usize,
        step: &AssemblyStep<'_>,
        part: usize,
    ) -> Option<()> {
        if !step.operation.starts_with("call") {
            return Some(());
        }
        let target = step.operands.first().copied().unwrap_or("");
        let name = target.split('@').next().unwrap_or("");
        // The linker may put other instructions in the place of this call, which never calls back.
        if name == "__tls_get_addr" {
            return Some(());
        }
        let live = plan.live.get(number + 1).copied().unwrap_or(0) & !FLAGS;
        let label = self.label('c');
        let text = if plan.called(step).is_some() {
            format!("{label}:\n{}", self.look(live, part)?)
        } else if RETURNING_AGAIN.contains(&name.trim_start_matches('*')) {
            self.row(AddressRole::Here, &label, "0");
            format!("{label}:\n{}", self.here_at(&label, live, part)?)
        } else {
            self.row(AddressRole::Return, &label, "0");
            let taken = self.take(live, 1, 0)?;
            let body = format!("\tmovb ${}, ({{}})\n", mark::RETURNED);
            let note = self.append(&taken, &body, 1);
            format!("{label}:\n{note}{}", self.look(live, part)?)
        };
        if let Some(pad) = plan.handlers.get(&number) {
            self.row(AddressRole::Handler, &label, pad);
        }
        self.behind.entry(step.lines.1).or_default().push_str(&text);
        Some(())
    }

    /// Marks a piece of the user's own assembler text as passed over.
    fn piece(&mut self, step: &AssemblyStep<'_>, text: &mut String) {
        if !step.operation.is_empty() {
            return;
        }
        let (start, end) = (self.label('p'), self.label('p'));
        *text += &format!("{start}:\n");
        let behind = self.behind.entry(step.lines.1).or_default();
        *behind += &format!("{end}:\n");
        self.row(AddressRole::Piece, &start, &end);
    }

    /// The check whether the thread's memory is full.
    fn look(&mut self, live: RegisterSet, part: usize) -> Option<String> {
        if live & FLAGS != 0 {
            return None;
        }
        let (aside, back) = (self.label('s'), self.label('r'));
        let taken = self.take(live, 0, 0)?;
        let (fetch, place) = match taken.registers.last().filter(|_| self.is_shared) {
            Some(base) => (
                format!("\tmovq unsnarl_next@gottpoff(%rip), %{}\n", base.whole()),
                format!("%fs:1(%{})", base.whole()),
            ),
            None => (String::new(), "%fs:unsnarl_next@tpoff+1".to_owned()),
        };
        let asides = self.asides.entry(part).or_default();
        *asides += &format!(
            "{aside}:\n\tleaq -128(%rsp), %rsp\n\tcall *unsnarl_path_full@GOTPCREL(%rip)\n\
             \tleaq 128(%rsp), %rsp\n\tjmp {back}\n"
        );
        let TakenRegisters { save, restore, .. } = taken;
        // Restoring changes no flags.
        Some(format!(
            "{save}{fetch}\tcmpb ${}, {place}\n{restore}\tjae {aside}\n{back}:\n",
            unsnarl_trace::raw::path::FULL
        ))
    }

    /// Takes `count` registers, and one more if the memory's place is not known when linking.
    fn take(&self, live: RegisterSet, count: usize, uses: RegisterSet) -> Option<TakenRegisters> {
        let count = count + usize::from(self.is_shared);
        let mut registers = free(live | uses, count);
        let more = others(&registers, uses, count - registers.len());
        let (mut save, mut restore) = (String::new(), String::new());
        if more.len() <= self.spare.len() {
            for (register, spare) in more.iter().zip(&self.spare) {
                save += &format!("\tmovq %{}, %{spare}\n", register.whole());
                restore += &format!("\tmovq %{spare}, %{}\n", register.whole());
            }
        } else if !more.is_empty() {
            save += "\tleaq -128(%rsp), %rsp\n";
            for register in &more {
                save += &format!("\tpushq %{}\n", register.whole());
            }
            for register in more.iter().rev() {
                restore += &format!("\tpopq %{}\n", register.whole());
            }
            restore += "\tleaq 128(%rsp), %rsp\n";
        }
        registers.extend(more);
        (registers.len() == count).then_some(TakenRegisters {
            registers,
            save,
            restore,
        })
    }

    /// `body` with the memory's place filled in, which then is `bytes` further on.
    fn append(&self, taken: &TakenRegisters, body: &str, bytes: usize) -> String {
        let Some(cursor) = taken.registers.first().map(|cursor| cursor.whole()) else {
            return String::new();
        };
        let body = body.replace("({})", &format!("(%{cursor})"));
        let base = taken.registers.last().filter(|_| self.is_shared);
        let (fetch, place) = match base {
            Some(base) => (
                format!("\tmovq unsnarl_next@gottpoff(%rip), %{}\n", base.whole()),
                format!("%fs:(%{})", base.whole()),
            ),
            None => (String::new(), "%fs:unsnarl_next@tpoff".to_owned()),
        };
        format!(
            "{}{fetch}\tmovq {place}, %{cursor}\n{body}\tleaq {bytes}(%{cursor}), %{cursor}\n\tmovq %{cursor}, {place}\n{}",
            taken.save, taken.restore
        )
    }

    /// Adds the text at the ends of functions.
    fn close(&mut self, plan: &AssemblyPlan<'_>) {
        for (number, part) in plan.text.parts.iter().enumerate() {
            if plan.left.get(number) != Some(&false) {
                continue;
            }
            let asides = self.asides.remove(&number).unwrap_or_default();
            let end = format!("{asides}{}_end:\n", function(number));
            self.before.entry(part.lines.1).or_default().push_str(&end);
        }
    }
}

fn function(part: usize) -> String {
    format!(".Lunsnarl_f{part}")
}

/// The last vector registers, as far as they are not mentioned.
fn spare_vectors(lines: &[&str]) -> Vec<String> {
    let numbers = (8..16).rev();
    let free = numbers.filter(|number| {
        let names = ["x", "y", "z"].map(|kind| format!("%{kind}mm{number}"));
        !lines
            .iter()
            .any(|line| names.iter().any(|name| line.contains(name.as_str())))
    });
    free.map(|number| format!("xmm{number}")).collect()
}
