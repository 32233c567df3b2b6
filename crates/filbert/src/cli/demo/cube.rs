//! Act 4: a cube. Value at risk by desk and currency, from the same measures.

use super::super::cube::market_risk;
use super::super::text::grouped;
use super::{snippet, timing};
use filbert::Member;
use filbert::cube::{ForestText, MemoryTable, Query};
use std::error::Error;
use std::io::Write;

pub(super) fn show(member: &Member, out: &mut impl Write, quick: bool) -> Result<(), Box<dyn Error>> {
    let rows = market_risk::scenarios(if quick { 120 } else { 2_400 })?;
    let count = grouped(rows.num_rows() as u64);
    // A cube of its own for each run: one keeps its answers.
    let mut cubes = Vec::new();
    for _ in 0..timing::RUNS {
        let table = MemoryTable::new("trades", rows.schema(), vec![rows.clone()])?;
        let forest = ForestText::from_toml(market_risk::FOREST)?.into_builder().build()?;
        cubes.push(member.cube(forest, table).build()?);
    }
    let (var, took) = timing::best(|| {
        let cube = cubes.pop().ok_or("each run has a cube")?;
        let query = Query::new(["var95"]).by(["desk", "ccy"]).totals(["desk", "ccy"]);
        Ok::<_, Box<dyn Error>>(cube.query(query)?.wait()?)
    })?;
    let (took, how) = (took.as_secs_f64() * 1e3, timing::how());
    writeln!(out, "Cube: value at risk over {count} rows, by desk and currency")?;
    writeln!(out, "  in {took:.1} ms ({how}); scenarios are added up, then ranked")?;
    for line in var.to_pivot("ccy")?.lines() {
        writeln!(out, "    {line}")?;
    }
    snippet::write(out, include_str!("snippets/cube.txt"))?;
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
