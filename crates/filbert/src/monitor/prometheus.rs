//! Figures in the text format of Prometheus.

use super::figures::Figures;
use std::fmt::{Display, Write};

/// Figures of each of several things: what their names begin with, whose they are, and for each its name, kind, help and value.
macro_rules! of_each {
    ($out:ident, $all:expr, $prefix:literal, |$thing:ident| $labels:expr; $($name:literal $kind:literal $help:literal $value:expr;)*) => {$(
        $out.each(concat!($prefix, $name), $kind, $help, $all, |$thing| $labels, |$thing| $value);
    )*};
}

/// All of them.
pub(super) fn text(figures: &Figures) -> String {
    let mut out = Text(String::new());
    out.one(
        "filbert_info",
        "gauge",
        "Which Filbert this is.",
        &format!("version=\"{}\"", figures.version),
        1,
    );
    out.one("filbert_uptime_seconds", "gauge", "How long the member has run.", "", figures.uptime_seconds);
    if let Some(bytes) = figures.resident_bytes {
        out.one("process_resident_memory_bytes", "gauge", "Memory of the process.", "", bytes);
    }
    if let Some(seconds) = figures.cpu_seconds {
        out.one("process_cpu_seconds_total", "counter", "CPU time of the process.", "", seconds);
    }
    of_each!(out, std::slice::from_ref(&figures.memory), "filbert_memory_", |memory| no_label(memory);
        "used_bytes" "gauge" "Bytes that the data of all structures takes." memory.used_bytes;
        "limit_bytes" "gauge" "Bytes that it may take: grid.memory_bytes." memory.limit_bytes;
        "refused_writes_total" "counter" "Writes that were refused because there was no room." memory.refused_writes;
        "waiting_event_bytes" "gauge" "Bytes of events that wait for their listeners." memory.waiting_event_bytes;
        "allocated_bytes" "gauge" "Bytes that the process has allocated, whoever holds them." memory.allocated_bytes;
    );
    of_each!(out, &figures.stages, "filbert_stage_", |stage| label("stage", stage.stage);
        "threads" "gauge" "Threads of the stage." stage.threads;
        "queued" "gauge" "Tasks that wait for a thread." stage.depth;
        "suspended" "gauge" "Futures that have begun and wait for something, such as bytes from a socket." stage.suspended;
        "running" "gauge" "Tasks that run right now." stage.running.len();
        "oldest_queued_seconds" "gauge" "How long the oldest waiting task has waited." stage.oldest_ms.unwrap_or(0) as f64 / 1e3;
        "executed_total" "counter" "Tasks that ran to their end." stage.executed;
        "stolen_total" "counter" "Tasks that another worker than their first one ran." stage.stolen;
        "parked_total" "counter" "How often a worker went to sleep." stage.parked;
        "panicked_total" "counter" "Tasks that panicked." stage.panicked;
        "refused_total" "counter" "Tasks that were refused because the stage was full or ended." stage.refused;
        "dropped_total" "counter" "Events that were dropped because the stage was full." stage.dropped;
        "slow_total" "counter" "Tasks over the slow limit." stage.slow;
    );
    of_each!(out, &figures.events, "filbert_events_", |events| label("source", &events.source);
        "queued" "gauge" "Events that wait for their listener." events.queued;
        "delivered_total" "counter" "Events given to their listener." events.delivered;
        "dropped_total" "counter" "Events that found no room in time." events.dropped;
    );
    of_each!(out, &figures.maps, "filbert_map_", |map| label("map", &map.name);
        "entries" "gauge" "Entries that are there." map.entries;
        "bytes" "gauge" "What they take." map.bytes;
        "locked" "gauge" "Keys that are locked." map.locked;
        "gets_total" "counter" "Reads." map.gets;
        "hits_total" "counter" "Reads that found something." map.hits;
        "puts_total" "counter" "Writes." map.puts;
        "removes_total" "counter" "Removals that someone asked for." map.removes;
        "evictions_total" "counter" "Entries that went because there was no room." map.evictions;
        "expirations_total" "counter" "Entries whose time was over." map.expirations;
        "refused_writes_total" "counter" "Writes that were refused because they could not be kept on disk." map.refused_writes;
        "refuses_writes" "gauge" "1 while writes are refused because they cannot be kept on disk." u8::from(map.refuses_writes.is_some());
        "damaged_partitions" "gauge" "Partitions that are not served because they could not be read from disk." map.damaged_partitions;
    );
    let reasons: Vec<_> = figures.refused_writes.iter().collect();
    of_each!(out, &reasons, "filbert_", |of_reason| label("reason", of_reason.0);
        "refused_writes_total" "counter" "Writes that were refused, by the reason: memory, disk." of_reason.1;
    );
    let kinds: Vec<_> = figures.structures.iter().collect();
    of_each!(out, &kinds, "filbert_", |of_kind| label("kind", of_kind.0);
        "structures" "gauge" "Structures, by kind." of_kind.1;
    );
    of_each!(out, &figures.doors, "filbert_door_", |door| label("door", door.door);
        "connections" "gauge" "Connections now." door.connections;
        "accepted_total" "counter" "Connections taken." door.accepted;
        "refused_total" "counter" "Connections refused." door.refused;
        "received_bytes_total" "counter" "Bytes received." door.bytes_in;
        "sent_bytes_total" "counter" "Bytes sent." door.bytes_out;
        "congestions_total" "counter" "How often a connection was not read because its peer did not keep up." door.congestions;
        "in_flight_bytes" "gauge" "Bytes that wait for peers." door.in_flight_bytes;
    );
    of_each!(out, std::slice::from_ref(&figures.sql), "filbert_sql_", |sql| no_label(sql);
        "queries_running" "gauge" "Queries that run." sql.running;
        "queries_waiting" "gauge" "Queries that wait for their turn." sql.waiting;
        "queries_open" "gauge" "Queries that are neither read to the end nor closed." sql.open;
        "memory_bytes" "gauge" "Bytes that queries hold." sql.memory_bytes;
        "table_bytes" "gauge" "Bytes that tables in memory hold." sql.table_bytes;
    );
    of_each!(out, std::slice::from_ref(&figures.cubes), "filbert_cube_", |cubes| no_label(cubes);
        "memory_bytes" "gauge" "Bytes that the queries and caches of all cubes hold." cubes.memory_bytes;
        "limit_bytes" "gauge" "Bytes that they may hold: memory.cube_bytes." cubes.limit_bytes;
    );
    of_each!(out, std::slice::from_ref(&figures.flow), "filbert_flow_", |flow| no_label(flow);
        "memory_bytes" "gauge" "Bytes that the state of all dataflow jobs takes." flow.memory_bytes;
        "limit_bytes" "gauge" "Bytes that it may take: memory.flow_bytes." flow.limit_bytes;
    );
    out.0
}

