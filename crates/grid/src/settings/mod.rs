//! The settings of a grid: of its structures, by name or by a pattern of names.

mod patterns;

pub use patterns::Patterns;

use crate::code::Registry;
use crate::map::MapSettings;
use crate::multi_map::ValueCollection;
use filbert_pool::ExecutorSettings;
use filbert_pool::settings_fields::{self, Shape, is_named, quoted_key};

/// The most threads of one executor.
const MOST_THREADS: u64 = 1024;
/// The most tasks that wait.
const MOST_WAITING: u64 = 1_000_000_000;
/// The most items, which clients count in 31 bits.
const MOST_ITEMS: u64 = i32::MAX as u64;
/// The longest lifetime, which is that of an entry of a map too.
const MOST_SECONDS: u64 = i32::MAX as u64;
/// A day.
const DAY_MS: u64 = 86_400_000;

filbert_pool::settings_struct! {
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
    pub struct GridSettings {
        /// Maps, by name.
        pub maps as "map": Patterns<MapSettings> = Patterns::default() => Shape::Named(MapSettings::FIELDS),
        /// Lists, by name.
        pub lists as "list": Patterns<ListSettings> = Patterns::default() => Shape::Named(ListSettings::FIELDS),
        /// Queues, by name.
        pub queues as "queue": Patterns<QueueSettings> = Patterns::default() => Shape::Named(QueueSettings::FIELDS),
        /// Sets, by name.
        pub sets as "set": Patterns<SetSettings> = Patterns::default() => Shape::Named(SetSettings::FIELDS),
        /// Multimaps, by name.
        pub multi_maps as "multimap": Patterns<MultiMapSettings> = Patterns::default() => Shape::Named(MultiMapSettings::FIELDS),
        /// Ringbuffers, by name; that of a reliable topic by the topic's name.
        pub ringbuffers as "ringbuffer": Patterns<RingbufferSettings> = Patterns::default()
            => Shape::Named(RingbufferSettings::FIELDS),
        /// Semaphores, by name.
        pub semaphores as "semaphore": Patterns<SemaphoreSettings> = Patterns::default() => Shape::Named(SemaphoreSettings::FIELDS),
        /// Sessions, which locks and permits belong to.
        pub sessions as "session": SessionSettings = SessionSettings::default() => Shape::Table(SessionSettings::FIELDS),
        /// Executor services that clients ask for, by name, unless the stages declare an executor of that name.
        pub executors as "executor": Patterns<ExecutorServiceSettings> = Patterns::default()
            => Shape::Named(ExecutorServiceSettings::FIELDS),
        /// Scheduled executors, by name; their threads are those of the executor of that name.
        pub scheduled_executors as "scheduled_executor": Patterns<ScheduledExecutorSettings> = Patterns::default()
            => Shape::Named(ScheduledExecutorSettings::FIELDS),
        /// Durable executors, by name; their threads are those of the executor of that name.
        pub durable_executors as "durable_executor": Patterns<DurableExecutorSettings> = Patterns::default()
            => Shape::Named(DurableExecutorSettings::FIELDS),
        /// How many executor services may have threads: a client can ask for any name.
        pub max_executors: usize = 64 => Shape::Number(1, 10_000),
        /// How long an operation waits for a key that someone else has locked, unless it says otherwise.
        pub lock_wait_ms: u64 = 60_000 => Shape::Number(0, DAY_MS),
        /// How many entries a scan looks at before others have their turn.
        pub scan_slice_entries: u32 = 1_000 => Shape::Number(1, 1_000_000_000),
        /// Entries whose time is over are taken away at the next multiple of this time; until then nobody sees them any more.
        pub sweep_interval_ms: u64 = 1_000 => Shape::Number(1, DAY_MS),
        /// Bytes that the data of all structures may take together; a write beyond is refused, reads and removals go on. Not set: three fifths
        /// of memory.limit_bytes.
        pub memory_bytes: Option<u64> = None => Shape::Number(1, i64::MAX as u64),
        /// The folder of maps that are kept on disk; one member at a time uses it. Nothing is there without such maps.
        pub data_directory: String = "filbert-data".to_owned() => Shape::Text(is_named),
    }
}

filbert_pool::settings_struct! {
    /// What a list is made with.
    pub struct ListSettings {
        /// The most items; 0 for no bound.
        pub max_size: usize = 0 => Shape::Number(0, MOST_ITEMS),
    }
}

filbert_pool::settings_struct! {
    /// What a queue is made with.
    pub struct QueueSettings {
        /// The most items; 0 for no bound.
        pub max_size: usize = 0 => Shape::Number(0, MOST_ITEMS),
    }
}

filbert_pool::settings_struct! {
    /// What a set is made with.
    pub struct SetSettings {
        /// The most items; 0 for no bound.
        pub max_size: usize = 0 => Shape::Number(0, MOST_ITEMS),
    }
}

filbert_pool::settings_struct! {
    /// What a multimap is made with.
    pub struct MultiMapSettings {
        /// What the values of a key are: a set, each once, or a list, as often as they came.
        pub collection: ValueCollection = ValueCollection::Set => Shape::Words(ValueCollection::WORDS),
    }
}

filbert_pool::settings_struct! {
    /// What a ringbuffer is made with.
    pub struct RingbufferSettings {
        /// How many items it holds.
        pub capacity: usize = 10_000 => Shape::Number(1, MOST_ITEMS),
        /// How long an item stays at most; 0 until its place is needed.
        pub ttl_seconds: u64 = 0 => Shape::Number(0, MOST_SECONDS),
    }
}

