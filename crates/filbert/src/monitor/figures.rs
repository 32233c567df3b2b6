//! The figures of a member at one moment, gathered once for every way of writing them.

use super::Monitor;
use arrow::array::RecordBatch;
use arrow::json::ArrayWriter;
use filbert_grid::{LocalMapStats, Map, MemoryAccount, Service};
use filbert_net::DoorStats;
use filbert_pool::{StageKind, StageSnapshot, TopicSnapshot, process_memory};
use filbert_sql::SqlSnapshot;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Connections that are listed by door; the newest are left out.
const LISTED: usize = 1_000;

#[derive(Serialize)]
pub(super) struct Figures {
    pub(super) version: &'static str,
    pub(super) uptime_seconds: f64,
    /// Of the process; what the system does not tell is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resident_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpu_seconds: Option<f64>,
    pub(super) memory: MemoryFigures,
    pub(super) stages: Vec<StageSnapshot>,
    pub(super) events: Vec<Events>,
    pub(super) maps: Vec<MapFigures>,
    /// Writes that were refused, by the reason: `memory`, `disk`.
    pub(super) refused_writes: BTreeMap<&'static str, u64>,
    /// How many structures there are, by kind.
    pub(super) structures: BTreeMap<&'static str, usize>,
    pub(super) doors: Vec<DoorFigures>,
    pub(super) sql: SqlFigures,
    pub(super) cubes: HeldFigures,
    /// What the state of all dataflow jobs holds.
    pub(super) flow: HeldFigures,
    #[serde(skip_serializing_if = "Option::is_none")]
    queries: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs: Option<Value>,
}

/// What the data of all structures takes.
#[derive(Serialize)]
pub(super) struct MemoryFigures {
    pub(super) used_bytes: u64,
    pub(super) limit_bytes: u64,
    pub(super) refused_writes: u64,
    /// Bytes of events that wait for their listeners; a part of `used_bytes`.
    pub(super) waiting_event_bytes: u64,
    /// What the process has allocated, where its allocator counts.
    pub(super) allocated_bytes: usize,
}

/// What cubes or jobs hold together, and may hold.
#[derive(Serialize)]
pub(super) struct HeldFigures {
    pub(super) memory_bytes: usize,
    pub(super) limit_bytes: usize,
}

/// The events of one source.
#[derive(Serialize)]
pub(super) struct Events {
    pub(super) source: String,
    pub(super) queued: usize,
    pub(super) delivered: u64,
    pub(super) dropped: u64,
}

#[derive(Serialize)]
pub(super) struct MapFigures {
    pub(super) name: String,
    pub(super) entries: u64,
    pub(super) bytes: u64,
    pub(super) locked: u64,
    pub(super) gets: u64,
    pub(super) hits: u64,
    pub(super) puts: u64,
    pub(super) removes: u64,
    pub(super) evictions: u64,
    pub(super) expirations: u64,
    /// Partitions that are not served: what they held could not be read from disk. The other figures are of the rest.
    pub(super) damaged_partitions: usize,
    /// Writes that were refused because they could not be kept on disk.
    pub(super) refused_writes: u64,
    /// Why writes are refused now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refuses_writes: Option<String>,
}

#[derive(Serialize)]
pub(super) struct DoorFigures {
    pub(super) door: &'static str,
    pub(super) address: String,
    pub(super) connections: usize,
    pub(super) accepted: u64,
    pub(super) refused: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    pub(super) congestions: u64,
    pub(super) in_flight_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    clients: Option<Vec<ClientFigures>>,
}

#[derive(Serialize)]
struct ClientFigures {
    peer: String,
    since_unix_ms: u64,
    bytes_in: u64,
    bytes_out: u64,
    waiting_answers: usize,
}

#[derive(Serialize)]
pub(super) struct SqlFigures {
    pub(super) running: usize,
    pub(super) waiting: usize,
    pub(super) open: usize,
    pub(super) memory_bytes: usize,
    pub(super) table_bytes: usize,
}

impl Figures {
    pub(super) async fn of(monitor: &Monitor) -> Self {
        let stages = monitor.stages();
        let listed = monitor.grid.structures().list();
        let mut structures = BTreeMap::new();
        let mut maps = Vec::new();
        for (service, name) in listed {
            *structures.entry(service.as_str()).or_default() += 1;
            // One after the other: watching a member must not be what keeps it busy. One that was destroyed meanwhile is not made anew.
            if service == Service::Map
                && let Some(map) = monitor.grid.find_map(&name)
                && let Ok(stats) = map.stats().await
            {
                maps.push(MapFigures::new(&map, stats));
            }
        }
        let doors = monitor.doors.iter();
        let doors =
            doors.map(|door| DoorFigures::new(door.short, &door.watcher.stats(), door.watcher.local_addr()));
        Self {
            version: env!("CARGO_PKG_VERSION"),
            uptime_seconds: stages.clock().now().saturating_sub(monitor.began).as_secs_f64(),
            resident_bytes: process::resident_bytes(),
            cpu_seconds: process::cpu_seconds(),
            refused_writes: BTreeMap::from([
                ("memory", monitor.grid.memory().refused()),
                ("disk", maps.iter().map(|map| map.refused_writes).sum()),
            ]),
            memory: MemoryFigures::of(monitor.grid.memory()),
            stages: shown_stages(monitor),
            events: stages.event().topics().into_iter().map(Events::from).collect(),
            maps,
            structures,
            doors: doors.collect(),
            sql: monitor.sql.snapshot().into(),
            cubes: HeldFigures { memory_bytes: monitor.cubes.held(), limit_bytes: monitor.cubes.limit() },
            flow: HeldFigures { memory_bytes: monitor.jobs.held(), limit_bytes: monitor.jobs.limit() },
            queries: None,
            jobs: None,
        }
    }

