//! How names in statements are read: in lower case unless they are quoted, as in PostgreSQL, or as they are written, as in Hazelcast.

use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::ast::Ident;

/// How names that are not quoted are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    LowerCase,
    AsWritten,
}

impl Names {
    /// As the planner of that session reads them.
    pub(crate) fn of(state: &SessionState) -> Self {
        match state.config().options().sql_parser.enable_ident_normalization {
            true => Self::LowerCase,
            false => Self::AsWritten,
        }
    }

    pub(crate) fn read(self, ident: &Ident) -> String {
        match (self, ident.quote_style) {
            (Self::LowerCase, None) => ident.value.to_ascii_lowercase(),
            _ => ident.value.clone(),
        }
    }
}
