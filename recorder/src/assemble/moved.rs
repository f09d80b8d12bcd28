//! Accesses that the compiler moved away from their line.
//!
//! An optimizing compiler reads a variable once before the loop that mentions it, or writes it once behind,
//! and its line table then names the line where the instruction came to stand: the head of the loop, the
//! opening brace. Where such a line mentions nothing of what is accessed, and another line of the same machine
//! code does, that one is the access's place in the source. Code that was compiled without optimization is
//! left alone: what its lines access without a name they access by a pointer or a reference.

use super::{modules::Modules, walk::LogWalk};
use rustc_hash::FxHashMap;
use unsnarl_trace::{Event, EventKind, Location, LocationId, SiteId, StackId, model::flags};

/// The real places of a run's accesses, worked out once per site, variable and kind.
pub(super) struct Moved {
    /// A program counter of each site.
    counters: FxHashMap<SiteId, u64>,
    /// Numbers of the variables that locations belong to, by location; 0 where it was not looked.
    variables: Vec<u32>,
    numbers: FxHashMap<VariableNames, u32>,
    /// The variable that was numbered last: the locations of one come together.
    recent: (VariableNames, u32),
    known: FxHashMap<(SiteId, u32, EventKind), Option<u64>>,
}

/// The last part of the name of a location, and then the others that stand in the source.
type VariableNames = Vec<String>;

/// Number of locations that have no name in the source.
pub(super) const NO_VARIABLE: u32 = 1;

impl Moved {
    /// Looks up the program counters of a run's sites.
    pub fn of(walk: &LogWalk<'_>) -> Moved {
        let mut counters = FxHashMap::default();
        for (&pc, site) in &walk.site_ids {
            if let Some(known) = site.filter(|known| known.is_user) {
                let first = counters.entry(known.site).or_insert(pc);
                *first = pc.min(*first);
            }
        }
        Moved {
            counters,
            variables: Vec::new(),
            numbers: FxHashMap::default(),
            recent: (VariableNames::new(), NO_VARIABLE),
            known: FxHashMap::default(),
        }
    }

    /// Returns whether the compiler moves such accesses.
    pub fn may_move(kind: EventKind, of_flags: u16) -> bool {
        matches!(kind, EventKind::Read | EventKind::Write) && of_flags & flags::RANGE == 0
    }

    /// Number of the variable that a location belongs to.
    pub fn variable(&mut self, walk: &LogWalk<'_>, location: LocationId) -> u32 {
        match self.variables.get(location.index()) {
            Some(known) if *known != 0 => *known,
            _ => self.new_variable(walk, location),
        }
    }

    /// Gives an access to a variable its original line, if it was moved.
    pub fn put_back(&mut self, walk: &mut LogWalk<'_>, row: &mut Event, variable: u32) {
        if variable == NO_VARIABLE {
            return;
        }
        let key = (row.site, variable, row.kind);
        let home = match self.known.get(&key) {
            Some(home) => *home,
            None => {
                let home = self.home(walk, (row.site, row.location, row.kind));
                self.known.insert(key, home);
                home
            }
        };
        let Some((home, from)) = home.zip(self.counters.get(&row.site).copied()) else {
            return;
        };
        if let Some(site) = walk.user_site(home) {
            let outside = walk.without_inlined(row.stack, from);
            row.stack = walk.with_inlined(outside, home);
            row.site = site;
            row.flags |= flags::MOVED;
        }
    }

    fn new_variable(&mut self, walk: &LogWalk<'_>, location: LocationId) -> u32 {
        let locations = &walk.memory.regions.locations;
        let name = locations.get(location.index()).map_or("", String::as_str);
        let parts = LocationParts::of(name);
        let number = parts.map_or(NO_VARIABLE, |parts| self.number(&parts));
        if self.variables.len() <= location.index() {
            self.variables.resize(locations.len(), 0);
        }
        if let Some(place) = self.variables.get_mut(location.index()) {
            *place = number;
        }
        number
    }

