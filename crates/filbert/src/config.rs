//! The settings file of a member: one TOML text for the stages, the grid and the doors, checked as a whole before anything starts.
//!
//! | Table | What |
//! |---|---|
//! | `[cluster]` | `name`: what clients must call the cluster |
//! | `[hazelcast]` | the door for Hazelcast clients: address, users, limits, TLS |
//! | `[map.<name>]`, `[list.<name>]`, `[queue.<name>]` | structures; one `*` in a name stands for any text |
//! | `[grid]` | what holds for all structures |
//! | all others | the stages |

use crate::member::StartError;
use filbert_gate::hazelcast::HazelcastSettings;
use filbert_grid::GridSettings;
use filbert_pool::{Settings, SettingsError};
use serde::Deserialize;
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
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MemberConfig {
    /// The stages.
    pub stages: Settings,
    /// The structures.
    pub grid: GridSettings,
    /// The door for Hazelcast clients.
    pub hazelcast: HazelcastSettings,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Cluster {
    name: Option<String>,
}

/// Tables of structures, by name, that together with what stands in `[grid]` are the settings of the grid.
const STRUCTURES: [&str; 3] = ["map", "list", "queue"];

impl MemberConfig {
    /// Reads a settings file; an error names every problem, not only the first.
    pub fn from_toml(text: &str) -> Result<Self, StartError> {
        let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| StartError::Settings {
            problems: vec![format!("the text is not TOML: {}{}", place(text, &error), one_line(&error))],
        })?;
        let mut problems = Vec::new();
        let cluster: Cluster = take(&mut table, "cluster", &mut problems);
        let mut hazelcast: HazelcastSettings = take(&mut table, "hazelcast", &mut problems);
        if let Some(name) = cluster.name {
            hazelcast.cluster_name = name;
        }
        let grid = take_grid(&mut table, &mut problems);
        // What is left belongs to the stages, which read their own text.
        let stages =
            Settings::from_toml(&table.to_string()).unwrap_or_else(|SettingsError { problems: more }| {
                problems.extend(more);
                Settings::new()
            });
        let config = Self { stages, grid, hazelcast };
        problems.extend(config.problems());
        if problems.is_empty() { Ok(config) } else { Err(StartError::Settings { problems }) }
    }

    /// Reads a settings file; an error names the file and every problem.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, StartError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| StartError::Settings {
            problems: vec![format!("cannot read the settings file {}: {error}", path.display())],
        })?;
        Self::from_toml(&text).map_err(|error| StartError::Settings {
            problems: error
                .problems()
                .iter()
                .map(|problem| format!("{}: {problem}", path.display()))
                .collect(),
        })
    }

    /// What is wrong with the values themselves.
    fn problems(&self) -> Vec<String> {
        let grid = self.grid.check().err().map(|wrong| wrong.problems).unwrap_or_default();
        let door = self.hazelcast.problems().into_iter().map(|problem| format!("hazelcast.{problem}"));
        grid.into_iter().chain(door).collect()
    }
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
        None => toml::Table::new(),
        Some(toml::Value::Table(grid)) => grid,
        Some(other) => {
            problems.push(format!("grid = {other}: must be a table"));
            toml::Table::new()
        }
    };
    for kind in STRUCTURES {
        if grid.contains_key(kind) {
            problems.push(format!("[grid.{kind}]: structures stand in tables of their own: [{kind}.<name>]"));
        }
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
            [grid]\nlock_wait_ms = 5
            [map.'a*'.journal]\ncapacity = 500
            [map.'a*']\nttl_seconds = 7
            [queue.jobs]\nmax_size = 6
            [event]\ncapacity = 10";
        let config = MemberConfig::from_toml(text).unwrap();
        assert_eq!((&*config.hazelcast.cluster_name, config.hazelcast.address.port()), ("shop", 6000));
        assert_eq!((config.grid.lock_wait_ms, config.grid.maps.of("ab").ttl_seconds), (5, 7));
        assert_eq!(config.grid.maps.of("ab").journal.map(|journal| journal.capacity), Some(500));
        assert_eq!(config.grid.queues.of("jobs").max_size, 6);
        assert_eq!(config.stages.number("event.capacity"), 10);
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
            ("[hazelcast]\naddress = 'localhost:5701'", "in `address`"),
            ("[hazelcast]\nconnections = { backlog = 'x' }", "in `connections.backlog`"),
            ("[map.a]\nttl = 7", "in `map.a`"),
            ("[grid]\nlock_wait_ms = 'x'", "in `lock_wait_ms`"),
            ("[cluster]\nname = 'shop", "line 2, column "),
        ] {
            let said = problems(text).join("; ");
            assert!(said.contains(place), "{said}");
        }
    }

    /// Settings files hold passwords, errors go to logs.
    #[test]
    fn no_problem_shows_a_password() {
        let user = |rest: &str| format!("[[hazelcast.users]]\nname = 'ann'\n{rest}");
        for text in [user("password = 'open-sesame"), user("password = 4711"), user("token = 4711 4711")] {
            let said = problems(&text).join("; ");
            assert!(!said.contains("sesame") && !said.contains("4711"), "{said}");
        }
    }
}
