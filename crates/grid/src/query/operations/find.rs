//! Keys, values, entries, or parts of them, of the entries that match.

use super::scanner::Scanned;
use super::{MapTurn, Scanner, Shared};
use crate::map::MapPartition;
use crate::map::operations::{EntryRef, Pick};
use crate::operation::{Action, Operation, Step};
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
    pick: PhantomData<fn() -> P>,
}

impl<P: Pick> FindWhere<P> {
    /// Of those that `predicate` matches.
    pub fn new(predicate: Shared<Predicate>) -> Self {
        Self { predicate, scanner: Scanner::default(), found: Vec::new(), pick: PhantomData }
    }
}

impl<P: Pick> Operation for FindWhere<P> {
    type Target = MapPartition;
    type Output = Vec<P::Item>;
    const NAME: &'static str = P::NAME;
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let found = &mut self.found;
        let scanned = self.scanner.run(map, turn, &self.predicate, |_, entry| {
            found.push(P::pick(&EntryRef { key: entry.key_bytes(), value: entry.value_bytes() }));
            Ok(())
        });
        match scanned {
            Ok(Scanned::Again) => Step::Again,
            Ok(Scanned::Done) => Step::done(std::mem::take(&mut self.found)),
            Err(error) => Step::failed(error.into()),
        }
    }
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
}

impl ProjectWhere {
    /// Of those that `predicate` matches.
    pub fn new(projection: Projection, predicate: Shared<Predicate>) -> Self {
        Self { projection, predicate, scanner: Scanner::default(), found: Vec::new() }
    }
}

impl Operation for ProjectWhere {
    type Target = MapPartition;
    type Output = Vec<Data>;
    const NAME: &'static str = "map.project";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let (projection, found) = (&self.projection, &mut self.found);
        let scanned = self.scanner.run(map, turn, &self.predicate, |_, entry| {
            found.push(projection.project(entry)?);
            Ok(())
        });
        match scanned {
            Ok(Scanned::Again) => Step::Again,
            Ok(Scanned::Done) => Step::done(std::mem::take(&mut self.found)),
            Err(error) => Step::failed(error.into()),
        }
    }
}
