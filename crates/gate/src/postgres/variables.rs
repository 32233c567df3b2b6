//! The variables of a session that drivers and tools look at: `SHOW`, `SET`, and what clients are told at the start.
//!
//! A value that would have to change something and does not is refused rather than ignored: another encoding, another style of dates, memory for
//! sorts. What is taken without an effect cannot have one here: no lock is waited for, no policy hides rows, nothing is compiled.

use super::failure::Failure;
use super::values::Zone;
use std::collections::BTreeMap;
use std::time::Duration;

/// What clients are told the version is: tools choose their queries by it.
pub(super) const SERVER_VERSION: &str = concat!("15.0 (Filbert ", env!("CARGO_PKG_VERSION"), ")");

/// How a variable may be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// To anything: a name that others see.
    Name,
    /// To nothing else than what it is.
    Fixed,
    /// To what is UTF-8 by any name.
    Utf8,
    /// To what begins with ISO.
    Iso,
    /// On or off.
    Switch,
    /// To one of these words.
    OneOf(&'static [&'static str]),
    /// To a time; `0` is none.
    Time,
    /// To no time: there is none to wait for.
    NoTime,
    /// To a number of digits that gives all of them.
    AllDigits,
    /// To a share of the rows, from 0 to 1: a plan for the first of them is one for all here.
    Share,
    /// To schemas, `public` among them: unqualified names are looked up there.
    Path,
    /// To a language that messages are in.
    English,
    /// To a time zone.
    Zone,
}

/// A variable: its name, its value at the start, whether clients are told when it changes, and how it may be set.
struct Variable(&'static str, &'static str, bool, Rule);

/// Whether transactions may only read, unless they say otherwise.
const DEFAULT_READ_ONLY: &str = "default_transaction_read_only";

/// Whether this one may.
const READ_ONLY: &str = "transaction_read_only";

const TIME_ZONE: &str = "TimeZone";
const STATEMENT_TIMEOUT: &str = "statement_timeout";
const LEAST_TOLD: &str = "client_min_messages";

