//! The settings that differ between two texts of a settings file.

use super::MemberConfig;
use filbert_pool::settings_fields::quoted_key;
use std::collections::{BTreeMap, BTreeSet};

/// The doors, whose users and certificates can change while the member runs.
const DOORS: [&str; 3] = ["hazelcast", "postgres", "http"];

impl MemberConfig {
    /// Names the settings that differ between two texts of a settings file and that [`Member::reload`](crate::Member::reload) does not
    /// take over: only a restart does. Values are not shown. A text that is no TOML counts as empty.
    ///
    /// ```
    /// let before = "[sql]\nrows = 5\n[log]\nlevel = 'warn'";
    /// let after = "[sql]\nrows = 6\n[log]\nlevel = 'info'";
    /// assert_eq!(filbert::MemberConfig::changes_for_a_restart(before, after), ["sql.rows"]);
    /// ```
    pub fn changes_for_a_restart(before: &str, after: &str) -> Vec<String> {
        let (before, after) = (leaves(before), leaves(after));
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let differs = |name: &&String| before.get(*name) != after.get(*name);
        let names = names.into_iter().filter(differs);
        names.filter(|name| !is_taken_over(name, &before, &after)).cloned().collect()
    }
}

/// Returns true when a running member can take over a change of that setting.
fn is_taken_over(name: &str, before: &Leaves, after: &Leaves) -> bool {
    let has_tls = |leaves: &Leaves, door: &str| leaves.keys().any(|name| is_within(name, door, "tls"));
    let of_door = |door: &&str| {
        // An open door is not encrypted, or in the clear, from one connection to the next.
        is_within(name, door, "users")
            || is_within(name, door, "tls") && has_tls(before, door) && has_tls(after, door)
    };
    name == "log.level" || DOORS.iter().any(of_door)
}

/// Returns true for `door.key` and whatever is below.
fn is_within(name: &str, door: &str, key: &str) -> bool {
    let rest = name.strip_prefix(door).and_then(|rest| rest.strip_prefix('.'));
    let rest = rest.and_then(|rest| rest.strip_prefix(key));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The settings of a text by their names, tables taken apart.
type Leaves = BTreeMap<String, toml::Value>;

fn leaves(text: &str) -> Leaves {
    let mut found = Leaves::new();
    for (key, value) in text.parse::<toml::Table>().unwrap_or_default() {
        add(quoted_key(&key), value, &mut found);
    }
    found
}

fn add(name: String, value: toml::Value, found: &mut Leaves) {
    match value {
        // An empty table says something, too: [map."*".persistence] alone keeps all maps.
        toml::Value::Table(table) if !table.is_empty() => {
            table
                .into_iter()
                .for_each(|(key, value)| add(format!("{name}.{}", quoted_key(&key)), value, found));
        }
        value => {
            found.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_certificates_and_the_log_level_need_no_restart() {
        let before = "
            [hazelcast]\ntls = { cert_pem_path = 'a', key_pem_path = 'b' }
            [[hazelcast.users]]\nname = 'ann'\npassword = 'x'
            [log]\nlevel = 'warn'";
        let after = "
            [hazelcast]\ntls = { cert_pem_path = 'c', key_pem_path = 'd', client_ca_pem_path = 'e' }
            [[hazelcast.users]]\nname = 'bob'\ntoken = 'x'
            [[http.users]]\nname = 'bob'\ntoken = 'x'";
        assert_eq!(MemberConfig::changes_for_a_restart(before, after), Vec::<String>::new());
    }

    #[test]
    fn everything_else_is_named_without_its_value() {
        let before = "
            [hazelcast]\naddress = '127.0.0.1:1'\ntls = { cert_pem_path = 'a', key_pem_path = 'b' }
            [map.'a b']\nttl_seconds = 5\n[sql]\nfiles = ['x']";
        let after = "
            [hazelcast]\naddress = '127.0.0.1:2'\n[map.orders.persistence]\n[sql]\nfiles = ['x', 'y']\n[hazelcast.userss]";
        let expected = [
            "hazelcast.address",
            "hazelcast.tls.cert_pem_path",
            "hazelcast.tls.key_pem_path",
            "hazelcast.userss",
            "map.\"a b\".ttl_seconds",
            "map.orders.persistence",
            "sql.files",
        ];
        assert_eq!(MemberConfig::changes_for_a_restart(before, after), expected);
        assert_eq!(MemberConfig::changes_for_a_restart(after, after), Vec::<String>::new());
    }
}
