//! Queries over maps: which entries (predicates), which of their parts (projections), what they come to (aggregators), in which order
//! (paging), and how they are found without looking at all (indexes).
//!
//! Everything here is pure: values in, values out, no threads. The operations of maps run it on partition threads, a slice at a time.
//!
//! ```text
//! bytes or text --> Predicate --> plan with the Indexes --> candidates --> matches(Entry)? --> keys, values, entries
//!                                                       (or all entries)                  --> Projection, Aggregator, Page
//! ```

mod aggregate;
mod attribute;
mod catalog;
mod class_name;
mod codec;
mod definitions;
mod error;
mod extract;
mod handle;
pub(crate) mod identified;
mod index;
mod json;
mod like;
mod operand;
pub mod operations;
mod paging;
mod pattern;
mod portable;
mod predicate;
mod projection;
pub mod sql;

pub use aggregate::{Accumulator, Aggregate, Aggregator};
pub use attribute::Attribute;
pub use catalog::Catalog;
pub use error::{MAX_DEPTH, MAX_LIKE, MAX_PARTS, MAX_REGEXES, MAX_TEXT, QueryError};
pub use extract::{Entry, Extracted};
pub use index::{
    BitmapOptions, EntryId, IndexKind, IndexSettings, Indexes, Plan, Residual, UniqueKeyTransformation,
};
pub use like::LikePattern;
pub use operand::{Operand, Operands};
pub use paging::{
    Anchor, Comparators, EntryComparator, IterationType, NoComparators, PageCollector, PageOrder, PageResult,
    PagingPredicate,
};
pub use pattern::RegexPattern;
pub use predicate::{Comparison, Predicate};
pub use projection::Projection;
