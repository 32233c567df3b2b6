//! What is kept from query to query, what is shown of a plan, and how results are written.

use arrow::array::{Float64Array, RecordBatch, StringArray};
use filbert_cube::{Aggregator, Combinator, Cube, Filter, Forest, MemoryTable, Query, Shiftor};
use filbert_pool::Stages;
use std::sync::Arc;

fn batch() -> RecordBatch {
    RecordBatch::try_from_iter([
        ("desk", Arc::new(StringArray::from(vec!["FX", "Rates", "FX"])) as _),
        ("ccy", Arc::new(StringArray::from(vec!["EUR", "EUR", "USD"])) as _),
        ("pnl", Arc::new(Float64Array::from(vec![1.5, 2.0, 3.0])) as _),
    ])
    .unwrap()
}

fn forest() -> Forest {
    Forest::builder()
        .measure("pnl", Aggregator::sum("pnl"))
        .measure("trades", Aggregator::count())
        .measure("each", Combinator::divide("pnl", "trades"))
        .measure("euro", Shiftor::to("pnl", "ccy", "EUR"))
        .build()
        .unwrap()
}

#[test]
fn a_leaf_is_read_once_until_the_table_changes() {
    let stages = Stages::start().unwrap();
    let table = MemoryTable::new("trades", batch().schema(), vec![batch()]).unwrap();
    let cube = Cube::builder(&stages, forest(), table.clone()).build().unwrap();
    let query = Query::new(["each"]).by(["desk"]).explain();
    let read = |query: &Query| {
        let result = cube.query(query.clone()).unwrap().wait().unwrap();
        (result.to_csv().unwrap(), result.explanation().unwrap().to_string())
    };
    let (first, how) = read(&query);
    assert_eq!(first, "desk,each\nFX,2.25\nRates,2.0\n");
    assert!(how.contains("1 batch, 3 rows") && !how.contains("from the cache"), "{how}");
    assert_eq!(cube.cached(), 2);
    let (again, how) = read(&query);
    assert_eq!(again, first);
    assert!(how.contains("0 batches, 0 rows") && how.contains("from the cache"), "{how}");
    let (_, how) = read(&query.clone().no_cache());
    assert!(how.contains("1 batch"), "{how}");
    table.append(batch()).unwrap();
    let (after, how) = read(&Query::new(["pnl"]).by(["desk"]).explain());
    assert_eq!(after, "desk,pnl\nFX,9.0\nRates,4.0\n");
    assert!(how.contains("2 batches"), "{how}");
    let (one_row_more, _) = read(&Query::new(["trades"]).explain());
    assert_eq!(one_row_more, "trades\n6\n");
}

#[test]
fn users_with_other_rights_do_not_share() {
    let stages = Stages::start().unwrap();
    let table = MemoryTable::new("trades", batch().schema(), vec![batch()]).unwrap();
    let rights = |user: Option<&str>| user.map_or(Filter::All, |user| Filter::equals("ccy", user));
    let cube = Cube::builder(&stages, forest(), table).rights(rights).build().unwrap();
    let total = |query: Query| cube.query(query).unwrap().wait().unwrap().to_csv().unwrap();
    assert_eq!(total(Query::new(["pnl"])), "pnl\n6.5\n");
    assert_eq!(total(Query::new(["pnl"]).user("USD")), "pnl\n3.0\n");
    assert_eq!(total(Query::new(["pnl"]).user("EUR")), "pnl\n3.5\n");
    assert_eq!(total(Query::new(["euro"]).user("USD")), "euro\n");
}

#[test]
fn results_are_written_in_many_ways() {
    let stages = Stages::start().unwrap();
    let table = MemoryTable::new("trades", batch().schema(), vec![batch()]).unwrap();
    let cube = Cube::builder(&stages, forest(), table).build().unwrap();
    let result = cube
        .query(Query::new(["pnl", "trades"]).by(["desk", "ccy"]).totals(["ccy"]).explain())
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(
        result.to_text().unwrap(),
        "desk   ccy  pnl  trades\n-----  ---  ---  ------\nFX     EUR  1.5       1\nFX     USD  3.0       1\n\
         FX     *    4.5       2\nRates  EUR  2.0       1\nRates  *    2.0       1\n"
    );
    assert_eq!(
        result.to_pivot("ccy").unwrap(),
        "         EUR            USD            *\n\
         desk     pnl  trades    pnl  trades    pnl  trades\n\
         -----    ---  ------    ---  ------    ---  ------\n\
         FX       1.5       1    3.0       1    4.5       2\n\
         Rates    2.0       1                   2.0       1\n"
    );
    assert!(result.to_pivot("pnl").is_err());
    assert!(result.to_json().unwrap().starts_with(r#"[{"desk":"FX","ccy":"EUR","pnl":1.5,"trades":1}"#));
    let how = result.explanation().unwrap();
    assert!(how.mermaid().starts_with("flowchart BT\n    s0[\"Sum(pnl): aggregate"), "{}", how.mermaid());
    assert!(how.to_string().contains("roll up Sum, by desk: "), "{how}");
}