filbert_pool::settings_struct! {
    /// What a semaphore is made with.
    pub struct SemaphoreSettings {
        /// Permits belong to nobody: anyone may release them, and they do not go back when a client is gone.
        pub sessionless: bool = false => Shape::Flag,
    }
}

filbert_pool::settings_struct! {
    /// Sessions, which locks and permits belong to.
    pub struct SessionSettings {
        /// How long one lives without a sign of life.
        pub ttl_ms: u64 = 300_000 => Shape::Number(1, DAY_MS),
        /// How often clients give one.
        pub heartbeat_ms: u64 = 5_000 => Shape::Number(1, DAY_MS),
        /// How many there may be: a client can ask for any number.
        pub most: usize = 100_000 => Shape::Number(1, MOST_WAITING),
    }
}

filbert_pool::settings_struct! {
    /// What an executor service is made with, unless the stages declare an executor of its name.
    pub struct ExecutorServiceSettings {
        /// Its threads.
        pub threads: usize = ExecutorSettings::default().threads => Shape::Number(1, MOST_THREADS),
        /// Tasks that wait for a thread; one more is refused.
        pub capacity: usize = ExecutorSettings::default().capacity => Shape::Number(1, MOST_WAITING),
    }
}

filbert_pool::settings_struct! {
    /// What a scheduled executor is made with.
    pub struct ScheduledExecutorSettings {
        /// The most tasks of this member, with those that are done and not disposed of; one more is refused. 0 for no bound.
        pub capacity: usize = 100 => Shape::Number(0, MOST_WAITING),
    }
}

filbert_pool::settings_struct! {
    /// What a durable executor is made with.
    pub struct DurableExecutorSettings {
        /// How many tasks and results each partition holds; a task takes the place of the oldest result, and is refused when all run.
        pub capacity: usize = 100 => Shape::Number(1, MOST_ITEMS),
    }
}

/// What was wrong with the settings; every problem found, not only the first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the settings of the grid are not usable; nothing was started:\n{}", .problems.join("\n"))]
pub struct GridSettingsError {
    /// One line each: the setting, what is wrong with it, what would be right.
    pub problems: Vec<String>,
}

impl GridSettings {
    /// Every problem there is, or none.
    pub fn check(&self) -> Result<(), GridSettingsError> {
        let mut problems = settings_fields::check_values("", Self::FIELDS, self);
        for (pattern, map) in self.maps.entries() {
            let path = format!("map.{}", quoted_key(pattern));
            problems.extend(map.problem().map(|problem| format!("{path}.{problem}")));
        }
        problems.extend(self.maps.problems("map"));
        problems.extend(self.lists.problems("list"));
        problems.extend(self.queues.problems("queue"));
        problems.extend(self.sets.problems("set"));
        problems.extend(self.multi_maps.problems("multimap"));
        problems.extend(self.ringbuffers.problems("ringbuffer"));
        problems.extend(self.semaphores.problems("semaphore"));
        problems.extend(self.executors.problems("executor"));
        problems.extend(self.scheduled_executors.problems("scheduled_executor"));
        problems.extend(self.durable_executors.problems("durable_executor"));
        if problems.is_empty() { Ok(()) } else { Err(GridSettingsError { problems }) }
    }
}

impl GridSettings {
    /// The maps whose store nobody has registered, one sentence each.
    ///
    /// ```
    /// use filbert_grid::{GridSettings, MapSettings, MapStoreSettings, Registry};
    ///
    /// let mut settings = GridSettings::default();
    /// let store = Some(MapStoreSettings { name: "orders-db".into(), ..Default::default() });
    /// settings.maps.set("orders", MapSettings { store, ..Default::default() });
    /// let problems = settings.unregistered(&Registry::new());
    /// assert!(problems[0].starts_with("map.orders.store.name = \"orders-db\": "));
    /// ```
    pub fn unregistered(&self, registry: &Registry) -> Vec<String> {
        let known = registry.store_names();
        let there_are = match known.as_slice() {
            [] => "there are none".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        let problem = |(pattern, map): (&str, &MapSettings)| {
            let name = &map.store.as_ref()?.name;
            (!known.contains(name)).then(|| {
                format!(
                    "map.{}.store.name = {name:?}: no store of that name is registered with this program ({there_are}); a store is Rust code \
                     that a program of your own registers before it starts a member",
                    quoted_key(pattern)
                )
            })
        };
        self.maps.entries().filter_map(problem).collect()
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
            problems[0].starts_with("queue.big.max_size = 4294967296: must be a whole number, 0 to"),
            "{problems:#?}"
        );
        assert!(
            problems[1].starts_with("executor.\"*\".threads = 0: must be a whole number, 1 to"),
            "{problems:#?}"
        );
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
        assert!(problems(r#"{ "eviction": "lru" }"#).starts_with("map.m.eviction = lru: "));
        assert_eq!(problems(r#"{ "max_size": { "entries": 5 } }"#), "", "writes are refused then");
        assert!(
            problems(r#"{ "eviction": "lfu", "max_size": { "bytes": 0 } }"#)
                .starts_with("map.m.max_size.bytes = 0: ")
        );
    }

    #[test]
    fn a_setting_that_is_not_known_is_refused() {
        let error =
            serde_json::from_str::<GridSettings>(r#"{ "queue": { "a": { "max": 6 } } }"#).unwrap_err();
        assert!(error.to_string().contains("max_size"), "{error}");
    }
}
