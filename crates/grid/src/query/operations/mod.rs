//! The operations of maps that are queries. Each looks at one partition, in slices, by an index where one helps; the
//! [handle](crate::Map) runs them on all partitions beside each other and puts the results together.

mod aggregate;
mod fetch;
mod find;
mod index;
mod page;
mod project_page;
mod remove;
mod scanner;
mod shared;

pub use aggregate::AggregateWhere;
pub use fetch::{FetchWhere, WhereCursor, WherePage};
pub use find::{FindWhere, ProjectWhere};
pub use index::{AddIndex, ListIndexes};
pub(crate) use index::{SharedIndexes, indexes_of};
pub use page::FindPage;
pub use project_page::{ProjectPage, ProjectedPage};
pub use remove::{RemoveWhere, Where};
pub use shared::Shared;

use crate::map::MapPartition;
use crate::operation::Turn;
use scanner::Scanner;

type MapTurn<'a> = Turn<'a, MapPartition>;
