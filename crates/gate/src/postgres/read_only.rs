//! The tables of a session whose transaction may only read.
//!
//! The engine asks for rights before it plans; so what would change something is refused there, `EXPLAIN ANALYZE` of it included, whatever
//! the statement looks like. To look at the kind of a plan was rejected: a plan that explains gives rows, and deletes.

use crate::tables::UserTables;
use filbert_sql::{Access, Object, TableRights};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the user may do, now.
pub(super) struct SessionTables {
    tables: UserTables,
    /// Set by the session before a statement is planned, and reset after it. A session that cancels does not wait for the plan: whoever sees
    /// the reset here must see the cancel that came before it.
    reads_only: AtomicBool,
}

/// With which words a refusal begins that comes from the transaction, not from the user's rights: those name the user first.
pub(super) const REFUSED: &str = "cannot execute ";

impl SessionTables {
    pub(super) fn new(tables: UserTables) -> Self {
        Self { tables, reads_only: AtomicBool::new(false) }
    }

    pub(super) fn set_reads_only(&self, reads_only: bool) {
        self.reads_only.store(reads_only, Ordering::Release);
    }
}

impl TableRights for SessionTables {
    fn may_ask(&self) -> Result<(), String> {
        self.tables.may_ask()
    }

    fn check(&self, access: Access, object: &Object) -> Result<(), String> {
        if access != Access::Read && self.reads_only.load(Ordering::Acquire) {
            let word = match access {
                Access::Index => "CREATE INDEX".to_owned(),
                other => format!("{other:?}").to_uppercase(),
            };
            return Err(format!("{REFUSED}{word} on {object} in a read-only transaction"));
        }
        self.tables.check(access, object)
    }
}
