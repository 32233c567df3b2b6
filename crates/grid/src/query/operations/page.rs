//! A partition's part of a page.

use super::scanner::Scanned;
use super::{MapTurn, Scanner, Shared};
use crate::allowance::{Allowance, Tally};
use crate::map::MapPartition;
use crate::operation::{Action, Operation, Step};
use crate::query::paging::{PageCollector, PageOrder, PagingPredicate};
use crate::query::predicate::Predicate;
use serde::{Deserialize, Serialize};

/// The entries of a partition that may be on a page.
#[derive(Debug, Serialize, Deserialize)]
pub struct FindPage {
    request: Shared<PagingPredicate>,
    #[serde(skip)]
    scanner: Scanner,
    #[serde(skip)]
    so_far: Option<PageCollector>,
    #[serde(skip)]
    tally: Tally,
    /// The most that was kept so far, in bytes: counted once.
    #[serde(skip)]
    most: usize,
}

impl FindPage {
    /// For this request.
    pub fn new(request: Shared<PagingPredicate>) -> Self {
        Self { request, scanner: Scanner::default(), so_far: None, tally: Tally::default(), most: 0 }
    }

    /// Takes no more memory than that.
    #[must_use]
    pub fn within(mut self, allowance: &Allowance) -> Self {
        self.tally = Tally::new(allowance);
        self
    }
}

impl Operation for FindPage {
    type Target = MapPartition;
    type Output = PageCollector;
    const NAME: &'static str = "map.page";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let catalog = &map.context().catalog;
        let mut so_far = match self.so_far.take() {
            Some(so_far) => so_far,
            None => match PageOrder::of(&self.request, catalog) {
                Ok(order) => self.request.collect(&order, catalog),
                Err(error) => return Step::failed(error.into()),
            },
        };
        let predicate = self.request.predicate().unwrap_or(&Predicate::True);
        let (tally, most) = (&mut self.tally, &mut self.most);
        let scanned = self.scanner.run(map, turn, predicate, |_, entry| {
            so_far.add(entry);
            let more = so_far.weight().saturating_sub(*most);
            *most += more;
            Ok(tally.add(more)?)
        });
        match scanned {
            Ok(Scanned::Again) => {
                self.so_far = Some(so_far);
                Step::Again
            }
            Ok(Scanned::Done) => match self.tally.settle() {
                Ok(()) => Step::done(so_far),
                Err(too_much) => Step::failed(too_much.into()),
            },
            Err(error) => Step::failed(error.into()),
        }
    }
}
