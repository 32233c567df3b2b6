//! Maps, from outside: what they answer, what they promise about time, order and waiting.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

mod bitmap_index;
mod dice;
mod eviction;
mod expiry;
mod history;
mod interceptors;
mod journal;
mod linearizability;
mod listeners;
mod locks;
mod many;
mod oracle;
mod processors;
mod slow_listener;
mod stores;
mod unused;

use filbert_grid::{Grid, GridSettings, MapSettings, Registry};
use filbert_pool::Stages;
use filbert_wire::Data;

/// A number as an int of Hazelcast.
fn int(number: u32) -> Data {
    Data::new(-7, &number.to_be_bytes())
}

/// The number again.
fn number(data: &Data) -> u32 {
    u32::from_be_bytes(data.payload().try_into().expect("an int has four bytes"))
}

/// A simulated grid whose maps all have these settings; scans take turns after three entries.
fn simulated(seed: u64, map: MapSettings) -> (Stages, Grid) {
    let stages = Stages::simulated(seed);
    let grid = Grid::with(&stages, settings(map), Registry::new());
    (stages, grid)
}

fn settings(map: MapSettings) -> GridSettings {
    let mut settings = GridSettings { scan_slice_entries: 3, ..Default::default() };
    settings.maps.set("*", map);
    settings
}
