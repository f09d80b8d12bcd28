//! Tables and plots that stand in the docs: a command writes them, nobody types them.

use anyhow::{Context, Result};
use std::fs;

/// Puts `text` between the markers `<!-- NAME: ... -->` and `<!-- end of NAME -->` of a page of `docs`.
pub fn replace(page: &str, name: &str, text: &str) -> Result<()> {
    let path = unsnarl_e2e::project().join("docs").join(page);
    let old = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let new = replaced(&old, name, text)
        .with_context(|| format!("{} has no markers for {name}", path.display()))?;
    fs::write(&path, new)?;
    eprintln!("{}: {name}", path.display());
    Ok(())
}

/// Cells of the rows of the table that stands between these markers of a page, without its head.
pub fn rows(page: &str, name: &str) -> Result<Vec<Vec<String>>> {
    let path = unsnarl_e2e::project().join("docs").join(page);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    Ok(rows_of(&text, name))
}

fn rows_of(text: &str, name: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
    let inner = |line: &'_ str| line.strip_prefix("| ")?.strip_suffix(" |").map(cells);
    text.lines()
        .skip_while(|line| !line.starts_with(&format!("<!-- {name}:")))
        .take_while(|line| !line.starts_with("<!-- end of"))
        .skip_while(|line| !line.starts_with("|---"))
        .filter_map(inner)
        .collect()
}

/// Writes a whole file under `docs`.
pub fn write(file: &str, text: &str) -> Result<()> {
    let path = unsnarl_e2e::project().join("docs").join(file);
    fs::write(&path, text).with_context(|| path.display().to_string())?;
    eprintln!("{}", path.display());
    Ok(())
}

fn replaced(old: &str, name: &str, text: &str) -> Option<String> {
    let begin = old.find(&format!("<!-- {name}:"))?;
    let begin = begin + old.get(begin..)?.find("-->")? + "-->".len();
    let end = old.find(&format!("<!-- end of {name} -->"))?;
    let (before, after) = (old.get(..begin)?, old.get(end..)?);
    (begin <= end).then(|| format!("{before}\n\n{}\n\n{after}", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_named_table() {
        let page =
            "<!-- t: by x -->\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<!-- end of t -->\n| 3 | 4 |\n";
        assert_eq!(rows_of(page, "t"), [["1", "2"]]);
        assert!(rows_of(page, "u").is_empty());
    }

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let page = "a\n<!-- t: by x -->\nold\n<!-- end of t -->\nb\n";
        let new = replaced(page, "t", "new\n").unwrap();
        assert_eq!(new, "a\n<!-- t: by x -->\n\nnew\n\n<!-- end of t -->\nb\n");
        assert_eq!(replaced(&new, "t", "new").unwrap(), new);
        assert_eq!(replaced(page, "u", "new"), None);
    }
}
