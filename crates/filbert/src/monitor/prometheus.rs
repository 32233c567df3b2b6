//! Figures in the text format of Prometheus.

use super::figures::Figures;
use std::fmt::{Display, Write};

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
    let stages = &figures.stages;
    macro_rules! of_stages {
        ($($name:literal $kind:literal $help:literal $value:expr;)*) => {$(
            out.each(concat!("filbert_stage_", $name), $kind, $help, stages, |stage| label("stage", stage.stage), $value);
        )*};
    }
    of_stages! {
        "threads" "gauge" "Threads of the stage." |stage| stage.threads;
        "queued" "gauge" "Tasks that wait." |stage| stage.depth;
        "running" "gauge" "Tasks that run right now." |stage| stage.running.len();
        "oldest_queued_seconds" "gauge" "How long the oldest waiting task has waited." |stage| stage.oldest_ms.unwrap_or(0) as f64 / 1e3;
        "executed_total" "counter" "Tasks that ran to their end." |stage| stage.executed;
        "stolen_total" "counter" "Tasks that another worker than their first one ran." |stage| stage.stolen;
        "parked_total" "counter" "How often a worker went to sleep." |stage| stage.parked;
        "panicked_total" "counter" "Tasks that panicked." |stage| stage.panicked;
        "refused_total" "counter" "Tasks that were refused because the stage was full or ended." |stage| stage.refused;
        "dropped_total" "counter" "Events that were dropped because the stage was full." |stage| stage.dropped;
        "slow_total" "counter" "Tasks over the slow limit." |stage| stage.slow;
    }
    let events = &figures.events;
    let source = |events: &super::figures::Events| label("source", &events.source);
    out.each(
        "filbert_events_queued",
        "gauge",
        "Events that wait for their listener.",
        events,
        source,
        |events| events.queued,
    );
    out.each(
        "filbert_events_delivered_total",
        "counter",
        "Events given to their listener.",
        events,
        source,
        |events| events.delivered,
    );
    out.each(
        "filbert_events_dropped_total",
        "counter",
        "Events that found no room in time.",
        events,
        source,
        |events| events.dropped,
    );
    let maps = &figures.maps;
    macro_rules! of_maps {
        ($($name:literal $kind:literal $help:literal $value:expr;)*) => {$(
            out.each(concat!("filbert_map_", $name), $kind, $help, maps, |map| label("map", &map.name), $value);
        )*};
    }
    of_maps! {
        "entries" "gauge" "Entries that are there." |map| map.entries;
        "bytes" "gauge" "What they take." |map| map.bytes;
        "locked" "gauge" "Keys that are locked." |map| map.locked;
        "gets_total" "counter" "Reads." |map| map.gets;
        "hits_total" "counter" "Reads that found something." |map| map.hits;
        "puts_total" "counter" "Writes." |map| map.puts;
        "removes_total" "counter" "Removals that someone asked for." |map| map.removes;
        "evictions_total" "counter" "Entries that went because there was no room." |map| map.evictions;
        "expirations_total" "counter" "Entries whose time was over." |map| map.expirations;
        "damaged_partitions" "gauge" "Partitions that are not served because they could not be read from disk." |map| map.damaged_partitions;
    }
    let kinds: Vec<_> = figures.structures.iter().collect();
    out.each(
        "filbert_structures",
        "gauge",
        "Structures, by kind.",
        &kinds,
        |(kind, _)| label("kind", kind),
        |(_, count)| **count,
    );
    let doors = &figures.doors;
    macro_rules! of_doors {
        ($($name:literal $kind:literal $help:literal $value:expr;)*) => {$(
            out.each(concat!("filbert_door_", $name), $kind, $help, doors, |door| label("door", door.door), $value);
        )*};
    }
    of_doors! {
        "connections" "gauge" "Connections now." |door| door.connections;
        "accepted_total" "counter" "Connections taken." |door| door.accepted;
        "refused_total" "counter" "Connections refused." |door| door.refused;
        "received_bytes_total" "counter" "Bytes received." |door| door.bytes_in;
        "sent_bytes_total" "counter" "Bytes sent." |door| door.bytes_out;
        "congestions_total" "counter" "How often a connection was not read because its peer did not keep up." |door| door.congestions;
        "in_flight_bytes" "gauge" "Bytes that wait for peers." |door| door.in_flight_bytes;
    }
    let sql = &figures.sql;
    out.one("filbert_sql_queries_running", "gauge", "Queries that run.", "", sql.running);
    out.one("filbert_sql_queries_waiting", "gauge", "Queries that wait for their turn.", "", sql.waiting);
    out.one(
        "filbert_sql_queries_open",
        "gauge",
        "Queries that are neither read to the end nor closed.",
        "",
        sql.open,
    );
    out.one("filbert_sql_memory_bytes", "gauge", "Bytes that queries hold.", "", sql.memory_bytes);
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
