//! What a member says, as tables: busiest first, rates since the last look.

use crate::cli::table::Table;
use crate::cli::text::bytes;
use serde_json::Value;
use std::collections::HashMap;
use std::error::Error;

/// Rows of each table; who wants all of them asks for JSON.
const ROWS: usize = 15;

/// Draws one look after the other.
#[derive(Default)]
pub(super) struct Screen {
    /// The counters of the look before, by what they count.
    before: HashMap<String, f64>,
    looked_at: Option<f64>,
}

/// One look that is being drawn.
struct Look<'a> {
    before: &'a HashMap<String, f64>,
    now: HashMap<String, f64>,
    /// Since the look before.
    seconds: Option<f64>,
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or(0.0)
}

/// What clients call things is shown, and does nothing else to a terminal.
fn text(value: &Value, key: &str) -> String {
    match &value[key] {
        Value::String(text) => text.replace(|letter: char| letter.is_control(), "?"),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

impl Look<'_> {
    /// How often a second something was counted since the look before; all of it on the first.
    fn rate(&mut self, what: &str, count: f64) -> String {
        let before = self.before.get(what).copied();
        self.now.insert(what.to_owned(), count);
        match (before, self.seconds) {
            (Some(before), Some(seconds)) if seconds > 0.0 => {
                format!("{:.0}/s", (count - before).max(0.0) / seconds)
            }
            _ => String::new(),
        }
    }
}

impl Screen {
    /// The next look at a member: what its status page says, as text.
    pub(super) fn next(&mut self, status: &str) -> Result<String, Box<dyn Error>> {
        let status: Value =
            serde_json::from_str(status).map_err(|_| "what answers there is no member of Filbert")?;
        let now = number(&status, "uptime_seconds");
        let seconds = self.looked_at.map(|before| now - before);
        let mut look = Look { before: &self.before, now: HashMap::new(), seconds };
        let mut out = Vec::new();
        head(&status, &mut look, &mut out)?;
        stages(&status, &mut look, &mut out)?;
        maps(&status, &mut look, &mut out)?;
        doors(&status, &mut look, &mut out)?;
        listed(&status, "queries", &mut out)?;
        listed(&status, "jobs", &mut out)?;
        (self.before, self.looked_at) = (look.now, Some(now));
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

type Out = Vec<u8>;

fn head(status: &Value, look: &mut Look<'_>, out: &mut Out) -> std::io::Result<()> {
    use std::io::Write;
    let cpu = number(status, "cpu_seconds");
    let before = look.before.get("cpu").copied();
    look.now.insert("cpu".to_owned(), cpu);
    let cores = match (before, look.seconds) {
        (Some(before), Some(seconds)) if seconds > 0.0 => format!(", {:.2} cores", (cpu - before) / seconds),
        _ => String::new(),
    };
    let memory = status["resident_bytes"].as_f64().map(|resident| format!(", {} of memory", bytes(resident)));
    writeln!(
        out,
        "Filbert {}, up {:.0} s{}{cores}",
        text(status, "version"),
        number(status, "uptime_seconds"),
        memory.unwrap_or_default()
    )?;
    let sql = &status["sql"];
    writeln!(
        out,
        "SQL: {} running, {} waiting, {} open, {} held",
        text(sql, "running"),
        text(sql, "waiting"),
        text(sql, "open"),
        bytes(number(sql, "memory_bytes"))
    )
}

fn stages(status: &Value, look: &mut Look<'_>, out: &mut Out) -> std::io::Result<()> {
    let mut table = Table::new(&[
        "stage",
        "threads",
        "running",
        "queued",
        "oldest ms",
        "executed",
        "rate",
        "slow",
        "refused",
        "dropped",
    ]);
    for stage in items(status, "stages") {
        let name = text(stage, "stage");
        let executed = number(stage, "executed");
        table.row([
            name.clone(),
            text(stage, "threads"),
            items(stage, "running").len().to_string(),
            text(stage, "depth"),
            text(stage, "oldest_ms"),
            text(stage, "executed"),
            look.rate(&format!("stage {name}"), executed),
            text(stage, "slow"),
            text(stage, "refused"),
            text(stage, "dropped"),
        ]);
    }
    write(&table, out)
}

fn maps(status: &Value, look: &mut Look<'_>, out: &mut Out) -> std::io::Result<()> {
    let mut maps: Vec<&Value> = items(status, "maps").iter().collect();
    let used = |map: &Value| number(map, "gets") + number(map, "puts") + number(map, "removes");
    maps.sort_by(|a, b| used(b).total_cmp(&used(a)));
    let mut table =
        Table::new(&["map", "entries", "memory", "gets", "hits", "puts", "removes", "evicted", "expired"]);
    for map in maps {
        let name = text(map, "name");
        let damaged = number(map, "damaged_partitions");
        let mut rate = |key: &str| {
            let rate = look.rate(&format!("map {key} {name}"), number(map, key));
            if rate.is_empty() { text(map, key) } else { rate }
        };
        let (gets, puts, removes) = (rate("gets"), rate("puts"), rate("removes"));
        if table.len() < ROWS {
            let hits = match number(map, "gets") {
                0.0 => String::new(),
                gets => format!("{:.0}%", number(map, "hits") / gets * 100.0),
            };
            let memory = bytes(number(map, "bytes"));
            let name = if damaged > 0.0 { format!("{name} ({damaged} partitions DAMAGED)") } else { name };
            let (evicted, expired) = (text(map, "evictions"), text(map, "expirations"));
            table.row([name, text(map, "entries"), memory, gets, hits, puts, removes, evicted, expired]);
        }
    }
    write(&table, out)
}

fn doors(status: &Value, look: &mut Look<'_>, out: &mut Out) -> std::io::Result<()> {
    let mut table = Table::new(&[
        "door",
        "address",
        "connections",
        "accepted",
        "refused",
        "received",
        "sent",
        "in flight",
    ]);
    for door in items(status, "doors") {
        let name = text(door, "door");
        let mut traffic = |key: &str| {
            let count = number(door, key);
            let rate = look.rate(&format!("door {key} {name}"), count);
            let rate =
                rate.strip_suffix("/s").and_then(|rate| rate.parse().ok()).map(|rate| bytes(rate) + "/s");
            rate.unwrap_or_else(|| bytes(count))
        };
        let (received, sent) = (traffic("bytes_in"), traffic("bytes_out"));
        let counts = ["connections", "accepted", "refused"].map(|key| text(door, key));
        let [connections, accepted, refused] = counts;
        let waiting = bytes(number(door, "in_flight_bytes"));
        table.row([name, text(door, "address"), connections, accepted, refused, received, sent, waiting]);
    }
    write(&table, out)
}

/// A table of whatever the objects of a list have.
fn listed(status: &Value, key: &str, out: &mut Out) -> std::io::Result<()> {
    use std::io::Write;
    let rows = items(status, key);
    let Some(Value::Object(first)) = rows.first() else { return Ok(()) };
    let names: Vec<&str> = first.keys().map(String::as_str).collect();
    let mut table = Table::new(&names);
    for row in rows.iter().take(ROWS) {
        table.row(names.iter().map(|name| text(row, name)));
    }
    writeln!(out, "\n{key}")?;
    table.write(out, "")
}

fn write(table: &Table, out: &mut Out) -> std::io::Result<()> {
    if table.len() == 0 {
        return Ok(());
    }
    out.push(b'\n');
    table.write(out, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_look_has_rates_and_other_pages_are_refused() {
        let status = |seconds: u64, gets: u64| {
            serde_json::json!({
                "version": "1", "uptime_seconds": seconds, "cpu_seconds": seconds, "resident_bytes": 5_000_000,
                "sql": {"running": 1, "waiting": 0, "open": 1, "memory_bytes": 20_000},
                "stages": [{"stage": "io", "threads": 2, "running": [], "depth": 3, "oldest_ms": null, "executed": gets,
                            "slow": 0, "refused": 0, "dropped": 0}],
                "maps": [{"name": "cities", "entries": 7, "bytes": 70, "gets": gets, "hits": gets, "puts": 7}],
                "doors": [{"door": "hazelcast", "address": "127.0.0.1:5701", "connections": 2, "bytes_in": gets * 100}],
                "queries": [{"id": 4, "statement": "SELECT 1"}], "jobs": [],
            })
            .to_string()
        };
        let mut screen = Screen::default();
        let first = screen.next(&status(10, 100)).unwrap();
        assert!(first.contains("up 10 s, 5000.0 kB of memory\n"), "{first}");
        assert!(!first.contains("/s"), "{first}");
        let second = screen.next(&status(12, 300)).unwrap();
        for part in ["1.00 cores", "100/s", "cities", "100%", "10.0 kB/s", "SELECT 1", "20.0 kB held"] {
            assert!(second.contains(part), "{part} is not in\n{second}");
        }
        assert!(screen.next("hello").is_err());
    }
}