    /// Number of a variable.
    fn number(&mut self, variable: &LocationParts<'_>) -> u32 {
        let (names, number) = &self.recent;
        if names.iter().map(String::as_str).eq(variable.names()) {
            return *number;
        }
        let names: VariableNames = variable.names().map(str::to_owned).collect();
        let next = self.numbers.len() as u32 + NO_VARIABLE + 1;
        let number = *self.numbers.entry(names.clone()).or_insert(next);
        self.recent = (names, number);
        number
    }

    /// A program counter on the line that the access belongs to; `None` if it stands there already.
    fn home(
        &self,
        walk: &mut LogWalk<'_>,
        (site, location, kind): (SiteId, LocationId, EventKind),
    ) -> Option<u64> {
        let pc = *self.counters.get(&site)?;
        let name = walk.memory.regions.locations.get(location.index())?.clone();
        let variable = LocationParts::of(&name)?;
        let row = walk.sites.rows.get(site.index())?;
        let text = row.text.clone();
        let is_elsewhere = !text.is_empty() && !variable.is_in(&text);
        if !is_elsewhere || is_constructor(&row.function) || goes_through_pointer(&text) {
            return None;
        }
        let at = walk.memory.modules.locate(pc.wrapping_sub(1))?;
        if !at.image.function(at.address)?.1.is_optimized || walk.may_be_macro(site, &text) {
            return None;
        }
        let bias = pc.wrapping_sub(1).wrapping_sub(at.address);
        let program = walk.memory.modules.program();
        let lines = program.lines.around(program, &at.image, at.address);
        let writes = kind == EventKind::Write;
        let fits = |text: &str| match writes {
            true => variable.is_in(text) && variable.is_set_in(text),
            false => variable.is_read_in(text),
        };
        let fitting = lines.iter().filter(|(_, text)| fits(text));
        let fitting = fitting.map(|(from, _)| *from);
        let reachable = fitting.filter(|from| {
            let there = from.wrapping_add(bias).wrapping_add(1);
            may_have_moved(&mut walk.memory.modules, pc, there)
        });
        let (before, after): (Vec<u64>, Vec<u64>) = reachable.partition(|from| *from <= at.address);
        // What is read comes before its line, what is written after it.
        let (near, far) = match writes {
            true => (before.last(), after.first()),
            false => (after.first(), before.last()),
        };
        near.or(far)
            .map(|from| from.wrapping_add(bias).wrapping_add(1))
    }
}

impl LogWalk<'_> {
    /// The stack of the function with machine code.
    fn without_inlined(&mut self, stack: StackId, pc: u64) -> StackId {
        let point = self.memory.modules.point(pc);
        let calls = point.map_or(0, |point| point.inlined.len());
        (0..calls).fold(stack, |stack, _| {
            let row = self.stacks.rows.get(stack.index());
            row.map_or(stack, |row| row.0)
        })
    }

    /// Returns whether the file defines a name on the line as a macro: then the line may mean anything.
    fn may_be_macro(&self, site: SiteId, text: &str) -> bool {
        let Some(row) = self.sites.rows.get(site.index()) else {
            return true;
        };
        let source = self.memory.modules.program().sources.file(&row.file);
        words(text).any(|word| source.defines(word))
    }
}

/// The parts of a location's name that stand in the source.
struct LocationParts<'n> {
    /// The last field, or the variable itself.
    last: &'n str,
    /// Whatever contains it: the variable, which heap blocks lack, and the fields before the last one.
    wholes: Vec<&'n str>,
}

impl<'n> LocationParts<'n> {
    fn of(name: &'n str) -> Option<LocationParts<'n>> {
        if name.contains("_M_") || name.contains("std::") {
            return None;
        }
        let (base, path) = match Location::of(name) {
            Location::Heap { path, .. } => (None, path),
            // Variables on a stack stand in registers rather than being moved.
            Location::Stack { .. } => return None,
            Location::Static(name) => {
                let name = name.rsplit("::").next()?;
                let base = Location::of(name).block();
                (Some(base), name.get(base.len()..)?)
            }
        };
        // What stands before the first point is an index of a variable, or an offset.
        let fields = path.split('.').skip(1);
        let fields = fields.map(|field| field.split(['[', '+']).next().unwrap_or(field));
        let mut wholes: Vec<&str> = base.into_iter().chain(fields).collect();
        let last = wholes.pop()?;
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        (!last.is_empty() && last.chars().all(is_word)).then_some(LocationParts { last, wholes })
    }

    fn names(&self) -> impl Iterator<Item = &'n str> {
        std::iter::once(self.last).chain(self.wholes.iter().copied())
    }

