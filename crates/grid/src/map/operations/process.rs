//! Registered code on entries: on one key, on some, or on all that a filter takes.
//!
//! On one key it waits for whoever has locked it. On several it does not look at locks, as Hazelcast says, but waits for an entry that is
//! away. An entry is *away* while an offloadable processor works on a copy of it on the executor [`OFFLOAD`]: the member itself holds the
//! key then, readers go on, and what the processor decided is written back on the strand.
//!
//! What a processor sees of an entry, and what it does to it, goes through the map's interceptors, as for anyone.

use super::{Asked, EntryFilter, EntryRef, MapTurn, Patience, Place, Slice};
use crate::code::Processor;
use crate::code::{Code, EntryChange};
use crate::error::{GridError, GridResult};
use crate::map::events::MapEventKind;
use crate::map::expiry::Lifetime;
use crate::map::partition::{MapPartition, MapSignal};
use crate::map::store::{Slot, copied};
use crate::operation::{Action, HeldBack, Operation, Step};
use filbert_pool::{Executor, ExecutorSettings, SettingsError, Stages};
use filbert_store::Pending;
use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The executor for processors that take long.
const OFFLOAD: &str = "offload";

/// Runs a processor on the entry of one key; what it gives.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExecuteOnKey {
    place: Place,
    code: Code,
    #[serde(skip)]
    away: Option<Arc<Absence>>,
}

/// An entry that is away, and what became of it there.
#[derive(Debug)]
struct Absence {
    number: u64,
    result: Mutex<Option<GridResult<Option<Data>>>>,
    /// What it was changed to, as far as that is not on disk yet.
    stored: Mutex<Option<Pending>>,
    /// The same of a store behind the map.
    held: Mutex<Vec<HeldBack>>,
}

impl ExecuteOnKey {
    /// `code` on the entry of this key.
    pub fn new(place: Place, code: Code) -> Self {
        Self { place, code, away: None }
    }

    fn send_away(
        &mut self,
        map: &mut MapPartition,
        turn: &mut MapTurn<'_>,
        processor: Processor,
    ) -> Step<Self> {
        let executor = match offload(&map.context().stages) {
            Ok(executor) => executor,
            Err(error) => {
                return Step::failed(GridError::BadArgument {
                    operation: Self::NAME,
                    problem: error.to_string(),
                });
            }
        };
        let key = self.place.key.detached();
        let value = map.find(turn, &key).map(|slot| copied(map.store().value(slot)));
        let value = match map.interceptors().map_or(Ok(value.clone()), |chain| chain.get(value)) {
            Ok(value) => value,
            Err(error) => return Step::failed(error),
        };
        let absence = Arc::new(Absence {
            number: map.new_absence(),
            result: Mutex::default(),
            stored: Mutex::default(),
            held: Mutex::default(),
        });
        let (home, partition, known) = (map.home().clone(), turn.partition(), Arc::clone(&absence));
        let (sent, clock) = (key.clone(), turn.clock().clone());
        let work = move || {
            let (result, change) = match processor.run(sent.as_bytes(), value.as_ref().map(Data::as_bytes)) {
                Ok((given, change)) => (Ok(given), change),
                Err(error) => (Err(error), None),
            };
            *known.result.lock().unwrap_or_else(|broken| broken.into_inner()) = Some(result);
            let back = BringBack { key: sent, change, absence: known.number, away: Some(known) };
            crate::strands::mail_until_taken(&home, partition, &clock, back, Duration::from_millis(10));
        };
        match executor.submit(Self::NAME, work) {
            Ok(running) => running.detach(),
            Err(refused) => return Step::failed(GridError::Refused(refused)),
        }
        map.send_away(&key, self.place.owner);
        let event = MapSignal::Returned(absence.number);
        self.away = Some(absence);
        Step::Wait { event, deadline: None }
    }
}

fn offload(stages: &Stages) -> Result<Executor, SettingsError> {
    if let Ok(known) = stages.executor(OFFLOAD) {
        return Ok(known);
    }
    // Another thread may have made it meanwhile.
    stages
        .add_executor(OFFLOAD, &ExecutorSettings::default())
        .or_else(|error| stages.executor(OFFLOAD).map_err(|_| error))
}

