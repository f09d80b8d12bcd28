//! r
/// e
#[derive(Debug)] pub struct ReadError;