    /// The text behind each mention of it on a line. A whole that contains it counts where it stands as a whole, its address does not.
    fn mentions<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let is_part = |after: &str| {
            let after = behind_indexes(after);
            after.starts_with('.') || after.starts_with("->")
        };
        let wholes = self.wholes.iter();
        let wholes = wholes.flat_map(|whole| occurrences(text, whole));
        let last = occurrences(text, self.last);
        let all = last.chain(wholes.filter(move |(_, after)| !is_part(after)));
        let all = all.filter(|(before, after)| !is_address(before, after));
        all.map(|(_, after)| after)
    }

    /// Returns whether a line accesses it by name.
    fn is_in(&self, text: &str) -> bool {
        self.mentions(text).next().is_some()
    }

    /// Returns whether a line reads it by name. One that only assigns to it does not.
    fn is_read_in(&self, text: &str) -> bool {
        let assigns = |after: &str| after.starts_with('=') && !after.starts_with("==");
        let mut mentions = self.mentions(text);
        mentions.any(|after| !assigns(after.trim_start()))
    }

    /// Returns whether a line sets it.
    fn is_set_in(&self, text: &str) -> bool {
        self.names()
            .flat_map(|name| occurrences(text, name))
            .any(|(before, after)| {
                let after = match after.strip_prefix('[') {
                    Some(index) => index.split_once(']').map_or("", |(_, after)| after),
                    None => after,
                };
                let after = after.trim_start();
                let steps = before.ends_with("++") || before.ends_with("--");
                let compound =
                    after.trim_start_matches(['+', '-', '*', '/', '%', '&', '|', '^', '<', '>']);
                let sets = compound.starts_with('=') && !compound.starts_with("==");
                steps
                    || after.starts_with("++")
                    || after.starts_with("--")
                    || sets && !after.starts_with(">=") && !after.starts_with("<=")
            })
    }
}

/// Returns whether an instruction that stands at one program counter may be of the line of another one: the code in which it stands
/// is around that line, or within. It never comes from one inlined call to another.
fn may_have_moved(modules: &mut Modules<'_>, from: u64, home: u64) -> bool {
    let mut calls = |pc: u64| modules.point(pc).map(|point| point.inlined.clone());
    match (calls(from), calls(home)) {
        (Some(from), Some(home)) => from.starts_with(&home) || home.starts_with(&from),
        _ => false,
    }
}

/// Returns whether a line goes through a pointer (`n = *count;`), so that what it accesses need not be named there. The head of a
/// loop does that with each element; what is read once comes to stand there as well.
fn goes_through_pointer(text: &str) -> bool {
    let is_loop = words(text)
        .next()
        .is_some_and(|word| word == "for" || word == "while");
    !is_loop
        && text
            .match_indices('*')
            .any(|(at, _)| is_dereference(text, at))
}

/// Returns whether the star at a place of a line is no product, and no part of a declaration.
fn is_dereference(text: &str, at: usize) -> bool {
    let before = text.get(..at).map_or("", str::trim_end);
    let follows_keyword = words(before)
        .last()
        .is_some_and(|word| matches!(word, "return" | "else" | "do") && before.ends_with(word));
    before.is_empty()
        || follows_keyword
        || before.ends_with(|c: char| "=(,;{}!&|<>+-%?:[~".contains(c))
}

/// Returns whether this is a constructor or destructor (`Settings::Settings`, `Box<int>::~Box`): what it sets without
/// naming is initialized, wherever else it is named.
fn is_constructor(function: &str) -> bool {
    let Some((class, name)) = function.rsplit_once("::") else {
        return false;
    };
    let class = class.split('<').next().unwrap_or(class);
    let class = class.rsplit("::").next().unwrap_or(class);
    !class.is_empty() && name.strip_prefix('~').unwrap_or(name) == class
}

