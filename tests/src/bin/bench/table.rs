//! Tables in Markdown, and the few statistics that go into them.

/// A table that is printed at the end.
pub struct PrintedTable {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl PrintedTable {
    /// A table with these columns.
    pub fn new(head: &[&str]) -> PrintedTable {
        PrintedTable {
            head: head.iter().map(|cell| (*cell).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl std::fmt::Display for PrintedTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "| {} |", self.head.join(" | "))?;
        writeln!(f, "|{}", "---|".repeat(self.head.len()))?;
        for row in &self.rows {
            writeln!(f, "| {} |", row.join(" | "))?;
        }
        Ok(())
    }
}

/// The middle one of `values`, the upper one of two middle ones; `None` when there are none.
pub fn median<T: Ord + Copy>(values: &[T]) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle() {
        assert_eq!(median(&[3, 1, 2]), Some(2));
        assert_eq!(median(&[4, 1]), Some(4));
        assert_eq!(median::<u32>(&[]), None);
    }

    #[test]
    fn table_is_markdown() {
        let mut table = PrintedTable::new(&["a", "b"]);
        table.row(vec!["1".to_owned(), "2".to_owned()]);
        assert_eq!(table.to_string(), "| a | b |\n|---|---|\n| 1 | 2 |\n");
    }
}
