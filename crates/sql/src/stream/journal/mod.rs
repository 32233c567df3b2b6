//! `TABLE(journal('map'))`: the changes of a map as a table without an end.

mod merge;
mod scan;
mod schema;
mod table;

pub(crate) use schema::{JOURNALS, JournalSchema, JournalStart, journal_name, journal_of};
