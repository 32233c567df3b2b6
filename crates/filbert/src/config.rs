//! The settings file of a member: one TOML text for the stages, the grid and the doors, checked as a whole before anything starts.
//!
//! | Table | What |
//! |---|---|
//! | `[cluster]` | `name`: what clients must call the cluster |
//! | `[hazelcast]` | the door for Hazelcast clients: address, users, limits, TLS |
//! | `[postgres]` | the door for PostgreSQL clients: the same |
//! | `[http]` | the door for metrics and health: the same |
//! | `[memory]` | how much the member may take in all |
//! | `[sql]` | what queries may use: memory, time, rows, how many at a time |
//! | `[map.<name>]`, `[list.<name>]`, `[queue.<name>]` | structures; one `*` in a name stands for any text |
//! | `[grid]` | what holds for all structures |
//! | `[log]` | what `filbert start` logs |
//! | all others | the stages |

mod changes;
mod paths;

use crate::member::StartError;
use crate::memory::{MemorySettings, SetLimits, Shares};
use filbert_gate::hazelcast::HazelcastSettings;
use filbert_gate::http::HttpSettings;
use filbert_gate::postgres::PostgresSettings;
use filbert_grid::GridSettings;
use filbert_pool::settings_fields::{self, Field, Shape, is_named, quoted_key};
use filbert_pool::{Settings, SettingsError, settings_table};
use filbert_sql::SqlSettings;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Settings of a member, read from TOML.
///
/// ```
/// let text = r#"
///     [cluster]
///     name = "shop"
///     [map."cache-*"]
///     ttl_seconds = 60
///     [partition]
///     threads = 4
/// "#;
/// let config = filbert::MemberConfig::from_toml(text)?;
/// assert_eq!(config.hazelcast.cluster_name, "shop");
/// assert_eq!(config.grid.maps.of("cache-pages").ttl_seconds, 60);
/// assert_eq!(config.stages.number("partition.threads"), 4);
/// # Ok::<(), filbert::StartError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MemberConfig {
    /// The stages.
    pub stages: Settings,
    /// The structures.
    pub grid: GridSettings,
    /// What `filbert start` logs.
    pub log: LogSettings,
    /// How much memory the member may take in all.
    pub memory: MemorySettings,
    /// What queries may use.
    pub sql: SqlSettings,
    /// The door for Hazelcast clients.
    pub hazelcast: HazelcastSettings,
    /// The door for PostgreSQL clients; without users of its own it has those of the Hazelcast door.
    pub postgres: PostgresSettings,
    /// The door for metrics and health; without users of its own it has those of the Hazelcast door.
    pub http: HttpSettings,
}

/// A member without a settings file: its limits are shares of the memory there is.
impl Default for MemberConfig {
    fn default() -> Self {
        let mut config = Self {
            stages: Settings::default(),
            grid: GridSettings::default(),
            log: LogSettings::default(),
            memory: MemorySettings::default(),
            sql: SqlSettings::default(),
            hazelcast: HazelcastSettings::default(),
            postgres: PostgresSettings::default(),
            http: HttpSettings::default(),
        };
        let shares = Shares {
            grid: &mut config.grid,
            sql: &mut config.sql,
            hazelcast: &mut config.hazelcast,
            postgres: &mut config.postgres,
            http: &mut config.http,
        };
        config.memory.share_out(shares, SetLimits::default());
        config
    }
}

filbert_pool::settings_struct! {
    /// What the cluster is.
    pub struct ClusterSettings {
        /// What clients must call the cluster to be let in.
        pub name: String = HazelcastSettings::default().cluster_name => Shape::Text(is_named),
    }
}

/// How much is logged, from nothing to everything.
const LOG_LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

filbert_pool::settings_struct! {
    /// What a member logs.
    pub struct LogSettings {
        /// What filbert start logs to the standard error. Its option --log goes before. A reload takes a change over.
        pub level: String = "warn".to_owned() => Shape::Words(LOG_LEVELS),
    }
}

/// A table of a settings file that is not of the stages.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SettingsSection {
    /// Its name, with which its settings begin.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// True when it is one table per name: `[map.<name>]`.
    pub is_named: bool,
    /// Its settings.
    pub fields: Vec<Field>,
}

