//! Checks for operations that must not happen while a mutex is held: waiting, reacquiring it, leaving by a
//! macro.

use super::{
    EditRefusal,
    declared::{declared_type, is_recursive},
    guard::every,
    locks::{self, Mutex, callee, calls, last_name, last_name_of_type},
    source::{ParsedSource, children, descendants, lines, parameters},
    spin::spins,
};
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;
use unsnarl_trace::kinds::LibraryFunction;

/// Calls that wait for time, for input or for the next time slice.
const FOR_LONG: [&str; 13] = [
    "sleep",
    "usleep",
    "nanosleep",
    "sched_yield",
    "pthread_yield",
    "thrd_yield",
    "thrd_sleep",
    "sleep_for",
    "sleep_until",
    "yield",
    "pause",
    "poll",
    "select",
];
/// Calls that return only after an action of another thread, beside those of the libraries of C.
const FOR_OTHERS: [&str; 7] = [
    "pthread_join",
    "thrd_join",
    "join",
    "wait",
    "wait_for",
    "wait_until",
    "arrive_and_wait",
];
/// Calls that end the thread, or leave the function other than by its end.
const LEAVING: [&str; 4] = ["pthread_exit", "thrd_exit", "longjmp", "siglongjmp"];
/// The word before functions that other classes replace.
const VIRTUAL: &str = "virtual";
/// Namespace of what no file of a program defines.
const LIBRARY: &str = "std::";
/// Pointers whose functions are called with a dot; with an arrow, those of what they own.
const OWNING: [&str; 2] = ["std::unique_ptr", "std::shared_ptr"];
/// Macros in capitals that do not leave the function.
const HARMLESS: [&str; 4] = ["EXPECT", "ASSERT", "UNUSED", "MIN"];

fn waits_for_another(function: &str) -> bool {
    let known = LibraryFunction::named(function);
    FOR_OTHERS.contains(&function) || known.is_some_and(LibraryFunction::waits_for_another)
}

/// Functions and macros of a file.
pub struct FileFunctions<'s> {
    source: &'s ParsedSource,
    /// The mutex that must not be reacquired.
    mutex: String,
    /// Functions of the file with their callees.
    calls: BTreeMap<&'s str, BTreeSet<&'s str>>,
    /// A thread that holds the mutex may take it again.
    is_recursive: bool,
    /// Functions of the file that lock an object whose name ends like the mutex's, with the line.
    locking: BTreeMap<&'s str, u32>,
    /// The functions of each name that the file defines, by their classes.
    classes: BTreeMap<&'s str, BTreeMap<&'s str, Node<'s>>>,
    /// Functions of the file that wait for another thread, with the line.
    waiting: BTreeMap<&'s str, u32>,
    /// Functions of the file that call what they were handed, with the line, where it is not known what that is.
    handing: BTreeMap<&'s str, u32>,
    /// Macros of the file with their definitions.
    macros: BTreeMap<&'s str, &'s str>,
}

