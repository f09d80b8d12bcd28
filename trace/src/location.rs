//! Names of locations, taken apart.
//!
//! A run names each location by a text that means the same in every run of a corpus (`docs/run-file.md`). What such a
//! text says about the location is known here only.

/// A location's name, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location<'n> {
    /// Memory in a block of an allocator: `heap(bank.c:22 by main.1 #0).workers[2]`.
    Heap {
        /// The allocation: its place, the thread, and which of its blocks there it is. `bank.c:22 by main.1 #0`.
        allocation: &'n str,
        /// The name of the block: `heap(bank.c:22 by main.1 #0)`.
        block: &'n str,
        /// The part of the block: `.workers[2]`, or an offset; empty if it is not known.
        path: &'n str,
    },
    /// A variable of a thread's function, or a part of one: `main.1:worker.buf[3]`.
    Stack {
        /// The name of the variable with thread and function, without a path: `main.1:worker.buf`.
        block: &'n str,
        /// The function: `worker`; empty if the name has none.
        function: &'n str,
        /// The variable as the source has it, with the path: `buf[3]`.
        variable: &'n str,
    },
    /// A variable with one address in the whole run, or a part of one: `accounts[3].total`, `worker::calls`.
    Static(&'n str),
}

/// The beginning of the name of a heap block.
const HEAP: &str = "heap(";

impl<'n> Location<'n> {
    /// Takes a name apart. Any text has a meaning: one that is not of another kind is a static variable. Linear in the
    /// name.
    pub fn of(name: &'n str) -> Location<'n> {
        let heap = name.strip_prefix(HEAP).map(|rest| in_heap(name, rest));
        heap.or_else(|| on_stack(name))
            .unwrap_or(Location::Static(name))
    }

    /// The name of the block or variable that contains the location. Locations of one block have it in common.
    pub fn block(self) -> &'n str {
        match self {
            Location::Heap { block, .. } | Location::Stack { block, .. } => block,
            Location::Static(name) => without_path(name),
        }
    }

    /// The location's name for people: a variable on a stack without thread and function; others as they are.
    pub fn variable(name: &'n str) -> &'n str {
        match Location::of(name) {
            Location::Stack { variable, .. } => variable,
            Location::Heap { .. } | Location::Static(_) => name,
        }
    }

    /// Words for a location on the heap that no text names: `used of the heap block from bank.c:22`. Other names stay.
    pub fn in_words(name: &str) -> String {
        let Location::Heap {
            allocation, path, ..
        } = Location::of(name)
        else {
            return name.to_owned();
        };
        let site = allocated_at(allocation);
        let site = site.split(':').take(2).collect::<Vec<_>>().join(":");
        let place = site.rsplit(['/', '\\']).next().unwrap_or(&site);
        match path.strip_prefix('.') {
            Some(field) if last_part(field) == "_vptr" => {
                format!("the vtable pointer of the heap block from {place}")
            }
            Some(field) => format!("{field} of the heap block from {place}"),
            None => format!("the heap block from {place}"),
        }
    }

    /// The location's name without the thread that has allocated its block, and without the number of the block:
    /// `heap(bank.c:22).next` of `heap(bank.c:22 by main.2 #1).next`. Others stay.
    pub fn by_any_thread(name: &str) -> String {
        match Location::of(name) {
            Location::Heap {
                allocation, path, ..
            } => format!("{HEAP}{}){path}", allocated_at(allocation)),
            Location::Stack { .. } | Location::Static(_) => name.to_owned(),
        }
    }

    /// The thread that has allocated the block that it is in: `main.1`.
    pub fn allocated_by(self) -> Option<&'n str> {
        match self {
            Location::Heap { allocation, .. } => {
                let by = allocation.rsplit_once(" by ")?.1;
                by.split(' ').next()
            }
            Location::Stack { .. } | Location::Static(_) => None,
        }
    }

    /// Returns whether it is in a block that was allocated on this line of the file of this name, without folders.
    pub fn is_allocated_at(self, file: &str, line: u32) -> bool {
        match self {
            Location::Heap { allocation, .. } => {
                allocated_at(allocation) == format!("{file}:{line}")
            }
            Location::Stack { .. } | Location::Static(_) => false,
        }
    }

