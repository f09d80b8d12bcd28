//! What a base program does with threads, as its text says it: functions, locks and what they guard.

use super::syntax::{
    Call, Source, ancestors, behind, children, descendants, is_block, of_kind, statement_in_block,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};
use tree_sitter::Node;

/// Calls that take a lock.
const ACQUIRE: [&str; 7] = [
    "pthread_mutex_lock",
    "pthread_spin_lock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "mtx_lock",
    "lock",
    "lock_shared",
];
/// Calls that give one back.
const RELEASE: [&str; 6] = [
    "pthread_mutex_unlock",
    "pthread_spin_unlock",
    "pthread_rwlock_unlock",
    "mtx_unlock",
    "unlock",
    "unlock_shared",
];
/// Types of the library whose objects hold a lock while they live.
const GUARDS: [&str; 4] = ["lock_guard", "unique_lock", "scoped_lock", "shared_lock"];

/// What a statement does with a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Takes it.
    Acquire,
    /// Gives it back.
    Release,
}

/// A statement that takes a lock or gives it back.
#[derive(Clone, Debug)]
pub struct LockStatement<'s> {
    /// The statement.
    pub statement: Node<'s>,
    /// Which of the two.
    pub effect: Effect,
    /// The lock as it is written, `&queue->lock`.
    pub lock: String,
    /// The variable whose end gives the lock back.
    pub guard: Option<String>,
}

/// Statements between taking a lock and giving it back.
#[derive(Clone, Debug)]
pub struct Section<'s> {
    /// Takes the lock.
    pub acquire: LockStatement<'s>,
    /// Gives it back at the end; none where a guard's end does it.
    pub release: Option<Node<'s>>,
    /// Gives it back before a jump out of the section.
    pub early: Vec<Node<'s>>,
    /// The statements between.
    pub body: Vec<Node<'s>>,
}

/// A function with a body.
#[derive(Clone, Copy, Debug)]
pub struct Function<'s> {
    /// Name without class and namespace.
    pub name: &'s str,
    /// The braces.
    pub body: Node<'s>,
}

/// A base program.
pub struct Program<'s> {
    /// Its text.
    pub source: &'s Source,
    /// Functions and methods with a body.
    pub functions: Vec<Function<'s>>,
    /// Functions that take or give back a lock for their caller, with the lock's name.
    wrappers: BTreeMap<&'s str, (Effect, String)>,
    /// Classes whose destructor gives a lock back.
    guards: BTreeSet<&'s str>,
}

impl<'s> Program<'s> {
    /// The program that a source is.
    pub fn new(source: &'s Source) -> Program<'s> {
        let mut program = Program {
            source,
            functions: functions(source),
            wrappers: BTreeMap::new(),
            guards: guards(source),
        };
        program.wrappers = program.find_wrappers();
        program
    }

    /// Functions whose body does only one of the two.
    fn find_wrappers(&self) -> BTreeMap<&'s str, (Effect, String)> {
        let mut wrappers = BTreeMap::new();
        for function in &self.functions {
            let statements = descendants(function.body).into_iter();
            let locking: Vec<_> = statements.filter_map(|one| self.locking(one)).collect();
            if let [only] = locking.as_slice()
                && only.guard.is_none()
            {
                let lock = last_name(&only.lock).to_owned();
                wrappers.insert(function.name, (only.effect, lock));
            }
        }
        wrappers
    }

    /// Is this function one that takes or gives back a lock for its caller?
    pub fn is_wrapper(&self, name: &str) -> bool {
        self.wrappers.contains_key(name)
    }

