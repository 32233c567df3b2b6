//! A processor with a will of its own: what a vertex does to items, and what makes it difficult.

use filbert_flow::{Failure, Inbox, Many, Outbox, Processor, ProcessorContext, Step};
use filbert_pool::Clock;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Duration;

/// What a vertex does to items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    Pass,
    Twice,
    Odd,
    /// Emits everything when it completes.
    Hoard,
}

impl Effect {
    pub(crate) fn apply(self, items: &[u64]) -> Vec<u64> {
        match self {
            Effect::Pass | Effect::Hoard => items.to_vec(),
            Effect::Twice => items.iter().flat_map(|item| [*item; 2]).collect(),
            Effect::Odd => items.iter().copied().filter(|item| item % 2 == 1).collect(),
        }
    }
}

/// What makes a vertex difficult.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    None,
    /// Takes one item per call.
    Lazy,
    /// Sleeps in virtual time before every item.
    Sleeps,
    /// Wants no more from an edge after so many items.
    Closes {
        after: usize,
    },
    /// Fails after so many items.
    Fails {
        after: usize,
        panics: bool,
    },
}

/// Counts itself while it lives.
pub(crate) struct Alive(Arc<AtomicUsize>);

impl Alive {
    pub(crate) fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(crate) struct NodeProcessor {
    effect: Effect,
    trouble: Trouble,
    clock: Arc<OnceLock<Clock>>,
    waker: Option<Waker>,
    slept: bool,
    seen: usize,
    /// Emitted by and by.
    results: VecDeque<u64>,
    hoard: VecDeque<u64>,
    _alive: Alive,
}

impl NodeProcessor {
    pub(crate) fn new(effect: Effect, trouble: Trouble, clock: Arc<OnceLock<Clock>>, alive: Alive) -> Self {
        let (results, hoard) = (VecDeque::new(), VecDeque::new());
        Self { effect, trouble, clock, waker: None, slept: false, seen: 0, results, hoard, _alive: alive }
    }

    /// Emits what there is room for; false when something is left.
    fn emit(&mut self, outbox: &mut Outbox<Many<u64>>) -> bool {
        outbox.emit_from(&mut std::iter::from_fn(|| self.results.pop_front())) || self.results.is_empty()
    }

    /// True when it has to sleep before the next item.
    fn sleeps(&mut self) -> bool {
        self.slept = !self.slept;
        if let (true, Some(waker), Some(clock)) = (self.slept, self.waker.clone(), self.clock.get()) {
            clock.after(Duration::from_micros(50), move || waker.wake());
        }
        self.slept
    }
}

impl Processor for NodeProcessor {
    type In = Many<u64>;
    type Out = Many<u64>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.waker = Some(context.waker().clone());
        Ok(())
    }

    fn process(
        &mut self,
        inbox: &mut Inbox<Many<u64>>,
        outbox: &mut Outbox<Many<u64>>,
    ) -> Result<Step, Failure> {
        while self.emit(outbox) && !outbox.is_full() {
            if self.trouble == Trouble::Sleeps && self.sleeps() {
                return Ok(Step::Wait);
            }
            let Some(item) = inbox.pop() else { break };
            match self.effect {
                Effect::Hoard => self.hoard.push_back(item),
                effect => self.results.extend(effect.apply(&[item])),
            }
            self.seen += 1;
            match self.trouble {
                Trouble::Lazy => break,
                Trouble::Closes { after } if self.seen >= after => return Ok(Step::Done),
                Trouble::Fails { after, panics } if self.seen >= after => {
                    assert!(!panics, "as planned");
                    return Err("as planned".into());
                }
                _ => {}
            }
        }
        Ok(Step::Again)
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
        self.results.append(&mut self.hoard);
        Ok(if self.emit(outbox) { Step::Done } else { Step::Again })
    }
}
