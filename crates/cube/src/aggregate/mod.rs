//! The aggregation kernel: rows to groups, columnar, on as many cores as there are, with the same answer on any number of them.
//!
//! ```text
//!   blocks ──► ranges of a fixed number of rows, a task each on cpu
//!                 │ few keys:  a table of its own ──► groups
//!                 │ many keys: rows moved to pieces by the hash of their key
//!                 ▼
//!              parts, in the order of the ranges ──► a task for each piece ──► partitions
//! ```
//!
//! No strategy is best for every number of keys: with few, moving rows is wasted; with millions, tables that do not fit the cache cost four
//! times as much as moving first. So every range looks at a sample of its keys and chooses.
//!
//! Nothing is reserved for rows that do not come: tables and carriers begin empty and grow with their groups, and what grows is counted in
//! the query's account. Rejected: chunked lists for carriers (an index into chunks in the innermost loop; a `Vec` that doubles allocates no
//! more than twice what it holds).
//!
//! Where there is a disk to go to, parts that have no room in memory go there and come back piece by piece, with the same answer.
//!
//! Threads: whoever pushes waits, and writes and reads files; the work is done on `cpu`, and looks between blocks whether it was cancelled.

mod accumulation;
mod block;
mod carriers;
mod function;
mod grouping;
mod guard;
mod keys;
mod lanes;
mod merge;
mod one_by_one;
mod options;
mod plan;
mod range;
mod running;
mod sample;
mod saved;
mod scatter;
mod spill;
mod table;
mod values;

#[cfg(test)]
mod tests;

pub use block::Block;
pub use carriers::{Carriers, CustomAggregate};
pub use function::{Aggregate, Function};
pub use grouping::{Grouped, Grouping};
pub(crate) use guard::Failure;
pub(crate) use keys::CodeHashes;
pub use merge::GroupedPartition;
pub use options::{GroupingOptions, Strategy};
pub(crate) use running::Running;
pub use spill::SpillSpace;
pub use values::Values;
