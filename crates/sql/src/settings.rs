//! The numbers of the SQL engine.

use serde::Deserialize;
use std::path::PathBuf;

/// What queries may use. Every bound has a default, and an error that names its setting.
///
/// ```
/// let settings = filbert_sql::SqlSettings { rows: Some(1_000), ..Default::default() };
/// assert_eq!(settings.batch_rows, 8_192);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SqlSettings {
    /// Rows that operators handle at a time.
    pub batch_rows: usize,
    /// Bytes that one query may hold before its operators spill or it ends with an error.
    pub query_memory_bytes: usize,
    /// Bytes that all queries together may hold.
    pub memory_bytes: usize,
    /// Bytes of files that queries may spill, all together.
    pub spill_bytes: u64,
    /// Queries that run at a time; more wait their turn.
    pub queries: usize,
    /// Queries that wait at most; more are refused.
    pub waiting_queries: usize,
    /// Length of a statement's text.
    pub text_bytes: usize,
    /// How deep expressions nest, and how many operators a statement chains.
    pub expression_depth: usize,
    /// Milliseconds that a query may take; none by default.
    pub time_limit_ms: Option<u64>,
    /// Rows that a query may give; any number by default.
    pub rows: Option<u64>,
    /// Batches that wait at an output of an exchange before its producers pause.
    pub exchange_batches: usize,
    /// The same in bytes.
    pub exchange_bytes: usize,
    /// Threads for reads of files.
    pub reading_threads: usize,
    /// Folders with files that SQL may read, as `/data`; none by default, and `/` is all.
    pub files: Vec<PathBuf>,
    /// Folders in which `COPY ... TO` may write files; none by default.
    pub write_files: Vec<PathBuf>,
}

impl Default for SqlSettings {
    fn default() -> Self {
        Self {
            batch_rows: 8_192,
            query_memory_bytes: 1 << 30,
            memory_bytes: 4 << 30,
            spill_bytes: 16 << 30,
            queries: 64,
            waiting_queries: 1_024,
            text_bytes: 1 << 20,
            expression_depth: 1_000,
            time_limit_ms: None,
            rows: None,
            exchange_batches: 8,
            exchange_bytes: 16 << 20,
            reading_threads: 4,
            files: Vec::new(),
            write_files: Vec::new(),
        }
    }
}
