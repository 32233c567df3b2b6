//! Cubes: a forest of measures over tables that aggregate, columnar throughout.
//!
//! A query names measures, columns to group by and a filter. It becomes a deduplicated DAG of steps: the leaves are the fewest table
//! queries, read on `mixed`; all else is pure computation on `cpu`, partition by partition.
#![forbid(unsafe_code)]

pub mod aggregate;
mod cache;
pub mod cell;
mod composite;
mod coordinate;
mod cube;
mod cuboid;
mod drill;
mod error;
mod exact;
mod exact_sum;
mod execute;
mod explain;
mod expression;
mod filter;
mod forest;
mod kept;
mod lead;
mod literal;
mod memory;
mod nearest;
mod observed;
mod plan;
mod quantile;
mod query;
mod query_handle;
mod refresh;
mod renewals;
mod result;
mod syntax;
mod table;
mod turns;
mod value_type;

pub use composite::{Composite, CompositeBuilder};
pub use coordinate::Coordinate;
pub use cube::{Cube, CubeBuilder, Rights};
pub use drill::{DrillRows, DrillThrough, DrilledRows};
pub use error::CubeError;
pub use explain::Explanation;
pub use expression::Expression;
pub use filter::{Comparison, Filter, Matcher, Pattern};
pub use forest::{
    Aggregation, Aggregator, CalculatedColumn, CellFunction, ColumnFormula, Columnator, Combination,
    Combinator, Custom, CustomMeasure, Decomposition, DecompositionFunction, Dispatchor, ExpressionText,
    FilterText, Filtrator, Forest, ForestBuilder, ForestText, Measure, NumberFormat, Partitionor, Quantile,
    Route, RouteFunction, Routing, Shift, ShiftFunction, Shiftor, TargetsFunction, Unfiltered, Unfiltrator,
};
pub use memory::{CubeMemory, MemoryAccount, Reservation};
pub use nearest::nearest;
pub use query::{Position, Query};
pub use query_handle::{QueryHandle, QueryProgress};
pub use result::{CubeResult, TableLayout, TableText};
#[cfg(feature = "postgres")]
pub use table::PostgresTable;
#[cfg(feature = "sql")]
pub use table::SqlTable;
pub use table::{
    BatchStream, GroupQuery, MemoryTable, Table, TableAggregate, TableFunction, TableGroups, TableQuery,
    TextOrder,
};
#[cfg(feature = "duckdb")]
pub use table::{DuckDb, DuckDbTable};