/// The kinds of messages, from the least to the worst.
const LEVELS: &[&str] =
    &["debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "notice", "warning", "error"];

/// There are no transactions to isolate: all of them see what is there.
const ISOLATION: &[&str] = &["read uncommitted", "read committed", "repeatable read", "serializable"];

const VARIABLES: [Variable; 37] = [
    Variable("application_name", "", true, Rule::Name),
    Variable("backslash_quote", "safe_encoding", false, Rule::Fixed),
    Variable("bytea_output", "hex", false, Rule::Fixed),
    Variable("client_encoding", "UTF8", true, Rule::Utf8),
    Variable(LEAST_TOLD, "notice", false, Rule::OneOf(LEVELS)),
    Variable("cursor_tuple_fraction", "0.1", false, Rule::Share),
    Variable("DateStyle", "ISO, MDY", true, Rule::Iso),
    Variable("default_table_access_method", "heap", false, Rule::Fixed),
    Variable("default_transaction_isolation", "read committed", false, Rule::OneOf(ISOLATION)),
    Variable(DEFAULT_READ_ONLY, "off", true, Rule::Switch),
    Variable("extra_float_digits", "1", false, Rule::AllDigits),
    Variable("idle_in_transaction_session_timeout", "0", false, Rule::NoTime),
    Variable("in_hot_standby", "off", true, Rule::Fixed),
    Variable("integer_datetimes", "on", true, Rule::Fixed),
    Variable("IntervalStyle", "postgres", true, Rule::Fixed),
    Variable("is_superuser", "off", true, Rule::Fixed),
    Variable("jit", "off", false, Rule::Switch),
    Variable("lc_collate", "C", false, Rule::Fixed),
    Variable("lc_ctype", "C", false, Rule::Fixed),
    Variable("lc_messages", "C", false, Rule::English),
    Variable("lc_monetary", "C", false, Rule::Fixed),
    Variable("lock_timeout", "0", false, Rule::Time),
    Variable("max_identifier_length", "63", false, Rule::Fixed),
    Variable("max_index_keys", "32", false, Rule::Fixed),
    Variable("row_security", "off", false, Rule::Switch),
    Variable("search_path", "public", false, Rule::Path),
    Variable("server_encoding", "UTF8", true, Rule::Fixed),
    Variable("server_version", SERVER_VERSION, true, Rule::Fixed),
    Variable("server_version_num", "150000", false, Rule::Fixed),
    Variable("session_authorization", "", true, Rule::Fixed),
    Variable("standard_conforming_strings", "on", true, Rule::Fixed),
    Variable(STATEMENT_TIMEOUT, "0", false, Rule::Time),
    Variable("synchronize_seqscans", "on", false, Rule::Switch),
    Variable(TIME_ZONE, "UTC", true, Rule::Zone),
    Variable("transaction_isolation", "read committed", false, Rule::OneOf(ISOLATION)),
    Variable(READ_ONLY, "off", false, Rule::Switch),
    Variable("work_mem", "4MB", false, Rule::Fixed),
];

/// The variables of one session.
#[derive(Debug, Clone)]
pub(super) struct Variables {
    user: String,
    set: BTreeMap<&'static str, String>,
    /// What the client set when it connected, which `RESET` goes back to.
    at_start: BTreeMap<&'static str, String>,
    /// What `SET LOCAL` changed, as it was before; none where it was not set.
    before: BTreeMap<&'static str, Option<String>>,
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
        Self {
            user: user.to_owned(),
            set: BTreeMap::new(),
            at_start: BTreeMap::new(),
            before: BTreeMap::new(),
            transaction: None,
        }
    }

    /// Remembers what is set now as what the session began with.
    pub(super) fn started(&mut self) {
        self.at_start = self.set.clone();
    }

    /// The zone of the session.
    pub(super) fn zone(&self) -> Zone {
        // What is set was read before.
        self.set.get(TIME_ZONE).and_then(|zone| Zone::read_shown(zone)).unwrap_or_else(Zone::utc)
    }

    /// How long a statement may take.
    pub(super) fn statement_timeout(&self) -> Option<Duration> {
        let limit = self.set.get(STATEMENT_TIMEOUT).and_then(|limit| milliseconds(limit))?;
        (limit > 0).then(|| Duration::from_millis(limit))
    }

    /// True when the client wants to know of warnings.
    pub(super) fn tells_warnings(&self) -> bool {
        self.get(LEAST_TOLD) != Some("error")
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
        let Some(kept) = kept(rule, standard, plain) else {
            let begin: String = plain.chars().take(100).collect();
            let why = match rule {
                Rule::Zone => format!(
                    "there is no time zone {begin:?}; name one as Europe/Oslo, or give the hours east of Greenwich"
                ),
                Rule::OneOf(words) => {
                    format!("{name} cannot be {begin:?}; it is one of {}", words.join(", "))
                }
                Rule::Time => format!("{name} cannot be {begin:?}; it is a time such as 500ms, 5s or 2min"),
                Rule::Path => {
                    format!("{name} cannot be {begin:?} here; tables are in public, so it is named")
                }
                Rule::Switch => format!("{name} cannot be {begin:?}; it is on or off"),
                _ => format!("{name} cannot be {begin:?} here; it is {standard:?}"),
            };
            return Err(Failure::error("22023", why));
        };
        match kept {
            // It ends with its transaction, which sets it: see `begin`.
            Some(_) if *name == READ_ONLY => {}
            Some(value) => drop(self.set.insert(name, value)),
            None => {}
        }
        Ok(reported.then(|| (*name, self.set.get(name).map_or(*standard, String::as_str))))
    }

    /// Sets what a client asks for as it connects. `Ok` with a warning when the variable keeps its value instead: drivers and tools name schemas,
    /// digits and timeouts in their settings for all servers, and a refusal would keep them out altogether. `SET` refuses the same values.
    pub(super) fn set_at_start(&mut self, name: &str, value: &str) -> Result<Option<Failure>, Failure> {
        match self.set(name, value).map(|_| ()) {
            // What is not known here does no harm.
            Err(unknown) if unknown.code == "42704" => Ok(None),
            Err(refused) if does_no_harm(name, value.trim()) => {
                let why = format!("{}; the connection goes on with its default", refused.message);
                Ok(Some(Failure::warning(refused.code, why)))
            }
            other => other.map(|()| None),
        }
    }

    /// Sets it until the transaction ends.
    pub(super) fn set_local(
        &mut self,
        name: &str,
        value: &str,
    ) -> Result<Option<(&'static str, &str)>, Failure> {
        let before = find(name).map(|variable| (variable.0, self.set.get(variable.0).cloned()));
        self.set(name, value)?;
        if let Some((name, before)) = before {
            self.before.entry(name).or_insert(before);
        }
        Ok(find(name)
            .filter(|variable| variable.2)
            .and_then(|variable| Some((variable.0, self.get(variable.0)?))))
    }

    /// True when it would change nothing to set this.
    pub(super) fn means_nothing(&self, name: &str, value: &str) -> bool {
        match find(name) {
            Some(Variable(_, _, _, Rule::Share)) => true,
            Some(Variable(name, _, _, Rule::Switch)) => ![READ_ONLY, DEFAULT_READ_ONLY].contains(name),
            // Whoever wants no schema searched names the schema everywhere.
            Some(Variable(_, _, _, Rule::Path)) if value.trim().is_empty() => true,
            Some(_) => self.get(name).is_some_and(|current| current.eq_ignore_ascii_case(value)),
            None => false,
        }
    }

    /// A transaction begins, which may only read if that is said, here or by default.
    pub(super) fn begin(&mut self, read_only: Option<bool>) {
        self.transaction = Some(read_only.unwrap_or_else(|| self.reads_by_default()));
    }

    /// The transaction is over. True when variables have other values by that.
    pub(super) fn end(&mut self) -> bool {
        self.transaction = None;
        let before = std::mem::take(&mut self.before);
        let changes = !before.is_empty();
        for (name, value) in before {
            match value {
                Some(value) => drop(self.set.insert(name, value)),
                None => drop(self.set.remove(name)),
            }
        }
        changes
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
            None => self.set.clone_from(&self.at_start),
            Some(name) => {
                if let Some(variable) = find(name) {
                    match self.at_start.get(variable.0) {
                        Some(value) => drop(self.set.insert(variable.0, value.clone())),
                        None => drop(self.set.remove(variable.0)),
                    }
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

/// What is kept of a value, if anything; `None` when the rule does not allow it.
fn kept(rule: &Rule, standard: &str, value: &str) -> Option<Option<String>> {
    let is = |allowed: bool| allowed.then_some(None);
    let keep = |allowed: bool| allowed.then(|| Some(value.to_owned()));
    match rule {
        Rule::Name => keep(value.len() <= VALUE_BYTES),
        Rule::Fixed => is(value.eq_ignore_ascii_case(standard)),
        Rule::Utf8 => {
            let name = value.trim_matches('\'').to_ascii_lowercase().replace(['-', '_'], "");
            is(matches!(name.as_str(), "utf8" | "unicode" | "default"))
        }
        Rule::Iso => is(value.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("iso"))),
        Rule::Switch => switch(value).map(|on| Some(if on { "on" } else { "off" }.to_owned())),
        Rule::OneOf(words) => {
            let found = words.iter().find(|word| word.eq_ignore_ascii_case(value))?;
            Some(Some((*found).to_owned()))
        }
        Rule::Time => keep(milliseconds(value).is_some()),
        Rule::NoTime => is(milliseconds(value) == Some(0)),
        Rule::AllDigits => keep(value.parse::<i32>().is_ok_and(|digits| (1..=3).contains(&digits))),
        Rule::Share => keep(value.parse::<f64>().is_ok_and(|share| (0.0..=1.0).contains(&share))),
        Rule::Path => {
            let known = ["public", "$user", "pg_catalog", "pg_temp", "information_schema"];
            let names = value.split(',').map(|name| name.trim().trim_matches('"').to_ascii_lowercase());
            let names: Vec<String> = names.collect();
            let all = names.iter().all(|name| known.contains(&name.as_str()));
            keep(all && names.iter().any(|name| name == "public"))
        }
        Rule::English => {
            let language = value.to_ascii_lowercase();
            keep(
                matches!(language.as_str(), "" | "c" | "posix" | "english")
                    || language.starts_with("en_")
                    || language.starts_with("c."),
            )
        }
        Rule::Zone if value.eq_ignore_ascii_case("local") => Some(Some(standard.to_owned())),
        Rule::Zone => Zone::read(value).map(|(_, shown)| Some(shown)),
    }
}

/// Tells if a connection that asks for this value may go on with the default: PostgreSQL knows the value, and no answer is wrong without it.
fn does_no_harm(name: &str, value: &str) -> bool {
    match find(name).map(|variable| &variable.3) {
        Some(Rule::Path) => true,
        Some(Rule::NoTime) => milliseconds(value).is_some(),
        Some(Rule::AllDigits) => value.parse::<i32>().is_ok_and(|digits| (-15..=3).contains(&digits)),
        _ => false,
    }
}

/// A time as PostgreSQL writes it, in milliseconds where it has no unit.
fn milliseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let of_one = match unit.trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    // PostgreSQL keeps it in 31 bits.
    number.parse::<u64>().ok()?.checked_mul(of_one).filter(|limit| i32::try_from(*limit).is_ok())
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
    use crate::postgres::failure::Severity;

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
    fn what_drivers_set_is_taken() {
        let mut variables = Variables::new("ann");
        for (name, value, shown) in [
            ("timezone", "europe/oslo", "Europe/Oslo"),
            ("TimeZone", "2", "<+02>-02"),
            ("TimeZone", "GMT-02:00", "GMT-02:00"),
            ("extra_float_digits", "3", "3"),
            ("search_path", "\"$user\", public", "\"$user\", public"),
            ("jit", "true", "on"),
            ("client_min_messages", "WARNING", "warning"),
            ("lock_timeout", "5s", "5s"),
            ("lc_messages", "en_US.UTF-8", "en_US.UTF-8"),
            ("idle_in_transaction_session_timeout", "0", "0"),
        ] {
            variables.set(name, value).unwrap();
            assert_eq!(variables.get(name), Some(shown));
        }
        assert_eq!(variables.zone().name().as_ref(), "+02:00");
    }

    #[test]
    fn times_have_units() {
        let times = ["0", "250", "5s", "2 min", "1h", "30d", "5 weeks", "x", ""];
        let read = [Some(0), Some(250), Some(5_000), Some(120_000), Some(3_600_000), None, None, None, None];
        assert_eq!(times.map(milliseconds), read);
        let mut variables = Variables::new("ann");
        assert_eq!(variables.statement_timeout(), None);
        variables.set("statement_timeout", "2s").unwrap();
        assert_eq!(variables.statement_timeout(), Some(Duration::from_secs(2)));
    }

    #[test]
    fn local_values_end_with_their_transaction_and_reset_goes_back_to_the_start() {
        let mut variables = Variables::new("ann");
        variables.set("TimeZone", "Asia/Tokyo").unwrap();
        variables.started();
        variables.set("TimeZone", "Europe/Oslo").unwrap();
        variables.begin(None);
        assert_eq!(variables.set_local("timezone", "utc").unwrap(), Some(("TimeZone", "UTC")));
        variables.set_local("timezone", "America/New_York").unwrap();
        assert!(variables.end() && variables.get("timezone") == Some("Europe/Oslo"));
        assert!(!variables.end());
        variables.reset(None);
        assert_eq!(variables.get("timezone"), Some("Asia/Tokyo"));
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
    fn what_has_no_effect_is_warned_of_at_the_start() {
        let mut variables = Variables::new("ann");
        for (name, value) in [
            ("search_path", "app"),
            ("search_path", ""),
            ("idle_in_transaction_session_timeout", "5min"),
            ("extra_float_digits", "0"),
        ] {
            let standard = variables.get(name).map(str::to_owned);
            let warning = variables.set_at_start(name, value).unwrap().unwrap();
            assert_eq!((warning.severity, warning.code), (Severity::Warning, "22023"), "{name}");
            assert!(warning.message.contains(name), "{warning:?}");
            assert_eq!(variables.get(name).map(str::to_owned), standard);
        }
        assert_eq!(variables.set_at_start("nonsense", "1"), Ok(None));
        assert_eq!(variables.set_at_start("application_name", "x"), Ok(None));
        // An answer would be wrong, or PostgreSQL refuses it too.
        for (name, value) in [
            ("client_encoding", "LATIN1"),
            ("TimeZone", "Mars/Olympus"),
            ("standard_conforming_strings", "off"),
            ("idle_in_transaction_session_timeout", "soon"),
            ("extra_float_digits", "many"),
        ] {
            assert_eq!(variables.set_at_start(name, value).unwrap_err().code, "22023", "{name}");
        }
    }

    #[test]
    fn what_has_no_effect_is_refused() {
        let mut variables = Variables::new("ann");
        for (name, value, code) in [
            ("client_encoding", "LATIN1", "22023"),
            ("DateStyle", "German", "22023"),
            ("standard_conforming_strings", "off", "22023"),
            ("TimeZone", "Mars/Olympus", "22023"),
            ("TimeZone", "+02:00", "22023"),
            ("work_mem", "1GB", "22023"),
            ("search_path", "sales", "22023"),
            ("search_path", "", "22023"),
            ("extra_float_digits", "0", "22023"),
            ("idle_in_transaction_session_timeout", "5min", "22023"),
            ("statement_timeout", "soon", "22023"),
            ("statement_timeout", "-1", "22023"),
            ("transaction_isolation", "snapshot", "22023"),
            ("lc_messages", "de_DE.UTF-8", "22023"),
            ("jit", "perhaps", "22023"),
            ("nonsense", "1", "42704"),
        ] {
            assert_eq!(variables.set(name, value).unwrap_err().code, code, "{name}");
        }
    }
}
