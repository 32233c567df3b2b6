//! What can be said of one run of a DAG.

use std::path::PathBuf;

/// What can be said of one run of a DAG; see [`Dag::submit_with`](crate::Dag::submit_with).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobSettings {
    /// Where buffered edges put what does not fit into memory; the system's folder for temporary files by default.
    pub spill_folder: PathBuf,
    /// Items of distributed edges go through their codec although they stay on this member: a test of the codecs. False by default.
    pub encode_distributed: bool,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self { spill_folder: std::env::temp_dir(), encode_distributed: false }
    }
}

impl JobSettings {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets where buffered edges put what does not fit into memory.
    pub fn spill_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.spill_folder = folder.into();
        self
    }

    /// Sets whether items of distributed edges go through their codec.
    pub fn encode_distributed(mut self, is_encoded: bool) -> Self {
        self.encode_distributed = is_encoded;
        self
    }
}
