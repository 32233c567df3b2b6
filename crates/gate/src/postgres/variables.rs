//! The variables of a session that drivers and tools look at: `SHOW`, `SET`, and what clients are told at the start.
//!
//! There is one encoding, one style of dates, and results are in UTC; so most are there to be read, and setting them to something else is
//! refused rather than ignored.

use super::failure::Failure;
use std::collections::BTreeMap;

/// What clients are told the version is: tools choose their queries by it.
pub(super) const SERVER_VERSION: &str = concat!("15.0 (Filbert ", env!("CARGO_PKG_VERSION"), ")");

/// How a variable may be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// To anything; it has no effect here.
    Free,
    /// To nothing else than what it is.
    Fixed,
    /// To what is UTF-8 by any name.
    Utf8,
    /// To what begins with ISO.
    Iso,
    /// On or off.
    Switch,
}

/// A variable: its name, its value at the start, whether clients are told when it changes, and how it may be set.
struct Variable(&'static str, &'static str, bool, Rule);

/// Whether transactions may only read, unless they say otherwise.
const DEFAULT_READ_ONLY: &str = "default_transaction_read_only";

/// Whether this one may.
const READ_ONLY: &str = "transaction_read_only";

const VARIABLES: [Variable; 36] = [
    Variable("application_name", "", true, Rule::Free),
    Variable("backslash_quote", "safe_encoding", false, Rule::Free),
    Variable("bytea_output", "hex", false, Rule::Fixed),
    Variable("client_encoding", "UTF8", true, Rule::Utf8),
    Variable("client_min_messages", "notice", false, Rule::Free),
    Variable("cursor_tuple_fraction", "0.1", false, Rule::Free),
    Variable("DateStyle", "ISO, MDY", true, Rule::Iso),
    Variable("default_table_access_method", "heap", false, Rule::Free),
    Variable("default_transaction_isolation", "read committed", false, Rule::Free),
    Variable(DEFAULT_READ_ONLY, "off", true, Rule::Switch),
    Variable("extra_float_digits", "1", false, Rule::Free),
    Variable("idle_in_transaction_session_timeout", "0", false, Rule::Free),
    Variable("in_hot_standby", "off", true, Rule::Fixed),
    Variable("integer_datetimes", "on", true, Rule::Fixed),
    Variable("IntervalStyle", "postgres", true, Rule::Fixed),
    Variable("is_superuser", "off", true, Rule::Fixed),
    Variable("jit", "off", false, Rule::Free),
    Variable("lc_collate", "C", false, Rule::Fixed),
    Variable("lc_ctype", "C", false, Rule::Fixed),
    Variable("lc_messages", "C", false, Rule::Free),
    Variable("lc_monetary", "C", false, Rule::Free),
    Variable("lock_timeout", "0", false, Rule::Free),
    Variable("max_identifier_length", "63", false, Rule::Fixed),
    Variable("max_index_keys", "32", false, Rule::Fixed),
    Variable("row_security", "off", false, Rule::Free),
    Variable("search_path", "public", false, Rule::Free),
    Variable("server_encoding", "UTF8", true, Rule::Fixed),
    Variable("server_version", SERVER_VERSION, true, Rule::Fixed),
    Variable("server_version_num", "150000", false, Rule::Fixed),
    Variable("session_authorization", "", true, Rule::Fixed),
    Variable("standard_conforming_strings", "on", true, Rule::Fixed),
    Variable("synchronize_seqscans", "on", false, Rule::Free),
    Variable("TimeZone", "UTC", true, Rule::Free),
    Variable("transaction_isolation", "read committed", false, Rule::Free),
    Variable(READ_ONLY, "off", false, Rule::Switch),
    Variable("work_mem", "4MB", false, Rule::Free),
];

/// The variables of one session.
#[derive(Debug, Clone)]
pub(super) struct Variables {
    user: String,
    set: BTreeMap<&'static str, String>,
    /// Within a transaction: true when it may only read.
    transaction: Option<bool>,
}

/// The longest value that is kept.
const VALUE_BYTES: usize = 1_024;

fn find(name: &str) -> Option<&'static Variable> {
    VARIABLES.iter().find(|variable| variable.0.eq_ignore_ascii_case(name))
}

impl Variables {
    pub(super) fn new(user: &str) -> Self {
        Self { user: user.to_owned(), set: BTreeMap::new(), transaction: None }
    }