/// Tables of structures, by name, that together with what stands in `[grid]` are the settings of the grid.
const STRUCTURES: [&str; 7] = ["map", "list", "queue", "set", "multimap", "ringbuffer", "semaphore"];

/// The name of the cluster is known to the door and stands in a table of its own.
const CLUSTER_NAME: &str = "cluster_name";

impl MemberConfig {
    /// Every setting of a settings file but those of the stages, which [`crate::settings_table`] has.
    ///
    /// ```
    /// let sections = filbert::MemberConfig::sections();
    /// let map = sections.iter().find(|section| section.name == "map").unwrap();
    /// assert_eq!(map.fields[0].key, "ttl_seconds");
    /// ```
    pub fn sections() -> Vec<SettingsSection> {
        let of_grid = |structure: &str| GridSettings::FIELDS.iter().find(|field| field.key == structure);
        let structures = STRUCTURES.into_iter().filter_map(of_grid).filter_map(|field| match field.shape {
            Shape::Named(fields) => Some((field.key, field.about(), true, fields.to_vec())),
            _ => None,
        });
        let without = |fields: &[Field], left_out: &[&str]| {
            fields.iter().filter(|field| !left_out.contains(&field.key)).copied().collect::<Vec<_>>()
        };
        let door = without(HazelcastSettings::FIELDS, &[CLUSTER_NAME]);
        let grid = without(GridSettings::FIELDS, &STRUCTURES);
        [
            ("cluster", "The cluster.", false, ClusterSettings::FIELDS.to_vec()),
            ("hazelcast", "The door for Hazelcast clients.", false, door),
            (
                "postgres",
                "The door for PostgreSQL clients; without users of its own it has those of [hazelcast].",
                false,
                PostgresSettings::FIELDS.to_vec(),
            ),
            (
                "http",
                "The door for metrics and health; without users of its own it has those of [hazelcast].",
                false,
                HttpSettings::FIELDS.to_vec(),
            ),
            ("log", "The log of filbert start.", false, LogSettings::FIELDS.to_vec()),
            ("memory", "The memory of the member.", false, MemorySettings::FIELDS.to_vec()),
            ("sql", "What queries may use.", false, SqlSettings::FIELDS.to_vec()),
            ("grid", "What holds for all structures.", false, grid),
        ]
        .into_iter()
        .chain(structures)
        .map(|(name, about, is_named, fields)| SettingsSection { name, about, is_named, fields })
        .collect()
    }

