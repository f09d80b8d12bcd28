//! Questions about the summaries of many runs, answered by DataFusion on one machine or by Ballista on several.
//!
//! Summaries are small and many. So they are first packed into one Parquet file, in which each run is there once
//! ([`pack`]); all questions are SQL on that file ([`queries`]), whose memory is bounded and whose answers have an order
//! ([`answer`]). The crate has its own lock file, since it has other versions of Arrow than run files have, and takes
//! minutes to build.

pub mod answer;
pub mod cluster;
pub mod pack;
pub mod queries;
pub mod schema;
