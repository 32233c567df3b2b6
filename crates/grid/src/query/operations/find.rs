//! Keys, values, entries, or parts of them, of the entries that match.

use super::scanner::Scanned;
use super::{MapTurn, Scanner, Shared};
use crate::allowance::{Allowance, Tally, Weighs};
use crate::map::MapPartition;
use crate::map::operations::{EntryRef, Pick};
use crate::operation::{Action, Operation, Step};
use crate::query::error::QueryError;
use crate::query::predicate::Predicate;
use crate::query::projection::Projection;
use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// What `P` takes of all entries that match.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct FindWhere<P: Pick> {
    predicate: Shared<Predicate>,
    #[serde(skip)]
    scanner: Scanner,
    #[serde(skip, default = "Vec::new")]
    found: Vec<P::Item>,
    #[serde(skip)]
    tally: Tally,
    #[serde(skip)]
    pick: PhantomData<fn() -> P>,
}

impl<P: Pick> FindWhere<P> {
    /// Of those that `predicate` matches.
    pub fn new(predicate: Shared<Predicate>) -> Self {
        let (scanner, tally) = (Scanner::default(), Tally::default());
        Self { predicate, scanner, found: Vec::new(), tally, pick: PhantomData }
    }

    /// Takes no more memory than that.
    #[must_use]
    pub fn within(mut self, allowance: &Allowance) -> Self {
        self.tally = Tally::new(allowance);
        self
    }
}

impl<P: Pick> Operation for FindWhere<P> {
    type Target = MapPartition;
    type Output = Vec<P::Item>;
    const NAME: &'static str = P::NAME;
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let (found, tally) = (&mut self.found, &mut self.tally);
        let scanned = self.scanner.run(map, turn, &self.predicate, |_, entry| {
            let item = P::pick(&EntryRef { key: entry.key_bytes(), value: entry.value_bytes() });
            tally.add(item.weight())?;
            found.push(item);
            Ok(())
        });
        match scanned.and_then(|scanned| finished(scanned, tally)) {
            Ok(Scanned::Again) => Step::Again,
            Ok(Scanned::Done) => Step::done(std::mem::take(&mut self.found)),
            Err(error) => Step::failed(error.into()),
        }
    }
}

/// When that was all, what was found counts to the last byte.
fn finished(scanned: Scanned, tally: &mut Tally) -> Result<Scanned, QueryError> {
    if scanned == Scanned::Done {
        tally.settle()?;
    }
    Ok(scanned)
}

/// What a projection gives of all entries that match.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProjectWhere {
    projection: Projection,
    predicate: Shared<Predicate>,
    #[serde(skip)]
    scanner: Scanner,
    #[serde(skip)]
    found: Vec<Data>,
    #[serde(skip)]
    tally: Tally,
}

impl ProjectWhere {
    /// Of those that `predicate` matches.
    pub fn new(projection: Projection, predicate: Shared<Predicate>) -> Self {
        let (scanner, tally) = (Scanner::default(), Tally::default());
        Self { projection, predicate, scanner, found: Vec::new(), tally }
    }

    /// Takes no more memory than that.
    #[must_use]
    pub fn within(mut self, allowance: &Allowance) -> Self {
        self.tally = Tally::new(allowance);
        self
    }
}

impl Operation for ProjectWhere {
    type Target = MapPartition;
    type Output = Vec<Data>;
    const NAME: &'static str = "map.project";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let (projection, found, tally) = (&self.projection, &mut self.found, &mut self.tally);
        let scanned = self.scanner.run(map, turn, &self.predicate, |_, entry| {
            let item = projection.project(entry)?;
            tally.add(item.weight())?;
            found.push(item);
            Ok(())
        });
        match scanned.and_then(|scanned| finished(scanned, tally)) {
            Ok(Scanned::Again) => Step::Again,
            Ok(Scanned::Done) => Step::done(std::mem::take(&mut self.found)),
            Err(error) => Step::failed(error.into()),
        }
    }
}
