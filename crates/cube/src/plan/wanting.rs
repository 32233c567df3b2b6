//! Who wants a column that there is not. What looks for columns, at the leaves, does not know which measure above named it.
//!
//! Levels and filters tell: a column that a step has and the one above it has not was brought in by the one above. What the query brings
//! in itself, all of them have.

use super::expand::{Expansion, Key, Node};
use crate::error::CubeError;

impl Expansion<'_> {
    /// The same error with the measure that names the column; `keys` lead from what was asked for to the step that could not be made.
    pub(super) fn with_measure<'k>(
        &self,
        error: CubeError,
        keys: impl DoubleEndedIterator<Item = &'k Key>,
    ) -> CubeError {
        let CubeError::UnknownColumn { column, .. } = &error else { return error };
        // What a user may see is added below all measures.
        if self.rights.columns().iter().any(|known| **known == **column) {
            return error;
        }
        let names = |key: &&Key| !matches!(key.node, Node::Leaf(_)) && !self.has(key, column);
        match keys.rev().find(names) {
            Some(key) => error.wanted_by(format!("measure {:?}", key.node.name())),
            None => error,
        }
    }

    /// True when a step is grouped or filtered by the column.
    fn has(&self, key: &Key, column: &str) -> bool {
        let (level, filter) = (self.level_of(key.level), self.filter_of(key.filter));
        level.iter().chain(&filter.columns()).any(|known| **known == *column)
    }
}