    /// With what one looks at by itself: who is connected, which queries run.
    pub(super) async fn with_details(mut self, monitor: &Monitor) -> Self {
        for (figures, door) in self.doors.iter_mut().zip(&monitor.doors) {
            let mut clients = door.watcher.connections();
            clients.truncate(LISTED);
            let client = |stats: filbert_net::ConnectionStats| ClientFigures {
                peer: stats.peer.to_string(),
                since_unix_ms: stats.since_unix_ms,
                bytes_in: stats.bytes_in,
                bytes_out: stats.bytes_out,
                waiting_answers: stats.owed,
            };
            figures.clients = Some(clients.into_iter().map(client).collect());
        }
        // Not as statements: whoever asks why SQL is stuck must not wait for it.
        self.queries = monitor.sql.queries().ok().and_then(|queries| shown(monitor, &queries));
        self.jobs = monitor.sql.jobs().ok().and_then(|jobs| shown(monitor, &jobs));
        self
    }
}

/// What stands in the place of a statement's text.
const HIDDEN: &str = "(shown to those who log in: http.users)";

/// What the stages say of themselves. Reports of slow tasks of stage `query` name statements, whose texts not everybody may read.
fn shown_stages(monitor: &Monitor) -> Vec<StageSnapshot> {
    let mut stages = monitor.stages().snapshot();
    if !monitor.shows_texts.load(Ordering::Acquire) {
        let of_query = stages.iter_mut().filter(|stage| stage.stage == StageKind::Query.as_str());
        let slow = of_query.flat_map(|stage| &mut stage.slow_tasks).filter_map(|task| task.about.as_mut());
        slow.for_each(|about| *about = HIDDEN.to_owned());
    }
    stages
}

/// The rows as objects.
fn shown(monitor: &Monitor, rows: &RecordBatch) -> Option<Value> {
    let mut json = Vec::new();
    let mut writer = ArrayWriter::new(&mut json);
    writer.write_batches(&[rows]).ok()?;
    writer.finish().ok()?;
    if json.is_empty() {
        return Some(Value::Array(Vec::new()));
    }
    let mut rows: Value = serde_json::from_slice(&json).ok()?;
    if !monitor.shows_texts.load(Ordering::Acquire) {
        let texts = rows.as_array_mut().into_iter().flatten().filter_map(|row| row.get_mut("statement"));
        texts.for_each(|text| *text = Value::from(HIDDEN));
    }
    Some(rows)
}

impl MemoryFigures {
    fn of(account: &MemoryAccount) -> Self {
        Self {
            used_bytes: account.used(),
            limit_bytes: account.limit(),
            refused_writes: account.refused(),
            waiting_event_bytes: account.waiting_events(),
            allocated_bytes: process_memory::held(),
        }
    }
}

impl From<TopicSnapshot> for Events {
    fn from(topic: TopicSnapshot) -> Self {
        let TopicSnapshot { name, queued, delivered, dropped, .. } = topic;
        Self { source: name, queued, delivered, dropped }
    }
}

impl MapFigures {
    fn new(map: &Map, stats: LocalMapStats) -> Self {
        Self {
            name: map.name().to_string(),
            entries: stats.entries,
            bytes: stats.bytes,
            locked: stats.locked,
            gets: stats.gets,
            hits: stats.hits,
            puts: stats.puts,
            removes: stats.removes,
            evictions: stats.evictions,
            expirations: stats.expirations,
            damaged_partitions: map.damaged_partitions(),
            refused_writes: map.refused_writes(),
            refuses_writes: map.why_writes_are_refused().map(|why| why.to_string()),
        }
    }
}

impl DoorFigures {
    fn new(door: &'static str, stats: &DoorStats, address: std::net::SocketAddr) -> Self {
        Self {
            door,
            address: address.to_string(),
            connections: stats.connections,
            accepted: stats.accepted,
            refused: stats.refused.iter().map(|(_, count)| count).sum(),
            bytes_in: stats.bytes_in,
            bytes_out: stats.bytes_out,
            congestions: stats.congestions,
            in_flight_bytes: stats.in_flight,
            clients: None,
        }
    }
}

impl From<SqlSnapshot> for SqlFigures {
    fn from(sql: SqlSnapshot) -> Self {
        let SqlSnapshot { running, waiting, open, memory_bytes, table_bytes } = sql;
        Self { running, waiting, open, memory_bytes, table_bytes }
    }
}

/// What Linux says of this process; nothing where there is no `/proc`.
mod process {
    /// Pages of 4 KiB: of all systems that this runs on.
    const PAGE_BYTES: u64 = 4_096;
    /// Ticks of `/proc` in a second.
    const TICKS: f64 = 100.0;

    pub(super) fn resident_bytes() -> Option<u64> {
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        text.split(' ').nth(1)?.parse::<u64>().ok().map(|pages| pages * PAGE_BYTES)
    }

    pub(super) fn cpu_seconds() -> Option<f64> {
        let text = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The name of the process is in parentheses, and may have spaces in it.
        let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut ticks = || fields.next()?.parse::<u64>().ok();
        Some((ticks()? + ticks()?) as f64 / TICKS)
    }
}
