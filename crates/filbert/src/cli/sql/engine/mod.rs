//! Where statements run: in a member of the command's own, or in one that is reached over the network.

mod local;
mod page;
mod remote;

pub(super) use local::Local;
pub(super) use remote::Remote;

use super::super::Outcome;
use filbert::Description;
use filbert::arrow::array::RecordBatch;
use filbert::sql::FileProgress;

/// Something of a statement's result.
pub(super) enum Came<'a> {
    /// The progress with its files; comes first, where that is known.
    Begun(&'a FileProgress),
    /// The description of it; comes once, before the rows.
    Planned(&'a Description),
    Rows(&'a RecordBatch),
}

/// Called while nothing comes; an error ends the statement.
pub(super) type Watch<'a> = &'a mut dyn FnMut() -> Outcome;

/// Runs statements.
pub(super) trait Engine {
    /// Runs one to its end, or until `watch` ends it; `take` gets what comes.
    fn run(&mut self, text: &str, watch: Watch<'_>, take: &mut dyn FnMut(Came<'_>) -> Outcome) -> Outcome;
}
