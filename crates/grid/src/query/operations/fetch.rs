//! Some of the entries that match, and where to go on: for readers that take what they find piece by piece.

use super::scanner::{Cursor, Scanned};
use super::{MapTurn, Scanner, Shared};
use crate::map::MapPartition;
use crate::map::operations::copied_together;
use crate::operation::{Action, Operation, Step};
use crate::query::predicate::Predicate;
use filbert_wire::Data;
use serde::{Deserialize, Serialize};

/// Bytes after which a page is full, however few entries that are.
const FULL_PAGE_BYTES: usize = 1 << 20;

/// Where the next page begins. Only good for the partition that gave it, and the same predicate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhereCursor(Cursor);

/// Some of the entries of a partition that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WherePage {
    /// The entries.
    pub entries: Vec<(Data, Data)>,
    /// Where the next page begins; `None` when this was the last.
    pub next: Option<WhereCursor>,
}

/// The next entries of a partition that a predicate matches. An entry that is there and matches from the first page to the last is on
/// exactly one of them.
#[derive(Debug, Serialize, Deserialize)]
pub struct FetchWhere {
    predicate: Shared<Predicate>,
    batch: usize,
    cursor: Option<WhereCursor>,
    #[serde(skip)]
    scanner: Option<Scanner>,
    #[serde(skip)]
    found: Vec<(Data, Data)>,
    #[serde(skip)]
    bytes: usize,
}

impl FetchWhere {
    /// At most `batch` of those that `predicate` matches, fewer when they are large; the first ones, or those from `cursor` on.
    pub fn new(predicate: Shared<Predicate>, batch: usize, cursor: Option<WhereCursor>) -> Self {
        Self { predicate, batch: batch.max(1), cursor, scanner: None, found: Vec::new(), bytes: 0 }
    }
}

impl Operation for FetchWhere {
    type Target = MapPartition;
    type Output = WherePage;
    const NAME: &'static str = "map.fetch_where";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let mut scanner = self.scanner.take().unwrap_or_else(|| match self.cursor.take() {
            Some(WhereCursor(cursor)) => Scanner::resume(cursor, &self.predicate),
            None => Scanner::default(),
        });
        let (mut slots, bytes, room) = (Vec::new(), &mut self.bytes, self.batch - self.found.len());
        let mut full = false;
        let scanned = scanner.run_until(map, turn, &self.predicate, |slot, entry| {
            *bytes += entry.key_bytes().len() + entry.value_bytes().len();
            slots.push(slot);
            full = slots.len() >= room || *bytes >= FULL_PAGE_BYTES;
            Ok(full)
        });
        // In the same turn: nothing has changed since they matched.
        self.found.extend(copied_together(map.store(), &slots));
        let next = match scanned {
            Ok(Scanned::Again) if !full => {
                self.scanner = Some(scanner);
                return Step::Again;
            }
            Ok(Scanned::Again) => Some(WhereCursor(scanner.into_cursor())),
            Ok(Scanned::Done) => None,
            Err(error) => return Step::failed(error.into()),
        };
        Step::done(WherePage { entries: std::mem::take(&mut self.found), next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{IndexKind, IndexSettings};
    use crate::{Grid, Map};
    use filbert_pool::Stages;
    use filbert_wire::{FromData, PartitionId, ToData};
    use std::collections::BTreeMap;

    fn number(data: &Data) -> i64 {
        i64::from_data(data).unwrap()
    }

    /// All entries of `predicate`, page by page; between two pages `change` has its turn.
    fn paged(map: &Map, predicate: &Predicate, batch: usize, mut change: impl FnMut()) -> BTreeMap<i64, i64> {
        let predicate = Shared::new(predicate.clone());
        let mut all = BTreeMap::new();
        for partition in PartitionId::all() {
            let mut cursor = None;
            loop {
                let fetch = FetchWhere::new(predicate.clone(), batch, cursor.take());
                let page = map.strands().call(partition, fetch).wait().unwrap();
                assert!(page.entries.len() <= batch);
                for (key, value) in &page.entries {
                    assert_eq!(all.insert(number(key), number(value)), None, "key {} twice", number(key));
                }
                change();
                match page.next {
                    Some(next) => cursor = Some(next),
                    None => break,
                }
            }
        }
        all
    }

    #[test]
    fn pages_give_every_entry_once_with_and_without_an_index() {
        let stages = Stages::start().unwrap();
        let map = Grid::new(&stages).map("numbers");
        let set = |key: i64, value: i64| {
            map.set(key.to_data().unwrap(), value.to_data().unwrap()).wait().unwrap();
        };
        (0..5_000).for_each(|key| set(key, key % 10));
        let expected: BTreeMap<_, _> =
            (0..5_000).filter(|key| key % 10 < 3).map(|key| (key, key % 10)).collect();
        let predicate = Predicate::less("this", 3_i64).unwrap();
        for indexed in [false, true] {
            if indexed {
                let index = IndexSettings::new("numbers", IndexKind::Sorted, None, ["this"]).unwrap();
                map.add_index(index).wait().unwrap();
            }
            for batch in [1, 2, 7, 10_000] {
                assert_eq!(paged(&map, &predicate, batch, || {}), expected, "{indexed} {batch}");
            }
            // What is changed between two pages is judged by what it is then; what stays is there.
            let mut next = 0;
            let seen = paged(&map, &predicate, 2, || {
                set(next % 5_000 / 10 * 10 + 9, next % 2 * 9);
                next += 10;
            });
            for (key, value) in &expected {
                assert_eq!(seen.get(key), Some(value), "{indexed}");
            }
            assert!(
                seen.iter().all(|(key, value)| expected.contains_key(key) || (key % 10 == 9 && *value == 0))
            );
            (0..5_000).filter(|key| key % 10 == 9).for_each(|key| set(key, 9));
        }
    }
}