/// Returns whether an occurrence is `&name`, which a pointer or a reference takes; `&&name` and `a & name` are no
/// addresses.
fn is_address(before: &str, after: &str) -> bool {
    let before = before
        .trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '>' | '-'));
    let taken = before.ends_with('&') && !before.ends_with("&&") && !before.ends_with("& ");
    taken && !after.starts_with(['.', '[']) && !after.starts_with("->")
}

/// The text behind the indexes with which it begins: `.name` of `[i][k[0]].name`.
fn behind_indexes(text: &str) -> &str {
    let mut depth = 0_usize;
    let end = text.find(|c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    });
    end.and_then(|end| text.get(end..)).unwrap_or("")
}

/// The text before and behind each occurrence of a word.
fn occurrences<'t>(text: &'t str, word: &str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).filter_map(move |(at, _)| {
        let (before, after) = (text.get(..at)?, text.get(at + word.len()..)?);
        (!before.ends_with(is_word) && !after.starts_with(is_word)).then_some((before, after))
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_in(name: &str, text: &str) -> bool {
        LocationParts::of(name).unwrap().is_in(text)
    }

    #[test]
    fn lines_that_access_a_variable_by_name() {
        assert!(is_in("words", "words++;"));
        assert!(is_in("table.used", "for (int i = 0; i < table.used; i++)"));
        assert!(is_in("table.used", "memset(table, 0);"));
        assert!(is_in(
            "heap(a.c:3 by main #0).peers[2].id",
            "use(session->peers[i].id);"
        ));
        assert!(is_in("work::calls", "return calls;"));
        assert!(is_in(
            "heap(a.c:3 by main #0).ref.stream",
            "struct clock_point p = cl->ref;"
        ));
        assert!(!is_in(
            "heap(a.c:3 by main #0).ref.stream",
            "p.date = cl->ref.date;"
        ));
        assert!(is_in("timers[0].arg", "due = timers[next[i]];"));
        assert!(!is_in("timers[0].arg", "if (timers[i].armed)"));
        assert!(!is_in("words", "for (; *text != '\\0'; text++) {"));
        assert!(!is_in("words", "other_words++;"));
        assert!(!is_in("words", "int *counter = &words;"));
        assert!(!is_in("table.used", "pthread_rwlock_rdlock(&table.lock);"));
    }

    #[test]
    fn lines_that_set_a_variable() {
        let sets = |text: &str| LocationParts::of("log.used").unwrap().is_set_in(text);
        assert!(sets("log->used += total;"));
        assert!(sets("log.used = 0;"));
        assert!(sets("--log.used;"));
        assert!(!sets("if (log->used == 0)"));
        assert!(!sets("if (log->used >= most)"));
        assert!(!sets("int total = log->used;"));
    }

    #[test]
    fn lines_that_read_a_variable() {
        let reads = |text: &str| LocationParts::of("log.used").unwrap().is_read_in(text);
        assert!(reads("if (log->used == 0)"));
        assert!(reads("log->used += total;"));
        assert!(reads("log.used = log.used + 1;"));
        assert!(!reads("log.used = 0;"));
        assert!(!reads("log.lines = 0;"));
    }

    #[test]
    fn lines_that_go_through_a_pointer() {
        for text in [
            "long value = *counter;",
            "*counter = 0;",
            "return *at;",
            "(*count)++;",
            "if (a && *b)",
        ] {
            assert!(goes_through_pointer(text), "{text}");
        }
        for text in [
            "for (; *text != '\\0'; text++) {",
            "int area = width * height;",
            "char *next = first;",
            "struct node *head;",
        ] {
            assert!(!goes_through_pointer(text), "{text}");
        }
    }

    #[test]
    fn constructors_initialize() {
        assert!(is_constructor("Settings::Settings"));
        assert!(is_constructor("box::Box<int, box::Most>::~Box"));
        assert!(!is_constructor("Settings::configure"));
        assert!(!is_constructor("main"));
    }

    #[test]
    fn names_that_no_line_mentions_are_left_alone() {
        for name in [
            "",
            "main:main.sums[0]",
            "heap(a.c:3 by main #0)+8",
            "main:main.pool.jobs_._M_start",
        ] {
            assert!(LocationParts::of(name).is_none(), "{name}");
        }
    }
}
