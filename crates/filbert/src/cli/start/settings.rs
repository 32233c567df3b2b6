//! What a settings file says about a member that is started.

use super::Arguments;
use filbert_gate::hazelcast::HazelcastSettings;
use filbert_grid::{
    EvictionPolicy, ExecutorServiceSettings, GridSettings, ListSettings, MapSettings, MaxSize, QueueSettings,
};
use std::error::Error;
use toml::{Table, Value};

/// Everything that `filbert start` needs to know.
#[derive(Debug, Default)]
pub(super) struct StartSettings {
    pub(super) door: HazelcastSettings,
    pub(super) grid: GridSettings,
    /// Whether the code that clients' tests call is registered.
    pub(super) test_fixtures: bool,
}

impl StartSettings {
    pub(super) fn read(arguments: &Arguments) -> Result<Self, Box<dyn Error>> {
        let mut settings = Self::default();
        if let Some(path) = &arguments.config {
            let text = std::fs::read_to_string(path)
                .map_err(|error| format!("cannot read the settings file {}: {error}", path.display()))?;
            let table: Table = text.parse().map_err(|error| format!("{}: {error}", path.display()))?;
            settings.take(&table).map_err(|problem| format!("{}: {problem}", path.display()))?;
        }
        if let Some(port) = arguments.port {
            settings.door.address.set_port(port);
        }
        if let Some(name) = &arguments.cluster_name {
            settings.door.cluster_name.clone_from(name);
        }
        settings.grid.check()?;
        Ok(settings)
    }

    fn take(&mut self, table: &Table) -> Result<(), String> {
        if let Some(Value::String(name)) = in_table(table, "cluster", "name") {
            self.door.cluster_name.clone_from(name);
        }
        if let Some(Value::String(address)) = in_table(table, "network", "public_address") {
            self.door.public_address = Some(address.clone());
        }
        if let Some(seconds) = in_table(table, "client", "max_no_heartbeat_seconds").and_then(number) {
            self.door.connections.idle_timeout_ms = seconds * 1_000;
        }
        self.test_fixtures =
            in_table(table, "test_fixtures", "enabled").and_then(Value::as_bool).unwrap_or(false);
        for (name, settings) in patterns(table, "map") {
            self.grid.maps.set(name, map(settings)?);
        }
        for (name, settings) in patterns(table, "queue") {
            self.grid.queues.set(name, QueueSettings { max_size: at(settings, "max_size") as usize });
        }
        for (name, settings) in patterns(table, "list") {
            self.grid.lists.set(name, ListSettings { max_size: at(settings, "max_size") as usize });
        }
        for (name, settings) in patterns(table, "executor") {
            let mut executor = ExecutorServiceSettings::default();
            if at(settings, "pool_size") > 0 {
                executor.threads = at(settings, "pool_size") as usize;
            }
            if at(settings, "queue_capacity") > 0 {
                executor.capacity = at(settings, "queue_capacity") as usize;
            }
            self.grid.executors.set(name, executor);
        }
        Ok(())
    }
}

fn in_table<'t>(table: &'t Table, name: &str, key: &str) -> Option<&'t Value> {
    table.get(name)?.get(key)
}

fn patterns<'t>(table: &'t Table, kind: &str) -> impl Iterator<Item = (&'t str, &'t Table)> {
    let of_kind = table.get(kind).and_then(Value::as_table).into_iter().flatten();
    of_kind.filter_map(|(name, settings)| Some((name.as_str(), settings.as_table()?)))
}

fn number(value: &Value) -> Option<u64> {
    value.as_integer().and_then(|number| u64::try_from(number).ok())
}

/// A number, 0 when it is not there.
fn at(settings: &Table, key: &str) -> u64 {
    settings.get(key).and_then(number).unwrap_or(0)
}

fn map(settings: &Table) -> Result<MapSettings, String> {
    let mut map = MapSettings {
        ttl_seconds: at(settings, "ttl_seconds"),
        max_idle_seconds: at(settings, "max_idle_seconds"),
        per_entry_stats: settings.get("per_entry_stats").and_then(Value::as_bool).unwrap_or(false),
        ..MapSettings::default()
    };
    if let Some(Value::Table(eviction)) = settings.get("eviction") {
        map.eviction = match eviction.get("policy").and_then(Value::as_str).unwrap_or("NONE") {
            "NONE" => EvictionPolicy::None,
            "LRU" => EvictionPolicy::Lru,
            "LFU" => EvictionPolicy::Lfu,
            "RANDOM" => EvictionPolicy::Random,
            other => return Err(format!("eviction policy {other:?}: must be NONE, LRU, LFU or RANDOM")),
        };
        let size = at(eviction, "max_size");
        map.max_size = match eviction.get("max_size_policy").and_then(Value::as_str).unwrap_or("PER_NODE") {
            _ if size == 0 => None,
            "PER_PARTITION" => Some(MaxSize::EntriesPerPartition(size)),
            _ => Some(MaxSize::Entries(size)),
        };
    }
    Ok(map)
}
