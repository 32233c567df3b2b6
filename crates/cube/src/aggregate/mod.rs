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
//! Nothing is reserved for rows that do not come: tables and carriers begin empty, or with room for rows that are there (2,048 at most), and
//! grow with their groups; what grows is counted in the query's account.
//!
//! What grows without bound and is not read in the innermost loop is a [`ChunkedList`](filbert_pool::ChunkedList), which is never copied: the
//! hashes of a dictionary, which all queries of a cube read while one adds to them, and those of keys of any length.
//!
//! Rejected: the same for words and carriers, where it would spare the copies of a `Vec` that doubles, and the moment at which both are there. It
//! puts an index into chunks in that loop. Measured with `examples/group_by.rs`, 20 million rows, two workers, the best of three rounds of five
//! runs with `Vec` and two of each other, in ms:
//!
//! | Keys | `Vec` | chunked words | chunked carriers |
//! |---|---|---|---|
//! | 100 | 25 to 31 | 35, 35 | 33, 35 |
//! | 10,000 | 38 to 41 | 73, 76 | 45, 48 |
//! | 10,000,000 | 416 to 498 | 462, 499: no difference | 549, 521 |
//!
//! Carriers that are sets or texts lose by it too (2 million rows, 10,000 keys): COUNT DISTINCT takes 91 to 94 instead of 81 to 86, MAX of texts
//! 27 instead of 22, a median 84 to 85 instead of 79 to 80. And there is little to spare: many groups are in pieces, of which only those that a
//! worker is at grow. Of 64 pieces on two workers two are copied at a time, so the moment costs some percent of all groups, and not half of
//! them or twice as much.
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
mod line;
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
