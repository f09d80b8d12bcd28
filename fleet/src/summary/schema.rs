//! The columns of a summary.

use super::{Fact, Operation, RunFacts, run_facts::FailureFacts};

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnType {
    /// UTF-8.
    Text,
    /// 64 bits, never negative.
    Count,
    /// 64 bits without a sign.
    Number,
    /// Milliseconds since 1970, UTC.
    Time,
}

impl ColumnType {
    /// The word for it, as SQL has it.
    pub fn name(self) -> &'static str {
        match self {
            ColumnType::Text => "VARCHAR",
            ColumnType::Count => "BIGINT",
            ColumnType::Number => "UBIGINT",
            ColumnType::Time => "TIMESTAMP",
        }
    }

    /// The column in Parquet's language.
    pub(super) fn declared(self, name: &str) -> String {
        match self {
            ColumnType::Text => format!("OPTIONAL BYTE_ARRAY {name} (UTF8);"),
            ColumnType::Count => format!("OPTIONAL INT64 {name};"),
            ColumnType::Number => format!("OPTIONAL INT64 {name} (INTEGER(64,false));"),
            ColumnType::Time => format!("OPTIONAL INT64 {name} (TIMESTAMP(MILLIS,true));"),
        }
    }
}

/// A row, before it is divided into columns.
#[derive(Clone, Copy, Debug)]
pub struct SummaryRow<'s> {
    /// The run.
    pub run: &'s RunFacts,
    /// The fact.
    pub fact: &'s Fact,
    /// Number of times.
    pub count: u64,
}

/// A value of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SummaryValue<'s> {
    /// A text.
    Text(&'s str),
    /// A number of any kind.
    Number(i64),
}

/// A column.
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ColumnType,
    /// Its value in a row; none where it says nothing.
    pub value: for<'s> fn(SummaryRow<'s>) -> Option<SummaryValue<'s>>,
}

use SummaryValue::{Number, Text};

fn number<'s>(number: u64) -> Option<SummaryValue<'s>> {
    // Parquet keeps 64 bits without a sign as those with one.
    Some(Number(number.cast_signed()))
}

fn failure<'s>(row: SummaryRow<'s>) -> Option<&'s FailureFacts> {
    row.run.failure.as_ref()
}

fn known(text: &str) -> Option<SummaryValue<'_>> {
    (!text.is_empty()).then_some(Text(text))
}

fn line<'s>(line: u32) -> Option<SummaryValue<'s>> {
    (line != 0).then_some(Number(line.into()))
}

fn first<'s>(row: SummaryRow<'s>) -> Option<&'s Operation> {
    row.fact.first.as_ref()
}

fn second<'s>(row: SummaryRow<'s>) -> Option<&'s Operation> {
    row.fact.second.as_ref()
}

const fn column(
    name: &'static str,
    kind: ColumnType,
    value: for<'s> fn(SummaryRow<'s>) -> Option<SummaryValue<'s>>,
) -> Column {
    Column { name, kind, value }
}

/// The columns, in their order in the file. `docs/fleet.md` documents them.
pub const COLUMNS: [Column; 33] = [
    column("fact", ColumnType::Text, |row| {
        Some(Text(row.fact.kind.name()))
    }),
    column("run", ColumnType::Text, |row| Some(Text(&row.run.run))),
    column("file", ColumnType::Text, |row| Some(Text(&row.run.file))),
    column("recorded", ColumnType::Time, |row| {
        Some(Number(row.run.recorded))
    }),
    column("program", ColumnType::Text, |row| {
        Some(Text(&row.run.program))
    }),
    column("build", ColumnType::Text, |row| Some(Text(&row.run.build))),
    column("arguments", ColumnType::Text, |row| {
        Some(Text(&row.run.arguments))
    }),
    column("strategy", ColumnType::Text, |row| {
        Some(Text(&row.run.strategy))
    }),
    column("seed", ColumnType::Number, |row| number(row.run.seed)),
    column("outcome", ColumnType::Text, |row| {
        Some(Text(row.run.outcome))
    }),
    column("failure_kind", ColumnType::Text, |row| {
        Some(Text(failure(row)?.kind))
    }),
    column("failure_function", ColumnType::Text, |row| {
        known(&failure(row)?.function)
    }),
    column("failure_file", ColumnType::Text, |row| {
        known(&failure(row)?.file)
    }),
    column("failure_line", ColumnType::Count, |row| {
        line(failure(row)?.line)
    }),
    column("failure_message", ColumnType::Text, |row| {
        Some(Text(&failure(row)?.message))
    }),
    column("failure_signature", ColumnType::Text, |row| {
        Some(Text(&failure(row)?.signature))
    }),
    column("order_class", ColumnType::Text, |row| {
        known(&row.run.order_class)
    }),
    column("threads", ColumnType::Count, |row| number(row.run.threads)),
    column("events", ColumnType::Count, |row| number(row.run.events)),
    column("steps", ColumnType::Count, |row| number(row.run.steps)),
    column("object", ColumnType::Text, |row| {
        row.fact.object.as_deref().map(Text)
    }),
    column("first_kind", ColumnType::Text, |row| {
        first(row)?.kind.map(Text)
    }),
    column("first_function", ColumnType::Text, |row| {
        known(&first(row)?.function)
    }),
    column("first_file", ColumnType::Text, |row| {
        known(&first(row)?.file)
    }),
    column("first_line", ColumnType::Count, |row| {
        line(first(row)?.line)
    }),
    column("second_kind", ColumnType::Text, |row| {
        second(row)?.kind.map(Text)
    }),
    column("second_function", ColumnType::Text, |row| {
        known(&second(row)?.function)
    }),
    column("second_file", ColumnType::Text, |row| {
        known(&second(row)?.file)
    }),
    column("second_line", ColumnType::Count, |row| {
        line(second(row)?.line)
    }),
    column("locks", ColumnType::Text, |row| {
        row.fact.locks.as_deref().map(Text)
    }),
    column("fact_id", ColumnType::Number, |row| number(row.fact.id())),
    column("reverse_id", ColumnType::Number, |row| {
        number(row.fact.reverse()?.id())
    }),
    column("count", ColumnType::Count, |row| number(row.count)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_columns() {
        let page = include_str!("../../../docs/fleet.md");
        let rows = page.split("| column | type |").nth(1).unwrap();
        let rows = rows
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'));
        let documented: Vec<(String, String)> = rows
            .map(|row| {
                let mut cells = row
                    .split('|')
                    .skip(1)
                    .map(|cell| cell.trim().replace('`', ""));
                (cells.next().unwrap(), cells.next().unwrap())
            })
            .collect();
        let columns = COLUMNS
            .iter()
            .map(|it| (it.name.to_owned(), it.kind.name().to_owned()));
        assert_eq!(documented, columns.collect::<Vec<_>>());
    }
}
