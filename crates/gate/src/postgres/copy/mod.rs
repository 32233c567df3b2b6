//! `COPY ... FROM STDIN` and `COPY ... TO STDOUT`: rows in bulk, as PostgreSQL's text, CSV or binary format.
//!
//! ```text
//! FROM STDIN: CopyData -> Reader (records, cells) -> Rows, up to 8,192 or 1 MiB -> INSERT ... SELECT unnest($1), ... -> the next ones
//! TO STDOUT:  query -> batches -> Writer -> CopyData as the client takes it
//! ```
//!
//! What is held is a message, a record that is not whole, and the rows of one insert. Nothing is read from the client while an insert runs, so a
//! client that is faster than the table waits. There are no transactions: rows of inserts that are done stay when a later line is wrong, and the
//! error says how many these are. Rejected: to hold everything until the last line is read, which has no bound.

mod options;
mod reader;
mod run;
mod statement;
mod writer;

pub(super) use statement::{Copy, Source, Wrong};
pub(super) use writer::Writer;
