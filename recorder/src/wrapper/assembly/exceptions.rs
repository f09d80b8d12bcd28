//! The tables that say where exceptions lead to, as compilers write them into assembler text.

/// The stretches of code in the file's tables, with the label that an exception out of them leads to:
/// first label, label behind, handler.
pub fn stretches<'a>(lines: &[&'a str]) -> Vec<(&'a str, &'a str, &'a str)> {
    let mut found = Vec::new();
    let mut numbers: Option<Vec<&'a str>> = None;
    for line in lines {
        let code = line.split('#').next().unwrap_or("").trim();
        if let Some(name) = code.strip_suffix(':') {
            if name.starts_with(".LLSDACSB") || name.starts_with(".Lcst_begin") {
                numbers = Some(Vec::new());
            } else if name.starts_with(".LLSDACSE") || name.starts_with(".Lcst_end") {
                let numbers = numbers.take().unwrap_or_default();
                found.extend(numbers.chunks_exact(4).filter_map(stretch));
            }
        } else if let Some((".uleb128", value)) = code.split_once(char::is_whitespace)
            && let Some(numbers) = &mut numbers
        {
            numbers.push(value.trim());
        } else if let Some((".byte", value)) = code.split_once(char::is_whitespace)
            && let Some(numbers) = &mut numbers
        {
            // Numbers that fit, such as "no handler" and actions, are written as bytes by some.
            numbers.push(value.trim());
        }
    }
    found
}

/// One row: start, length, handler, action. (The start is counted from the function's own, the length is
/// the difference of two labels.)
fn stretch<'a>(row: &[&'a str]) -> Option<(&'a str, &'a str, &'a str)> {
    let [start, length, pad, _] = row else {
        return None;
    };
    let (start, _) = start.split_once('-')?;
    let (end, _) = length.split_once('-')?;
    let (pad, _) = pad.split_once('-')?;
    Some((start, end, pad))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_both_compilers() {
        let text = "\
.LLSDACSB1:
\t.uleb128 .LEHB0-.LFB1
\t.uleb128 .LEHE0-.LEHB0
\t.uleb128 .L5-.LFB1
\t.uleb128 0x1
\t.uleb128 .LEHB1-.LFB1
\t.uleb128 .LEHE1-.LEHB1
\t.uleb128 0
\t.uleb128 0
.LLSDACSE1:
.Lcst_begin0:
\t.uleb128 .Ltmp0-.Lfunc_begin0           # >> Call Site 1 <<
\t.uleb128 .Ltmp1-.Ltmp0                  #   Call between
\t.uleb128 .Ltmp2-.Lfunc_begin0           #     jumps to .Ltmp2
\t.byte\t1                               #   On action: 1
.Lcst_end0:";
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            stretches(&lines),
            [(".LEHB0", ".LEHE0", ".L5"), (".Ltmp0", ".Ltmp1", ".Ltmp2")]
        );
    }
}
