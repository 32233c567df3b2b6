//! How a key or value is stored when SQL writes it.

use super::kind::Kind;
use filbert_wire::compact::Schema;
use std::sync::Arc;

/// The stored form of one side of an entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Format {
    /// One value of that kind.
    Plain(Kind),
    /// A JSON object, a member per column.
    JsonFlat,
    /// A Compact object, a field per column.
    Compact(Arc<Schema>),
    /// A Portable object, a field per column: read, and not written.
    Portable,
    /// Nobody said, and there is nothing to see it from.
    Unknown,
}