impl Operation for ExecuteOnKey {
    type Target = MapPartition;
    type Output = Option<Data>;
    const NAME: &'static str = "map.execute_on_key";
    const ACTION: Action = Action::Execute;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(away) = &self.away {
            let result = away.result.lock().unwrap_or_else(|broken| broken.into_inner()).take();
            if let Some(stored) = away.stored.lock().unwrap_or_else(|broken| broken.into_inner()).take() {
                turn.stores(stored);
            }
            turn.held.append(&mut away.held.lock().unwrap_or_else(|broken| broken.into_inner()));
            return match result {
                Some(result) => Step::Done(result),
                None => Step::Wait { event: MapSignal::Returned(away.number), deadline: None },
            };
        }
        if let Some(blocked) = self.place.blocked(map, turn) {
            return blocked;
        }
        if let Some(missing) = self.place.missing(map, turn) {
            return missing;
        }
        let processor = match map.context().registry.processor(&self.code) {
            Ok(processor) => processor,
            Err(error) => return Step::failed(error),
        };
        if processor.is_offloadable() {
            return self.send_away(map, turn, processor);
        }
        Step::Done(process(map, turn, &processor, &self.place.key))
    }
}

/// Runs a processor on one key, and does what it decided.
fn process(
    map: &mut MapPartition,
    turn: &mut MapTurn<'_>,
    processor: &Processor,
    key: &Data,
) -> GridResult<Option<Data>> {
    let found = map.find(turn, key);
    if let Some(slot) = found {
        map.used(turn, slot);
    }
    let (given, change) = run(map, processor, key.as_bytes(), found)?;
    apply(map, turn, key, change)?;
    Ok(given)
}

/// Runs a processor on a key whose entry is in `found`: what it gives, and what it decided.
fn run(
    map: &MapPartition,
    processor: &Processor,
    key: &[u8],
    found: Option<Slot>,
) -> GridResult<(Option<Data>, Option<EntryChange>)> {
    let stored = found.map(|slot| map.store().value(slot));
    match map.interceptors() {
        None => processor.run(key, stored),
        Some(chain) => processor.run(key, chain.get(stored.map(copied))?.as_ref().map(Data::as_bytes)),
    }
}

fn apply(
    map: &mut MapPartition,
    turn: &mut MapTurn<'_>,
    key: &Data,
    change: Option<EntryChange>,
) -> GridResult<()> {
    match change {
        None => Ok(()),
        Some(EntryChange::Set(value)) => map.write(turn, key, &value, Lifetime::DEFAULT, false).map(drop),
        Some(EntryChange::Remove) => match map.find(turn, key) {
            Some(slot) => map.take(turn, slot, MapEventKind::Removed, false).map(drop),
            None => Ok(()),
        },
    }
}

/// An entry comes back from its processor.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct BringBack {
    key: Data,
    change: Option<EntryChange>,
    absence: u64,
    /// Where it is said what became of it.
    #[serde(skip)]
    away: Option<Arc<Absence>>,
}

impl Operation for BringBack {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "map.bring_back";
    const ACTION: Action = Action::Execute;
    const PRIORITY: bool = true;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let applied = match map.refuses_changes() {
            // The map is gone, and with it whoever wanted to know.
            Some(GridError::Destroyed { .. }) => Ok(()),
            Some(refused) if self.change.is_some() => Err(refused),
            _ => apply(map, turn, &self.key, self.change.take()),
        };
        if let Err(error) = applied
            && let Some(away) = &self.away
        {
            *away.result.lock().unwrap_or_else(|broken| broken.into_inner()) = Some(Err(error));
        }
        if let Some(away) = &self.away {
            // Nobody waits for this operation: whoever sent the entry away is answered when the change is stored.
            *away.stored.lock().unwrap_or_else(|broken| broken.into_inner()) = turn.stored.take();
            *away.held.lock().unwrap_or_else(|broken| broken.into_inner()) = std::mem::take(&mut turn.held);
        }
        map.bring_back(turn, &self.key, self.absence);
        Step::done(())
    }
}

/// What the processors of several entries gave, by key; only where they gave something.
type Given = Vec<(Data, Data)>;

/// Runs a processor on some keys of one partition; what it gives, by key.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExecuteOnKeys {
    keys: Vec<Data>,
    code: Code,
    patience: Patience,
    #[serde(skip)]
    asked: Asked,
    #[serde(skip)]
    done: usize,
    #[serde(skip)]
    processor: Option<Processor>,
    #[serde(skip)]
    given: Given,
}

impl ExecuteOnKeys {
    /// `code` on the entries of these keys.
    pub fn new(keys: Vec<Data>, code: Code) -> Self {
        Self {
            keys,
            code,
            patience: Patience::default(),
            asked: Asked::default(),
            done: 0,
            processor: None,
            given: Vec::new(),
        }
    }
}

