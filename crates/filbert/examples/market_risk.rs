//! Value at risk by desk and currency: `cargo run --example market_risk`
//!
//! Every trade has a profit or loss in each of 101 scenarios. Value at risk is no sum: of each slice the scenarios are added up first, then
//! ranked. The forest (`market_risk.toml`) says so once, and the same measures are asked by desk, by currency, or for everything.
//! With a folder (`-- /tmp/risk`) the data set stays there, for `filbert cube`.

use filbert::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use filbert::arrow::error::ArrowError;
use filbert::arrow::ipc::writer::FileWriter;
use filbert::cube::{CubeResult, Filter, ForestText, Query, SqlTable};
use filbert::{Member, Shutdown, SqlSettings};
use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The measures.
pub(crate) const FOREST: &str = include_str!("market_risk.toml");

const DESKS: [&str; 4] = ["Credit", "Equity", "FX", "Rates"];
const CURRENCIES: [&str; 3] = ["EUR", "JPY", "USD"];

/// Scenario 0 is what happened.
const SCENARIOS: i64 = 101;

/// So many trades in all scenarios, always the same ones. Gains and losses are multiples of a quarter, so their sums are exact.
pub(crate) fn scenarios(trades: i64) -> Result<RecordBatch, ArrowError> {
    let rows = || (0..trades * SCENARIOS).map(|row| (row / SCENARIOS, row % SCENARIOS));
    let of = |column: fn(i64, i64) -> i64| {
        Int64Array::from_iter_values(rows().map(|(trade, scenario)| column(trade, scenario)))
    };
    let named = |names: &[&'static str], of_trade: fn(i64) -> i64| {
        StringArray::from_iter_values(rows().map(|(trade, _)| names[of_trade(trade) as usize % names.len()]))
    };
    let books = rows().map(|(trade, _)| format!("book {}", trade % 12));
    let pnl = of(made).iter().flatten().map(|quarters| quarters as f64 / 4.0).collect::<Vec<f64>>();
    let columns: [(&str, ArrayRef); 6] = [
        ("trade", Arc::new(of(|trade, _| trade))),
        ("desk", Arc::new(named(&DESKS, |trade| trade))),
        ("book", Arc::new(StringArray::from_iter_values(books))),
        ("ccy", Arc::new(named(&CURRENCIES, |trade| trade / 4))),
        ("scenario", Arc::new(of(|_, scenario| scenario))),
        ("pnl", Arc::new(Float64Array::from(pnl))),
    ];
    RecordBatch::try_from_iter(columns)
}

/// What a trade makes in a scenario, in quarters: something of its own, and what its whole desk feels.
fn made(trade: i64, scenario: i64) -> i64 {
    let own = mixed(trade.wrapping_mul(1_009).wrapping_add(scenario)) % 2_001 - 1_000;
    let market = mixed(scenario.wrapping_mul(31).wrapping_add(trade % 4)) % 801 - 400;
    own + market
}

/// A number from 0 on that looks like chance, and is the same on every machine.
fn mixed(number: i64) -> i64 {
    let mut bits = number.cast_unsigned().wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((bits ^ (bits >> 31)) >> 1).cast_signed()
}

/// Writes the data set and the forest into a folder: `trades.arrow`, `risk.toml`.
pub(crate) fn write(folder: &Path, trades: i64) -> Result<PathBuf, Box<dyn Error>> {
    let rows = scenarios(trades)?;
    let path = folder.join("trades.arrow");
    let mut writer = FileWriter::try_new(File::create(&path)?, &rows.schema())?;
    writer.write(&rows)?;
    writer.finish()?;
    std::fs::write(folder.join("risk.toml"), FOREST)?;
    Ok(path)
}

/// Asks a cube over that file.
pub(crate) fn ask(member: &Member, trades: &Path, query: Query) -> Result<CubeResult, Box<dyn Error>> {
    let (session, path) = (member.sql().session(), trades.display().to_string());
    let opened = async move { SqlTable::open(session, &path).await };
    let table = member.stages().mixed().spawn("open table", opened)?.wait()??;
    let forest = ForestText::from_toml(FOREST)?.into_builder().build()?;
    Ok(member.cube(forest, table).build()?.query(query)?.wait()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let kept = std::env::args().nth(1).map(PathBuf::from);
    let folder = kept
        .clone()
        .unwrap_or_else(|| std::env::temp_dir().join(format!("filbert-risk-{}", std::process::id())));
    std::fs::create_dir_all(&folder)?;
    let path = write(&folder, 10_000)?;
    let sql = SqlSettings { files: vec![folder.clone()], ..Default::default() };
    let member = Member::builder().sql(sql).start()?;
    let by_desk = Query::new(["trades", "pnl", "var95", "worst"]).by(["desk"]).totals(["desk"]);
    println!("{}", ask(&member, &path, by_desk)?.to_text()?);
    let by_currency = Query::new(["var95"]).by(["desk", "ccy"]).totals(["desk", "ccy"]);
    println!("{}", ask(&member, &path, by_currency)?.to_pivot("ccy")?);
    let explained = ask(
        &member,
        &path,
        Query::new(["diversification"]).filter("ccy = 'EUR'".parse::<Filter>()?).explain(),
    )?;
    println!("{}", explained.to_text()?);
    if let Some(explanation) = explained.explanation() {
        println!("{explanation}");
    }
    member.shutdown(Shutdown::Drain)?;
    match kept {
        Some(folder) => {
            let folder = folder.display();
            println!(
                "filbert cube --forest {folder}/risk.toml --table {folder}/trades.arrow --measures pnl,var95 --by desk,ccy"
            );
        }
        None => std::fs::remove_dir_all(&folder)?,
    }
    Ok(())
}