struct Text(String);

impl Text {
    /// A figure that there is once.
    fn one(&mut self, name: &str, kind: &str, help: &str, labels: &str, value: impl Display) {
        self.each(name, kind, help, &[value], |_| labels.to_owned(), |value| format!("{value}"));
    }

    /// A figure of each of several things; nothing when there are none.
    fn each<T, V: Display>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        all: &[T],
        labels: impl Fn(&T) -> String,
        value: impl Fn(&T) -> V,
    ) {
        if all.is_empty() {
            return;
        }
        let mut write = |line: std::fmt::Arguments<'_>| {
            let written = self.0.write_fmt(line);
            debug_assert!(written.is_ok(), "a text takes everything");
        };
        write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        for thing in all {
            let labels = labels(thing);
            if labels.is_empty() {
                write(format_args!("{name} {}\n", value(thing)));
            } else {
                write(format_args!("{name}{{{labels}}} {}\n", value(thing)));
            }
        }
    }
}

fn no_label<T>(_: &T) -> String {
    String::new()
}

fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_users_cannot_break_the_text() {
        assert_eq!(label("map", "a\"b\\c\nd"), "map=\"a\\\"b\\\\c\\nd\"");
        let mut out = Text(String::new());
        out.each(
            "x",
            "gauge",
            "X.",
            &[("a", 1), ("b\n", 2)],
            |(name, _)| label("n", name),
            |(_, value)| *value,
        );
        out.each("none", "gauge", "None.", &[] as &[u8], |_| String::new(), |value| *value);
        out.one("y", "counter", "Y.", "", 1.5);
        let expected = "# HELP x X.\n# TYPE x gauge\nx{n=\"a\"} 1\nx{n=\"b\\n\"} 2\n# HELP y Y.\n# TYPE y counter\ny 1.5\n";
        assert_eq!(out.0, expected);
    }
}
