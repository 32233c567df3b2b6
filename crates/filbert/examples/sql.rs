//! SQL over a map and a file: `cargo run --example sql`
//!
//! Products are in a map, orders in a CSV file. One statement joins and groups them on all cores; its rows come as Arrow batches, one
//! after the other, however many there are.

use filbert::arrow::array::AsArray;
use filbert::arrow::datatypes::Int64Type;
use filbert::{Member, Session, Shutdown, SqlError, SqlSettings};
use futures::StreamExt;
use std::error::Error;
use std::path::Path;

const PRODUCTS: [&str; 4] = ["filbert", "walnut", "almond", "cashew"];

/// Puts the products into a map, and so many orders into a file.
pub(crate) fn prepare(member: &Member, orders: &Path, count: u64) -> Result<(), Box<dyn Error>> {
    let products = member.map::<i64, String>("products");
    for (number, name) in (0..).zip(PRODUCTS) {
        products.set(&number, &name.to_owned()).wait()?;
    }
    // Every fifth order is of a product that is not in the map: the join leaves it out.
    let lines = (0..count).map(|order| format!("{},{}\n", order % 5, order % 3 + 1));
    std::fs::write(orders, "product,pieces\n".to_owned() + &lines.collect::<String>())?;
    Ok(())
}

/// How many pieces of which product were ordered.
pub(crate) async fn pieces(session: Session, orders: &Path) -> Result<Vec<(String, i64)>, SqlError> {
    let path = orders.display().to_string().replace('\'', "''");
    let table = format!(
        "CREATE EXTERNAL TABLE orders (product BIGINT, pieces BIGINT) STORED AS CSV LOCATION '{path}' \
         OPTIONS ('format.has_header' 'true')"
    );
    session.query(&table)?.collect().await?;
    let mut query = session.query(
        "SELECT products.this AS product, sum(orders.pieces) AS pieces \
         FROM orders JOIN products ON products.__key = orders.product \
         GROUP BY products.this ORDER BY pieces DESC, product",
    )?;
    let mut found = Vec::new();
    while let Some(batch) = query.next().await {
        let batch = batch?;
        let names = batch.column(0).as_string::<i32>().iter().flatten().map(str::to_owned);
        let pieces = batch.column(1).as_primitive::<Int64Type>().iter().flatten();
        found.extend(names.zip(pieces));
    }
    Ok(found)
}

fn main() -> Result<(), Box<dyn Error>> {
    // SQL touches the files that it is told to, and no others.
    let sql = SqlSettings { files: vec![std::env::temp_dir()], ..Default::default() };
    let member = Member::builder().sql(sql).start()?;
    let orders = std::env::temp_dir().join(format!("filbert-orders-{}.csv", std::process::id()));
    prepare(&member, &orders, 1_000_000)?;
    let (session, path) = (member.sql().session(), orders.clone());
    // Wherever there is an executor for futures; here on the member's own.
    let asked = member.stages().mixed().spawn("pieces", async move { pieces(session, &path).await })?;
    for (product, pieces) in asked.wait()?? {
        println!("{pieces:>8}  {product}");
    }
    std::fs::remove_file(&orders)?;
    member.shutdown(Shutdown::Drain)?;
    Ok(())
}