    /// What a statement does with a lock.
    pub fn locking(&self, statement: Node<'s>) -> Option<LockStatement<'s>> {
        let call = self.source.statement_call(statement);
        let by_call = call.and_then(|call| self.locking_call(&call));
        if let Some((effect, lock)) = by_call {
            return Some(LockStatement {
                statement,
                effect,
                lock,
                guard: None,
            });
        }
        let (guard, lock) = self.guard_declaration(statement)?;
        Some(LockStatement {
            statement,
            effect: Effect::Acquire,
            lock,
            guard: Some(guard),
        })
    }

    fn locking_call(&self, call: &Call<'s>) -> Option<(Effect, String)> {
        let effect = [
            (ACQUIRE.as_slice(), Effect::Acquire),
            (&RELEASE, Effect::Release),
        ];
        let known = effect.iter().find(|(names, _)| names.contains(&call.name));
        match (known, call.receiver, call.arguments.as_slice()) {
            (Some((_, effect)), Some(receiver), []) => Some((*effect, receiver.to_owned())),
            (Some((_, effect)), None, [lock]) => {
                Some((*effect, self.source.text(*lock).to_owned()))
            }
            _ => {
                let (effect, lock) = self.wrappers.get(call.name)?;
                let arguments = call.arguments.iter().map(|one| self.source.text(*one));
                let arguments: Vec<&str> = arguments.collect();
                Some((*effect, format!("{}#{lock}", arguments.join(", "))))
            }
        }
    }

    /// Name of the variable and the lock of `std::lock_guard<std::mutex> guard(lock);` and its like.
    fn guard_declaration(&self, statement: Node<'s>) -> Option<(String, String)> {
        let is_declaration = statement.kind() == "declaration" && self.source.is_cpp;
        let text = is_declaration.then(|| self.source.text(statement))?;
        let text = text.strip_prefix("const ").unwrap_or(text);
        let text = text.strip_prefix("std::").unwrap_or(text);
        let kind = text.split(|c: char| !is_name(c)).next()?;
        let is_guard = GUARDS.contains(&kind) || self.guards.contains(kind);
        let rest = is_guard.then(|| text.get(kind.len()..)).flatten()?;
        let rest = past_template(rest).trim_start();
        let end = rest.find(|c: char| !is_name(c))?;
        let (name, rest) = rest.split_at_checked(end)?;
        let inner = rest.trim().strip_suffix(';')?.trim();
        let inner = inner.strip_prefix(['(', '{'])?.strip_suffix([')', '}'])?;
        (!name.is_empty() && !inner.contains(',')).then(|| (name.to_owned(), inner.to_owned()))
    }

    /// All critical sections, in the order of the text.
    pub fn sections(&self) -> Vec<Section<'s>> {
        let statements = descendants(self.source.root()).into_iter();
        let acquires = statements.filter_map(|one| self.locking(one));
        acquires
            .filter(|one| one.effect == Effect::Acquire)
            .filter_map(|acquire| self.section(acquire))
            .collect()
    }

    fn section(&self, acquire: LockStatement<'s>) -> Option<Section<'s>> {
        acquire
            .statement
            .parent()
            .filter(|block| is_block(*block))?;
        let rest = behind(acquire.statement);
        if acquire.guard.is_some() {
            return Some(Section {
                acquire,
                release: None,
                early: Vec::new(),
                body: rest,
            });
        }
        let releases = |node: &Node<'s>| {
            self.locking(*node)
                .is_some_and(|one| one.effect == Effect::Release && one.lock == acquire.lock)
        };
        let at = rest.iter().position(releases)?;
        let body: Vec<Node> = rest.iter().take(at).copied().collect();
        let inner = body.iter().flat_map(|one| descendants(*one));
        Some(Section {
            early: inner.filter(releases).collect(),
            release: rest.get(at).copied(),
            body,
            acquire,
        })
    }