    /// The value, when there is such a variable.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let variable = find(name)?;
        match variable.0 {
            "session_authorization" => return Some(&self.user),
            READ_ONLY => return Some(if self.is_read_only() { "on" } else { "off" }),
            _ => {}
        }
        Some(self.set.get(variable.0).map_or(variable.1, String::as_str))
    }

    /// Sets it. The name and value to tell the client of, when it wants to know of this one.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<Option<(&'static str, &str)>, Failure> {
        let Some(Variable(name, standard, reported, rule)) = find(name) else {
            return Err(Failure::error("42704", format!("unrecognized configuration parameter {name:?}")));
        };
        let plain = value.trim();
        let allowed = match rule {
            Rule::Free => plain.len() <= VALUE_BYTES,
            Rule::Fixed => plain.eq_ignore_ascii_case(standard),
            Rule::Utf8 => {
                let name = plain.trim_matches('\'').to_ascii_lowercase().replace(['-', '_'], "");
                matches!(name.as_str(), "utf8" | "unicode" | "default")
            }
            Rule::Iso => plain.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("iso")),
            Rule::Switch => switch(plain).is_some(),
        };
        if !allowed {
            let begin: String = plain.chars().take(100).collect();
            return Err(Failure::error(
                "22023",
                format!("{name} cannot be {begin:?} here; it is {standard:?}"),
            ));
        }
        match rule {
            Rule::Free => drop(self.set.insert(name, plain.to_owned())),
            // It ends with its transaction, which sets it: see `begin`.
            Rule::Switch if *name == READ_ONLY => {}
            Rule::Switch => {
                let value = if switch(plain) == Some(true) { "on" } else { "off" };
                self.set.insert(name, value.to_owned());
            }
            _ => {}
        }
        Ok(reported.then(|| (*name, self.set.get(name).map_or(*standard, String::as_str))))
    }

    /// A transaction begins, which may only read if that is said, here or by default.
    pub(super) fn begin(&mut self, read_only: Option<bool>) {
        self.transaction = Some(read_only.unwrap_or_else(|| self.reads_by_default()));
    }

    /// The transaction is over.
    pub(super) fn end(&mut self) {
        self.transaction = None;
    }

    /// True when the next statement may not change anything.
    pub(super) fn is_read_only(&self) -> bool {
        self.transaction.unwrap_or_else(|| self.reads_by_default())
    }

    fn reads_by_default(&self) -> bool {
        self.set.get(DEFAULT_READ_ONLY).is_some_and(|value| value == "on")
    }

    /// Back to what it was at the start.
    pub(super) fn reset(&mut self, name: Option<&str>) {
        match name {
            None => self.set.clear(),
            Some(name) => {
                if let Some(variable) = find(name) {
                    self.set.remove(variable.0);
                }
            }
        }
    }

    /// Those that clients are told of, with their values.
    pub(super) fn reported(&self) -> impl Iterator<Item = (&'static str, &str)> {
        VARIABLES
            .iter()
            .filter(|variable| variable.2)
            .filter_map(|variable| Some((variable.0, self.get(variable.0)?)))
    }

    /// All of them, with their values.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        VARIABLES.iter().filter_map(|variable| Some((variable.0, self.get(variable.0)?)))
    }
}

/// On or off, in the words of PostgreSQL.
pub(super) fn switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// The variables that `options` of a connection set: `-c name=value` and `--name=value`.
pub(super) fn options(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut words = text.split_ascii_whitespace();
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("-c").or_else(|| word.strip_prefix("--")) {
            Some("") => words.next(),
            other => other,
        };
        if let Some((name, value)) = setting.and_then(|setting| setting.split_once('=')) {
            found.push((name.replace('-', "_"), value.to_owned()));
        }
    }
    found
}

/// True when there is a variable of that name.
pub(super) fn is_variable(name: &str) -> bool {
    find(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_and_set() {
        let mut variables = Variables::new("ann");
        assert_eq!(variables.get("SERVER_VERSION"), Some(SERVER_VERSION));
        assert_eq!(variables.get("session_authorization"), Some("ann"));
        assert_eq!(variables.set("application_name", "psql").unwrap(), Some(("application_name", "psql")));
        assert_eq!(variables.get("application_name"), Some("psql"));
        assert_eq!(variables.set("client_encoding", "'utf-8'").unwrap(), Some(("client_encoding", "UTF8")));
        assert_eq!(variables.set("datestyle", "ISO, DMY").unwrap(), Some(("DateStyle", "ISO, MDY")));
        variables.reset(None);
        assert_eq!(variables.get("application_name"), Some(""));
    }

    #[test]
    fn transactions_read_only_when_that_is_said() {
        let mut variables = Variables::new("ann");
        let shown = |variables: &Variables| variables.get("transaction_read_only").map(str::to_owned);
        assert!(!variables.is_read_only());
        variables.set("default_transaction_read_only", "TRUE").unwrap();
        assert_eq!(variables.get("default_transaction_read_only"), Some("on"));
        assert!(variables.is_read_only());
        variables.begin(Some(false));
        assert_eq!((variables.is_read_only(), shown(&variables).as_deref()), (false, Some("off")));
        variables.begin(Some(true));
        assert_eq!((variables.is_read_only(), shown(&variables).as_deref()), (true, Some("on")));
        variables.end();
        variables.reset(None);
        variables.set("transaction_read_only", "on").unwrap();
        assert!(!variables.is_read_only());
        assert_eq!(variables.set("transaction_read_only", "maybe").unwrap_err().code, "22023");
    }

    #[test]
    fn options_of_a_connection_are_variables() {
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            options("-c a=1  --b-c=2 -cd=x=y -c e -f"),
            [set("a", "1"), set("b_c", "2"), set("d", "x=y")]
        );
    }

    #[test]
    fn what_has_no_effect_is_refused() {
        let mut variables = Variables::new("ann");
        for (name, value, code) in [
            ("client_encoding", "LATIN1", "22023"),
            ("DateStyle", "German", "22023"),
            ("standard_conforming_strings", "off", "22023"),
            ("nonsense", "1", "42704"),
        ] {
            assert_eq!(variables.set(name, value).unwrap_err().code, code, "{name}");
        }
    }
}
