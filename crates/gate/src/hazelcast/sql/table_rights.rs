//! A user's rights to maps, asked by SQL before it looks a table up.
//!
//! A table has the rights of the map with its name: to read it needs `read`, to change it `put` and `remove`, to make or drop a mapping or
//! an index `create` and `index`. Where there is no such map yet, the right to make one as well, as for every other message. All else (files, the
//! catalog, which names everything there is, and what the engine itself calls `*`) needs the right to everything.

use crate::hazelcast::host::Host;
use crate::hazelcast::login::Identity;
use crate::hazelcast::rights::word;
use filbert_grid::{Action, Service};
use filbert_sql::{Access, TableRights};
use std::sync::Arc;

/// What the user of a connection may do in SQL.
pub(super) struct UserRights {
    host: Arc<Host>,
    identity: Identity,
}

impl UserRights {
    pub(super) fn new(host: &Arc<Host>, identity: &Identity) -> Self {
        Self { host: Arc::clone(host), identity: identity.clone() }
    }

    fn refusal(&self, needs: &str, table: &str) -> String {
        self.host.counters.denied.add();
        let who = self.identity.user.as_deref().unwrap_or("this client");
        format!("{who} has no right to {needs} on table {table:?}")
    }
}

/// Files are named by a path, other schemas by a point.
fn may_be_no_map(table: &str) -> bool {
    table == "*" || table.contains(['.', '/', '\\'])
}

impl TableRights for UserRights {
    fn check(&self, access: Access, table: &str) -> Result<(), String> {
        let rights = &self.identity.rights;
        if rights.are_everything() {
            return Ok(());
        }
        let is_map = self.host.grid.structures().contains(Service::Map, table);
        if !is_map && may_be_no_map(table) {
            return Err(self.refusal("do everything, which it needs,", table));
        }
        let needed: &[Action] = match access {
            Access::Read => &[Action::Read],
            Access::Write => &[Action::Put, Action::Remove],
            Access::Define => &[Action::Create, Action::Index],
        };
        let actions = rights.of(Service::Map, table);
        let missing = needed.iter().copied().find(|action| !actions.has(*action));
        let missing = missing.or_else(|| (!is_map && !actions.may_make()).then_some(Action::Create));
        missing.map_or(Ok(()), |action| Err(self.refusal(word(action), table)))
    }
}
