//! Calls by the x86-64 psABI: in which registers and stack words the parameters and results of a prototype travel.
//!
//! A lifted function takes its parameters in one order that callers know without its prototype: integer registers,
//! then vector registers, then words of the stack. The first ones are what library functions and thread starts pass.

use super::{debug::Prototype, debug_types::DwarfTypeRows};
use unsnarl_trace::program::{DebugKind, DebugTypeId, Unit};

/// Number of registers that pass integers.
pub(super) const INTEGERS: usize = 6;
/// Number of registers that pass floating-point numbers.
pub(super) const FLOATS: usize = 8;
/// Bound on the words of one parameter, and of all of them.
const MOST_WORDS: u64 = 1 << 10;
/// Bound on the nesting of types.
const DEEPEST: u32 = 16;

/// One word of a parameter or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// In an integer register, with its bits.
    Integer(u32),
    /// In a vector register, with its bits.
    Float(u32),
    /// In memory.
    Memory,
}

/// Words of a result.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Returned {
    /// Nothing.
    #[default]
    Nothing,
    /// One word.
    One(Word),
    /// A structure in two registers.
    Two(Word, Word),
}

/// The place of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Passed {
    /// The integer register with this number, and its bits.
    Integer(usize, u32),
    /// The vector register with this number, and its bits.
    Float(usize, u32),
    /// A word of the stack.
    Stack(usize),
}

/// The places of a function's parameters and results.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Abi {
    pub parameters: Vec<Passed>,
    pub returned: Returned,
    pub is_variadic: bool,
    pub is_final: bool,
}

impl Abi {
    /// All that may hold a parameter, for functions without a prototype.
    pub fn unknown() -> Abi {
        Abi {
            parameters: (0..INTEGERS).map(|at| Passed::Integer(at, 64)).collect(),
            returned: Returned::One(Word::Integer(64)),
            is_variadic: true,
            is_final: false,
        }
    }

    /// So many integers, one result.
    pub fn of_integers(count: usize, returned: Returned) -> Abi {
        Abi {
            parameters: (0..count).map(|at| Passed::Integer(at, 64)).collect(),
            returned,
            ..Abi::default()
        }
    }

    /// The places for a prototype; an error where the types are not understood.
    pub fn of(prototype: &Prototype, types: &DwarfTypeRows, unit: &Unit) -> Result<Abi, String> {
        let reader = AbiReader { types, unit };
        let mut count = Count::default();
        let returned = match prototype.result.map(|ty| reader.words(ty)).transpose()? {
            None => Returned::Nothing,
            Some(words) => match words.as_slice() {
                [] => Returned::Nothing,
                [Word::Memory, ..] => {
                    count.integer(64);
                    Returned::One(Word::Integer(64))
                }
                [one] => Returned::One(*one),
                [one, two] => Returned::Two(*one, *two),
                _ => return Err("a result of an unknown kind".into()),
            },
        };
        for &ty in &prototype.parameters {
            count.parameter(&reader.words(ty)?);
        }
        Ok(Abi {
            parameters: count.parameters(),
            returned,
            is_variadic: prototype.is_variadic,
            is_final: prototype.is_final,
        })
    }
}

/// Registers and words that are used up.
#[derive(Default)]
struct Count {
    integers: Vec<u32>,
    floats: Vec<u32>,
    stack: usize,
}

impl Count {
    fn integer(&mut self, bits: u32) {
        self.integers.push(bits);
    }

    /// A parameter goes into registers as a whole or not at all.
    fn parameter(&mut self, words: &[Word]) {
        let is = |kind: fn(&Word) -> bool| words.iter().filter(|word| kind(word)).count();
        let integers = is(|word| matches!(word, Word::Integer(_)));
        let floats = is(|word| matches!(word, Word::Float(_)));
        let fits =
            self.integers.len() + integers <= INTEGERS && self.floats.len() + floats <= FLOATS;
        if !fits || words.contains(&Word::Memory) {
            self.stack += words.len();
            return;
        }
        for word in words {
            match *word {
                // Callers extend small numbers, though nothing in the source says so.
                Word::Integer(bits) => self.integers.push(bits.max(32)),
                Word::Float(bits) => self.floats.push(bits),
                Word::Memory => {}
            }
        }
    }

    fn parameters(&self) -> Vec<Passed> {
        let padded = |used: &[u32], most: usize, is_whole: bool| -> Vec<u32> {
            let count = if is_whole { most } else { used.len() };
            (0..count)
                .map(|at| used.get(at).copied().unwrap_or(64))
                .collect()
        };
        let has_more = self.stack > 0 || !self.floats.is_empty();
        let integers = padded(&self.integers, INTEGERS, has_more);
        let floats = padded(&self.floats, FLOATS, self.stack > 0);
        let integers = integers.into_iter().enumerate();
        let floats = floats.into_iter().enumerate();
        integers
            .map(|(at, bits)| Passed::Integer(at, bits))
            .chain(floats.map(|(at, bits)| Passed::Float(at, bits)))
            .chain((0..self.stack).map(Passed::Stack))
            .collect()
    }
}

