//! Weakest precondition of an assertion at the statement that acquires the lock around it: what a thread would have to
//! wait for in order not to fail.

use super::{
    EditRefusal,
    locks::{LockOperation, Mutex, calls, guarded, last_name, operation, statement_operation},
    source::{ParsedSource, children, descendants, is_label, statements},
    substitute::{mentions, put_in},
};
use tree_sitter::Node;

/// An assertion under a lock, seen from where the lock is acquired.
pub struct Asserted<'t> {
    /// The statement that acquires the lock.
    pub lock: Node<'t>,
    /// The lock.
    pub mutex: Mutex,
    /// Name of the `std::unique_lock` that holds it, if one does.
    pub guard: Option<String>,
    /// Conditions that all hold there whenever the assertion is going to fail.
    pub fails_if: Vec<String>,
}

/// The precondition of the assertion on `line`.
///
/// # Errors
/// An error when the line has no assertion under a lock of its own function, or a statement between the two is not
/// understood.
pub fn of_assertion(source: &ParsedSource, line: u32) -> Result<Asserted<'_>, EditRefusal> {
    let function = source.body_around(line)?;
    let unseen = || format!("no assertion is seen on line {line}");
    let mut all = calls(function)
        .filter(|call| super::locks::callee(source, *call) == "assert" && starts_on(*call, line));
    let call = all.next().ok_or_else(unseen)?;
    let arguments = call.child_by_field_name("arguments").map(children);
    let asserted = arguments.and_then(|all| all.first().copied());
    let mut fails_if = negated(source, asserted.ok_or_else(unseen)?);
    let mut node = call.parent().ok_or_else(unseen)?;
    let mut declared = Vec::new();
    loop {
        let block = node.parent().ok_or_else(unseen)?;
        let list = statements(block);
        let before = list.iter().rev();
        for &statement in before.skip_while(|one| **one != node).skip(1) {
            if let Some((mutex, guard)) = taken(source, statement) {
                closed(&fails_if, &declared)?;
                return Ok(Asserted {
                    lock: statement,
                    mutex,
                    guard,
                    fails_if,
                });
            }
            step_back(source, statement, &mut fails_if, &mut declared)?;
        }
        node = enclosing(source, block, function, &mut fails_if)?;
    }
}

fn starts_on(node: Node<'_>, line: u32) -> bool {
    super::source::lines(node).contains(&line)
}

/// The statement around a block, with the condition under which it enters the block.
fn enclosing<'t>(
    source: &ParsedSource,
    block: Node<'t>,
    function: Node<'t>,
    fails_if: &mut Vec<String>,
) -> Result<Node<'t>, EditRefusal> {
    let outside = || "the assertion is not under a lock of its function".to_owned();
    let around = block.parent().ok_or_else(outside)?;
    if around == function {
        return Err(outside());
    }
    match (around.kind(), around.child_by_field_name("condition")) {
        ("compound_statement", _) => Ok(block),
        ("if_statement", Some(condition))
            if around.child_by_field_name("consequence") == Some(block) =>
        {
            fails_if.insert(0, positive(pure(source, condition)?));
            Ok(around)
        }
        _ => Err(not_understood(around)),
    }
}

fn not_understood(node: Node<'_>) -> EditRefusal {
    let line = super::source::lines(node);
    format!(
        "what line {} does before the assertion is not understood",
        line.start()
    )
}

/// The lock that a statement acquires until the end of its block, or until it is released.
fn taken(source: &ParsedSource, statement: Node<'_>) -> Option<(Mutex, Option<String>)> {
    if let Some((held, name)) = guarded(source, statement) {
        let [object] = held[..] else { return None };
        let is_unique = source.str(statement).contains("unique_lock");
        let mutex = Mutex {
            object: object.to_owned(),
            style: super::locks::LockStyle::Guard,
        };
        return Some((mutex, is_unique.then(|| name.to_owned())));
    }
    let found = statement_operation(source, statement)?;
    let found = Some(found).filter(|found| found.what == LockOperation::Lock)?;
    let mutex = Mutex {
        object: found.object,
        style: found.style,
    };
    Some((mutex, None))
}

