//! Enrichment by a hash join: orders know the number of a product, a map knows its name. `cargo run --example enrich`
//!
//! The small side, the map, is read first and becomes one table that all processors read; the orders then stream past it.

use filbert::connect::{grid, memory};
use filbert::flow::aggregate::sum;
use filbert::flow::processors::{Collected, collect};
use filbert::{Grid, Member, Pipeline};
use std::error::Error;

/// An order: which product, how many.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order {
    product: i64,
    pieces: u64,
}

const PRODUCTS: [&str; 4] = ["filbert", "walnut", "almond", "cashew"];

/// Puts the products into a map.
pub(crate) fn prepare(member: &Member) -> Result<(), Box<dyn Error>> {
    let products = member.map::<i64, String>("products");
    for (number, name) in (0..).zip(PRODUCTS) {
        products.set(&number, &name.to_owned()).wait()?;
    }
    Ok(())
}

/// How many pieces of which product so many orders are about.
pub(crate) fn enrich(grid: &Grid, orders: u64, pieces: &Collected<(String, u64)>) -> Pipeline {
    // Every fifth order is of a product that is not in the map: it has no match and drops out.
    let order = |n: u64| Order { product: (n % 5) as i64, pieces: n % 3 + 1 };
    let products = Pipeline::read(grid::map::<i64, String>(grid, "products")).named("products");
    Pipeline::read(memory::range(0..orders))
        .map(order)
        .named("orders")
        .hash_join(
            products,
            |order| order.product,
            |product| product.0,
            |order, product| (product.1.clone(), order.pieces),
        )
        .group_by(|(name, _)| name.clone())
        .aggregate(sum(|(_, pieces): &(String, u64)| *pieces))
        .named("pieces")
        .write(collect(pieces))
        .named("enrich")
}

fn main() -> Result<(), Box<dyn Error>> {
    let member = Member::start()?;
    prepare(&member)?;
    let pieces = Collected::new();
    member.submit(&enrich(member.grid(), 1_000_000, &pieces).to_dag()?)?.wait()?;
    for (name, pieces) in pieces.take() {
        println!("{pieces:>8}  {name}");
    }
    Ok(())
}
