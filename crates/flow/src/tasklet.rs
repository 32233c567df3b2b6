//! One processor at work: drain the queues into the inbox, let it process, drain the outbox into the queues.
//!
//! ```text
//!            more items, more to emit
//!              ┌──────────┐
//!   Starting ─►│ Consuming │─► Completing ─► Emptying ─► done
//!              └──────────┘     (complete)    (outbox)
//!   blocked: an outbox bucket is more than half full and its queues have no room   woken by room
//!   idle:    no input that may be consumed now has items                           woken by data
//!   waiting: the processor said so                                                 woken by its waker
//! ```
//!
//! The same code runs as a polled task on the stage `flow` and on a thread of its own ([`crate::job`]); what differs is a
//! [`TurnView`]. Before it sleeps it leaves its waker at *every* queue that could let it go on, looks at each of them once more
//! after that, and sleeps only if none is ready: the argument is on the page `docs/design/008-flow.md`.

use crate::counters::{Counters, Rest};
use crate::dag::maker::EndsOfProcessor;
use crate::inbox::Inbox;
use crate::job::{JobMemory, StateTooLarge};
use crate::outbox::Outbox;
use crate::processor::{Failure, Processor, ProcessorContext, Share, Step};
use crate::signature::{Inputs, Outputs};
use filbert_pool::{Clock, TURN_BUDGET, Turn, WeakStages};
use filbert_sync::conveyor::Closed;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// How many items a processor is given at most in one call.
const SLICE: usize = 1024;

/// After a call that took longer the next one may as well: whoever was woken does not wait for it.
const LONG_CALL: Duration = Duration::from_micros(50);

/// What a tasklet sees of the turn that it is given.
pub(crate) trait TurnView {
    /// True when the turn should end.
    fn should_yield(&self) -> bool;

    /// The turn goes on for a while: others may take over whom it has woken.
    fn pass_on(&self);

    /// Gets the tasklet its next turn.
    fn waker(&self) -> Waker;

    /// As `waker`, but does not keep the tasklet: for those who may never wake it.
    fn weak_waker(&self) -> Waker;
}

/// A tasklet without its types.
pub(crate) trait Conduct: Send {
    /// One turn.
    fn turn(&mut self, view: &dyn TurnView) -> Result<Turn, Failure>;
}

/// Where a processor sits: whose it is, and the ends of its edges.
pub(crate) struct Seat {
    pub(crate) vertex: Arc<str>,
    pub(crate) share: Share,
    pub(crate) ends: EndsOfProcessor,
    pub(crate) clock: Clock,
    pub(crate) counters: Arc<Counters>,
    pub(crate) stages: WeakStages,
    pub(crate) memory: Arc<JobMemory>,
}

/// A processor with its inbox and outbox.
pub(crate) struct ProcessorTasklet<P: Processor> {
    processor: P,
    inbox: Inbox<P::In>,
    outbox: Outbox<P::Out>,
    inputs: Vec<InputState>,
    /// The input that is asked first for the next slice.
    next: usize,
    /// The input that the processor was called for when its outbox got full and its inbox empty: it may have more to emit.
    resumes: Option<usize>,
    phase: Phase,
    /// All consumers know whom to wake when they go.
    watches_ends: bool,
    /// The processor was called, and the call is not counted yet.
    is_called: bool,
    vertex: Arc<str>,
    share: Share,
    clock: Clock,
    counters: Arc<Counters>,
    stages: WeakStages,
    memory: Arc<JobMemory>,
    /// The bytes that its state took after the last call, as the job's account knows it.
    held: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Starting,
    Consuming,
    Completing,
    Emptying,
}

struct InputState {
    priority: i32,
    stage: InputStage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputStage {
    Open,
    /// It gave all its items; `complete_edge` is under way.
    Ending,
    Ended,
}

/// What came of one attempt to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Went {
    /// Something happened: try again.
    On,
    /// The processor was called and did nothing: let others have a turn first.
    Nowhere,
    /// No input has items.
    Starved,
    /// The processor waits for its own waker.
    Waiting,
    /// All is done and emitted.
    Through,
}

