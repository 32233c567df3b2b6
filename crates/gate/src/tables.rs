//! What a user may do with which tables: the rights over maps, read as rights over the tables that maps are.

use crate::hazelcast::Rights;
use filbert_grid::{Action, Service};
use filbert_sql::{Access, TableRights};
use std::sync::Arc;

/// The rights of a user, as SQL asks for them.
///
/// | Access | Needs on the map |
/// |---|---|
/// | `SELECT`, `EXPLAIN` | `read` |
/// | `INSERT`, `UPDATE`, `DELETE` | `put` and `remove` |
/// | `CREATE`, `DROP` of mappings, views, indexes | `create`, `destroy` and `index` |
///
/// `pg_catalog` shows tables that the user may read, so everybody may look there; `information_schema` shows all, so only those may who may
/// read every map.
#[derive(Debug, Clone)]
pub(crate) struct UserTables {
    user: String,
    rights: Arc<Rights>,
}

impl UserTables {
    pub(crate) fn new(user: &str, rights: Rights) -> Self {
        Self { user: user.to_owned(), rights: Arc::new(rights) }
    }
}

impl TableRights for UserTables {
    fn check(&self, access: Access, table: &str) -> Result<(), String> {
        let (needed, verb, words): (&[Action], _, _) = match access {
            Access::Read => (&[Action::Read], "read", "read"),
            Access::Write => (&[Action::Put, Action::Remove], "change", "put, remove"),
            Access::Define => {
                (&[Action::Create, Action::Destroy, Action::Index], "define", "create, destroy, index")
            }
        };
        let is_catalog = table.starts_with("pg_catalog.");
        let allowed = if table.starts_with("information_schema.") || table == "*" {
            needed.iter().all(|action| self.rights.of_all(Service::Map).has(*action))
        } else {
            let may = self.rights.of(Service::Map, table);
            (is_catalog && access == Access::Read) || needed.iter().all(|action| may.has(*action))
        };
        if allowed {
            return Ok(());
        }
        Err(format!(
            "user {:?} may not {verb} table {table:?}: that needs \"map/{table}: {words}\"",
            self.user
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(lines: &[&str]) -> UserTables {
        UserTables::new("ann", lines.iter().map(|line| line.parse::<Rights>().unwrap()).collect())
    }

    #[test]
    fn rights_over_maps_are_rights_over_tables() {
        let some = tables(&["map/orders*: read, put, remove", "map/log: read"]);
        assert_eq!(some.check(Access::Read, "orders-eu"), Ok(()));
        assert_eq!(some.check(Access::Write, "orders"), Ok(()));
        assert_eq!(some.check(Access::Read, "pg_catalog.pg_class"), Ok(()));
        for (access, table) in [
            (Access::Write, "log"),
            (Access::Define, "orders"),
            (Access::Read, "secrets"),
            (Access::Read, "information_schema.columns"),
            (Access::Write, "pg_catalog.pg_class"),
            (Access::Define, "*"),
        ] {
            let said = some.check(access, table).unwrap_err();
            assert!(said.contains("\"ann\"") && said.contains(table), "{said}");
        }
        let all = tables(&["*"]);
        assert_eq!(all.check(Access::Define, "*"), Ok(()));
        assert_eq!(tables(&["map/*: read"]).check(Access::Read, "information_schema.tables"), Ok(()));
        assert!(tables(&[]).check(Access::Read, "orders").is_err());
    }
}
