//! Act 3: SQL. Maps are tables; a join and a group-by run on all workers and come back as a table.

use super::super::sql::print::{Format, Summary};
use super::super::text::grouped;
use super::{snippet, timing};
use filbert::{Json, Member, SqlError};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io::Write;

#[derive(Serialize, Deserialize)]
struct Order {
    product: i64,
    pieces: i64,
    price: f64,
}

const PRODUCTS: [&str; 4] = ["filbert", "walnut", "almond", "cashew"];

const STATEMENT: &str = "SELECT products.this AS product, count(*) AS orders,
       sum(pieces) AS pieces, avg(price) AS price
FROM orders JOIN products ON products.__key = orders.product
WHERE pieces > 1 GROUP BY products.this ORDER BY pieces DESC, product";

pub(super) fn show(member: &Member, out: &mut impl Write, quick: bool) -> Result<(), Box<dyn Error>> {
    let count: i64 = if quick { 2_000 } else { 50_000 };
    let products = member.map::<i64, String>("products");
    for (number, name) in (0..).zip(PRODUCTS) {
        products.set(&number, &name.to_owned()).wait()?;
    }
    let orders = member.map::<i64, Json<Order>>("orders");
    for number in 0..count {
        let order = Order { product: number * 7 % 4, pieces: number % 5, price: (number % 8) as f64 / 4.0 };
        orders.set(&number, &Json(order)).wait()?;
    }

    let ((description, batches), took) = timing::best(|| {
        let mut query = member.sql().session().query(STATEMENT)?;
        let read = async move { Ok::<_, SqlError>((query.description().await?, query.collect().await?)) };
        Ok::<_, Box<dyn Error>>(member.stages().mixed().spawn("read rows", read)?.wait()??)
    })?;
    writeln!(
        out,
        "SQL: maps are tables; {} orders joined with products ({})",
        grouped(count.unsigned_abs()),
        timing::how()
    )?;
    for line in STATEMENT.lines() {
        writeln!(out, "    {line}")?;
    }
    let mut printer = Format::Table.printer(&description);
    let mut table = Vec::new();
    for batch in &batches {
        printer.batch(batch, &mut table)?;
    }
    let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    printer.end(&Summary { rows, elapsed: Some(took) }, &mut table)?;
    for line in String::from_utf8_lossy(&table).lines() {
        writeln!(out, "  {line}")?;
    }
    orders.clear().wait()?;
    snippet::write(out, include_str!("snippets/sql.txt"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_right() {
        let mut out = Vec::new();
        show(&Member::start().unwrap(), &mut out, true).unwrap();
        let text = String::from_utf8(out).unwrap();
        let row = |name: &str| {
            let line = text
                .lines()
                .find(|line| line.trim_start().starts_with(name))
                .unwrap_or_else(|| panic!("{text}"));
            line.split_whitespace().skip(1).map(|cell| cell.parse::<f64>().unwrap()).collect::<Vec<f64>>()
        };
        // Of the pieces 0 to 4, those above 1: three of five orders, 2 + 3 + 4 pieces.
        for name in PRODUCTS {
            assert_eq!(row(name)[..2], [300.0, 900.0], "{text}");
        }
        assert!(text.contains("(4 rows, "), "{text}");
    }
}