    /// Returns whether it is in a library's own memory, of which the program knows nothing: `libstdc++.so.6:.bss+16`, or what
    /// the library keeps about a type, as `libstdc++.so.6:typeinfo name for std::future_error`.
    pub fn is_of_library(self) -> bool {
        const KEPT: [&str; 4] = [".", "typeinfo for ", "typeinfo name for ", "vtable for "];
        match self {
            Location::Static(name) => {
                let own = name.split_once(':');
                own.is_some_and(|(file, what)| {
                    file.contains(".so") && KEPT.iter().any(|kept| what.starts_with(kept))
                })
            }
            Location::Heap { .. } | Location::Stack { .. } => false,
        }
    }

    /// Returns whether it is on a stack where no variable of the source is known to be: `main.1:client-160`.
    pub fn is_slot(self) -> bool {
        matches!(self, Location::Stack { function: "", .. })
    }

    /// Returns whether it is in a block of an allocator.
    pub fn is_on_heap(self) -> bool {
        matches!(self, Location::Heap { .. })
    }

    /// Returns whether it is a variable of a thread's function.
    pub fn is_on_stack(self) -> bool {
        matches!(self, Location::Stack { .. })
    }
}

/// The innermost member of a path.
fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// The place of an allocation.
fn allocated_at(allocation: &str) -> &str {
    let by = allocation.rsplit_once(" by ");
    by.map_or(allocation, |(place, _)| place)
}

/// The location in a heap block, of the name and the part of it behind [`HEAP`].
fn in_heap<'n>(name: &'n str, rest: &'n str) -> Location<'n> {
    // The ordinal comes last; before it only the name of a file may contain a bracket.
    let ordinal = rest.find('#').unwrap_or(0);
    let closing = rest.get(ordinal..).and_then(|rest| rest.find(')'));
    let end = closing.map_or(rest.len(), |at| ordinal + at);
    let (allocation, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let path = path.strip_prefix(')').unwrap_or(path);
    let block = name.get(..name.len() - path.len()).unwrap_or(name);
    Location::Heap {
        allocation,
        block,
        path,
    }
}

/// The location on a stack, if the name begins with that of a thread.
fn on_stack(name: &str) -> Option<Location<'_>> {
    let is_thread = |thread: &str| {
        let numbers = thread.strip_prefix("main")?;
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        numbers.chars().all(is_number).then_some(())
    };
    let (thread, frame) = name.split_once(':')?;
    is_thread(thread)?;
    if frame.is_empty() || frame.starts_with(':') {
        return None;
    }
    let end = function_end(frame).unwrap_or(0);
    let function = frame.get(..end.saturating_sub(1)).unwrap_or("");
    let variable = frame.get(end..).unwrap_or(frame);
    let path = variable.len() - without_path(variable).len();
    Some(Location::Stack {
        block: name.get(..name.len() - path).unwrap_or(name),
        function,
        variable,
    })
}

/// The variable of a name of one, without members, elements and offsets.
fn without_path(name: &str) -> &str {
    let end = name.find(['.', '[', '+']);
    end.and_then(|end| name.get(..end))
        .filter(|variable| !variable.is_empty())
        .unwrap_or(name)
}

/// Start of the variable in `function.variable`. Brackets of the function may contain dots.
fn function_end(frame: &str) -> Option<usize> {
    let mut depth = 0u32;
    for (at, c) in frame.char_indices() {
        match c {
            '<' | '(' | '{' => depth += 1,
            '>' | ')' | '}' => depth = depth.saturating_sub(1),
            '.' if depth == 0 => return Some(at + 1).filter(|end| *end < frame.len()),
            _ => {}
        }
    }
    // An operator such as `<` opens a bracket that nothing closes.
    let own = frame.rfind("::").map_or(0, |at| at + 2);
    let dot = own + frame.get(own..)?.find('.')? + 1;
    Some(dot).filter(|end| *end < frame.len())
}

#[cfg(test)]
mod tests {
    use super::Location;
    use proptest::prelude::*;

    fn stack(name: &str) -> Option<(&str, &str, &str)> {
        match Location::of(name) {
            Location::Stack {
                block,
                function,
                variable,
            } => Some((block, function, variable)),
            Location::Heap { .. } | Location::Static(_) => None,
        }
    }

