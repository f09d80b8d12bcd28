//! Command lines as a POSIX shell reads them: what is printed can be pasted.

use std::ffi::OsStr;

/// A command with its arguments.
pub fn command<T: AsRef<OsStr>>(words: &[T]) -> String {
    let quoted: Vec<String> = words.iter().map(|one| word(one.as_ref())).collect();
    quoted.join(" ")
}

/// One word, in quotes where the shell would take it for something else. Bytes that are no text are replaced: no
/// quotes of every shell can write them.
pub fn word(raw: impl AsRef<OsStr>) -> String {
    let text = raw.as_ref().to_string_lossy();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+=:,./@%".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn plain_words_stay_as_they_are() {
        assert_eq!(
            command(&["./prog", "-n", "a=b", "x:1,2"]),
            "./prog -n a=b x:1,2"
        );
        assert_eq!(command(&["./prog", "", "a b"]), "./prog '' 'a b'");
    }

    #[test]
    fn the_shell_reads_them_back() {
        let words = [
            "", " ", "a b", "it's", "$HOME", "*", "~", "a\nb", "`x`", "\\", "#", "ü", "!",
        ];
        let script = format!("printf '%s\\0' {}", command(&words));
        let printed = Command::new("sh").args(["-c", &script]).output().unwrap();
        let mut expected = words.join("\0").into_bytes();
        expected.push(0);
        assert_eq!(printed.stdout, expected);
    }
}
