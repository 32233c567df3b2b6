//! What a user may do with which tables: the rights over maps, read as rights over the tables that maps are. Both doors ask here, so that who
//! may do something with a map by one of them may do it by SQL, and no more.

use crate::hazelcast::{Rights, word};
use filbert_grid::{Action, Service};
use filbert_sql::{Access, Object, TableRights};
use std::sync::Arc;

/// The `information_schema` that PostgreSQL clients see: by this name, since the engine has another one.
pub(crate) const INFORMATION: &str = "pg_information";

/// The `information_schema` that Hazelcast clients see, likewise.
pub(crate) const HAZELCAST_INFORMATION: &str = "hazelcast_information";

/// The schemas that show each user what that user may read.
const SHOWN_TO_ALL: [&str; 3] = ["pg_catalog", INFORMATION, HAZELCAST_INFORMATION];

/// The rights of a user, as SQL asks for them.
///
/// | Statement | Needs on the map |
/// |---|---|
/// | `SELECT`, `EXPLAIN` | `read` |
/// | `INSERT`, `SINK` | `put` |
/// | `UPDATE` | `read`, `put` |
/// | `DELETE` | `read`, `remove` |
/// | `CREATE`, `DROP` of mappings, views, tables | `create`, `destroy` |
/// | `CREATE INDEX` | `index` |
///
/// That `UPDATE` and `DELETE` read is asked for by the engine. `pg_catalog` shows tables that the user may read, so everybody may look there;
/// the engine's `information_schema` shows all, so only those may who may read every map. Files, the queries and jobs of others, and whatever is no table: who may do
/// everything.
#[derive(Debug, Clone)]
pub(crate) struct UserTables {
    user: Arc<str>,
    rights: Arc<Rights>,
}

impl UserTables {
    pub(crate) fn new(user: &str, rights: Arc<Rights>) -> Self {
        Self { user: user.into(), rights }
    }
}

fn action(access: Access) -> Action {
    match access {
        Access::Read => Action::Read,
        Access::Insert | Access::Update => Action::Put,
        Access::Delete => Action::Remove,
        Access::Create => Action::Create,
        Access::Drop => Action::Destroy,
        Access::Index => Action::Index,
    }
}

impl TableRights for UserTables {
    /// A statement costs time and memory also where it reads no table, so it takes some right on a map.
    fn may_ask(&self) -> Result<(), String> {
        if self.rights.any_of(Service::Map) {
            return Ok(());
        }
        let user = &self.user;
        Err(format!(
            "user {user:?} has no right to run SQL: that needs a right on a map, such as \"map/orders: read\""
        ))
    }

    fn check(&self, access: Access, object: &Object) -> Result<(), String> {
        if self.rights.are_everything() {
            return Ok(());
        }
        let action = action(access);
        let (allowed, needs) = match object {
            Object::Table { schema, name } => match (schema.as_str(), access) {
                ("public", _) => {
                    (self.rights.of(Service::Map, name).has(action), format!("map/{name}: {}", word(action)))
                }
                (schema, Access::Read) if SHOWN_TO_ALL.contains(&schema) => return Ok(()),
                ("information_schema", Access::Read) if !["queries", "jobs"].contains(&name.as_str()) => {
                    (self.rights.of_all(Service::Map).has(action), format!("map/*: {}", word(action)))
                }
                _ => (false, "*".to_owned()),
            },
            Object::Anything => (false, "*".to_owned()),
        };
        if allowed {
            return Ok(());
        }
        let (user, what) = (&self.user, object.to_string());
        Err(format!("user {user:?} has no right to {} on table {what:?}: that needs {needs:?}", word(action)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(lines: &[&str]) -> UserTables {
        let rights: Rights = lines.iter().map(|line| line.parse::<Rights>().unwrap()).collect();
        UserTables::new("ann", Arc::new(rights))
    }

    fn of(schema: &str, name: &str) -> Object {
        Object::Table { schema: schema.into(), name: name.into() }
    }

    #[test]
    fn rights_over_maps_are_rights_over_tables() {
        use Access::{Create, Delete, Drop, Index, Insert, Read, Update};
        let some = tables(&["map/orders*: read, put", "map/log: read, remove", "map/made: create, index"]);
        let map = Object::table;
        for (access, object) in [
            (Read, map("orders-eu")),
            (Insert, map("orders")),
            (Update, map("orders")),
            (Delete, map("log")),
            (Create, map("made")),
            (Index, map("made")),
            (Read, of("pg_catalog", "pg_class")),
        ] {
            assert_eq!(some.check(access, &object), Ok(()), "{access:?} {object}");
        }
        for (access, object) in [
            (Delete, map("orders")),
            (Insert, map("log")),
            (Create, map("orders")),
            (Index, map("orders")),
            (Drop, map("made")),
            (Read, map("secrets")),
            // A map that is called like a table of the catalog is a map.
            (Read, map("pg_catalog.pg_class")),
            (Read, of("information_schema", "columns")),
            (Insert, of("pg_catalog", "pg_class")),
            (Read, of("orders", "orders")),
            (Read, Object::Anything),
        ] {
            let said = some.check(access, &object).unwrap_err();
            assert!(said.contains("\"ann\"") && said.contains(&object.to_string()), "{said}");
        }
    }

    #[test]
    fn who_has_no_right_on_any_map_runs_no_sql() {
        let lines: [&[&str]; 2] = [&[], &["topic/*", "list/orders: read"]];
        for none in lines {
            let said = tables(none).may_ask().unwrap_err();
            assert!(said.contains("\"ann\"") && said.contains("a right on a map"), "{said}");
        }
        for some in ["*", "map/orders: read", "map/log*: put"] {
            assert_eq!(tables(&[some]).may_ask(), Ok(()), "{some}");
        }
    }

    #[test]
    fn the_catalog_of_all_is_for_who_may_read_all_and_files_for_who_may_everything() {
        let all = tables(&["*"]);
        let maps = tables(&["map/*"]);
        let information = |name: &str| of("information_schema", name);
        assert_eq!(all.check(Access::Create, &Object::Anything), Ok(()));
        assert_eq!(all.check(Access::Read, &information("queries")), Ok(()));
        assert_eq!(tables(&["map/*: read"]).check(Access::Read, &information("tables")), Ok(()));
        assert!(maps.check(Access::Create, &Object::Anything).is_err());
        for name in ["queries", "jobs"] {
            assert!(maps.check(Access::Read, &information(name)).is_err(), "{name}");
        }
        assert!(tables(&[]).check(Access::Read, &Object::table("orders")).is_err());
    }
}