/// The conditions before a statement under which those after it hold.
fn step_back(
    source: &ParsedSource,
    statement: Node<'_>,
    fails_if: &mut Vec<String>,
    declared: &mut Vec<String>,
) -> Result<(), EditRefusal> {
    if is_label(statement) {
        return Err(not_understood(statement));
    }
    if leaves(statement) {
        let condition = statement.child_by_field_name("condition");
        let condition = condition.ok_or_else(|| not_understood(statement))?;
        pure(source, condition)?;
        let goes_on = negated(source, condition);
        fails_if.splice(0..0, goes_on);
        return Ok(());
    }
    let gives_up = |call: Node<'_>| {
        operation(source, call).is_some() || super::locks::callee(source, call).contains("wait")
    };
    if calls(statement).any(gives_up) {
        return Err(not_understood(statement));
    }
    for write in writes(source, statement) {
        let is_whole = write.node.parent() == Some(statement);
        undo(&write, is_whole, fails_if).ok_or_else(|| not_understood(statement))?;
        if write.node.kind() == "init_declarator" {
            declared.push(write.target);
        }
    }
    Ok(())
}

/// Puts what a variable holds after a write in its place; `None` when that is not known.
fn undo(write: &ChangedVariable<'_>, is_whole: bool, fails_if: &mut [String]) -> Option<()> {
    let name = member(&write.target);
    for one in fails_if.iter_mut().filter(|one| mentions(one, name)) {
        let value = write.value.as_ref().filter(|_| is_whole)?;
        if !mentions(one, &write.target) {
            return None;
        }
        *one = put_in(one, &write.target, value);
    }
    Some(())
}

/// The last name of a variable or an array's element.
fn member(target: &str) -> &str {
    let array = target.rfind('[').filter(|_| target.ends_with(']'));
    last_name(array.and_then(|at| target.get(..at)).unwrap_or(target))
}

/// Returns whether a statement is an `if` without `else` whose body always leaves.
fn leaves(statement: Node<'_>) -> bool {
    if statement.kind() != "if_statement" || statement.child_by_field_name("alternative").is_some()
    {
        return false;
    }
    let body = statement.child_by_field_name("consequence");
    let last = body.and_then(|body| statements(body).last().copied());
    last.is_some_and(|last| {
        matches!(
            last.kind(),
            "return_statement" | "break_statement" | "continue_statement" | "throw_statement"
        )
    })
}

/// Refuses conditions that speak of a variable which does not exist where the lock is acquired.
fn closed(fails_if: &[String], declared: &[String]) -> Result<(), EditRefusal> {
    let is_left = |name: &&String| fails_if.iter().any(|one| mentions(one, name));
    match declared.iter().find(is_left) {
        Some(name) => Err(format!("`{name}` is not known where the lock is taken")),
        None => Ok(()),
    }
}

/// A variable or member that a statement changes.
struct ChangedVariable<'t> {
    node: Node<'t>,
    target: String,
    /// Value that it holds afterwards, in terms of before; `None` when that is not known.
    value: Option<String>,
}

fn writes<'t>(source: &ParsedSource, statement: Node<'t>) -> Vec<ChangedVariable<'t>> {
    let all = descendants(statement).into_iter();
    all.filter_map(|node| write(source, node)).collect()
}

