//! Assembler text as compilers write it: instructions, labels, functions.

use std::collections::HashMap;

/// An instruction, or a piece of the user's own assembler text.
#[derive(Debug)]
pub struct AssemblyStep<'a> {
    /// Its line, and the last one of a piece of the user's.
    pub lines: (usize, usize),
    /// Mnemonic; empty for a piece of the user's.
    pub operation: &'a str,
    pub operands: Vec<&'a str>,
    /// The part of a function that it is in.
    pub part: Option<usize>,
}

/// A function, or the part of one that the compiler put elsewhere.
#[derive(Debug)]
pub struct FunctionPart<'a> {
    pub name: &'a str,
    /// The line of its label, and the line at which it ends.
    pub lines: (usize, usize),
    /// `true` if other files may call it, or bring their own.
    pub is_global: bool,
    pub is_weak: bool,
    /// `true` if its address is taken.
    pub is_taken: bool,
}

/// A file of assembler text.
#[derive(Debug, Default)]
pub struct AssemblyText<'a> {
    pub lines: Vec<&'a str>,
    pub steps: Vec<AssemblyStep<'a>>,
    pub parts: Vec<FunctionPart<'a>>,
    /// The step that follows each label.
    pub labels: HashMap<&'a str, usize>,
    /// The parts by their names.
    pub names: HashMap<&'a str, usize>,
}

impl<'a> AssemblyText<'a> {
    /// Reads a file; `None` when no compiler wrote it, or when its syntax is not understood.
    pub fn read(text: &'a str) -> Option<AssemblyText<'a>> {
        let lines: Vec<&str> = text.lines().collect();
        let has = |word: &str| lines.iter().any(|line| line.trim_start().starts_with(word));
        if !has(".ident") || has(".intel_syntax") {
            return None;
        }
        let mut read = AssemblyText {
            lines,
            ..AssemblyText::default()
        };
        read.find_parts();
        read.find_steps();
        read.find_taken();
        Some(read)
    }

    fn find_parts(&mut self) {
        let mut functions: HashMap<&str, bool> = HashMap::new();
        let (mut globals, mut weak) = (HashMap::new(), HashMap::new());
        for line in &self.lines {
            let Some((directive, rest)) = words(line) else {
                continue;
            };
            let name = rest.split([',', '#']).next().unwrap_or("").trim();
            match directive {
                ".type" if rest.contains("@function") => drop(functions.insert(name, true)),
                ".globl" | ".global" => drop(globals.insert(name, true)),
                ".weak" => drop(weak.insert(name, true)),
                _ => {}
            }
        }
        let mut open: Option<usize> = None;
        for (number, line) in self.lines.iter().enumerate() {
            if let Some(name) = label(line).filter(|name| functions.contains_key(name)) {
                open = Some(self.parts.len());
                self.names.insert(name, self.parts.len());
                self.parts.push(FunctionPart {
                    name,
                    lines: (number, usize::MAX),
                    is_global: globals.contains_key(name) || weak.contains_key(name),
                    is_weak: weak.contains_key(name),
                    is_taken: false,
                });
            } else if line.trim_start().starts_with(".cfi_endproc") {
                let part = open.take().and_then(|part| self.parts.get_mut(part));
                if let Some(part) = part {
                    part.lines.1 = number;
                }
            }
        }
    }

    fn find_steps(&mut self) {
        let mut part = 0;
        let mut number = 0;
        while let Some(line) = self.lines.get(number).copied() {
            while self.parts.get(part).is_some_and(|p| p.lines.1 < number) {
                part += 1;
            }
            let inside = self.parts.get(part).filter(|p| p.lines.0 <= number);
            let inside = inside.map(|_| part);
            if line.trim() == "#APP" {
                let rest = self.lines.iter().skip(number);
                let length = rest.take_while(|line| line.trim() != "#NO_APP").count();
                self.push(AssemblyStep {
                    lines: (number, (number + length).min(self.lines.len() - 1)),
                    operation: "",
                    operands: Vec::new(),
                    part: inside,
                });
                number += length;
            } else if let Some(name) = label(line) {
                self.labels.insert(name, self.steps.len());
            } else if let Some((operation, rest)) = words(line).filter(|(word, _)| is_code(word)) {
                self.push(AssemblyStep {
                    lines: (number, number),
                    operation,
                    operands: operands(rest),
                    part: inside,
                });
            }
            number += 1;
        }
    }

    fn push(&mut self, step: AssemblyStep<'a>) {
        self.steps.push(step);
    }

    /// Finds the functions whose address is taken: one that is named anywhere but in a call or jump may be called
    /// from anywhere.
    fn find_taken(&mut self) {
        const DIRECTIVES: [&str; 14] = [
            ".type", ".size", ".globl", ".global", ".weak", ".hidden", ".section", ".local",
            ".loc", ".string", ".ascii", ".asciz", ".file", ".ident",
        ];
        for line in &self.lines {
            let Some((word, rest)) = words(line) else {
                continue;
            };
            let is_direct = is_jump(word) || word.starts_with("call");
            if DIRECTIVES.contains(&word) || is_direct && !rest.starts_with('*') {
                continue;
            }
            for name in rest.split(|c: char| !is_name(c)) {
                if let Some(part) = self.names.get(name).and_then(|at| self.parts.get_mut(*at)) {
                    part.is_taken = true;
                }
            }
        }
    }

    /// The text of a piece of the user's own.
    pub fn piece(&self, step: &AssemblyStep<'_>) -> impl Iterator<Item = &'a str> {
        let (first, last) = step.lines;
        let lines = self.lines.get(first..=last).unwrap_or(&[]).iter();
        lines
            .copied()
            .filter(|line| !line.trim_start().starts_with('#'))
    }
}

/// Returns whether a mnemonic is that of a jump.
pub fn is_jump(operation: &str) -> bool {
    operation.starts_with('j')
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')
}

fn is_code(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
}

/// The label that a line defines.
pub fn label(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(':')?;
    let name = name.trim_matches('"');
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// The first word of a line and the rest without comments, prefixes of instructions left out.
fn words(line: &str) -> Option<(&str, &str)> {
    let line = match line.split_once('#') {
        Some((code, _)) if !line.contains('"') => code,
        _ => line,
    };
    let line = line.trim();
    let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    match word {
        "" => None,
        "notrack" | "bnd" | "data16" => words(rest),
        "rep" | "repz" if rest.trim_start().starts_with("ret") => words(rest),
        _ => Some((word, rest.trim())),
    }
}

/// The operands of an instruction.
pub fn operands(text: &str) -> Vec<&str> {
    let (mut found, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(text.get(start..at).map(str::trim));
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = text.get(start..).map(str::trim);
    found.extend(last.filter(|last| !last.is_empty()));
    found
}