    /// The innermost section around a node.
    pub fn section_of(&self, node: Node<'s>) -> Option<Section<'s>> {
        let holds = |section: &Section| section.body.iter().any(|one| contains(*one, node));
        self.sections().into_iter().filter(holds).next_back()
    }

    /// The function around a node.
    pub fn function_of(&self, node: Node<'s>) -> Option<Function<'s>> {
        let around = |function: &&Function| contains(function.body, node);
        self.functions.iter().filter(around).next_back().copied()
    }

    /// Bodies of the program's functions that these nodes call, and what those call.
    pub fn called(&self, nodes: &[Node<'s>]) -> Vec<Node<'s>> {
        let mut found: Vec<Node> = Vec::new();
        let mut open: Vec<Node> = nodes.to_vec();
        while let Some(node) = open.pop() {
            for call in self.source.calls(node) {
                let named = self.functions.iter().filter(|one| one.name == call.name);
                for function in named.filter(|one| !self.is_wrapper(one.name)) {
                    if !found.contains(&function.body) {
                        found.push(function.body);
                        open.push(function.body);
                    }
                }
            }
        }
        found
    }

    /// Ranges of these nodes and of all that they call.
    pub fn reach(&self, nodes: &[Node<'s>]) -> Vec<Range<usize>> {
        let called = self.called(nodes);
        let all = nodes.iter().copied().chain(called);
        all.map(|node| node.byte_range()).collect()
    }

    /// What a section is about: its lines and the functions that it calls.
    pub fn guarded(&self, section: &Section<'s>) -> Vec<Range<usize>> {
        let mut ranges = self.reach(&section.body);
        ranges.push(section.acquire.statement.byte_range());
        ranges.extend(section.release.map(|node| node.byte_range()));
        ranges
    }

    /// What runs after a statement, in its function and in those that call it.
    pub fn after(&self, statement: Node<'s>) -> Vec<Node<'s>> {
        self.after_within(statement, 2)
    }

    fn after_within(&self, statement: Node<'s>, callers: u32) -> Vec<Node<'s>> {
        let Some(function) = self.function_of(statement) else {
            return Vec::new();
        };
        let chain = std::iter::once(statement).chain(ancestors(statement));
        let inside = chain.take_while(|one| *one != function.body);
        let mut found: Vec<Node> = inside.flat_map(behind).collect();
        found.extend(
            function
                .body
                .child(function.body.child_count().saturating_sub(1)),
        );
        if callers > 0 {
            for place in self.places_of_calls(function) {
                found.extend(self.after_within(place, callers - 1));
            }
        }
        found
    }

    /// Statements that call a function; for a destructor those behind which its objects end.
    fn places_of_calls(&self, function: Function<'s>) -> Vec<Node<'s>> {
        let nodes = descendants(self.source.root()).into_iter();
        let class = function.name.strip_prefix('~');
        let is_place = |node: &Node<'s>| match class {
            None => self
                .source
                .call(*node)
                .is_some_and(|call| call.name == function.name),
            Some(class) => {
                let kind = node.child_by_field_name("type");
                node.kind() == "declaration"
                    && kind.is_some_and(|kind| self.source.text(kind) == class)
            }
        };
        let found = nodes.filter(is_place).filter_map(statement_in_block);
        match class {
            None => found.collect(),
            Some(_) => found.filter_map(|one| one.parent()).collect(),
        }
    }

    /// Do sections of a lock with this name give memory back?
    pub fn frees_under(&self, lock: &str) -> bool {
        const WORDS: [&str; 8] = [
            "free",
            "delete",
            "erase",
            "clear",
            "pop",
            "reset",
            "realloc",
            "push_back",
        ];
        self.mentioned_under(lock, &WORDS)
    }

    /// Do sections of a lock with this name wait for conditions or signal them?
    pub fn signals_under(&self, lock: &str) -> bool {
        const WORDS: [&str; 6] = [
            "wait",
            "signal",
            "broadcast",
            "notify_one",
            "notify_all",
            "sem_post",
        ];
        self.mentioned_under(lock, &WORDS)
    }

    fn mentioned_under(&self, lock: &str, words: &[&str]) -> bool {
        let name = last_name(lock);
        let sections = self.sections().into_iter();
        let mut same = sections.filter(|section| last_name(&section.acquire.lock) == name);
        same.any(|section| {
            let mut ranges = self.reach(&section.body);
            if let Some(next) = section
                .release
                .map(behind)
                .and_then(|next| next.first().copied())
            {
                ranges.push(next.byte_range());
            }
            let texts = ranges
                .into_iter()
                .filter_map(|range| self.source.text.get(range));
            texts
                .into_iter()
                .any(|text| words.iter().any(|word| text.contains(word)))
        })
    }
}

impl<'s> Section<'s> {
    /// All statements that give the lock back.
    pub fn releases(&self) -> impl Iterator<Item = Node<'s>> {
        self.early.iter().copied().chain(self.release)
    }

    /// Is the variable that holds the lock, or the lock, used in between, as by a wait?
    pub fn uses_lock(&self, source: &Source) -> bool {
        let name = match &self.acquire.guard {
            Some(guard) => guard.as_str(),
            None => last_name(&self.acquire.lock),
        };
        let inner = self.body.iter().flat_map(|one| source.calls(*one));
        inner
            .filter(|call| !self.early.iter().any(|early| contains(*early, call.node)))
            .any(|call| {
                let in_arguments = call
                    .arguments
                    .iter()
                    .any(|one| source.names(*one).contains(&name));
                let is_method = call.receiver == Some(name);
                in_arguments && call.name.contains("wait") || is_method
            })
    }
}

/// Is one node in the other, or the same?
pub fn contains(outer: Node, inner: Node) -> bool {
    outer.start_byte() <= inner.start_byte() && inner.end_byte() <= outer.end_byte()
}

/// The last name in an expression: `lock` of `&queue->lock`.
pub fn last_name(expression: &str) -> &str {
    let end = expression.trim_end_matches(|c: char| !is_name(c));
    let begin = end.rfind(|c: char| !is_name(c)).map_or(0, |at| at + 1);
    end.get(begin..).unwrap_or(end)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What follows `<...>`.
fn past_template(text: &str) -> &str {
    let mut depth = 0u32;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if depth == 1 => return text.get(at + 1..).unwrap_or(""),
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => return text,
            _ => {}
        }
    }
    text
}

fn functions(source: &Source) -> Vec<Function<'_>> {
    let definitions = of_kind(source.root(), "function_definition").into_iter();
    let named = definitions.filter_map(|definition| {
        let declarators = of_kind(definition, "function_declarator");
        let name = declarators.first()?.child_by_field_name("declarator")?;
        let text = source.text(name);
        Some(Function {
            name: text.rsplit("::").next().unwrap_or(text),
            body: definition.child_by_field_name("body")?,
        })
    });
    named.collect()
}

/// Classes whose destructor calls something that gives a lock back.
fn guards(source: &Source) -> BTreeSet<&str> {
    let kinds = ["class_specifier", "struct_specifier"];
    let classes = kinds.iter().flat_map(|kind| of_kind(source.root(), kind));
    let named = classes.filter_map(|class| {
        let name = source.text(class.child_by_field_name("name")?);
        let members = children(class.child_by_field_name("body")?);
        let destructor = format!("~{name}(");
        let releases = members.into_iter().any(|member| {
            let is_destructor = source.text(member).starts_with(&destructor);
            let calls = source.calls(member);
            is_destructor && calls.iter().any(|call| RELEASE.contains(&call.name))
        });
        releases.then_some(name)
    });
    named.collect()
}