struct AbiReader<'a> {
    types: &'a DwarfTypeRows,
    unit: &'a Unit,
}

impl AbiReader<'_> {
    /// The words of a type.
    fn words(&self, ty: DebugTypeId) -> Result<Vec<Word>, String> {
        let mut ty = ty;
        for _ in 0..DEEPEST {
            let row = self.unit.debug_type(ty).ok_or("a type is not known")?;
            let bits = |size: u64| match size {
                0..=1 => 8,
                2 => 16,
                3..=4 => 32,
                _ => 64,
            };
            match &row.kind {
                DebugKind::Alias(DebugTypeId(0)) => return Ok(Vec::new()),
                DebugKind::Alias(of) => ty = *of,
                DebugKind::Float if row.size <= 8 => return Ok(vec![Word::Float(bits(row.size))]),
                DebugKind::Float => return Err("a long number".into()),
                DebugKind::Struct(_) => return self.structure(ty, row.size),
                DebugKind::Array(..) => return self.structure(ty, row.size),
                DebugKind::Other if row.name == "decltype(nullptr)" => {
                    return Ok(vec![Word::Integer(64)]);
                }
                DebugKind::Other => return Err(format!("the type `{}`", row.name)),
                _ if row.size > 16 => return Err(format!("the type `{}`", row.name)),
                _ if row.size > 8 => return Ok(vec![Word::Integer(64); 2]),
                DebugKind::Pointer(_) | DebugKind::Function => return Ok(vec![Word::Integer(64)]),
                _ => return Ok(vec![Word::Integer(bits(row.size))]),
            }
        }
        Err("a type within itself".into())
    }

    fn structure(&self, ty: DebugTypeId, size: u64) -> Result<Vec<Word>, String> {
        if self.types.by_reference.contains(&ty) {
            return Ok(vec![Word::Integer(64)]);
        }
        let count = size.div_ceil(8);
        if count > MOST_WORDS {
            return Err("a parameter of many words".into());
        }
        if size > 16 {
            return Ok(vec![Word::Memory; usize::try_from(count).unwrap_or(0)]);
        }
        let mut halves = [None, None];
        self.classify(ty, 0, &mut halves, DEEPEST)?;
        let words = halves.into_iter().take(usize::try_from(count).unwrap_or(0));
        let words: Vec<Word> = words.map(|half| half.unwrap_or(Word::Float(64))).collect();
        match halves.iter().all(Option::is_none) {
            true => Ok(Vec::new()),
            false => Ok(words),
        }
    }

    /// Notes the kinds of the numbers in a structure: a word is an integer's if one of its parts is.
    fn classify(
        &self,
        ty: DebugTypeId,
        at: u64,
        halves: &mut [Option<Word>; 2],
        depth: u32,
    ) -> Result<(), String> {
        let depth = depth.checked_sub(1).ok_or("a type within itself")?;
        let row = self.unit.debug_type(ty).ok_or("a type is not known")?;
        match &row.kind {
            DebugKind::Alias(of) => self.classify(*of, at, halves, depth),
            DebugKind::Struct(members) => members.iter().try_for_each(|member| {
                self.classify(
                    member.ty,
                    at.saturating_add(member.offset_bits / 8),
                    halves,
                    depth,
                )
            }),
            DebugKind::Array(element, counts) => {
                let one = self.unit.debug_type(*element).map_or(0, |row| row.size);
                let count = counts
                    .iter()
                    .fold(1u64, |all, one| all.saturating_mul(*one))
                    .min(16);
                (0..count).try_for_each(|index| {
                    self.classify(
                        *element,
                        at.saturating_add(index.saturating_mul(one)),
                        halves,
                        depth,
                    )
                })
            }
            DebugKind::Float if row.size > 8 => Err("a long number".into()),
            kind => {
                let is_float = matches!(kind, DebugKind::Float);
                let word = if is_float {
                    Word::Float(64)
                } else {
                    Word::Integer(64)
                };
                let first = usize::try_from(at / 8).unwrap_or(2);
                let last = usize::try_from(at.saturating_add(row.size.max(1) - 1) / 8).unwrap_or(2);
                for half in halves.iter_mut().take(last.saturating_add(1)).skip(first) {
                    if *half != Some(Word::Integer(64)) {
                        *half = Some(word);
                    }
                }
                Ok(())
            }
        }
    }
}
