//! The settings of a grid: of its structures, by name or by a pattern of names.

mod patterns;

pub use patterns::Patterns;

use crate::map::MapSettings;
use serde::{Deserialize, Serialize};

/// What structures are made with when they are first asked for.
///
/// ```
/// use filbert_grid::{GridSettings, QueueSettings};
///
/// let mut settings = GridSettings::default();
/// settings.queues.set("jobs-*", QueueSettings { max_size: 1_000 });
/// assert_eq!(settings.queues.of("jobs-urgent").max_size, 1_000);
/// assert_eq!(settings.queues.of("mail").max_size, 0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GridSettings {
    /// Maps.
    #[serde(rename = "map")]
    pub maps: Patterns<MapSettings>,
    /// Lists.
    #[serde(rename = "list")]
    pub lists: Patterns<ListSettings>,
    /// Queues.
    #[serde(rename = "queue")]
    pub queues: Patterns<QueueSettings>,
    /// Executor services.
    #[serde(rename = "executor")]
    pub executors: Patterns<ExecutorServiceSettings>,
    /// How many executor services may have threads; zero is the default, 64. A client can ask for any name.
    pub max_executors: usize,
    /// How long an operation waits for a key that someone else has locked, unless it says otherwise.
    pub lock_wait_ms: u64,
    /// How many entries a scan looks at before others have their turn.
    pub scan_slice_entries: u32,
    /// How often a partition that has entries with an end looks for those whose time is over.
    pub sweep_interval_ms: u64,
}

impl Default for GridSettings {
    fn default() -> Self {
        Self {
            maps: Patterns::default(),
            lists: Patterns::default(),
            queues: Patterns::default(),
            executors: Patterns::default(),
            max_executors: 0,
            lock_wait_ms: 60_000,
            scan_slice_entries: 1_000,
            sweep_interval_ms: 1_000,
        }
    }
}

/// What a list is made with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListSettings {
    /// The most items; zero for no bound.
    pub max_size: usize,
}

/// What a queue is made with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueueSettings {
    /// The most items; zero for no bound.
    pub max_size: usize,
}

/// What an executor service is made with, unless the stages declare an executor of its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExecutorServiceSettings {
    /// Its threads.
    pub threads: usize,
    /// Tasks that wait for a thread; one more is refused.
    pub capacity: usize,
}

impl Default for ExecutorServiceSettings {
    fn default() -> Self {
        let filbert_pool::ExecutorSettings { threads, capacity, .. } = Default::default();
        Self { threads, capacity }
    }
}

/// What was wrong with the settings; every problem found, not only the first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the settings of the grid are not usable; nothing was started:\n{}", .problems.join("\n"))]
pub struct GridSettingsError {
    /// One line each: the setting, what is wrong with it, what would be right.
    pub problems: Vec<String>,
}

/// The most threads of one executor.
const MOST_THREADS: usize = 1024;
/// The most tasks that wait.
const MOST_WAITING: usize = 1_000_000_000;
/// The most items, which clients count in 31 bits.
const MOST_ITEMS: usize = i32::MAX as usize;
/// How many executor services may have threads, unless set.
const EXECUTORS: usize = 64;

impl GridSettings {
    /// Every problem there is, or none.
    pub fn check(&self) -> Result<(), GridSettingsError> {
        let mut problems = Vec::new();
        let mut within = |setting: String, value: usize, least: usize, most: usize| {
            if !(least..=most).contains(&value) {
                problems.push(format!("{setting} = {value}: must be {least} to {most}"));
            }
        };
        for (pattern, list) in self.lists.entries() {
            within(format!("list.{pattern:?}.max_size"), list.max_size, 0, MOST_ITEMS);
        }
        for (pattern, queue) in self.queues.entries() {
            within(format!("queue.{pattern:?}.max_size"), queue.max_size, 0, MOST_ITEMS);
        }
        for (pattern, executor) in self.executors.entries() {
            within(format!("executor.{pattern:?}.threads"), executor.threads, 1, MOST_THREADS);
            within(format!("executor.{pattern:?}.capacity"), executor.capacity, 1, MOST_WAITING);
        }
        for (pattern, map) in self.maps.entries() {
            problems.extend(map.problem().map(|problem| format!("map.{pattern:?}.{problem}")));
        }
        problems.extend(self.maps.problems("map"));
        problems.extend(self.lists.problems("list"));
        problems.extend(self.queues.problems("queue"));
        problems.extend(self.executors.problems("executor"));
        if problems.is_empty() { Ok(()) } else { Err(GridSettingsError { problems }) }
    }

    /// How many executor services may have threads.
    pub(crate) fn executors_at_most(&self) -> usize {
        if self.max_executors == 0 { EXECUTORS } else { self.max_executors }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_is_named_with_its_setting() {
        let text = r#"{
            "list": { "a*b*": {} },
            "queue": { "": { "max_size": 6 }, "big": { "max_size": 4294967296 } },
            "executor": { "*": { "threads": 0 } }
        }"#;
        let settings: GridSettings = serde_json::from_str(text).unwrap();
        let problems = settings.check().unwrap_err().problems;
        assert_eq!(problems.len(), 4, "{problems:#?}");
        assert!(
            problems[0].starts_with("queue.\"big\".max_size = 4294967296: must be 0 to"),
            "{problems:#?}"
        );
        assert!(problems[1].starts_with("executor.\"*\".threads = 0: must be 1 to"), "{problems:#?}");
        assert!(problems[2].starts_with("list.\"a*b*\": a pattern has at most one *"), "{problems:#?}");
        assert!(problems[3].starts_with("queue.\"\": "), "{problems:#?}");
    }

    /// Half of a bound was taken without a word, and the map grew.
    #[test]
    fn a_bound_of_a_map_is_whole() {
        let problems = |map: &str| {
            let settings: GridSettings =
                serde_json::from_str(&format!(r#"{{ "map": {{ "m": {map} }} }}"#)).unwrap();
            settings.check().err().map(|wrong| wrong.problems.join("; ")).unwrap_or_default()
        };
        assert_eq!(problems(r#"{ "eviction": "lru", "max_size": { "entries": 5 } }"#), "");
        assert!(problems(r#"{ "eviction": "lru" }"#).starts_with("map.\"m\".eviction = lru: "));
        assert!(problems(r#"{ "max_size": { "entries": 5 } }"#).starts_with("map.\"m\".max_size: "));
        assert!(problems(r#"{ "eviction": "lfu", "max_size": { "bytes": 0 } }"#).contains("max_size = 0: "));
    }

    #[test]
    fn a_setting_that_is_not_known_is_refused() {
        let error =
            serde_json::from_str::<GridSettings>(r#"{ "queue": { "a": { "max": 6 } } }"#).unwrap_err();
        assert!(error.to_string().contains("max_size"), "{error}");
    }
}
