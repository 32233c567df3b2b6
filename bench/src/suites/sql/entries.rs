//! A map of small Compact objects: what `scan` reads and `cancel` interrupts.

use filbert_grid::{Grid, Map};
use filbert_wire::compact::Compact as _;
use filbert_wire::{Compact, Data, ToData};
use std::sync::Arc;

/// How many values `y` has.
pub(super) const GROUPS: i64 = 1_000;

/// A value of the map.
#[derive(Compact)]
#[compact(name = "point")]
struct Point {
    x: i64,
    y: i32,
}

/// The statement that reads all of it.
pub(super) fn averages(map: &str) -> String {
    format!("SELECT y, avg(x) FROM {map} GROUP BY y")
}

/// The `x` of an entry.
pub(super) fn x(number: i64) -> i64 {
    number * 7 % 1_000_003
}

/// The key of an entry.
pub(super) fn key(number: i64) -> Data {
    number.to_data().expect("a number has a form")
}

/// Fills a map; the entry of `number` has `y = number % GROUPS`.
pub(super) fn fill(grid: &Grid, name: &str, count: i64) -> Map {
    grid.catalog().add_schema(Arc::new(Point::schema().clone())).expect("the schema is new");
    let map = grid.map(name);
    for number in 0..count {
        let point = Point { x: x(number), y: (number % GROUPS) as i32 };
        let value = point.to_data().expect("a point has a form");
        map.set(key(number), value).wait().expect("the grid runs");
    }
    map
}
