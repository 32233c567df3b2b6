//! What a projection gives of some of the entries that match, and where to go on: for clients that iterate over a partition.
//!
//! Where it goes on is a slot, all that such a client keeps; so the entries are looked at in the order of the store, whatever indexes there are.

use super::scanner::{Cursor, Scanned};
use super::{MapTurn, Scanner, Shared};
use crate::allowance::Weighs;
use crate::map::MapPartition;
use crate::operation::{Action, Operation, Step};
use crate::query::predicate::Predicate;
use crate::query::projection::Projection;
use filbert_wire::Data;
use serde::{Deserialize, Serialize};

/// Bytes after which a page is full, however few values that are.
const FULL_PAGE_BYTES: usize = 1 << 20;

/// Values of one page at most, whatever a client asks for.
const LARGEST_PAGE: u32 = 10_000;

/// What a projection gives of some entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectedPage {
    /// What it gave.
    pub values: Vec<Data>,
    /// The cursor of the next page; `None` when this was the last.
    pub next: Option<u32>,
}

/// What a projection gives of the next entries of a partition that a predicate matches.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProjectPage {
    projection: Projection,
    predicate: Shared<Predicate>,
    cursor: u32,
    batch: u32,
    #[serde(skip)]
    scanner: Option<Scanner>,
    #[serde(skip)]
    found: Vec<Data>,
    #[serde(skip)]
    bytes: usize,
}

impl ProjectPage {
    /// Of `batch` entries at most, fewer when what it gives is large; from `cursor` on: 0, or what the last page said.
    pub fn new(projection: Projection, predicate: Shared<Predicate>, cursor: u32, batch: u32) -> Self {
        let batch = batch.clamp(1, LARGEST_PAGE);
        Self { projection, predicate, cursor, batch, scanner: None, found: Vec::new(), bytes: 0 }
    }
}

impl Operation for ProjectPage {
    type Target = MapPartition;
    type Output = ProjectedPage;
    const NAME: &'static str = "map.project_page";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let resume = || Scanner::resume(Cursor::All(self.cursor), &self.predicate);
        let mut scanner = self.scanner.take().unwrap_or_else(resume);
        let (projection, found, bytes) = (&self.projection, &mut self.found, &mut self.bytes);
        let (most, mut full) = (self.batch as usize, false);
        let scanned = scanner.run_until(map, turn, &self.predicate, |_, entry| {
            let value = projection.project(entry)?;
            *bytes += value.weight();
            found.push(value);
            full = found.len() >= most || *bytes >= FULL_PAGE_BYTES;
            Ok(full)
        });
        let next = match scanned {
            Ok(Scanned::Again) if !full => {
                self.scanner = Some(scanner);
                return Step::Again;
            }
            Ok(Scanned::Again) => {
                scanner.slot().and_then(|from| map.store().next(from)).map(|slot| slot.number())
            }
            Ok(Scanned::Done) => None,
            Err(error) => return Step::failed(error.into()),
        };
        Step::done(ProjectedPage { values: std::mem::take(&mut self.found), next })
    }
}
