//! From map to map, as a DAG: entries are read by partitions, changed, and written by the partitions of their new keys.
//! `cargo run --example map_to_map`

use filbert::connect::grid;
use filbert::flow::processors::map;
use filbert::{Dag, DagBuilder, DagError, Grid, Member};
use std::error::Error;

/// Fills the map that is read.
pub(crate) fn prepare(member: &Member, entries: i64) -> Result<(), Box<dyn Error>> {
    let entries: Vec<(i64, i64)> = (0..entries).map(|key| (key, key * key)).collect();
    member.map::<i64, i64>("squares").put_all(entries.iter().map(|(key, value)| (key, value))).wait()?;
    Ok(())
}

/// Turns `squares` around: the square is the key, the number its text.
pub(crate) fn map_to_map(grid: &Grid) -> Result<Dag, DagError> {
    let mut dag = DagBuilder::new("map to map");
    let squares = dag.vertex("squares", grid::map::<i64, i64>(grid, "squares"));
    let turned = dag.vertex("turned", map(|(number, square): (i64, i64)| (square, format!("root {number}"))));
    let roots = dag.vertex("roots", grid::write_map::<i64, String>(grid, "roots"));
    dag.edge(squares.output().to(turned.input()));
    // To the processor that owns the partition of the new key: no two of them write to the same partition.
    dag.edge(turned.output().to(roots.input()).partitioned_with(|(key, _)| grid::partition_of(key)));
    dag.build()
}

fn main() -> Result<(), Box<dyn Error>> {
    let member = Member::start()?;
    prepare(&member, 100_000)?;
    member.submit(&map_to_map(member.grid())?)?.wait()?;
    let roots = member.map::<i64, String>("roots");
    println!("{} entries; 144 is the square of {:?}", roots.size().wait()?, roots.get(&144).wait()?);
    Ok(())
}
