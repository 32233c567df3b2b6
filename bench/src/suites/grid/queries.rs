//! Predicates over a map of numbers, with an index and without.
//!
//! Question: what does an index save? Expected bottleneck without it: reading every entry; with it: copying the keys that match, one
//! in a thousand.

use super::entries::encode;
use crate::harness::{Contestant, Effort, alternate};
use crate::report::Report;
use filbert_grid::query::{IndexKind, IndexSettings, Predicate};
use filbert_grid::{Grid, Map};
use filbert_pool::Stages;

/// Different values.
const VALUES: i32 = 1_000;

fn filled(grid: &Grid, name: &str, count: i32, index: Option<IndexKind>) -> Map {
    let map = grid.map(name);
    if let Some(kind) = index {
        let index = IndexSettings::new(name, kind, None, ["this"]).expect("an attribute that exists");
        map.add_index(index).wait().expect("the grid runs");
    }
    for number in 0..count {
        map.set(encode(&number), encode(&(number % VALUES))).wait().expect("the grid runs");
    }
    map
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    let count = effort.pick(2_000, 200_000, 1_000_000);
    let stages = Stages::start().expect("the default settings fit");
    let grid = Grid::new(&stages);
    let plain = filled(&grid, "plain", count, None);
    let cases = [
        ("equality, hash index", IndexKind::Hash, "this = 500"),
        ("range, sorted index", IndexKind::Sorted, "this BETWEEN 500 AND 504"),
    ];
    for (case, kind, text) in cases {
        let indexed = filled(&grid, kind.as_str(), count, Some(kind));
        let predicate = Predicate::sql(text).expect("a predicate");
        let found = |map: &Map| map.key_set_where(&predicate).wait().expect("the grid runs").len();
        let contestants = vec![
            Contestant::new("with index", || found(&indexed)),
            Contestant::new("without index", || found(&plain)),
        ];
        let times = alternate(effort.pick(1, 3, 9), 1, contestants);
        let per_call = |at: usize| times[at].per(1e3);
        let case = format!("predicate on {count}, {case}");
        let (ours, peer) = (per_call(0), per_call(1));
        let spread = ours.spread() + peer.spread();
        report.row("grid", &case, "us", ours.median(), Some((peer.name, peer.median())), true, spread);
        indexed.clear().wait().expect("the grid runs");
    }
}
