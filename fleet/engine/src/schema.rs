//! The columns of summaries.

use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};

/// Names and SQL types of the columns in their order, as `docs/fleet.md` documents them.
pub const COLUMNS: [(&str, &str); 33] = [
    ("fact", "VARCHAR"),
    ("run", "VARCHAR"),
    ("file", "VARCHAR"),
    ("recorded", "TIMESTAMP"),
    ("program", "VARCHAR"),
    ("build", "VARCHAR"),
    ("arguments", "VARCHAR"),
    ("strategy", "VARCHAR"),
    ("seed", "UBIGINT"),
    ("outcome", "VARCHAR"),
    ("failure_kind", "VARCHAR"),
    ("failure_function", "VARCHAR"),
    ("failure_file", "VARCHAR"),
    ("failure_line", "BIGINT"),
    ("failure_message", "VARCHAR"),
    ("failure_signature", "VARCHAR"),
    ("order_class", "VARCHAR"),
    ("threads", "BIGINT"),
    ("events", "BIGINT"),
    ("steps", "BIGINT"),
    ("object", "VARCHAR"),
    ("first_kind", "VARCHAR"),
    ("first_function", "VARCHAR"),
    ("first_file", "VARCHAR"),
    ("first_line", "BIGINT"),
    ("second_kind", "VARCHAR"),
    ("second_function", "VARCHAR"),
    ("second_file", "VARCHAR"),
    ("second_line", "BIGINT"),
    ("locks", "VARCHAR"),
    ("fact_id", "UBIGINT"),
    ("reverse_id", "UBIGINT"),
    ("count", "BIGINT"),
];

/// The column of the packed file with the run's id as a number, for aggregates over sets of runs.
pub const RUN_NUMBER: &str = "run_number";

/// The columns of summaries.
pub fn of_summaries() -> Schema {
    Schema::new(fields())
}

/// The columns of the packed file.
pub fn of_packed() -> Schema {
    let number = Field::new(RUN_NUMBER, DataType::UInt64, false);
    Schema::new([fields(), vec![number]].concat())
}

fn fields() -> Vec<Field> {
    COLUMNS
        .map(|(name, kind)| Field::new(name, data_type(kind), true))
        .to_vec()
}

fn data_type(kind: &str) -> DataType {
    match kind {
        "BIGINT" => DataType::Int64,
        "UBIGINT" => DataType::UInt64,
        "TIMESTAMP" => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        _ => DataType::Utf8,
    }
}