impl<'s> FileFunctions<'s> {
    /// Examines all functions of the file; `mutex` must not be reacquired.
    pub fn new(source: &'s ParsedSource, mutex: &Mutex) -> FileFunctions<'s> {
        let mut watch = FileFunctions {
            source,
            mutex: mutex.name().to_owned(),
            is_recursive: is_recursive(source, last_name(&mutex.object)),
            calls: BTreeMap::new(),
            locking: BTreeMap::new(),
            classes: BTreeMap::new(),
            waiting: BTreeMap::new(),
            handing: BTreeMap::new(),
            macros: BTreeMap::new(),
        };
        let mut stack = vec![source.root()];
        while let Some(node) = stack.pop() {
            if source.is_left_out(node) {
                continue;
            }
            match node.kind() {
                "function_definition" => watch.function(node, mutex),
                "preproc_function_def" | "preproc_def" => watch.define(node),
                _ => {}
            }
            stack.extend(children(node));
        }
        watch
    }

    fn define(&mut self, node: Node<'_>) {
        let field = |name| {
            node.child_by_field_name(name)
                .map(|node| self.source.str(node))
        };
        if let (Some(name), Some(value)) = (field("name"), field("value")) {
            self.macros.insert(name, value);
        }
    }

    fn function(&mut self, node: Node<'s>, mutex: &Mutex) {
        let (Some(name), Some(body)) = (name(self.source, node), node.child_by_field_name("body"))
        else {
            return;
        };
        let class = class_of(self.source, node).unwrap_or("");
        self.classes.entry(name).or_default().insert(class, body);
        let wanted = last_name(&mutex.object);
        let is_there = |node: &Node<'_>| !self.source.is_left_out(*node);
        let called = calls(body).filter(is_there);
        let called = called.map(|call| callee(self.source, call));
        self.calls.entry(name).or_default().extend(called);
        let waits = |node: &Node<'_>| match node.kind() {
            "call_expression" => waits_for_another(callee(self.source, *node)),
            _ => spins(self.source, *node),
        };
        let inner = descendants(body).into_iter().filter(is_there);
        if let Some(node) = inner.into_iter().find(waits) {
            self.waiting.insert(name, *lines(node).start());
        }
        let unknown = |call: &Node<'_>| {
            let called = callee(self.source, *call);
            self.is_handed_in(*call, called) && self.given(*call, called).is_none()
        };
        if let Some(call) = calls(body).filter(is_there).find(unknown) {
            self.handing.insert(name, *lines(call).start());
        }
        let taken = calls(body)
            .filter(is_there)
            .filter_map(|call| Some((call, locks::operation(self.source, call)?.object)));
        let guards = descendants(body)
            .into_iter()
            .filter(is_there)
            .filter_map(|node| {
                let (held, _) = locks::guarded(self.source, node)?;
                Some((node, held.join(",")))
            });
        let mut same = taken
            .chain(guards)
            .filter(|(_, object)| last_name(object) == wanted);
        if let Some((node, _)) = same.next() {
            self.locking.insert(name, *lines(node).start());
        }
    }

    /// Reason why a statement (or a condition) must not run while the mutex is held, as an error.
    pub fn refuses(&self, node: Node<'_>, is_new: bool) -> Result<(), EditRefusal> {
        let line = lines(node).start().to_owned();
        for inner in descendants(node) {
            if inner.is_error() || inner.is_missing() {
                return Err(format!("the syntax of line {line} is not understood"));
            }
            if inner.kind() == "co_await_expression" {
                return Err(format!("line {line} waits within the expression"));
            }
        }
        if is_new {
            let mut loops = descendants(node).into_iter();
            loops.try_for_each(|inner| self.spin(inner))?;
        }
        let mut there = calls(node).filter(|call| !self.source.is_left_out(*call));
        there.try_for_each(|call| self.call(call, is_new))
    }

    /// Reason why a loop must not run while the mutex is held, as an error: the thread that would end it may
    /// need the mutex.
    pub fn spin(&self, node: Node<'_>) -> Result<(), EditRefusal> {
        match spins(self.source, node) && !self.source.is_left_out(node) {
            true => Err(format!(
                "the loop on line {} waits for another thread, and would keep the lock meanwhile",
                lines(node).start()
            )),
            false => Ok(()),
        }
    }

    fn call(&self, call: Node<'_>, is_new: bool) -> Result<(), EditRefusal> {
        let (name, line) = (callee(self.source, call), *lines(call).start());
        if LEAVING.contains(&name) {
            return Err(format!(
                "`{name}` on line {line} leaves in a way that cannot be followed"
            ));
        }
        if is_new && self.gives_back(call) {
            return Err(format!(
                "line {line} waits and gives the lock back meanwhile: others come in between"
            ));
        }
        if is_new && (waits_for_another(name) || FOR_LONG.contains(&name)) {
            return Err(format!(
                "line {line} waits (`{name}`), and would keep the lock meanwhile"
            ));
        }
        if is_new && self.is_handed_in(call, name) {
            return self.handed_in(call, name);
        }
        let is_harmless = || self.is_of_another_class(call, name) || self.takes_none(call, name, 0);
        let is_new = is_new && !is_harmless();
        if is_new
            && !self.is_recursive
            && let Some(at) = self.leads_to(name, &self.locking)
        {
            // Objects of one class have locks of one name.
            let lock = match last_name(&self.mutex) {
                "" => "a lock".to_owned(),
                name => format!("`{name}`"),
            };
            let takes = |at| format!("takes {lock} on line {at}, which may be the same lock");
            return Err(match at {
                (function, at) if function == name => {
                    format!("`{name}`, called on line {line}, {}", takes(at))
                }
                (function, at) => format!(
                    "`{name}`, called on line {line}, calls `{function}`, which {}",
                    takes(at)
                ),
            });
        }
        if is_new && let Some((function, at)) = self.leads_to(name, &self.waiting) {
            return Err(format!(
                "line {line} leads to line {at} of `{function}`, which waits for another thread, and would keep the lock meanwhile"
            ));
        }
        if is_new && let Some((function, at)) = self.leads_to(name, &self.handing) {
            return Err(format!(
                "line {line} leads to line {at} of `{function}`, which calls what is not known and may lock anything, and would keep the lock meanwhile"
            ));
        }
        self.macro_call(name, line)
    }

    /// Returns whether a call is of a parameter or a variable of the function, unless that is a lambda of its own, or of a
    /// member that points to a function.
    fn is_handed_in(&self, call: Node<'_>, name: &str) -> bool {
        let function = self.source.function(*lines(call).start());
        let called = call.child_by_field_name("function");
        let is_kind = |kind: &str| called.is_some_and(|called| called.kind() == kind);
        if is_kind("field_expression") && !self.source.is_cpp()
            || is_kind("parenthesized_expression")
        {
            return true;
        }
        let is_plain = is_kind("identifier");
        let is_own = |node: &Node<'_>| {
            let value = node.child_by_field_name("value");
            let declared = node.child_by_field_name("declarator");
            value.is_some_and(|value| value.kind() == "lambda_expression")
                && declared.is_some_and(|declared| self.source.str(declared) == name)
        };
        function.filter(|_| is_plain).is_some_and(|function| {
            let mut all = descendants(function).into_iter();
            declares(self.source, function, name) && !all.any(|node| is_own(&node))
        })
    }

    /// Reason why what is handed in must not be called while the mutex is held, as an error. Where the file's own calls all
    /// give a lambda that is written there, it is known what is called.
    fn handed_in(&self, call: Node<'_>, name: &str) -> Result<(), EditRefusal> {
        let line = *lines(call).start();
        let unknown = || {
            format!(
                "line {line} calls `{name}`, which is not known and may lock anything, and would keep the lock meanwhile"
            )
        };
        let given = self.given(call, name).ok_or_else(unknown)?;
        for lambda in given {
            let body = lambda.child_by_field_name("body").ok_or_else(unknown)?;
            self.refuses(body, true)?;
            let mut all = descendants(body).into_iter();
            if all.any(|node| locks::guarded(self.source, node).is_some()) {
                return Err(unknown());
            }
            let mut called = calls(body);
            if called.any(|call| locks::operation(self.source, call).is_some()) {
                return Err(unknown());
            }
        }
        Ok(())
    }

    /// The lambdas that the file's own calls of the function around give for a parameter; `None` where one gives something
    /// else, or none is there.
    fn given(&self, call: Node<'_>, parameter: &str) -> Option<Vec<Node<'s>>> {
        let function = self.source.function(*lines(call).start())?;
        let own = name(self.source, function)?;
        let at = parameters(self.source, function)
            .iter()
            .position(|it| *it == parameter)?;
        let all = every(self.source).into_iter();
        let callers = all
            .filter(|node| node.kind() == "call_expression" && callee(self.source, *node) == own);
        let given = callers.map(|caller| {
            let list = caller.child_by_field_name("arguments")?;
            let argument = children(list).get(at).copied()?;
            (argument.kind() == "lambda_expression").then_some(argument)
        });
        let given: Vec<Node<'s>> = given.collect::<Option<_>>()?;
        Some(given).filter(|given| !given.is_empty())
    }

    /// Returns whether a call is on a member of the class whose function calls, which is of another class then, and the
    /// file's only functions of this name are those of the class itself: `names_.size()` in another function of a class
    /// that has a `size`.
    fn is_of_another_class(&self, call: Node<'_>, name: &str) -> bool {
        let Some(function) = self.source.function(*lines(call).start()) else {
            return false;
        };
        let Some(class) = class_of(self.source, function) else {
            return false;
        };
        let is_own = |of: &BTreeMap<&str, Node<'s>>| of.keys().all(|other| *other == class);
        let receiver = call
            .child_by_field_name("function")
            .filter(|called| called.kind() == "field_expression")
            .filter(|called| self.source.str(*called).contains(&format!(".{name}")))
            .and_then(|called| called.child_by_field_name("argument"))
            .filter(|object| object.kind() == "identifier");
        receiver.is_some_and(|object| {
            let object = self.source.str(object);
            !declares(self.source, function, object) && self.classes.get(name).is_some_and(is_own)
        })
    }

    /// Returns whether a call is on an object of a class that the file declares it to be of, directly or by a pointer that
    /// owns it, and the function of that class neither locks the mutex nor waits, nor does what it calls.
    fn takes_none(&self, call: Node<'_>, name: &str, depth: u32) -> bool {
        /// Calls within calls that are followed.
        const DEPTH: u32 = 8;
        let Some(class) = self.class_of_receiver(call) else {
            return false;
        };
        if class.starts_with(LIBRARY) {
            return !waits_for_another(name);
        }
        let own = self.classes.get(name);
        let Some(body) = own.and_then(|own| own.get(last_name_of_type(class))) else {
            return false;
        };
        // Which function of this name a virtual one is, only the object tells.
        let head = body.prev_sibling().and_then(|_| body.parent());
        if head.is_some_and(|head| self.source.str(head).starts_with(VIRTUAL)) {
            return false;
        }
        let locks = |node: &Node<'_>| {
            locks::operation(self.source, *node).is_some()
                || locks::guarded(self.source, *node).is_some()
                || spins(self.source, *node)
        };
        let leads_on = |call: Node<'_>| {
            let inner = callee(self.source, call);
            let is_known = self.leads_to(inner, &self.locking).is_some()
                || self.leads_to(inner, &self.waiting).is_some()
                || waits_for_another(inner)
                || self.is_handed_in(call, inner);
            is_known && !self.takes_none(call, inner, depth + 1)
        };
        depth < DEPTH && !descendants(*body).iter().any(locks) && !calls(*body).any(leads_on)
    }

    /// The class of the object that a call is on, as the file declares it: `Waiter` of `std::unique_ptr<Waiter> waiter;`.
    fn class_of_receiver(&self, call: Node<'_>) -> Option<&'s str> {
        let called = call.child_by_field_name("function")?;
        let object = called.child_by_field_name("argument")?;
        let function = self.source.function(*lines(call).start())?;
        let object = self.source.str(object);
        let is_member =
            called.kind() == "field_expression" && !declares(self.source, function, object);
        let class = declared_type(self.source, object).filter(|_| is_member)?;
        let owned = OWNING.iter().find_map(|owner| class.strip_prefix(owner));
        Some(match owned {
            Some(inner) => inner.trim_start_matches('<').trim_end_matches('>').trim(),
            None => class.trim(),
        })
    }

    fn macro_call(&self, name: &str, line: u32) -> Result<(), EditRefusal> {
        if let Some(value) = self.macros.get(name) {
            let leaves = [
                "return", "goto", "break", "continue", "throw", "lock", "wait",
            ];
            // A macro that is known to lock is treated as an acquisition.
            let first = leaves.iter();
            let count = match self.source.lock_calls().is_one(name) {
                true => leaves.len() - 2,
                false => leaves.len(),
            };
            return match first.take(count).find(|word| value.contains(**word)) {
                Some(word) => Err(format!("the macro `{name}` on line {line} holds `{word}`")),
                None => Ok(()),
            };
        }
        let is_macro = name.len() > 2
            && name
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            && !self.source.lock_calls().is_one(name)
            && !HARMLESS.iter().any(|harmless| name.contains(harmless));
        match is_macro {
            true => Err(format!(
                "`{name}` on line {line} is a macro of another file, which may leave for all that is known"
            )),
            false => Ok(()),
        }
    }

    /// Returns whether the call is a wait on a condition that releases this very mutex.
    fn gives_back(&self, call: Node<'_>) -> bool {
        let arguments = call.child_by_field_name("arguments").map(children);
        let arguments = arguments.unwrap_or_default();
        let given = match callee(self.source, call) {
            "pthread_cond_wait"
            | "pthread_cond_timedwait"
            | "cnd_wait"
            | "cnd_timedwait"
            | "g_cond_wait"
            | "g_cond_wait_until" => arguments.get(1),
            _ => None,
        };
        given.is_some_and(|node| {
            let given = self.source.str(*node).trim();
            let object = given.strip_prefix('&').unwrap_or(given);
            locks::same(object, self.mutex.trim_start_matches('*'))
        })
    }

    /// The function among these that runs when a function is called, with its line.
    fn leads_to(&self, name: &str, found: &BTreeMap<&'s str, u32>) -> Option<(&'s str, u32)> {
        let (mut seen, mut stack) = (BTreeSet::new(), vec![name]);
        while let Some(name) = stack.pop() {
            if let Some((function, line)) = found.get_key_value(name) {
                return Some((function, *line));
            }
            if seen.insert(name) {
                stack.extend(self.calls.get(name).into_iter().flatten());
            }
        }
        None
    }
}

