//! Act 1: the grid. A map that Python would see as well, a listener, and code that runs where the data is.

use super::super::text::{grouped, write_wrapped};
use super::{snippet, timing};
use filbert::{Data, Entry, EntryProcessor, FromData, MapEventKind, Member, ToData};
use std::error::Error;
use std::io::Write;
use std::sync::mpsc;
use std::time::Duration;

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
    let count: i64 = if quick { 2_000 } else { 40_000 };
    let map = member.map::<String, i64>("numbers");
    let keys: Vec<String> = (0..count).map(|number| format!("key-{number}")).collect();

    let ((), set) = timing::best(|| {
        keys.iter().zip(0..).try_for_each(|(key, value)| map.set(key, &value).wait().map(drop))
    })?;
    let (sum, get) = timing::best(|| {
        keys.iter()
            .try_fold(0, |sum, key| Ok::<_, Box<dyn Error>>(sum + map.get(key).wait()?.unwrap_or_default()))
    })?;
    writeln!(
        out,
        "Grid: a map of {} entries, encoded as Hazelcast's clients do",
        grouped(count.unsigned_abs())
    )?;
    let (set, get) = (per_item(set, count), per_item(get, count));
    write_wrapped(
        out,
        "  ",
        &format!(
            "set {set:.0} ns and get {get:.0} ns each, on the calling thread ({}); the values sum up to {sum}",
            timing::how()
        ),
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
    snippet::write(out, include_str!("snippets/grid.txt"))?;
    Ok(())
}

fn per_item(took: Duration, count: i64) -> f64 {
    took.as_nanos() as f64 / count as f64
}
