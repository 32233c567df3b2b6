//! What can be said of one run of a DAG.

use super::memory::FlowMemory;
use std::path::PathBuf;

/// What can be said of one run of a DAG; see [`Dag::submit_with`](crate::Dag::submit_with).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JobSettings {
    /// Where buffered edges put what does not fit into memory; the system's folder for temporary files by default.
    pub spill_folder: PathBuf,
    /// Items of distributed edges go through their codec although they stay on this member: a test of the codecs. False by default.
    pub encode_distributed: bool,
    /// The bytes that its groups, joins, sorts and windows may take; by default only the limit of all jobs holds.
    pub memory_bytes: Option<usize>,
    /// The account of all jobs, with their limit; none by default. A member has one.
    pub memory: Option<FlowMemory>,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self {
            spill_folder: std::env::temp_dir(),
            encode_distributed: false,
            memory_bytes: None,
            memory: None,
        }
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

    /// Sets how many bytes its groups, joins, sorts and windows may take. Beyond that the job fails with
    /// [`JobError::StateTooLarge`](crate::JobError). What a container or state of your own code owns is not known: it counts with its size alone.
    pub fn memory_bytes(mut self, bytes: usize) -> Self {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Sets the account that its state is counted in with that of other jobs.
    pub fn memory(mut self, memory: &FlowMemory) -> Self {
        self.memory = Some(memory.clone());
        self
    }

    /// Sets whether items of distributed edges go through their codec.
    pub fn encode_distributed(mut self, is_encoded: bool) -> Self {
        self.encode_distributed = is_encoded;
        self
    }
}