/// The class of a member function: named before it, or around it.
fn class_of<'s>(source: &'s ParsedSource, function: Node<'_>) -> Option<&'s str> {
    let mut declarator = function.child_by_field_name("declarator");
    while let Some(inner) = declarator {
        if let Some(scope) = inner.child_by_field_name("scope") {
            return Some(source.str(scope));
        }
        declarator = inner.child_by_field_name("declarator");
    }
    let mut around = function.parent();
    while let Some(node) = around {
        if matches!(node.kind(), "class_specifier" | "struct_specifier") {
            return node
                .child_by_field_name("name")
                .map(|name| source.str(name));
        }
        around = node.parent();
    }
    None
}

/// Returns whether a function declares a parameter or a variable of this name.
fn declares(source: &ParsedSource, function: Node<'_>, name: &str) -> bool {
    let is_declarator = |node: &Node<'_>| {
        let mut around = *node;
        while let Some(parent) = around.parent() {
            match parent.kind() {
                "parameter_declaration" | "optional_parameter_declaration" => return true,
                "declaration" | "init_declarator" | "for_range_loop" => {
                    return parent.child_by_field_name("value") != Some(around)
                        && parent.child_by_field_name("right") != Some(around);
                }
                "pointer_declarator"
                | "reference_declarator"
                | "array_declarator"
                | "parenthesized_declarator" => around = parent,
                // A pointer to a function: `void (*job)(void *)`.
                "function_declarator" if around.kind() == "parenthesized_declarator" => {
                    around = parent;
                }
                _ => return false,
            }
        }
        false
    };
    let all = descendants(function).into_iter();
    let mut own = all.filter(|node| node.kind() == "identifier" && source.str(*node) == name);
    own.any(|node| is_declarator(&node))
}

/// The name of a function, without its class.
pub fn name<'s>(source: &'s ParsedSource, function: Node<'_>) -> Option<&'s str> {
    let mut declarator = function.child_by_field_name("declarator")?;
    while let Some(inner) = declarator.child_by_field_name("declarator") {
        declarator = inner;
    }
    while let Some(inner) = declarator.child_by_field_name("name") {
        declarator = inner;
    }
    Some(source.str(declarator))
}
