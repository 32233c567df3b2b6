//! The settings of a settings file as a table for the documentation, from the same declarations that check the file.

use crate::config::{MemberConfig, SettingsSection};
use filbert_pool::settings_fields::{Field, Shape};

impl MemberConfig {
    /// Every setting but those of the stages as a Markdown table: key, default, what it takes, meaning.
    pub fn settings_markdown() -> String {
        let mut out = "| Setting | Default | Takes | Meaning |\n|---|---|---|---|\n".to_owned();
        for SettingsSection { name, is_named, fields, .. } in Self::sections() {
            let path = if is_named { format!("{name}.<name>") } else { name.to_owned() };
            write_fields(&path, &fields, None, &mut out);
        }
        out
    }
}

/// Writes the settings of a table. `of_table` are the defaults of the table that these stand in: they come before those of the fields
/// alone, as a door has limits of its own for connections.
fn write_fields(path: &str, fields: &[Field], of_table: Option<&toml::Table>, out: &mut String) {
    for field in fields {
        let path = format!("{path}.{}", field.key);
        let inner = match field.shape {
            Shape::Table(inner) | Shape::OneOf(inner) => Some((path.clone(), inner)),
            Shape::Named(inner) => Some((format!("{path}.<name>"), inner)),
            Shape::List(inner) => Some((format!("{path}[]"), inner)),
            _ => None,
        };
        let known = match of_table {
            Some(table) => table.get(field.key).cloned(),
            None => field.standard(),
        };
        let standard = match (field.is_required, &known, inner.is_some()) {
            (true, ..) => "must be given".to_owned(),
            (false, Some(value), false) => value.to_string(),
            _ => String::new(),
        };
        *out += &format!("| `{path}` | {standard} | {} | {} |\n", field.takes(), field.about());
        if let Some((path, inner)) = inner {
            // Names and lists have no table of defaults.
            let of_table = known.as_ref().filter(|_| matches!(field.shape, Shape::Table(_)));
            write_fields(&path, inner, of_table.and_then(toml::Value::as_table), out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_there_with_defaults_units_and_meanings() {
        let page = MemberConfig::settings_markdown();
        for row in [
            "| `cluster.name` | \"dev\" | a text | What clients must call the cluster to be let in. |",
            "| `hazelcast.address` | \"127.0.0.1:5701\" | a text | Where to listen. |",
            "| `hazelcast.connections.idle_timeout_ms` | 300000 | 1 to 86400000 ms | ",
            "| `hazelcast.connections.before_login_bytes` | 4096 | ",
            "| `postgres.connections.before_login_bytes` | 10240 | ",
            "| `http.connections.before_login_bytes` | 8192 | ",
            "| `http.connections.connections` | 100 | ",
            "| `hazelcast.tls.key_pem_path` | must be given | a text | ",
            "| `hazelcast.users[].may` | | a list of texts |",
            "| `sql.queries` | 64 | 1 to 100000 | ",
            "| `sql.time_limit_ms` | | at least 1 ms | Time that a query may take. Not set: any. |",
            "| `grid.lock_wait_ms` | 60000 | ",
            "| `grid.executor.<name>.threads` | 16 | ",
            "| `map.<name>.ttl_seconds` | 0 | at least 0 s | ",
            "| `map.<name>.eviction` | \"none\" | none, lru, lfu, random | ",
            "| `map.<name>.max_size.entries` | | at least 1 | ",
            "| `queue.<name>.max_size` | 0 | ",
        ] {
            let row = row.replace("| |", "|  |");
            assert!(page.contains(&row), "{row} is not in\n{page}");
        }
        assert!(!page.contains("cluster_name"));
    }
}
