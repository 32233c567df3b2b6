//! Act 2: dataflow. A job of a few lines, run on all workers, that tells where its items went.

use super::super::job::in_order;
use super::super::table::Table;
use super::super::text::grouped;
use super::{snippet, timing};
use filbert::flow::aggregate::count;
use filbert::flow::processors::{Collected, collect, iterate};
use filbert::{Member, Pipeline};
use std::error::Error;
use std::io::Write;

pub(super) fn show(member: &Member, out: &mut impl Write, quick: bool) -> Result<(), Box<dyn Error>> {
    let items: u64 = if quick { 40_000 } else { 4_000_000 };
    let counts = Collected::new();
    let dag = Pipeline::read(iterate(move |share| share.part_of(0..items)))
        .map(|number| number.wrapping_mul(number))
        .filter(|square| square % 3 == 1)
        .group_by(|square| square % 10)
        .aggregate(count())
        .named("count by last digit")
        .write(collect(&counts))
        .to_dag()?;

    let (job, took) = timing::best(|| {
        counts.take();
        let job = member.submit(&dag)?;
        job.wait()?;
        Ok::<_, Box<dyn Error>>(job)
    })?;
    let (shown, took) = (grouped(items), took.as_secs_f64());
    writeln!(out, "Dataflow: {shown} numbers squared, filtered and counted")?;
    let (speed, how) = (items as f64 / took / 1e6, timing::how());
    writeln!(out, "  in {:.0} ms, {speed:.0} million a second ({how})", took * 1e3)?;
    let mut table = Table::new(&["vertex", "processors", "in", "out"]);
    let metrics = job.metrics();
    for vertex in in_order(&metrics) {
        let (name, processors) = (vertex.name.clone(), vertex.processors.to_string());
        table.row([name, processors, grouped(vertex.items_in), grouped(vertex.items_out)]);
    }
    table.write(out, "  ")?;
    let mut counts = counts.take();
    counts.sort_unstable();
    let counts: Vec<String> =
        counts.iter().map(|(digit, count)| format!("{digit}: {}", grouped(*count))).collect();
    writeln!(out, "  squares end with {}", counts.join(", "))?;
    snippet::write(out, include_str!("snippets/flow.txt"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest name was longer than its column.
    #[test]
    fn the_columns_line_up() {
        let mut out = Vec::new();
        show(&Member::start().unwrap(), &mut out, true).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("Dataflow: 40,000 numbers"), "{text}");
        let header = text.lines().position(|line| line.starts_with("  vertex")).unwrap();
        let table: Vec<&str> =
            text.lines().skip(header).take_while(|line| !line.contains("squares end")).collect();
        let (end, rows) = (table[0].find("processors").unwrap() + "processors".len(), &table[1..]);
        assert!(rows.len() >= 2, "{text}");
        for row in rows {
            assert!(row[..end].ends_with(|letter: char| letter.is_ascii_digit()), "{text}");
            assert!(row[end..].starts_with(' '), "{text}");
        }
    }
}
