//! What the entries that match come to, in one partition.

use super::scanner::Scanned;
use super::{MapTurn, Scanner, Shared};
use crate::map::MapPartition;
use crate::operation::{Action, Operation, Step};
use crate::query::aggregate::{Accumulator, Aggregator};
use crate::query::predicate::Predicate;
use serde::{Deserialize, Serialize};

/// The partial result of an aggregation over the entries that match.
#[derive(Debug, Serialize, Deserialize)]
pub struct AggregateWhere {
    aggregator: Aggregator,
    predicate: Shared<Predicate>,
    #[serde(skip)]
    scanner: Scanner,
    #[serde(skip)]
    so_far: Option<Accumulator>,
}

impl AggregateWhere {
    /// Over those that `predicate` matches.
    pub fn new(aggregator: Aggregator, predicate: Shared<Predicate>) -> Self {
        Self { aggregator, predicate, scanner: Scanner::default(), so_far: None }
    }
}

impl Operation for AggregateWhere {
    type Target = MapPartition;
    type Output = Accumulator;
    const NAME: &'static str = "map.aggregate";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let mut so_far = self.so_far.take().unwrap_or_else(|| self.aggregator.start());
        match self.scanner.run(map, turn, &self.predicate, |_, entry| so_far.accumulate(entry)) {
            Ok(Scanned::Again) => {
                self.so_far = Some(so_far);
                Step::Again
            }
            Ok(Scanned::Done) => Step::done(so_far),
            Err(error) => Step::failed(error.into()),
        }
    }
}