fn write<'t>(source: &ParsedSource, node: Node<'t>) -> Option<ChangedVariable<'t>> {
    let text = |field| node.child_by_field_name(field).map(|it| source.str(it));
    let (target, value) = match node.kind() {
        "update_expression" => {
            let target = text("argument")?;
            let sign = text("operator")?.get(..1)?.to_owned();
            (target, Some(format!("{target} {sign} 1")))
        }
        "assignment_expression" => {
            let (target, right) = (text("left")?, text("right")?);
            let value = match text("operator")? {
                "=" => Some(right.to_owned()),
                "+=" => Some(format!("{target} + {right}")),
                "-=" => Some(format!("{target} - {right}")),
                _ => None,
            };
            let is_plain = is_pure(source, node.child_by_field_name("right")?);
            (target, value.filter(|_| is_plain))
        }
        "init_declarator" => {
            let value = node.child_by_field_name("value")?;
            let target = text("declarator")?.trim_start_matches(['*', '&', ' ']);
            let is_plain = is_pure(source, value);
            (target, is_plain.then(|| source.str(value).to_owned()))
        }
        _ => return None,
    };
    Some(ChangedVariable {
        node,
        target: target.to_owned(),
        value,
    })
}

/// Returns whether an expression changes nothing: its only calls are methods without arguments.
fn is_pure(source: &ParsedSource, node: Node<'_>) -> bool {
    descendants(node)
        .into_iter()
        .all(|inner| match inner.kind() {
            "assignment_expression"
            | "update_expression"
            | "lambda_expression"
            | "initializer_list" => false,
            "call_expression" => {
                let function = inner.child_by_field_name("function");
                let arguments = inner.child_by_field_name("arguments").map(children);
                function.is_some_and(|it| it.kind() == "field_expression" && source.is_cpp())
                    && arguments.is_some_and(|all| all.is_empty())
            }
            _ => true,
        })
}

fn pure<'s>(source: &'s ParsedSource, node: Node<'_>) -> Result<&'s str, EditRefusal> {
    match is_pure(source, node) {
        true => Ok(source.str(bare(node))),
        false => Err(not_understood(node)),
    }
}

/// An expression without the parentheses around it.
fn bare(node: Node<'_>) -> Node<'_> {
    let is_wrapped = matches!(node.kind(), "parenthesized_expression" | "condition_clause");
    match children(node).as_slice() {
        [inner] if is_wrapped => bare(*inner),
        _ => node,
    }
}

/// A condition that can stand beside `&&`.
fn positive(text: &str) -> String {
    match text.contains("||") || text.contains('?') {
        true => format!("({text})"),
        false => text.to_owned(),
    }
}

/// The conditions that all hold when an expression does not.
fn negated(source: &ParsedSource, node: Node<'_>) -> Vec<String> {
    let node = bare(node);
    let field = |name| node.child_by_field_name(name);
    let text = source.str(node);
    let operator = field("operator").map_or("", |it| source.str(it));
    if let (Some(left), Some(right)) = (field("left"), field("right")) {
        if operator == "||" {
            let mut both = negated(source, left);
            both.extend(negated(source, right));
            return both;
        }
        if let Some((_, other)) = OPPOSITES.iter().find(|(one, _)| *one == operator) {
            return vec![format!(
                "{} {other} {}",
                source.str(left),
                source.str(right)
            )];
        }
    }
    let argument =
        field("argument").filter(|_| operator == "!" && node.kind() == "unary_expression");
    if let Some(argument) = argument {
        return vec![positive(source.str(bare(argument)))];
    }
    let is_one = matches!(
        node.kind(),
        "identifier" | "field_expression" | "subscript_expression" | "call_expression"
    );
    vec![match is_one {
        true => format!("!{text}"),
        false => format!("!({text})"),
    }]
}

/// Comparisons with those that hold when they do not.
const OPPOSITES: [(&str, &str); 6] = [
    ("==", "!="),
    ("!=", "=="),
    ("<", ">="),
    (">=", "<"),
    (">", "<="),
    ("<=", ">"),
];

/// The names of variables and members in conditions.
pub fn names(conditions: &[String]) -> std::collections::BTreeSet<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words = conditions
        .iter()
        .flat_map(move |one| one.split(move |c: char| !is_word(c)));
    words
        .filter(|word| word.starts_with(|c: char| !c.is_ascii_digit()))
        .collect()
}