    /// Reads a settings file; an error names every problem, not only the first.
    pub fn from_toml(text: &str) -> Result<Self, StartError> {
        let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| StartError::Settings {
            problems: vec![format!("the text is not TOML: {}{}", place(text, &error), one_line(&error))],
        })?;
        let mut problems = unknown_tables(&mut table);
        let mut sections = toml::Table::new();
        for section in Self::sections() {
            let Some(value) = table.remove(section.name) else { continue };
            if let Some(sound) = checked(&section, value, &mut problems) {
                sections.insert(section.name.to_owned(), sound.into());
            }
        }
        let cluster: ClusterSettings = take(&mut sections, "cluster", &mut problems);
        let limits = SetLimits {
            sql_memory: is_set(&sections, &["sql", "memory_bytes"]),
            sql_query_memory: is_set(&sections, &["sql", "query_memory_bytes"]),
            sql_cache: is_set(&sections, &["sql", "cache_bytes"]),
            waiting: is_set(&sections, &["hazelcast", "total_waiting_bytes"]),
            answer: is_set(&sections, &["hazelcast", "answer_bytes"]),
            total_answer: is_set(&sections, &["hazelcast", "total_answer_bytes"]),
            congested: ["hazelcast", "postgres", "http"]
                .map(|door| is_set(&sections, &[door, "connections", "total_congested_bytes"])),
        };
        let mut hazelcast: HazelcastSettings = take(&mut sections, "hazelcast", &mut problems);
        hazelcast.cluster_name = cluster.name;
        let mut postgres = take(&mut sections, "postgres", &mut problems);
        let mut http = take(&mut sections, "http", &mut problems);
        let log = take(&mut sections, "log", &mut problems);
        let mut memory: MemorySettings = take(&mut sections, "memory", &mut problems);
        let mut sql = take(&mut sections, "sql", &mut problems);
        let mut grid = take_grid(&mut sections, &mut problems);
        let is_whole_set = memory.limit_bytes.is_some();
        let shares = Shares {
            grid: &mut grid,
            sql: &mut sql,
            hazelcast: &mut hazelcast,
            postgres: &mut postgres,
            http: &mut http,
        };
        memory.share_out(shares, limits);
        // Without a whole that somebody set, the parts are what counts.
        problems.extend(is_whole_set.then(|| memory.problem(&grid, &sql)).flatten());
        // What is left belongs to the stages, which read their own text.
        let stages =
            Settings::from_toml(&table.to_string()).unwrap_or_else(|SettingsError { problems: more }| {
                problems.extend(more);
                Settings::new()
            });
        let config = Self { stages, grid, log, memory, sql, hazelcast, postgres, http };
        // A value that cannot be read counts as not set: what follows from that is no second mistake.
        let follows = |problem: &String| {
            let path = problem.split([':', ' ']).next().unwrap_or_default();
            let table = path.rsplit_once('.').map_or("", |(table, _)| table);
            let keys = problems.iter().filter_map(|known| known.strip_prefix(table)?.strip_prefix('.'));
            keys.filter_map(|key| key.split([':', ' ', '.']).next()).any(|key| names(problem, key))
        };
        let together: Vec<String> =
            config.problems().into_iter().filter(|problem| !follows(problem)).collect();
        problems.extend(together);
        if problems.is_empty() { Ok(config) } else { Err(StartError::Settings { problems }) }
    }

    /// Reads a settings file; an error names the file and every problem. Relative paths in it begin at the folder of the file.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, StartError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| StartError::Unreadable { path: path.to_owned(), error })?;
        Self::from_text_of(path, &text)
    }

    /// Reads the text of a settings file that was read already; see [`MemberConfig::from_file`].
    pub fn from_text_of(path: impl AsRef<Path>, text: &str) -> Result<Self, StartError> {
        let path = path.as_ref();
        let in_file = |problems| StartError::File { path: path.to_owned(), problems };
        let mut config = Self::from_toml(text).map_err(|error| in_file(error.problems().to_vec()))?;
        let table: toml::Table = text.parse().unwrap_or_default();
        config
            .begin_paths_at(&paths::folder_of(path), is_set(&table, &["grid", "data_directory"]))
            .map_err(|problem| in_file(vec![problem]))?;
        Ok(config)
    }

    /// What is wrong with the values together.
    fn problems(&self) -> Vec<String> {
        let grid = self.grid.check().err().map(|wrong| wrong.problems).unwrap_or_default();
        let is_structure = |problem: &str| {
            STRUCTURES.iter().any(|kind| problem.strip_prefix(kind).is_some_and(|rest| rest.starts_with('.')))
        };
        let grid = grid
            .into_iter()
            .map(|problem| if is_structure(&problem) { problem } else { format!("grid.{problem}") });
        let door = self.hazelcast.problems().into_iter().map(|problem| format!("hazelcast.{problem}"));
        let sql = self.sql.problems().into_iter().map(|problem| format!("sql.{problem}"));
        let postgres = self.postgres.clone().or_users_of(&self.hazelcast).problems();
        let postgres = postgres.into_iter().map(|problem| format!("postgres.{problem}"));
        let http = self.http.clone().or_users_of(&self.hazelcast).problems();
        let http = http.into_iter().map(|problem| format!("http.{problem}"));
        grid.chain(sql).chain(door).chain(postgres).chain(http).collect()
    }
}

/// True when a sentence has that setting among its words.
fn names(sentence: &str, key: &str) -> bool {
    sentence.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == key)
}

