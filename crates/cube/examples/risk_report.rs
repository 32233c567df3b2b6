//! A desk's risk report: profit and loss, value at risk, day over day, and currencies in groups, over a data set that it generates.
//!
//! `cargo run --release -p filbert-cube --example risk_report`

use arrow::array::{Date32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use filbert_cube::{Cube, CubeError, Forest, ForestText, MemoryTable, Query};
use filbert_pool::{Shutdown, Stages};
use std::sync::Arc;

/// Definitions as they would stand in a file.
const FOREST: &str = r#"
[[measure]]
name = "pnl"
kind = "aggregator"
column = "pnl"

[[measure]]
name = "positions"
kind = "aggregator"
column = "position"
aggregation = "count_distinct"

# The sum of each scenario first; of 100 scenarios the fifth worst.
[[measure]]
name = "var95"
kind = "partitionor"
underlyings = ["pnl"]
by = ["scenario"]
combination = "sum"
aggregation = { smallest = 5 }

[[measure]]
name = "day before"
kind = "shiftor"
underlying = "pnl"
column = "day"
shift = { offset = -1 }

[[measure]]
name = "change"
kind = "combinator"
combination = { expression = "pnl - \"day before\"" }

# A currency counts in every group that it belongs to.
[[measure]]
name = "grouped pnl"
kind = "dispatchor"
underlying = "pnl"
from = "ccy"
to = "ccy group"
decomposition = { pairs = [["EUR", "G10"], ["USD", "G10"], ["USD", "dollar"], ["HKD", "dollar"], ["HKD", "Asia"]] }
"#;

const DESKS: [&str; 3] = ["FX", "Rates", "Equities"];
const CCYS: [&str; 3] = ["EUR", "USD", "HKD"];

/// Positions, each with a profit or loss per day and scenario.
fn generated(positions: i64, days: i32, scenarios: i64) -> Result<RecordBatch, CubeError> {
    let (mut desk, mut ccy, mut position, mut day, mut scenario, mut pnl) =
        (vec![], vec![], vec![], vec![], vec![], vec![]);
    let mut state = 42_u64;
    for of in 0..positions {
        for on in 0..days {
            for number in 0..scenarios {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                desk.push(DESKS[of as usize % 3]);
                ccy.push(CCYS[of as usize / 3 % 3]);
                position.push(of);
                day.push(20_500 + on);
                scenario.push(number);
                pnl.push((state >> 33) as f64 / f64::from(u32::MAX) * 400.0 - 95.0);
            }
        }
    }
    RecordBatch::try_from_iter([
        ("desk", Arc::new(StringArray::from(desk)) as _),
        ("ccy", Arc::new(StringArray::from(ccy)) as _),
        ("position", Arc::new(Int64Array::from(position)) as _),
        ("day", Arc::new(Date32Array::from(day)) as _),
        ("scenario", Arc::new(Int64Array::from(scenario)) as _),
        ("pnl", Arc::new(Float64Array::from(pnl)) as _),
    ])
    .map_err(|error| CubeError::TableFailed { table: "risk".into(), message: error.to_string() })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stages = Stages::start()?;
    let batch = generated(300, 5, 100)?;
    println!("{} rows\n", batch.num_rows());
    let table = MemoryTable::new("risk", batch.schema(), vec![batch])?;
    let forest: Forest = ForestText::from_toml(FOREST)?.into_builder().build()?;
    let cube = Cube::builder(&stages, forest, table).build()?;
    let ask = |query: Query| -> Result<_, CubeError> { cube.query(query)?.wait() };

    let risk = ask(Query::new(["positions", "pnl", "var95"]).by(["desk"]).totals(["desk"]).explain())?;
    println!("{}", risk.to_text()?);
    let change = ask(Query::new(["change"]).by(["desk", "day"]).filter("ccy <> 'HKD'".parse()?))?;
    println!("{}", change.to_pivot("day")?);
    println!("{}", ask(Query::new(["grouped pnl"]).by(["ccy group"]))?.to_text()?);
    if let Some(how) = risk.explanation() {
        println!("{how}");
    }
    stages.shutdown(Shutdown::Drain)?;
    Ok(())
}