/// The last names of what a part of the text changes, by an assignment or by a method.
pub fn changed<'s>(source: &'s ParsedSource, node: Node<'_>) -> Vec<&'s str> {
    let all = descendants(node).into_iter();
    let names = all.filter_map(|inner| {
        let target = match inner.kind() {
            "update_expression" => inner.child_by_field_name("argument")?,
            "assignment_expression" => inner.child_by_field_name("left")?,
            "call_expression" => {
                let method = inner.child_by_field_name("function")?;
                method.child_by_field_name("argument")?
            }
            _ => return None,
        };
        Some(member(source.str(target)))
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::{ParsedSource, of_assertion};

    fn check(file: &str, body: &str, expected: Result<&str, &str>) {
        let text = format!("void f(struct queue *q, int n)\n{{\n{body}\n}}\n");
        let source = ParsedSource::parse(file, &text).expect("a grammar");
        let at = text.find("assert").expect("an assertion");
        let found = of_assertion(&source, source.line(at));
        let found = found.map(|found| found.fails_if.join(" && "));
        assert_eq!(
            found,
            expected.map(str::to_owned).map_err(str::to_owned),
            "{body}"
        );
    }

    fn check_c(body: &str, expected: Result<&str, &str>) {
        let body =
            format!("pthread_mutex_lock(&q->lock);\n{body}\npthread_mutex_unlock(&q->lock);");
        check("test.c", &body, expected);
    }

    #[test]
    fn what_is_changed_before_the_assertion_is_undone() {
        check_c("assert(q->used < MOST);", Ok("q->used >= MOST"));
        check_c(
            "q->used++;\nassert(q->used <= MOST);",
            Ok("q->used + 1 > MOST"),
        );
        check_c(
            "q->used -= 2 * n;\nassert(q->used >= 0);",
            Ok("q->used - 2 * n < 0"),
        );
        check_c(
            "q->last = n;\nassert(q->last || q->used);",
            Ok("!n && !q->used"),
        );
        check_c(
            "int slot = (q->head + q->used) % MOST;\nassert(q->bag[slot] == NULL);",
            Ok("q->bag[(q->head + q->used) % MOST] != NULL"),
        );
        check_c(
            "struct part *own = &q->parts[n];\nown->used++;\nassert(own->used <= own->size);",
            Ok("q->parts[n].used + 1 > q->parts[n].size"),
        );
    }

    #[test]
    fn the_way_to_the_assertion_is_part_of_the_condition() {
        check_c(
            "if (q->closed) {\npthread_mutex_unlock(&q->lock);\nreturn;\n}\nassert(!q->full);",
            Ok("!q->closed && q->full"),
        );
        check_c(
            "if (n > 0 || q->eager) {\nassert(q->used == 0);\n}",
            Ok("(n > 0 || q->eager) && q->used != 0"),
        );
        let lock = "std::unique_lock<std::mutex> lock(mutex_);\n";
        check(
            "test.cpp",
            &format!(
                "{lock}if (!idle_.empty()) {{\nreturn;\n}}\nopen_++;\nassert(open_ <= limit_);"
            ),
            Ok("idle_.empty() && open_ + 1 > limit_"),
        );
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let why =
            |line: u32| format!("what line {line} does before the assertion is not understood");
        check_c("q->used = count(q);\nassert(q->used < MOST);", Err(&why(4)));
        check_c(
            "for (int i = 0; i < n; i++)\nq->used++;\nassert(q->used < MOST);",
            Err(&why(4)),
        );
        check_c(
            "while (q->late)\npthread_cond_wait(&q->c, &q->lock);\nassert(q->used);",
            Err(&why(4)),
        );
        check_c("q->next->used++;\nassert(q->used < MOST);", Err(&why(4)));
        check(
            "test.c",
            "assert(n);",
            Err("the assertion is not under a lock of its function"),
        );
        check_c(
            "int before = count(q);\nassert(before < q->used);",
            Err(&why(4)),
        );
    }
}
