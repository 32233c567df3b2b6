//! Many entries in one call: put_all and get_all, a processor on every entry, a scan with a filter.
//!
//! The peer does it in one loop of the calling thread, which is what a program has without the grid; the grid spreads the call over its
//! partition threads.

use super::entries::{Sum, decode, encode, fill, keys, number, value};
#[cfg(feature = "peers")]
use super::peers::Dash;
use crate::harness::{Contestant, Effort, Times, alternate};
use crate::report::Report;
use filbert_grid::map::operations::{EntryFilter, EntryRef, Keys};
use filbert_grid::{Code, Entry, EntryProcessor, Grid, GridSettings, Map, Registry};
use filbert_pool::Stages;
use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SIZE: usize = 32;

/// One in a hundred entries, by the last byte of the key's number in the value and some luck.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct OneInAHundred;

fn is_taken(stored: &[u8]) -> bool {
    // Header, length, then the number: looked at where it lies.
    let at = 8 + 4;
    let number: [u8; 8] = stored[at..at + 8].try_into().expect("values begin with a number");
    u64::from_be_bytes(number) % 100 == 7
}

impl EntryFilter for OneInAHundred {
    fn matches(&self, entry: &EntryRef<'_>) -> bool {
        is_taken(entry.value)
    }
}

/// Turns the last byte of a value around and counts.
struct Turn(Arc<AtomicU64>);

fn turned(stored: &[u8]) -> Data {
    let mut bytes = decode(stored);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    encode(&bytes[..])
}

impl EntryProcessor for Turn {
    fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
        let new = turned(entry.value_bytes().ok_or("there is no entry")?);
        entry.set_value(new);
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(None)
    }
}

struct Bulk {
    keys: Vec<String>,
    map: Map,
    turned: Arc<AtomicU64>,
    #[cfg(feature = "peers")]
    dash: Dash,
}

impl Bulk {
    fn new(stages: &Stages, count: usize) -> Self {
        let turned = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&turned);
        let registry = Registry::new().with_processor("turn", move |_| Ok(Turn(Arc::clone(&counter))));
        let map = Grid::with(stages, GridSettings::default(), registry).map("bulk");
        #[cfg(feature = "peers")]
        let dash = super::peers::dash();
        let bulk = Self {
            keys: keys(count),
            map,
            turned,
            #[cfg(feature = "peers")]
            dash,
        };
        fill(&bulk.map, &bulk.keys, SIZE);
        #[cfg(feature = "peers")]
        fill(&bulk.dash, &bulk.keys, SIZE);
        bulk
    }

    fn put_all(&self, count: usize) -> Sum {
        let entry = |(number, key): (usize, &String)| (encode(key), encode(&value(number, SIZE)[..]));
        self.map.put_all(self.keys[..count].iter().enumerate().map(entry)).wait().expect("the grid runs");
        count as Sum
    }

    fn get_all(&self, count: usize) -> Sum {
        let found = self.map.get_all(self.keys[..count].iter().map(encode)).wait().expect("the grid runs");
        found.iter().map(|(_, value)| number(&decode(value.as_bytes()))).sum()
    }

    fn process(&self) -> Sum {
        let before = self.turned.load(Ordering::Relaxed);
        let code = Code::named("turn", encode(&()));
        self.map.execute_on_entries(&code).wait().expect("the grid runs");
        self.turned.load(Ordering::Relaxed) - before
    }

    fn scan(&self) -> Sum {
        self.map.scan::<Keys, _>(OneInAHundred).wait().expect("the grid runs").len() as Sum
    }
}

#[cfg(feature = "peers")]
impl Bulk {
    fn dash_put_all(&self, count: usize) -> Sum {
        for (number, key) in self.keys[..count].iter().enumerate() {
            self.dash.insert(encode(key), encode(&value(number, SIZE)[..]));
        }
        count as Sum
    }

    fn dash_get_all(&self, count: usize) -> Sum {
        let found: Vec<(Data, Data)> = self.keys[..count]
            .iter()
            .filter_map(|key| {
                let key = encode(key);
                let value = self.dash.get(&key)?.clone();
                Some((key, value))
            })
            .collect();
        found.iter().map(|(_, value)| number(&decode(value.as_bytes()))).sum()
    }

    fn dash_process(&self) -> Sum {
        let mut done = 0;
        for mut entry in self.dash.iter_mut() {
            let new = turned(entry.value().as_bytes());
            *entry.value_mut() = new;
            done += 1;
        }
        done
    }

    fn dash_scan(&self) -> Sum {
        let found: Vec<Data> = self
            .dash
            .iter()
            .filter(|entry| is_taken(entry.value().as_bytes()))
            .map(|entry| entry.key().detached())
            .collect();
        found.len() as Sum
    }
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    let stages = Stages::start().expect("the default settings fit");
    let bulk = Bulk::new(&stages, effort.pick(2_000, 300_000, 1_000_000));
    let (all, some) = (bulk.keys.len(), effort.pick(200, 100_000, 100_000));
    let rounds = effort.pick(1, 3, 9);
    let mut row = |case: &str, items: usize, contestants: Vec<Contestant<'_, Sum>>| {
        let times: Vec<Times> = alternate(rounds, 1, contestants);
        match &times[..] {
            [ours, peer] => report.rate("grid", case, items as f64, ours, peer),
            _ => report.alone("grid", case, "M/s", items as f64 * 1e3 / times[0].median()),
        }
    };
    row(
        &format!("put_all of {some}"),
        some,
        vec![
            Contestant::new("filbert", || bulk.put_all(some)),
            #[cfg(feature = "peers")]
            Contestant::new("dashmap, one loop", || bulk.dash_put_all(some)),
        ],
    );
    row(
        &format!("get_all of {some}"),
        some,
        vec![
            Contestant::new("filbert", || bulk.get_all(some)),
            #[cfg(feature = "peers")]
            Contestant::new("dashmap, one loop", || bulk.dash_get_all(some)),
        ],
    );
    row(
        &format!("entry processor on {all}"),
        all,
        vec![
            Contestant::new("filbert", || bulk.process()),
            #[cfg(feature = "peers")]
            Contestant::new("dashmap, one loop", || bulk.dash_process()),
        ],
    );
    row(
        &format!("scan of {all} for 1 in 100"),
        all,
        vec![
            Contestant::new("filbert", || bulk.scan()),
            #[cfg(feature = "peers")]
            Contestant::new("dashmap, one loop", || bulk.dash_scan()),
        ],
    );
}
