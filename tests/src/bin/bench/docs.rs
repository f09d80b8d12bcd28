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
    fn only_what_is_between_the_markers_changes() {
        let page = "a\n<!-- t: by x -->\nold\n<!-- end of t -->\nb\n";
        let new = replaced(page, "t", "new\n").unwrap();
        assert_eq!(new, "a\n<!-- t: by x -->\n\nnew\n\n<!-- end of t -->\nb\n");
        assert_eq!(replaced(&new, "t", "new").unwrap(), new);
        assert_eq!(replaced(page, "u", "new"), None);
    }
}
