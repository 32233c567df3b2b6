//! What a statement that runs for long has done so far: counted while it runs, since it may never end and tell.
//!
//! An extension of the query's configuration, so that the leaves, windows and sinks of its plan find it.

use datafusion::execution::TaskContext;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counts of one statement.
#[derive(Debug, Default)]
pub(crate) struct StreamFigures {
    written: AtomicU64,
    late: AtomicU64,
    lost: AtomicU64,
}

impl StreamFigures {
    /// Those of the statement that a plan belongs to.
    pub(crate) fn of(context: &TaskContext) -> Arc<Self> {
        context.session_config().get_extension::<Self>().unwrap_or_default()
    }

    /// Rows that went into a map.
    pub(crate) fn add_written(&self, rows: u64) {
        self.written.fetch_add(rows, Ordering::Relaxed);
    }

    /// Rows that came when their window was closed.
    pub(crate) fn add_late(&self, rows: u64) {
        self.late.fetch_add(rows, Ordering::Relaxed);
    }

    /// Changes that were overwritten before they were read; true when they are the first.
    pub(crate) fn add_lost(&self, changes: u64) -> bool {
        changes > 0 && self.lost.fetch_add(changes, Ordering::Relaxed) == 0
    }

    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub(crate) fn late(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}