impl<P: Processor> ProcessorTasklet<P> {
    pub(crate) fn new(processor: P, seat: Seat) -> Self {
        let Seat { vertex, share, ends, clock, counters, stages, memory } = seat;
        let open = |priority| InputState { priority, stage: InputStage::Open };
        Self {
            processor,
            inputs: ends.priorities.into_iter().map(open).collect(),
            inbox: Inbox { store: <P::In as Inputs>::store(ends.inputs), ordinal: 0 },
            outbox: Outbox { store: <P::Out as Outputs>::store(ends.outputs) },
            next: 0,
            resumes: None,
            phase: Phase::Starting,
            watches_ends: false,
            is_called: false,
            vertex,
            share,
            clock,
            counters,
            stages,
            memory,
            held: 0,
        }
    }

    fn run(&mut self, view: &dyn TurnView) -> Result<Turn, Failure> {
        let began = self.clock.now();
        self.counters.end_rest(began);
        let outcome = self.take_turn(view, began);
        let now = self.clock.now();
        self.counters.busy.add(now.saturating_sub(began).as_nanos() as u64);
        // Also of a turn that failed.
        let (turn, rest) = outcome.inspect_err(|_| self.count_items(Rest::Again))?;
        self.count_items(rest);
        if turn != Turn::Done {
            self.counters.begin_rest(now, rest);
        }
        Ok(turn)
    }

    fn take_turn(&mut self, view: &dyn TurnView, began: Duration) -> Result<(Turn, Rest), Failure> {
        let (mut called, mut took) = (began, Duration::ZERO);
        loop {
            let outputs = self.flush()?;
            if took > LONG_CALL {
                view.pass_on();
            }
            if outputs.closed && self.phase != Phase::Starting && !self.processor.outlives_consumers() {
                // Nobody wants more of it. Its inputs close with it, so that its producers learn the same.
                return Ok((Turn::Done, Rest::Idle));
            }
            if outputs.blocked {
                if !self.room_or_wake(&view.waker()) {
                    return Ok((Turn::Idle, Rest::Blocked));
                }
                // There may be much to send, and a consumer that takes it bit by bit.
                if view.should_yield() {
                    return Ok((Turn::Again, Rest::Again));
                }
                continue;
            }
            let went = self.go_on(view);
            let ended = self.count_call(called);
            (called, took) = (ended, ended.saturating_sub(called));
            let went = went?;
            self.count_state(self.processor.held_bytes())?;
            match went {
                Went::On => {}
                Went::Nowhere => return Ok((Turn::Again, Rest::Again)),
                Went::Through => return Ok((Turn::Done, Rest::Idle)),
                Went::Starved => {
                    let waker = view.waker();
                    // Both are asked, whatever the first says: each must know the waker.
                    let data = self.data_or_wake(&waker);
                    if !self.room_or_wake(&waker) && !data && !self.end_or_wake(view) {
                        return Ok((Turn::Idle, Rest::Idle));
                    }
                }
                Went::Waiting => {
                    // What was emitted in this call must not wait with it.
                    self.flush()?;
                    let is_emptying = self.phase == Phase::Emptying;
                    // All of it found room in this moment: nobody would wake it for what is not there any more.
                    if is_emptying && self.backlog() == 0 {
                        continue;
                    }
                    if !self.room_or_wake(&view.waker()) && !self.end_or_wake(view) {
                        return Ok((Turn::Idle, if is_emptying { Rest::Blocked } else { Rest::Waiting }));
                    }
                }
            }
            if view.should_yield() {
                self.flush()?;
                return Ok((Turn::Again, Rest::Again));
            }
        }
    }

    /// One call of the processor, or the step to the next phase.
    fn go_on(&mut self, view: &dyn TurnView) -> Result<Went, Failure> {
        match self.phase {
            Phase::Starting => {
                let waker = view.waker();
                let context = ProcessorContext {
                    vertex: &self.vertex,
                    share: self.share,
                    waker: &waker,
                    stages: &self.stages,
                    counters: &self.counters,
                };
                self.is_called = true;
                self.processor.init(&context)?;
                self.phase = Phase::Consuming;
                Ok(Went::On)
            }
            Phase::Consuming => self.consume(),
            Phase::Completing => {
                let backlog = self.backlog();
                self.is_called = true;
                Ok(match self.processor.complete(&mut self.outbox)? {
                    Step::Done => {
                        self.phase = Phase::Emptying;
                        Went::On
                    }
                    Step::Wait => Went::Waiting,
                    Step::Again if self.backlog() == backlog => Went::Nowhere,
                    Step::Again => Went::On,
                })
            }
            // The outbox was flushed just before.
            Phase::Emptying => Ok(if self.backlog() == 0 { Went::Through } else { Went::Waiting }),
        }
    }