/// Takes out the tables that there are not, so that no setting in them is looked for among those of the stages.
fn unknown_tables(table: &mut toml::Table) -> Vec<String> {
    let sections = MemberConfig::sections();
    let stages = settings_table::SETTINGS.iter().filter_map(|setting| setting.key.split('.').next());
    let mut known: Vec<&str> = sections.iter().map(|section| section.name).chain(stages).collect();
    known.dedup();
    let unknown: Vec<String> = table.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect();
    let problem = |name: String| {
        table.remove(&name);
        let name = quoted_key(&name);
        match settings_fields::nearest(&name, known.iter().copied()) {
            Some(meant) => format!("{name}: no such table of settings; did you mean {meant}?"),
            None => format!("{name}: no such table of settings; there are {}", known.join(", ")),
        }
    };
    unknown.into_iter().map(problem).collect()
}

/// The table of a section with everything that is wrong taken out and named; none when it is no table at all.
fn checked(section: &SettingsSection, value: toml::Value, problems: &mut Vec<String>) -> Option<toml::Table> {
    let toml::Value::Table(mut table) = value else {
        problems.push(format!("{}: must be a table", section.name));
        return None;
    };
    for (key, instead) in elsewhere(section.name) {
        if table.remove(key).is_some() {
            problems.push(format!("{}.{key}: stands in a table of its own: {instead}", section.name));
        }
    }
    let check = if section.is_named { settings_fields::check_named } else { settings_fields::check };
    problems.extend(check(section.name, &section.fields, &mut table));
    Some(table)
}

/// What is looked for in a table and stands in another one.
fn elsewhere(section: &str) -> Vec<(&'static str, String)> {
    match section {
        "grid" => STRUCTURES.map(|kind| (kind, format!("[{kind}.<name>]"))).to_vec(),
        "hazelcast" => vec![(CLUSTER_NAME, "name in [cluster]".to_owned())],
        _ => Vec::new(),
    }
}

/// True when a settings file has a setting, named by the tables that it stands in and its key.
fn is_set(sections: &toml::Table, path: &[&str]) -> bool {
    let (first, rest) = match path {
        [] => return true,
        [first, rest @ ..] => (first, rest),
    };
    let found = sections.get(*first);
    found.is_some_and(|value| rest.is_empty() || value.as_table().is_some_and(|table| is_set(table, rest)))
}

/// Takes a table out and reads it; its default when it is not there or cannot be read.
fn take<T: DeserializeOwned + Default>(table: &mut toml::Table, name: &str, problems: &mut Vec<String>) -> T {
    let Some(value) = table.remove(name) else { return T::default() };
    value.try_into().unwrap_or_else(|error: toml::de::Error| {
        problems.push(format!("[{name}]: {}", one_line(&error)));
        T::default()
    })
}

fn take_grid(table: &mut toml::Table, problems: &mut Vec<String>) -> GridSettings {
    let mut grid = match table.remove("grid") {
        Some(toml::Value::Table(grid)) => grid,
        _ => toml::Table::new(),
    };
    for kind in STRUCTURES {
        if let Some(structures) = table.remove(kind) {
            grid.insert(kind.to_owned(), structures);
        }
    }
    let wrapped = toml::Table::from_iter([("grid".to_owned(), toml::Value::Table(grid))]);
    take(&mut { wrapped }, "grid", problems)
}

/// Where in the text an error is, in words: a drawing of the line would show the password that stands in it.
fn place(text: &str, error: &toml::de::Error) -> String {
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else { return String::new() };
    let line = before.rsplit('\n').next().unwrap_or_default();
    let (lines, column) = (before.matches('\n').count() + 1, line.chars().count() + 1);
    format!("line {lines}, column {column}: ")
}

