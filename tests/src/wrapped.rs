//! The programs of `tests/programs` with their locks behind functions, macros, structs and classes of their own, as
//! real programs have them.

use crate::{Finished, TestProgram, Workspace};
use anyhow::{Context, Result, ensure};
use std::fs;

/// The layer between a program and its locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Functions of the same file.
    Function,
    /// Functions of another file.
    OtherFile,
    /// A class whose objects hold the lock; in C a struct with functions.
    Holder,
    /// Macros, in C only.
    Macro,
}

impl Form {
    /// All forms.
    pub const ALL: [Form; 4] = [Form::Function, Form::OtherFile, Form::Holder, Form::Macro];

    /// The form's name in tables.
    pub fn in_words(self, is_cpp: bool) -> &'static str {
        match self {
            Form::Function => "a function",
            Form::OtherFile => "a function of another file",
            Form::Holder if is_cpp => "a class",
            Form::Holder => "a struct with functions",
            Form::Macro => "a macro",
        }
    }
}

/// A program whose locks are wrapped.
#[derive(Debug)]
pub struct Wrapped {
    files: Vec<(&'static str, String)>,
    is_cpp: bool,
}

impl Wrapped {
    /// The program in this form; none where the language has no such form.
    pub fn new(program: &TestProgram, form: Form) -> Result<Option<Wrapped>> {
        let text = fs::read_to_string(&program.source)?;
        let is_cpp = program.is_cpp();
        let files = match (is_cpp, form) {
            (true, Form::Macro) => return Ok(None),
            (true, form) => cpp(&text, form)?,
            (false, form) => c(&text, form)?,
        };
        Ok(Some(Wrapped { files, is_cpp }))
    }

    /// Writes its files and builds it for recording.
    pub fn compile(&self, workspace: &Workspace) -> Result<Finished> {
        for (name, text) in &self.files {
            workspace.write(name, text)?;
        }
        let command = self.build();
        let own = command.replace("$CC ", "cc ").replace("$CXX ", "c++ ");
        let words: Vec<&str> = own.split(' ').collect();
        workspace.unsnarl(&words)?.exits(0)
    }