    fn consume(&mut self) -> Result<Went, Failure> {
        let Some(class) = self.class() else {
            self.phase = Phase::Completing;
            return Ok(Went::On);
        };
        if let Some(ordinal) = self.resumes.take() {
            // Without new items: those of the other inputs have their turn first.
            self.process(ordinal)?;
            return Ok(Went::On);
        }
        let count = self.inputs.len();
        for step in 0..count {
            let ordinal = (self.next + step) % count;
            if self.inputs[ordinal].priority != class {
                continue;
            }
            match self.inputs[ordinal].stage {
                InputStage::Ended => continue,
                InputStage::Ending => return self.end_edge(ordinal),
                InputStage::Open => {}
            }
            let input = P::In::input(&mut self.inbox.store, ordinal);
            if input.ready() == 0 {
                match input.fill(SLICE) {
                    Ok(0) => continue,
                    Ok(_) => {}
                    Err(Closed) => {
                        self.inputs[ordinal].stage = InputStage::Ending;
                        return Ok(Went::On);
                    }
                }
            }
            return self.process(ordinal);
        }
        let is_open = |input: &InputState| input.priority == class && input.stage == InputStage::Open;
        match self.inputs.iter().position(is_open) {
            Some(ordinal) if self.processor.wants_call() => self.process(ordinal),
            _ => Ok(Went::Starved),
        }
    }

    /// The priority of the inputs that may be consumed now; none when all have ended.
    fn class(&self) -> Option<i32> {
        let open = self.inputs.iter().filter(|input| input.stage != InputStage::Ended);
        open.map(|input| input.priority).min()
    }

    fn process(&mut self, ordinal: usize) -> Result<Went, Failure> {
        let before = (P::In::input(&mut self.inbox.store, ordinal).ready(), self.backlog());
        self.inbox.ordinal = ordinal;
        self.is_called = true;
        let step = self.processor.process(&mut self.inbox, &mut self.outbox)?;
        let input = P::In::input(&mut self.inbox.store, ordinal);
        if step == Step::Done {
            input.close();
            return Ok(Went::On);
        }
        let left = input.ready();
        if left == 0 {
            // The others have their turn before this one gives its next slice.
            self.next = ordinal + 1;
            if step == Step::Again && self.is_full() {
                self.resumes = Some(ordinal);
            }
        }
        Ok(match step {
            Step::Wait => Went::Waiting,
            _ if (left, self.backlog()) == before => Went::Nowhere,
            _ => Went::On,
        })
    }

    fn end_edge(&mut self, ordinal: usize) -> Result<Went, Failure> {
        let backlog = self.backlog();
        self.is_called = true;
        Ok(match self.processor.complete_edge(ordinal, &mut self.outbox)? {
            Step::Done => {
                self.inputs[ordinal].stage = InputStage::Ended;
                Went::On
            }
            Step::Wait => Went::Waiting,
            Step::Again if self.backlog() == backlog => Went::Nowhere,
            Step::Again => Went::On,
        })
    }

    /// Items that were emitted and are not in the queues yet.
    fn backlog(&mut self) -> usize {
        let store = &mut self.outbox.store;
        (0..P::Out::count(store)).map(|ordinal| P::Out::output(store, ordinal).backlog()).sum()
    }

    fn is_full(&mut self) -> bool {
        let store = &mut self.outbox.store;
        (0..P::Out::count(store)).any(|ordinal| {
            let output = P::Out::output(store, ordinal);
            output.backlog() >= output.mark()
        })
    }

