//! Ranges in line: made by workers of `cpu`, and by the thread that pushes rows when there are enough of them.
//!
//! ```text
//!   push ──► waiting [ 7 | 8 ] ──► a helper on cpu, or the pusher itself ──► made { 5, 6 } ──► taken in order
//! ```
//!
//! With N lanes there are N - 1 helpers at most, and the pusher is the last one: a thread that only waits would have to be woken for every
//! range, and on a machine with as many processors as lanes it would take one from those that work. A helper goes on until nothing waits;
//! whoever adds a range sends for one if there may be one more. Both are decided under one lock, so no range stays without anybody.
//!
//! The pusher never waits while ranges do: it makes one itself. So what it waits for are ranges that a helper has begun, and a helper that has
//! begun the last one ends with it.
//!
//! Threads: the pusher may wait for `cpu`; helpers are tasks there.

use super::block::Block;
use super::plan::Plan;
use super::range::Part;
use crate::error::CubeError;
use crate::memory::Reservation;
use filbert_pool::{SubmitError, TaskFuture, WorkStealing, caught};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The rows of a range, and what they hold.
pub(super) type Rows = Arc<(Vec<Block>, Reservation)>;

/// Ranges on their way, of one grouping.
pub(super) struct Line {
    shared: Arc<Shared>,
    cpu: WorkStealing,
    /// Helpers at a time.
    most: usize,
    /// Those that were sent for; the oldest first.
    sent: VecDeque<TaskFuture<()>>,
    /// The number of the next range that is added.
    next: usize,
    /// The number of the oldest range that was not taken.
    oldest: usize,
}

struct Shared {
    plan: Arc<Plan>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Ranges that nobody has begun, with their numbers.
    waiting: VecDeque<(usize, Rows)>,
    made: BTreeMap<usize, Result<Part, CubeError>>,
    helpers: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the parts of ranges until none waits.
    fn help(&self) {
        loop {
            let next = {
                let mut state = self.lock();
                let next = state.waiting.pop_front();
                if next.is_none() {
                    state.helpers -= 1;
                }
                next
            };
            let Some((number, rows)) = next else { return };
            let part = self.make(&rows);
            // Gone before the part is seen, which may be taken by one who needs the memory.
            drop(rows);
            self.lock().made.insert(number, part);
        }
    }

    fn make(&self, rows: &Rows) -> Result<Part, CubeError> {
        self.plan.observed.note_stage();
        caught(|| Part::of(&self.plan, &rows.0))
            .unwrap_or_else(|message| Err(CubeError::aggregation_panicked(message)))
    }
}

impl Line {
    /// For so many lanes, the pusher's included.
    pub(super) fn new(plan: &Arc<Plan>, cpu: &WorkStealing, lanes: usize) -> Self {
        let shared = Arc::new(Shared { plan: Arc::clone(plan), state: Mutex::default() });
        let most = lanes - 1;
        Self { shared, cpu: cpu.clone(), most, sent: VecDeque::new(), next: 0, oldest: 0 }
    }

    /// How many ranges were not taken.
    pub(super) fn len(&self) -> usize {
        self.next - self.oldest
    }

    /// True when all ranges were taken.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part of some rows, made here and now.
    pub(super) fn make(&self, rows: &Rows) -> Result<Part, CubeError> {
        self.cpu.run(|| self.shared.make(rows))
    }

    /// Adds a range, and makes the oldest one here when more wait than there are helpers.
    pub(super) fn add(&mut self, rows: Rows) -> Result<(), CubeError> {
        let (wants_helper, waiting) = {
            let mut state = self.shared.lock();
            state.waiting.push_back((self.next, rows));
            self.next += 1;
            let wants_helper = state.helpers < self.most;
            state.helpers += usize::from(wants_helper);
            (wants_helper, state.waiting.len())
        };
        if wants_helper {
            self.send()?;
        }
        if waiting > self.most {
            self.make_one();
        }
        Ok(())
    }

    /// Sends for a helper, who is counted already.
    fn send(&mut self) -> Result<(), CubeError> {
        self.sent.retain(|helper| !helper.is_done());
        let shared = Arc::clone(&self.shared);
        match self.cpu.submit("aggregate", move || shared.help()) {
            Ok(helper) => self.sent.push_back(helper),
            Err(error) => {
                self.shared.lock().helpers -= 1;
                // Others fill the stage: this thread does it all.
                if !matches!(error, SubmitError::Overloaded { .. }) {
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    /// Makes the oldest range that waits, here; false when none does.
    fn make_one(&self) -> bool {
        let Some((number, rows)) = self.shared.lock().waiting.pop_front() else { return false };
        let part = self.make(&rows);
        drop(rows);
        self.shared.lock().made.insert(number, part);
        true
    }

    /// The part of the oldest range, if it is made.
    pub(super) fn try_take(&mut self) -> Option<Result<Part, CubeError>> {
        let part = self.shared.lock().made.remove(&self.oldest)?;
        self.oldest += 1;
        Some(part)
    }

    /// The part of the oldest range; nothing when all were taken. Makes what waits, then waits for helpers.
    pub(super) fn take(&mut self) -> Result<Option<Result<Part, CubeError>>, CubeError> {
        while !self.is_empty() {
            if let Some(part) = self.try_take() {
                return Ok(Some(part));
            }
            if !self.make_one() {
                self.wait_for_helper()?;
            }
        }
        Ok(None)
    }

    /// Ends what was begun, and gives back the rows of what was not: from now on nobody makes anything until another range is added.
    pub(super) fn hold(&mut self) -> Result<Vec<Rows>, CubeError> {
        // They are the last ones: the oldest is begun first.
        let waiting = std::mem::take(&mut self.shared.lock().waiting);
        self.next -= waiting.len();
        while !self.sent.is_empty() {
            self.wait_for_helper()?;
        }
        Ok(waiting.into_iter().map(|(_, rows)| rows).collect())
    }

    /// Waits for the helper that was sent for first. Nothing waits for it then, so it ends with the range that it has.
    fn wait_for_helper(&mut self) -> Result<(), CubeError> {
        match self.sent.pop_front() {
            Some(helper) => helper.wait().map_err(|error| CubeError::of_task("aggregation", error)),
            None => Err(CubeError::Computation {
                place: "aggregation".to_owned(),
                message: "a range was lost".to_owned(),
            }),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Nobody wants them any more, and a helper that has not begun may be in line for long.
        for helper in self.sent.drain(..) {
            helper.cancel();
        }
        let mut state = self.shared.lock();
        let unwanted = (std::mem::take(&mut state.waiting), std::mem::take(&mut state.made));
        drop(state);
        drop(unwanted);
    }
}
