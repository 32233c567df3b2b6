//! Plans: each step once, few leaves, combinations fused.

use super::*;
use crate::forest::{Aggregation, Aggregator, Combination, Combinator, Filtrator, Partitionor, Unfiltrator};
use arrow::datatypes::{Field, Schema};

fn planned(forest: &Forest, query: &Query) -> Plan {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    let schema = Arc::new(Schema::new(vec![
        field("ccy", DataType::Utf8),
        field("desk", DataType::Utf8),
        field("pnl", DataType::Float64),
    ]));
    let columns = CubeColumns::new("trades", &schema, forest).unwrap();
    plan(query, forest, &columns, &Filter::All, &CancelToken::default()).unwrap()
}

#[test]
fn a_leaf_is_read_once_and_coarser_ones_are_rolled_up() {
    let forest = Forest::builder()
        .measure("pnl", Aggregator::sum("pnl"))
        .measure("again", Aggregator::sum("pnl"))
        .measure("euro", Filtrator::new("pnl", Filter::equals("ccy", "EUR")))
        .measure("part", Combinator::divide("pnl", "euro"))
        .measure("by desk", Partitionor::new(&["pnl"], &["desk"], Combination::Sum, Aggregation::Max))
        .build()
        .unwrap();
    let plan = planned(&forest, &Query::new(["pnl", "again", "part", "by desk"]).by(["ccy"]));
    assert_eq!(plan.leaves.len(), 1, "{:?}", plan.steps);
    assert_eq!(&*plan.steps[plan.leaves[0].0].level, ["ccy".into(), "desk".into()]);
    assert_eq!(plan.roots[0].steps[0], plan.roots[0].steps[1]);
    assert_eq!(plan.shard, BTreeSet::from(["ccy".into()]));
}

#[test]
fn filters_that_come_to_the_same_are_one_step() {
    let forest = Forest::builder()
        .measure("pnl", Aggregator::sum("pnl"))
        .measure("a", Filtrator::new("pnl", "ccy in ('EUR') and desk = 'FX'".parse().unwrap()))
        .measure("b", Filtrator::new("a", "desk = 'FX'".parse().unwrap()))
        .measure("c", Unfiltrator::suppress("a", &["ccy", "desk"]))
        .build()
        .unwrap();
    let plan = planned(&forest, &Query::new(["a", "b", "c", "pnl"]).filter("desk = 'FX'".parse().unwrap()));
    assert_eq!(plan.roots[0].steps[0], plan.roots[0].steps[1]);
    assert_eq!(plan.leaves.len(), 2, "under one more filter and under the query's");
}

#[test]
fn a_chain_is_one_task_with_one_output() {
    let mut builder = Forest::builder().measure("m0", Aggregator::sum("pnl"));
    for index in 1..6_000 {
        let formula = format!("m{} + 1", index - 1);
        builder = builder.measure(&format!("m{index}"), Combinator::expression(&formula).unwrap());
    }
    let plan = planned(&builder.build().unwrap(), &Query::new(["m5999"]).by(["ccy"]));
    assert_eq!(plan.steps.len(), 6_001, "a leaf, its sums rounded, and combinations of them");
    let [Task::Fused { steps, inputs, outputs }] = plan.tasks.as_slice() else {
        panic!("{:?}", plan.tasks.len())
    };
    assert_eq!((steps.len(), inputs.len(), outputs.len()), (6_000, 1, 1));
}

#[test]
fn a_column_that_is_not_there_is_told() {
    let forest = Forest::builder().measure("pnl", Aggregator::sum("pnl")).build().unwrap();
    let schema = Arc::new(Schema::new(vec![Field::new("pnl", DataType::Float64, true)]));
    let columns = CubeColumns::new("trades", &schema, &forest).unwrap();
    let error =
        plan(&Query::new(["pnl"]).by(["ccy"]), &forest, &columns, &Filter::All, &CancelToken::default())
            .unwrap_err();
    assert_eq!(error.to_string(), "table \"trades\" has no column \"ccy\"; it has: pnl");
}