    fn flush(&mut self) -> Result<Outlook, Failure> {
        let store = &mut self.outbox.store;
        let count = P::Out::count(store);
        let mut outlook = Outlook { blocked: false, closed: count > 0 };
        for ordinal in 0..count {
            let output = P::Out::output(store, ordinal);
            let held = output.flush()?;
            // More than half: a processor that is called for every free slot would spend its time on calls.
            outlook.blocked |= held * 2 > output.mark();
            outlook.closed &= output.is_closed();
        }
        Ok(outlook)
    }

    /// True when an output could move on. Else all of them that are held up know the waker.
    fn room_or_wake(&mut self, waker: &Waker) -> bool {
        let store = &mut self.outbox.store;
        let mut ready = false;
        for ordinal in 0..P::Out::count(store) {
            ready |= P::Out::output(store, ordinal).ready_or_wake(waker);
        }
        ready
    }

    /// True when a consumer may have gone: look again. Else all of them know whom to wake when they go, for all times.
    ///
    /// Weakly: a processor that said Wait and left its waker nowhere must not be kept by consumers that never go.
    fn end_or_wake(&mut self, view: &dyn TurnView) -> bool {
        let store = &mut self.outbox.store;
        let count = P::Out::count(store);
        if self.watches_ends || count == 0 {
            return false;
        }
        self.watches_ends = true;
        let waker = view.weak_waker();
        let mut closed = false;
        for ordinal in 0..count {
            closed |= P::Out::output(store, ordinal).closed_or_wake(&waker);
        }
        closed
    }

    /// True when an input that may be consumed now has something. Else all of them know the waker.
    fn data_or_wake(&mut self, waker: &Waker) -> bool {
        let class = self.class();
        let mut ready = false;
        for (ordinal, input) in self.inputs.iter().enumerate() {
            if Some(input.priority) == class && input.stage == InputStage::Open {
                ready |= P::In::input(&mut self.inbox.store, ordinal).ready_or_wake(waker);
            }
        }
        ready
    }

    /// If there was a call it ended now, and the next one begins.
    fn count_call(&mut self, began: Duration) -> Duration {
        if !std::mem::take(&mut self.is_called) {
            return began;
        }
        let now = self.clock.now();
        let took = now.saturating_sub(began);
        self.counters.calls.add(1);
        if P::IS_COOPERATIVE && took > TURN_BUDGET {
            self.counters.long_calls.add(1);
        }
        self.counters.longest_call.raise_to(took.as_nanos() as u64);
        now
    }

    /// Tells the job how many bytes the state takes now.
    #[inline]
    fn count_state(&mut self, now: usize) -> Result<(), StateTooLarge> {
        if now == self.held {
            return Ok(());
        }
        self.counters.state_bytes.set(now as u64);
        let before = std::mem::replace(&mut self.held, now);
        self.memory.change(before, now)
    }

    fn count_items(&mut self, rest: Rest) {
        let class = self.class();
        for (ordinal, counters) in self.counters.inbound.iter().enumerate() {
            let input = P::In::input(&mut self.inbox.store, ordinal);
            counters.items.set(input.taken());
            counters.fullest.set(input.fullest() as u64);
            // It just found them empty; looking again would fetch what its producers write.
            let is_empty = rest == Rest::Idle && Some(self.inputs[ordinal].priority) == class;
            let queued = if is_empty { 0 } else { input.queued() };
            counters.waiting.set((input.ready() + queued) as u64);
        }
        for (ordinal, counters) in self.counters.outbound.iter().enumerate() {
            let output = P::Out::output(&mut self.outbox.store, ordinal);
            counters.items.set(output.emitted());
            counters.waiting.set(output.backlog() as u64);
        }
    }
}

/// What the outputs allow.
struct Outlook {
    blocked: bool,
    /// There are outputs, and nobody takes from any of them.
    closed: bool,
}

impl<P: Processor> Drop for ProcessorTasklet<P> {
    fn drop(&mut self) {
        // One that is cancelled in its sleep does not sleep on.
        self.counters.end_rest(self.clock.now());
        // Less is never refused.
        let _ = self.count_state(0);
    }
}

impl<P: Processor> Conduct for ProcessorTasklet<P> {
    fn turn(&mut self, view: &dyn TurnView) -> Result<Turn, Failure> {
        self.run(view)
    }
}
