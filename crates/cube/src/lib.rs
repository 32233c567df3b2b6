//! Cubes: a forest of measures over tables that aggregate, columnar throughout.
//!
//! A query names measures, columns to group by and a filter. It becomes a deduplicated DAG of steps: the leaves are the fewest table
//! queries, read on `mixed`; all else is pure computation on `cpu`, partition by partition.
#![forbid(unsafe_code)]

pub mod aggregate;
mod coordinate;
mod error;
mod filter;
mod memory;
mod syntax;

pub use coordinate::Coordinate;
pub use error::CubeError;
pub use filter::{Comparison, Filter, Matcher};
pub use memory::{MemoryAccount, Reservation};
