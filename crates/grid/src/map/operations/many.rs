//! Several keys of one partition at once.

use super::{Asked, MapTurn, Patience, Slice};
use crate::allowance::{Allowance, Tally, Weighs};
use crate::error::{GridError, GridResult};
use crate::map::expiry::Lifetime;
use crate::map::locks::Owner;
use crate::map::partition::{EntryView, MapPartition, MapSignal};
use crate::map::store::copied;
use crate::operation::{Action, Operation, Step};
use filbert_wire::Data;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The values of some keys; of those that are there.
#[derive(Debug, Serialize, Deserialize)]
pub struct GetAll {
    keys: Vec<Data>,
    #[serde(skip)]
    asked: Asked,
    #[serde(skip)]
    done: usize,
    #[serde(skip)]
    found: Vec<(Data, Data)>,
    #[serde(skip)]
    tally: Tally,
}

impl GetAll {
    /// Those of `keys`, which all are of one partition.
    pub fn new(keys: Vec<Data>) -> Self {
        Self { keys, asked: Asked::default(), done: 0, found: Vec::new(), tally: Tally::default() }
    }

    /// Takes no more memory than that.
    #[must_use]
    pub fn within(mut self, allowance: &Allowance) -> Self {
        self.tally = Tally::new(allowance);
        self
    }
}

impl Operation for GetAll {
    type Target = MapPartition;
    type Output = Vec<(Data, Data)>;
    const NAME: &'static str = "map.get_all";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        // Before the first is read; what goes meanwhile is asked for no more.
        if self.done == 0
            && let Some(missing) = self.asked.wait_to_read(map, turn, &self.keys)
        {
            return missing;
        }
        let chain = map.interceptors();
        let mut slice = Slice::begin(map, turn);
        while let Some(key) = self.keys.get(self.done) {
            let found = map.get(turn, key).map(copied);
            if let Some(value) = found.or_else(|| self.asked.unkept(key).cloned()) {
                let given = match &chain {
                    None => Ok(value),
                    Some(chain) => chain.get_found(value),
                };
                let entry = match given {
                    Ok(value) => (key.clone(), value),
                    Err(error) => return Step::failed(error),
                };
                if let Err(too_much) = self.tally.add(entry.weight()) {
                    return Step::failed(too_much.into());
                }
                self.found.push(entry);
            }
            self.done += 1;
            if slice.is_over(turn) {
                return Step::Again;
            }
        }
        match self.tally.settle() {
            Ok(()) => Step::done(std::mem::take(&mut self.found)),
            Err(too_much) => Step::failed(too_much.into()),
        }
    }
}

/// An entry that is put with others.
pub trait PutEntry: Serialize + DeserializeOwned + Send + 'static {
    /// The operation's name.
    const NAME: &'static str;

    /// Its key.
    fn key(&self) -> &Data;

    /// Puts it; nobody else has locked its key.
    fn put(&self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> GridResult<()>;
}

impl PutEntry for (Data, Data) {
    const NAME: &'static str = "map.put_all";

    fn key(&self) -> &Data {
        &self.0
    }

    fn put(&self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> GridResult<()> {
        map.write(turn, &self.0, &self.1, Lifetime::DEFAULT, false).map(drop)
    }
}

/// With what another map knew of it, as far as this one keeps it.
impl PutEntry for EntryView {
    const NAME: &'static str = "map.put_all_views";

    fn key(&self) -> &Data {
        &self.key
    }

    fn put(&self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> GridResult<()> {
        map.write(turn, &self.key, &self.value, self.lifetime(), false)?;
        map.adopt(turn, self);
        Ok(())
    }
}

/// Puts some entries: keys with values, or with all that is known of them. One after the other: when one stays locked for too long
/// or is refused, those before it have theirs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct PutAll<E: PutEntry = (Data, Data)> {
    entries: Vec<E>,
    owner: Owner,
    patience: Patience,
    #[serde(skip)]
    done: usize,
}

impl<E: PutEntry> PutAll<E> {
    /// These entries, whose keys all are of one partition.
    pub fn new(entries: Vec<E>, owner: Owner) -> Self {
        Self { entries, owner, patience: Patience::default(), done: 0 }
    }
}

impl<E: PutEntry> Operation for PutAll<E> {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = E::NAME;
    const ACTION: Action = Action::Put;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(refused) = map.refuses_changes() {
            return Step::failed(refused);
        }
        let mut slice = Slice::begin(map, turn);
        turn.acts_for(self.owner.id);
        while let Some(entry) = self.entries.get(self.done) {
            if map.check_lock(turn, entry.key(), self.owner).is_err() {
                let event = MapSignal::Free(entry.key().clone());
                return self.patience.wait(map, turn, event);
            }
            map.count_put();
            if let Err(error) = entry.put(map, turn) {
                return Step::failed(if self.done > 0 { error.after_a_part() } else { error });
            }
            self.done += 1;
            if slice.is_over(turn) {
                return Step::Again;
            }
        }
        Step::done(())
    }

    fn expired(self, _: &mut MapPartition) -> GridResult<()> {
        Err(GridError::TimedOutInPart { operation: Self::NAME })
    }
}