    #[test]
    fn the_line_of_an_allocation_and_the_memory_of_a_library_are_known() {
        let is_there = |name: &str| Location::of(name).is_allocated_at("a.cpp", 52);
        assert!(is_there("heap(a.cpp:52 by main.1 #0).size"));
        assert!(!is_there("heap(a.cpp:5 by main.1 #0)") && !is_there("a.cpp:52"));
        let block = Location::of("heap(a.cpp:52 by main.1 #0).size");
        assert_eq!(block.allocated_by(), Some("main.1"));
        assert_eq!(Location::of("main.1:client.total").allocated_by(), None);
        let words = Location::in_words("heap(a.cpp:52 by main.1 #0).base._vptr");
        assert_eq!(words, "the vtable pointer of the heap block from a.cpp:52");
        assert!(Location::of("main.1:client-160").is_slot());
        assert!(!Location::of("main.1:client.total").is_slot());
        let is_of_library = |name: &str| Location::of(name).is_of_library();
        assert!(is_of_library("libstdc++.so.6:.bss+16"));
        assert!(is_of_library(
            "libstdc++.so.6:typeinfo name for std::future_error"
        ));
        assert!(!is_of_library("libmine.so:table"));
        assert!(!is_of_library("main.1:worker.lock") && !is_of_library("table.lock"));
    }

    fn heap(name: &str) -> Option<(&str, &str, &str)> {
        match Location::of(name) {
            Location::Heap {
                allocation,
                block,
                path,
            } => Some((allocation, block, path)),
            Location::Stack { .. } | Location::Static(_) => None,
        }
    }

    #[test]
    fn blocks_of_the_heap() {
        let block = "heap(a.c:3 by main.1 #0)";
        let allocation = "a.c:3 by main.1 #0";
        for path in ["", ".next.x", "+8", "[2].lock"] {
            let name = format!("{block}{path}");
            assert_eq!(heap(&name), Some((allocation, block, path)));
            assert_eq!(Location::of(&name).block(), block);
        }
        let odd = "heap(a (copy).c:3 by main #1).x";
        assert_eq!(Location::of(odd).block(), "heap(a (copy).c:3 by main #1)");
        let of_class = "heap(main.cc:81).lock";
        assert_eq!(
            heap(of_class),
            Some(("main.cc:81", "heap(main.cc:81)", ".lock"))
        );
        assert_eq!(heap("heap(a.c:3"), Some(("a.c:3", "heap(a.c:3", "")));
    }

    #[test]
    fn variables_on_stacks() {
        let found = |name| stack(name).unwrap();
        assert_eq!(
            found("main.1:worker.buf[3]"),
            ("main.1:worker.buf", "worker", "buf[3]")
        );
        assert_eq!(
            found("main:main.ring.tail"),
            ("main:main.ring", "main", "ring.tail")
        );
        let of_class = "main.2.1:box<a.b>::run(int)::{lambda(x.y)#1}::operator().it+4";
        assert_eq!(found(of_class).2, "it+4");
        assert_eq!(found("main:item::operator<.left.x").2, "left.x");
        assert_eq!(found("main.1:worker"), ("main.1:worker", "", "worker"));
    }

    #[test]
    fn variables_with_one_address() {
        for name in [
            "account.balance",
            "worker::calls",
            "main::machine.next",
            "main:",
            "mainly:x.y",
            "",
        ] {
            assert_eq!(Location::of(name), Location::Static(name));
            assert_eq!(Location::variable(name), name);
        }
        assert_eq!(Location::of("queue.names[2]").block(), "queue");
        assert_eq!(Location::of(".text+8").block(), ".text+8");
    }

    proptest! {
        #[test]
        fn any_text_has_a_meaning(name in "(heap\\(|main(\\.1)?:)?[a-c.:#()<>\\[\\]+é ]{0,12}") {
            let (location, block) = (Location::of(&name), Location::of(&name).block());
            prop_assert!(name.starts_with(block));
            prop_assert_eq!(block.is_empty(), name.is_empty());
            prop_assert!(name.ends_with(Location::variable(&name)));
            // What a block's name says is the same alone.
            prop_assert_eq!(location.is_on_heap(), Location::of(block).is_on_heap());
        }
    }
}