    /// The command that builds it.
    pub fn build(&self) -> String {
        let names = self.files.iter().map(|(name, _)| *name);
        let sources: Vec<&str> = names.filter(|name| !name.contains(".h")).collect();
        let word = if self.is_cpp { "$CXX" } else { "$CC" };
        format!("{word} -g -o prog {} -pthread", sources.join(" "))
    }
}

const TAKE: &str = "void take_lock(pthread_mutex_t *mutex)\n{\n    pthread_mutex_lock(mutex);\n}\n";
const RELEASE: &str =
    "void release_lock(pthread_mutex_t *mutex)\n{\n    pthread_mutex_unlock(mutex);\n}\n";
const DECLARED: &str = "#include <pthread.h>\nvoid take_lock(pthread_mutex_t *mutex);\nvoid release_lock(pthread_mutex_t *mutex);\n";
const MACROS: &str = "#define LOCK(mutex) pthread_mutex_lock(&(mutex))\n#define UNLOCK(mutex) pthread_mutex_unlock(&(mutex))\n";
const STRUCT: &str = "struct latch {\n    pthread_mutex_t mutex;\n};\n\nstatic void latch_close(struct latch *latch)\n{\n    pthread_mutex_lock(&latch->mutex);\n}\n\nstatic void latch_open(struct latch *latch)\n{\n    pthread_mutex_unlock(&latch->mutex);\n}\n";

fn c(text: &str, form: Form) -> Result<Vec<(&'static str, String)>> {
    let renamed = |lock: &str, unlock: &str| {
        text.replace("pthread_mutex_lock(", lock)
            .replace("pthread_mutex_unlock(", unlock)
    };
    let functions = || renamed("take_lock(", "release_lock(");
    Ok(match form {
        Form::Function => {
            let head = format!("\nstatic {TAKE}\nstatic {RELEASE}");
            vec![("prog.c", with_head(&functions(), &head)?)]
        }
        Form::OtherFile => vec![
            ("prog.c", with_head(&functions(), "#include \"locks.h\"\n")?),
            ("locks.h", DECLARED.to_owned()),
            (
                "locks.c",
                format!("#include \"locks.h\"\n\n{TAKE}\n{RELEASE}"),
            ),
        ],
        Form::Macro => vec![(
            "prog.c",
            with_head(
                &renamed("LOCK(*", "UNLOCK(*").replace("LOCK(*&", "LOCK("),
                &format!("\n{MACROS}"),
            )?,
        )],
        Form::Holder => {
            let text = renamed("latch_close(", "latch_open(")
                .replace("pthread_mutex_t ", "struct latch ")
                .replace("PTHREAD_MUTEX_INITIALIZER", "{PTHREAD_MUTEX_INITIALIZER}");
            vec![(
                "prog.c",
                with_head(&of_member(&text), &format!("\n{STRUCT}"))?,
            )]
        }
    })
}

/// Adapts calls that stay: they take the mutex in the struct.
fn of_member(text: &str) -> String {
    const STAY: [&str; 6] = [
        "pthread_cond_wait(",
        "pthread_cond_timedwait(",
        "pthread_mutex_init(",
        "pthread_mutex_destroy(",
        "pthread_mutex_trylock(",
        "pthread_mutex_timedlock(",
    ];
    let line = |line: &str| {
        let Some(call) = STAY.iter().find(|call| line.contains(**call)) else {
            return line.to_owned();
        };
        let Some((before, rest)) = line.split_once(call) else {
            return line.to_owned();
        };
        let is_wait = call.contains("cond");
        let (condition, rest) = match rest.split_once(", ").filter(|_| is_wait) {
            Some((condition, rest)) => (format!("{condition}, "), rest),
            None => (String::new(), rest),
        };
        let end = rest.find([',', ')']).unwrap_or(rest.len());
        let (mutex, rest) = rest.split_at(end);
        format!("{before}{call}{condition}{mutex}.mutex{rest}")
    };
    let lines: Vec<String> = text.lines().map(line).collect();
    lines.join("\n") + "\n"
}

const HOLD: &str = "std::unique_lock<std::mutex> hold(std::mutex &mutex)\n{\n    return std::unique_lock<std::mutex>(mutex);\n}\n";
const CLASS: &str = "class Holder {\npublic:\n    explicit Holder(std::mutex &mutex) : mutex_(mutex) { mutex_.lock(); }\n    ~Holder() { mutex_.unlock(); }\n\nprivate:\n    std::mutex &mutex_;\n};\n";
const GUARD: &str = "std::lock_guard<std::mutex> ";

fn cpp(text: &str, form: Form) -> Result<Vec<(&'static str, String)>> {
    ensure!(text.contains(GUARD), "there is no guard");
    let functions = || {
        let line = |line: &str| match line.split_once(GUARD) {
            Some((before, rest)) => {
                let rest = rest.replacen('(', " = hold(", 1);
                format!("{before}const auto {rest}")
            }
            None => line.to_owned(),
        };
        let lines: Vec<String> = text.lines().map(line).collect();
        lines.join("\n") + "\n"
    };
    Ok(match form {
        Form::Holder => {
            let text = text.replace(GUARD, "Holder ");
            vec![("prog.cpp", with_head(&text, &format!("\n{CLASS}"))?)]
        }
        Form::OtherFile => vec![
            (
                "prog.cpp",
                with_head(&functions(), "#include \"locks.hpp\"\n")?,
            ),
            (
                "locks.hpp",
                "#include <mutex>\n\nstd::unique_lock<std::mutex> hold(std::mutex &mutex);\n"
                    .to_owned(),
            ),
            ("locks.cpp", format!("#include \"locks.hpp\"\n\n{HOLD}")),
        ],
        Form::Function | Form::Macro => {
            vec![(
                "prog.cpp",
                with_head(&functions(), &format!("\nstatic {HOLD}"))?,
            )]
        }
    })
}

/// The text with `head` behind its last `#include`.
fn with_head(text: &str, head: &str) -> Result<String> {
    let last = text.rfind("#include").context("there are headers")?;
    let end = text.get(last..).and_then(|rest| rest.find('\n'));
    let (before, after) = text.split_at(last + end.context("a line ends")? + 1);
    Ok(format!("{before}{head}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_takes_the_mutex_in_the_struct() {
        let text = "    pthread_cond_wait(&done, &lock);\n    pthread_mutex_init(&l, NULL);\n";
        assert_eq!(
            of_member(text),
            "    pthread_cond_wait(&done, &lock.mutex);\n    pthread_mutex_init(&l.mutex, NULL);\n"
        );
    }
}