/// The processor that was made for the first slice, or now.
fn made<'a>(known: &'a mut Option<Processor>, code: &Code, map: &MapPartition) -> GridResult<&'a Processor> {
    match known {
        Some(known) => Ok(known),
        None => Ok(known.insert(map.context().registry.processor(code)?)),
    }
}

impl Operation for ExecuteOnKeys {
    type Target = MapPartition;
    type Output = Given;
    const NAME: &'static str = "map.execute_on_keys";
    const ACTION: Action = Action::Execute;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(refused) = map.refuses_changes() {
            return Step::failed(refused);
        }
        if self.done == 0
            && let Some(missing) = self.asked.wait(map, turn, &self.keys)
        {
            return missing;
        }
        let processor = match made(&mut self.processor, &self.code, map) {
            Ok(processor) => processor,
            Err(error) => return Step::failed(error),
        };
        let mut slice = Slice::begin(map, turn);
        while let Some(key) = self.keys.get(self.done) {
            if map.is_away(key) {
                return self.patience.wait(map, turn, MapSignal::Free(key.clone()));
            }
            match process(map, turn, processor, key) {
                Ok(given) => self.given.extend(given.map(|given| (key.clone(), given))),
                Err(error) if self.done > 0 => return Step::failed(error.after_a_part()),
                Err(error) => return Step::failed(error),
            }
            self.done += 1;
            if slice.is_over_now(turn) {
                return Step::Again;
            }
        }
        Step::done(std::mem::take(&mut self.given))
    }

    fn expired(self, _: &mut MapPartition) -> GridResult<Given> {
        Err(GridError::TimedOutInPart { operation: Self::NAME })
    }
}

/// Runs a processor on all entries of a partition that a filter takes; what it gives, by key.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct ExecuteOnEntries<F: EntryFilter> {
    filter: F,
    code: Code,
    patience: Patience,
    #[serde(skip)]
    cursor: u32,
    /// Entries were processed.
    #[serde(skip)]
    began: bool,
    #[serde(skip)]
    processor: Option<Processor>,
    #[serde(skip)]
    given: Given,
}

impl<F: EntryFilter> ExecuteOnEntries<F> {
    /// `code` on the entries that `filter` takes.
    pub fn new(filter: F, code: Code) -> Self {
        Self {
            filter,
            code,
            patience: Patience::default(),
            cursor: 0,
            began: false,
            processor: None,
            given: Vec::new(),
        }
    }
}

impl<F: EntryFilter> Operation for ExecuteOnEntries<F> {
    type Target = MapPartition;
    type Output = Given;
    const NAME: &'static str = "map.execute_on_entries";
    const ACTION: Action = Action::Execute;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(refused) = map.refuses_changes() {
            return Step::failed(refused);
        }
        let processor = match made(&mut self.processor, &self.code, map) {
            Ok(processor) => processor,
            Err(error) => return Step::failed(error),
        };
        let mut slice = Slice::begin(map, turn);
        while let Some(slot) = map.store().next(self.cursor) {
            let entry = EntryRef::at(map.store(), slot);
            if !map.is_over(turn, slot) && self.filter.matches(&entry) {
                if map.is_away_entry(slot) {
                    let key = copied(map.store().key(slot));
                    return self.patience.wait(map, turn, MapSignal::Free(key));
                }
                map.used(turn, slot);
                let key = map.store().key(slot);
                let (given, change) = match run(map, processor, key, Some(slot)) {
                    Ok(done) => done,
                    Err(error) => return Step::failed(error),
                };
                self.given.extend(given.map(|given| (copied(key), given)));
                // Where the entry is was known before it was processed, and nobody else had a turn.
                let changed = match change {
                    None => Ok(()),
                    Some(EntryChange::Set(value)) => map.write_at(turn, slot, &value),
                    Some(EntryChange::Remove) => map.take(turn, slot, MapEventKind::Removed, false).map(drop),
                };
                if let Err(error) = changed {
                    return Step::failed(if self.began { error.after_a_part() } else { error });
                }
                self.began = true;
            }
            self.cursor = slot.number() + 1;
            if slice.is_over_now(turn) {
                return Step::Again;
            }
        }
        Step::done(std::mem::take(&mut self.given))
    }

    fn expired(self, _: &mut MapPartition) -> GridResult<Given> {
        Err(GridError::TimedOutInPart { operation: Self::NAME })
    }
}
