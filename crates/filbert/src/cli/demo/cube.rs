//! Act 4: a cube. Value at risk by desk and currency, from the same measures.

use super::super::cube::market_risk;
use super::super::text::grouped;
use filbert::Member;
use filbert::cube::{ForestText, MemoryTable, Query};
use std::error::Error;
use std::io::Write;
use std::time::Instant;

pub(super) fn show(member: &Member, out: &mut impl Write, quick: bool) -> Result<(), Box<dyn Error>> {
    let rows = market_risk::scenarios(if quick { 120 } else { 2_400 })?;
    let count = grouped(rows.num_rows() as u64);
    let table = MemoryTable::new("trades", rows.schema(), vec![rows])?;
    let forest = ForestText::from_toml(market_risk::FOREST)?.into_builder().build()?;
    let cube = member.cube(forest, table).build()?;

    let start = Instant::now();
    let var = cube.query(Query::new(["var95"]).by(["desk", "ccy"]).totals(["desk", "ccy"]))?.wait()?;
    let took = start.elapsed().as_secs_f64() * 1e3;
    writeln!(out, "Cube: value at risk over {count} rows, by desk and currency, in {took:.1} ms")?;
    for line in var.to_pivot("ccy")?.lines() {
        writeln!(out, "    {line}")?;
    }
    writeln!(
        out,
        "  it is no sum: of each cell the scenarios are added up, then ranked; `filbert cube` does it over files\n"
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pivot_has_all_desks_and_totals() {
        let mut out = Vec::new();
        show(&Member::start().unwrap(), &mut out, true).unwrap();
        let text = String::from_utf8(out).unwrap();
        for word in ["12,120 rows", "EUR", "JPY", "USD", "Credit", "Rates", "*"] {
            assert!(text.contains(word), "{text}");
        }
    }
}
