//! Act 1: the grid. A map that Python would see as well, a listener, and code that runs where the data is.

use filbert::{Data, Entry, EntryProcessor, FromData, MapEventKind, Member, ToData};
use std::error::Error;
use std::io::Write;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Adds a number to the value of an entry; registered with the demo's member as `add`.
pub(super) struct Add(i64);

impl Add {
    pub(super) fn from_argument(argument: &Data) -> Result<Self, String> {
        i64::from_data(argument).map(Self).map_err(|error| error.to_string())
    }
}

impl EntryProcessor for Add {
    fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
        let value = match entry.value() {
            Some(value) => i64::from_data(&value).map_err(|error| error.to_string())?,
            None => 0,
        };
        let sum = (value + self.0).to_data().map_err(|error| error.to_string())?;
        entry.set_value(sum.clone());
        Ok(Some(sum))
    }
}

pub(super) fn show(member: &Member, out: &mut impl Write, quick: bool) -> Result<(), Box<dyn Error>> {
    let count: i64 = if quick { 10_000 } else { 200_000 };
    let map = member.map::<String, i64>("numbers");
    let keys: Vec<String> = (0..count).map(|number| format!("key-{number}")).collect();

    let start = Instant::now();
    for (key, value) in keys.iter().zip(0..) {
        map.set(key, &value).wait()?;
    }
    let set = per_item(start, count);
    let start = Instant::now();
    let mut sum = 0;
    for key in &keys {
        sum += map.get(key).wait()?.unwrap_or_default();
    }
    let get = per_item(start, count);
    writeln!(out, "The grid: a map of {count} entries on 271 partitions, encoded as Hazelcast's clients do")?;
    writeln!(
        out,
        "  set {set:.0} ns and get {get:.0} ns each, on the calling thread; the values sum up to {sum}"
    )?;

    let (hear, heard) = mpsc::channel();
    let id = member.grid().new_id();
    map.add_listener(id, move |event| {
        let _ = hear.send((event.kind, event.key.clone(), event.old_value, event.value));
    });
    let answer = map.execute_on_key("key-7", "add", &35_i64).wait()?;
    let answer = answer.as_ref().map(i64::from_data).transpose()?.unwrap_or_default();
    let event = heard.recv_timeout(Duration::from_secs(10));
    map.remove_listener(id);
    writeln!(out, "  the entry processor `add` ran where key-7 lives and answered {answer}")?;
    if let Ok((MapEventKind::Updated, Some(key), Some(old), Some(new))) = event {
        writeln!(out, "  a listener heard that {key} went from {old} to {new}")?;
    }
    let size = map.size().wait()?;
    map.clear().wait()?;
    writeln!(out, "  {size} entries counted over all partitions, then cleared")?;
    writeln!(out, "  `filbert start` opens the same maps to Python and Node.js on 127.0.0.1:5701\n")?;
    Ok(())
}

fn per_item(start: Instant, count: i64) -> f64 {
    start.elapsed().as_nanos() as f64 / count as f64
}
