//! Lines that are found again by their text.

use super::PinnedLine;

/// Number of lines around one that distinguish it from others with the same text.
const AROUND: usize = 3;

/// The data by which the line with this number is found again; `None` when the file has no such line.
pub fn anchor(file: &str, content: &str, number: u32) -> Option<PinnedLine> {
    let lines: Vec<&str> = content.lines().map(str::trim).collect();
    let at = (number as usize).checked_sub(1)?;
    let text = *lines.get(at)?;
    let same = same(&lines, text);
    Some(PinnedLine {
        file: file.to_owned(),
        line: number,
        text: text.to_owned(),
        nth: same.iter().position(|&other| other == at)? + 1,
        of: same.len(),
        before: before(&lines, at),
        after: after(&lines, at),
    })
}

/// Number of the line in the file's current content; the error is the reason, in words.
pub fn find(line: &PinnedLine, content: &str) -> Result<u32, String> {
    let PinnedLine { file, text, .. } = line;
    let lines: Vec<&str> = content.lines().map(str::trim).collect();
    let same = same(&lines, text);
    let found = match same.as_slice() {
        [] => return Err(format!("the line `{text}` is no longer in {file}")),
        same if same.len() == line.of => same.get(line.nth.saturating_sub(1)).copied(),
        same => best(line, &lines, same),
    };
    let found = found.and_then(|at| u32::try_from(at + 1).ok());
    found.ok_or_else(|| {
        let (now, then) = (same.len(), line.of);
        format!(
            "the line `{text}` is in {file} {now} times now, {then} times when the test was made"
        )
    })
}

fn same(lines: &[&str], text: &str) -> Vec<usize> {
    let rows = lines.iter().enumerate();
    rows.filter(|(_, line)| **line == text)
        .map(|(at, _)| at)
        .collect()
}

fn before(lines: &[&str], at: usize) -> Vec<String> {
    around(lines.get(..at).unwrap_or(&[]).iter().rev())
}

fn after(lines: &[&str], at: usize) -> Vec<String> {
    around(lines.get(at + 1..).unwrap_or(&[]).iter())
}

fn around<'l>(lines: impl Iterator<Item = &'l &'l str>) -> Vec<String> {
    let telling = lines.filter(|line| line.chars().any(char::is_alphanumeric));
    telling
        .take(AROUND)
        .map(|line| (*line).to_owned())
        .collect()
}

/// The candidate whose surroundings have most in common with those of the line; `None` when two have as much, or none
/// has anything.
fn best(line: &PinnedLine, lines: &[&str], same: &[usize]) -> Option<usize> {
    let shared =
        |here: &[String], then: &[String]| here.iter().filter(|text| then.contains(text)).count();
    let mut scored: Vec<(usize, usize)> = same
        .iter()
        .map(|&at| {
            let score =
                shared(&before(lines, at), &line.before) + shared(&after(lines, at), &line.after);
            (score, at)
        })
        .collect();
    scored.sort_unstable_by(|a, b| b.cmp(a));
    match scored.as_slice() {
        [(0, _), ..] => None,
        [(first, _), (second, _), ..] if first == second => None,
        [(_, at), ..] => Some(*at),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEN: &str = "void put(void) {\n  lock(&m);\n  n++;\n  unlock(&m);\n}\n\nvoid take(void) {\n  lock(&m);\n  n--;\n  unlock(&m);\n}\n";

    fn found(number: u32, now: &str) -> Result<u32, String> {
        find(&anchor("a.c", THEN, number).unwrap(), now)
    }

    #[test]
    fn lines_that_moved_are_found_by_their_text() {
        let now = format!("#include <a.h>\n\n{}", THEN.replace("  n--", "      n--"));
        assert_eq!(found(9, &now), Ok(11));
        assert_eq!(
            found(8, &now),
            Ok(10),
            "the second of two lines with this text"
        );
    }

    #[test]
    fn what_stands_around_tells_lines_with_one_text_apart() {
        let now =
            format!("void more(void) {{\n  lock(&m);\n  more = 1;\n  unlock(&m);\n}}\n{THEN}");
        assert_eq!(found(2, &now), Ok(7));
        assert_eq!(found(8, &now), Ok(13));
    }

    #[test]
    fn a_line_that_cannot_be_told_is_not_guessed() {
        let gone = found(9, &THEN.replace("n--;", "n -= 1;"));
        assert_eq!(gone, Err("the line `n--;` is no longer in a.c".to_owned()));
        let twice = found(9, &format!("{THEN}{THEN}"));
        assert!(twice.is_err(), "both stand among the same lines: {twice:?}");
        let strange = found(2, "  lock(&m);\n  lock(&m);\n  lock(&m);\n");
        assert!(strange.is_err(), "{strange:?}");
    }
}