/// What an error of the reader says, and of which setting; without the drawing of the line that it has for a text.
fn one_line(error: &toml::de::Error) -> String {
    let said = if error.span().is_some() { error.message().to_owned() } else { error.to_string() };
    said.trim_end().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        match MemberConfig::from_toml(text) {
            Err(StartError::Settings { problems }) => problems,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_table_goes_where_it_belongs() {
        let text = "
            [cluster]\nname = 'shop'
            [hazelcast]\naddress = '127.0.0.1:6000'
            [sql]\nqueries = 3\ntime_limit_ms = 1000
            [grid]\nlock_wait_ms = 5
            [map.'a*'.journal]\ncapacity = 500
            [map.'a*']\nttl_seconds = 7
            [queue.jobs]\nmax_size = 6
            [event]\ncapacity = 10";
        let config = MemberConfig::from_toml(text).unwrap();
        assert_eq!((&*config.hazelcast.cluster_name, config.hazelcast.address.port()), ("shop", 6000));
        assert_eq!((config.sql.queries, config.sql.time_limit_ms, config.sql.rows), (3, Some(1_000), None));
        assert_eq!((config.grid.lock_wait_ms, config.grid.maps.of("ab").ttl_seconds), (5, 7));
        assert_eq!(config.grid.maps.of("ab").journal.map(|journal| journal.capacity), Some(500));
        assert_eq!(config.grid.queues.of("jobs").max_size, 6);
        assert_eq!(config.stages.number("event.capacity"), 10);
    }

    #[test]
    fn what_follows_from_a_mistake_is_no_second_one() {
        let said =
            problems("[map.a]\neviction = 'lur'\nmax_size = { entries = 5 }\n[map.b]\neviction = 'lru'");
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0].starts_with("map.\"a\".eviction") || said[0].starts_with("map.a.eviction"),
            "{said:?}"
        );
        assert!(said[1].contains("max_size"), "{said:?}");
    }

    #[test]
    fn every_problem_is_named() {
        let text = "
            [cluster]\nnam = 'shop'
            [hazelcast]\naddress = '0.0.0.0:5701'
            [map.a]\nttl = 7
            [partition]\nthread = 1";
        let said = problems(text);
        assert_eq!(said.len(), 4, "{said:#?}");
        assert!(said.iter().any(|line| line.contains("did you mean partition.threads?")), "{said:#?}");
        assert!(said.iter().any(|line| line.contains("tls")), "{said:#?}");
        assert_eq!(problems("not toml").len(), 1);
    }

    #[test]
    fn a_problem_says_where_it_is() {
        for (text, place) in [
            (
                "[hazelcast]\naddress = 'localhost:5701'",
                "hazelcast.address = \"localhost:5701\": must be an IP address with",
            ),
            (
                "[hazelcast]\nconnections = { backlog = 'x' }",
                "hazelcast.connections.backlog = \"x\": must be a whole number",
            ),
            (
                "[hazelcast]\nconnections = { overflow_bytes = 2000 }",
                "hazelcast.connections.overflow_bytes = 2000: must not be less",
            ),
            ("[cluster]\nname = ''", "cluster.name = \"\": a name is expected, this one is empty"),
            (
                "[hazelcast]\ncluster_name = 'shop'",
                "hazelcast.cluster_name: stands in a table of its own: name in [cluster]",
            ),
            ("[hazelcast]\ntls = { cert_pem_path = 'c' }", "hazelcast.tls.key_pem_path: is missing"),
            (
                "[[hazelcast.users]]\nname = 'ann'\npassword = 'x'\nmay = ['mup/*']",
                "hazelcast.users[1].may: \"mup/*\" is no right",
            ),
            ("[map.a]\nttl = 7", "map.a.ttl: no such setting; did you mean ttl_seconds?"),
            (
                "[map.\"cache-*\"]\nttl_second = 7",
                "map.\"cache-*\".ttl_second: no such setting; did you mean ttl_seconds?",
            ),
            ("[map.a]\neviction = 'lru'", "map.a.eviction = lru: without max_size"),
            ("[map]\na = 7", "map.a: must be a table"),
            (
                "[grid]\nlock_wait_ms = 'x'",
                "grid.lock_wait_ms = \"x\": must be a whole number, 0 to 86400000 ms",
            ),
            ("[grid.executor.'']\nthreads = 1", "grid.executor.\"\": a name has at least one letter"),
            ("[grid.map.a]\nttl_seconds = 1", "grid.map: stands in a table of its own: [map.<name>]"),
            ("[sql]\nquerys = 3", "sql.querys: no such setting; did you mean queries?"),
            ("[sql]\nrows = 0", "sql.rows = 0: must be a whole number, at least 1"),
            (
                "[sql]\nquery_memory_bytes = 1073741824\nmemory_bytes = 5000",
                "sql.query_memory_bytes = 1073741824: must not be more than memory_bytes, which is 5000",
            ),
            ("[mapp.a]\nttl_seconds = 1", "mapp: no such table of settings; did you mean map?"),
            ("queue = 7", "queue: must be a table"),
        ] {
            let said = problems(text);
            assert!(said.len() == 1 && said[0].starts_with(place), "{text}: {said:#?}");
            assert!(!said[0].contains("filbert stages"), "{said:#?}");
        }
        assert!(problems("[cluster]\nname = 'shop")[0].contains("line 2, column "));
        assert!(problems("[cpu]\nturbo = 1")[0].contains("filbert stages --settings"));
    }

    /// Serde stops at the first one of a table.
    #[test]
    fn every_mistake_of_a_table_is_named_at_once() {
        let text = "
            [map.a]\nttl_second = 1\nmax_idle = 2\neviction = 'lrv'
            [map.b]\nttl_seconds = -1
            [queue.q]\nmax = 1\nmax_size = 'x'
            [hazelcast]\naddress = 7\nmessage_byte = 1
            answer_bytes = 2048\ntotal_answer_bytes = 1024";
        let said = problems(text);
        assert_eq!(said.len(), 9, "{said:#?}");
    }

    /// What one table forgets to say the other cannot know: every field of every struct is in the tables, with a default that fits.
    #[test]
    fn the_defaults_are_in_their_own_ranges() {
        let config = MemberConfig::default();
        assert_eq!(config.problems(), Vec::<String>::new());
        let door = toml::Table::try_from(&config.hazelcast).unwrap();
        let known: Vec<&str> = HazelcastSettings::FIELDS.iter().map(|field| field.key).collect();
        assert!(door.keys().all(|key| known.contains(&key.as_str())), "{door}");
        let sql = toml::Table::try_from(&config.sql).unwrap();
        let known: Vec<&str> = SqlSettings::FIELDS.iter().map(|field| field.key).collect();
        assert!(sql.keys().all(|key| known.contains(&key.as_str())), "{sql}");
    }

    /// Settings files hold passwords, errors go to logs.
    #[test]
    fn no_problem_shows_a_password() {
        let user = |rest: &str| format!("[[hazelcast.users]]\nname = 'ann'\n{rest}");
        let elsewhere =
            ["hazelcast = 'sesame'", "[hazelcast]\nusers = 'ann:sesame'", "[hazelcast]\nusers = ['sesame']"];
        let elsewhere = elsewhere.map(str::to_owned);
        let users = [
            user("password = 'open-sesame"),
            user("password = 4711"),
            user("token = 4711 4711"),
            user("pass = 'sesame'"),
        ];
        // Whatever is asked for, a table or a list may stand there instead.
        let secret = "{ n = 'ann', password = 'sesame' }";
        let instead = [
            "[[hazelcast.users]]\nname = ",
            "[hazelcast]\naddress = ",
            "[hazelcast]\npublic_address = ",
            "[hazelcast]\nmessage_bytes = ",
            "[hazelcast]\ntls = { key_pem_path = 'k', cert_pem_path = ",
            "[[hazelcast.users]]\nname = 'ann'\npassword = 'x'\nmay = ",
            "[cluster]\nname = ",
            "[map.a]\neviction = ",
            "[map.a]\nmax_size = ",
            "[map.a]\nstatistics = ",
            "[cpu]\nthreads = ",
        ]
        .into_iter()
        .flat_map(|before| {
            let after = if before.contains("tls = {") { " }" } else { "" };
            [format!("{before}{secret}{after}"), format!("{before}[{secret}, ['sesame']]{after}")]
        });
        let tls = |key: &str| format!("[hazelcast.tls]\ncert_pem_path = 'c'\nkey_pem_path = {key}");
        let keys = [tls("\"-----BEGIN PRIVATE KEY----- sesame\""), tls("\"\"\"open\nsesame\"\"\"")];
        for text in &keys {
            let said = problems(text);
            let expected = "hazelcast.tls.key_pem_path: a path is expected, not the PEM text itself";
            assert_eq!(said, [expected], "{text}");
        }
        for text in users.into_iter().chain(elsewhere).chain(instead).chain(keys) {
            let said = problems(&text).join("; ");
            assert!(!said.contains("sesame") && !said.contains("4711"), "{text}: {said}");
        }
    }
}
