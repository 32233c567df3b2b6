//! One topic: offers in, events out, in order; and the offers that wait for room.
//!
//! Every change of the accounts and the post that belongs to it happen under the stage's lock, so the order of the strand's mail is
//! the order of the admissions. User code (events, callbacks, what an event owns) never runs or drops under it.

use super::{Ledger, Shared, State};
use crate::context;
use crate::error::SubmitError;
use crate::future::{Resolver, TaskFuture, task_future};
use crate::panics::{caught, discard};
use crate::rules::Level;
use crate::striped::Strand;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A topic: events in the order in which they were accepted, one at a time. A handle that is cheap to clone.
///
/// An event is a closure: **the call of the listener** with what it should hear. Several listeners are several calls in one closure,
/// or a topic each. [`offer`](Topic::offer) says what became of the event, [`submit`](Topic::submit) gives a future of the
/// listener's end. Without room, a thread of level A waits inside `offer` for up to the offer time-out; one of level B or C never
/// waits and gets [`Offer::Pending`].
///
/// ```
/// use filbert_pool::{Offer, Stages};
/// use std::sync::mpsc;
///
/// let stages = Stages::start()?;
/// let (listener, heard) = mpsc::channel();
/// let prices = stages.event().topic("prices");
/// for price in [41, 42] {
///     let listener = listener.clone();
///     let offer = prices.offer("price", move || listener.send(price).unwrap())?;
///     assert!(matches!(offer, Offer::Accepted));
/// }
/// assert_eq!((heard.recv()?, heard.recv()?), (41, 42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Topic {
    core: Arc<TopicCore>,
}

/// What became of an offer.
#[derive(Debug)]
#[must_use = "an event that was dropped, or may be, is seen only here and in the counters"]
pub enum Offer {
    /// The event will be delivered.
    Accepted,
    /// There was no room in time, or too many offers of the topic wait already; the event is gone, and counted.
    Dropped,
    /// This thread must not wait: the future says within the offer time-out whether the event was accepted.
    Pending(TaskFuture<Offered>),
}

/// How a pending offer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// Room came; the event will be delivered.
    Accepted,
    /// No room came in time; the event is gone, and counted.
    Dropped,
}

pub(super) struct TopicCore {
    shared: Arc<Shared>,
    id: usize,
    name: Arc<str>,
    strand: Strand<()>,
}

type Event = Box<dyn FnOnce() + Send>;

/// An offer that waits for room.
pub(super) struct Waiting {
    topic: Arc<TopicCore>,
    task: &'static str,
    event: Event,
    resolver: Resolver<Offered>,
    deadline: u64,
}

impl Waiting {
    /// Says how it ended, and drops an event that was not taken out.
    pub(super) fn resolve(self, offered: Offered) {
        discard(self.event);
        self.resolver.resolve(Ok(offered));
    }
}

impl Topic {
    pub(super) fn new(core: Arc<TopicCore>) -> Self {
        Self { core }
    }

    /// The topic's name.
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// Offers an event: a closure that gives it to the listener. `task` names it in reports.
    ///
    /// Without room, a level A thread waits here up to the offer time-out; a thread of level B or C gets
    /// [`Offer::Pending`] at once. When 1,000 offers of the topic wait already, or as many as its reserve if that is more, the event is
    /// [dropped](Offer::Dropped) at once.
    pub fn offer(
        &self,
        task: &'static str,
        event: impl FnOnce() + Send + 'static,
    ) -> Result<Offer, SubmitError> {
        match self.offer_without_waiting(task, event)? {
            Offer::Pending(future) if context::current().kind.level() == Level::A => {
                match future.wait() {
                    Ok(Offered::Accepted) => Ok(Offer::Accepted),
                    // An error means that the stage is gone with the offer.
                    Ok(Offered::Dropped) | Err(_) => Ok(Offer::Dropped),
                }
            }
            other => Ok(other),
        }
    }

    /// Offers an event like [`Topic::offer`], and gets [`Offer::Pending`] on any thread: to offer to several topics before waiting.
    pub fn offer_without_waiting(
        &self,
        task: &'static str,
        event: impl FnOnce() + Send + 'static,
    ) -> Result<Offer, SubmitError> {
        let shared = &*self.core.shared;
        let stage = shared.id();
        context::check_submit(stage)?;
        let mut guard = shared.lock();
        let state = &mut *guard;
        if state.closed {
            drop(guard);
            shared.engine.metrics().count_refused();
            return Err(SubmitError::ShutDown { stage });
        }
        let Some(ledger) = state.ledgers.get_mut(&self.core.id) else { return Ok(Offer::Dropped) };
        if ledger.waiting.is_empty() && state.accounts.admit(self.core.id) {
            self.core.post(task, event);
            return Ok(Offer::Accepted);
        }
        if ledger.waiting.len() >= shared.waiting_limit() {
            ledger.dropped += 1;
            drop(guard);
            shared.engine.metrics().count_dropped(1);
            return Ok(Offer::Dropped);
        }
        let (resolver, future) = task_future(&shared.env, stage, task);
        let timeout = shared.settings.offer_timeout;
        let deadline = shared.env.now().saturating_add(timeout.as_nanos() as u64);
        let topic = Arc::clone(&self.core);
        ledger.waiting.push_back(Waiting { topic, task, event: Box::new(event), resolver, deadline });
        let arm = !std::mem::replace(&mut ledger.timer_armed, true);
        if ledger.waiting.len() == 1 {
            state.rotation.push_back(self.core.id);
        }
        drop(guard);
        if arm {
            self.core.expire_after(timeout);
        }
        Ok(Offer::Pending(future))
    }
}

impl Topic {
    /// Like [`Topic::offer`], with a future for the listener's end. An event that is dropped for want of room is
    /// [`SubmitError::Overloaded`] or, when that turns out later, a cancelled future.
    pub fn submit<R: Send + 'static>(
        &self,
        task: &'static str,
        event: impl FnOnce() -> R + Send + 'static,
    ) -> Result<TaskFuture<R>, SubmitError> {
        let shared = &*self.core.shared;
        let (resolver, future) = task_future(&shared.env, shared.id(), task);
        let event = move || {
            resolver.run(event);
        };
        match self.offer(task, event)? {
            Offer::Accepted => {}
            Offer::Pending(offered) => offered.detach(),
            Offer::Dropped => {
                return Err(SubmitError::Overloaded {
                    stage: shared.id(),
                    capacity: shared.settings.capacity,
                });
            }
        }
        Ok(future)
    }
}

impl Topic {
    /// Counts an event as dropped that is not offered at all: whoever makes it has no room for what it holds.
    pub fn count_dropped(&self) {
        let shared = &*self.core.shared;
        if let Some(ledger) = shared.lock().ledgers.get_mut(&self.core.id) {
            ledger.dropped += 1;
        }
        shared.engine.metrics().count_dropped(1);
    }
}

impl std::fmt::Debug for Topic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Topic").field(&self.core.name).finish()
    }
}

impl TopicCore {
    pub(super) fn new(shared: Arc<Shared>, id: usize, name: Arc<str>, strand: Strand<()>) -> Self {
        Self { shared, id, name, strand }
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Puts an admitted event on the strand. Under the lock, with the stage open: so the strand is open too.
    fn post(self: &Arc<Self>, task: &'static str, event: impl FnOnce() + Send + 'static) {
        let delivery = Delivery { topic: Some(Arc::clone(self)) };
        let posted = self.strand.post(task, move |()| {
            // Kept until the event has ended: a topic asked for again meanwhile is this one, and keeps its order.
            let _topic = delivery.begin();
            event();
        });
        debug_assert!(posted.is_ok(), "an open stage takes an admitted event");
    }

    /// Drops what has waited too long, `delay` from now.
    fn expire_after(self: &Arc<Self>, delay: Duration) {
        let topic: Weak<Self> = Arc::downgrade(self);
        self.shared.env.after(delay, move || {
            if let Some(topic) = topic.upgrade() {
                topic.expire();
            }
        });
    }

    fn expire(self: &Arc<Self>) {
        let now = self.shared.env.now();
        let mut expired = Vec::new();
        let mut next = None;
        {
            let mut guard = self.shared.lock();
            let state = &mut *guard;
            let Some(ledger) = state.ledgers.get_mut(&self.id) else { return };
            while ledger.waiting.front().is_some_and(|offer| offer.deadline <= now) {
                expired.extend(ledger.waiting.pop_front());
            }
            ledger.dropped += expired.len() as u64;
            match ledger.waiting.front() {
                Some(front) => next = Some(front.deadline - now),
                None => {
                    ledger.timer_armed = false;
                    state.rotation.retain(|topic| *topic != self.id);
                }
            }
        }
        if let Some(delay) = next {
            self.expire_after(Duration::from_nanos(delay));
        }
        self.shared.drop_offers(expired);
    }
}

impl Drop for TopicCore {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.accounts.close(self.id);
        if let Some(Ledger { delivered, dropped, source: Some(source), .. }) = state.ledgers.remove(&self.id)
        {
            source.count(delivered, dropped);
        }
        if state.by_name.get(&self.name).is_some_and(|(id, _)| *id == self.id) {
            state.by_name.remove(&self.name);
        }
        // Its reserve is shared room now.
        let settled = share_room(&mut state);
        drop(state);
        settle(&self.shared, settled);
    }
}

/// An admitted event's place: given back when it begins, or when it is dropped unbegun.
struct Delivery {
    topic: Option<Arc<TopicCore>>,
}

impl Delivery {
    fn begin(mut self) -> Option<Arc<TopicCore>> {
        let topic = self.topic.take();
        if let Some(topic) = &topic {
            leave(topic, |state| {
                if let Some(ledger) = state.ledgers.get_mut(&topic.id) {
                    ledger.delivered += 1;
                }
            });
        }
        topic
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if let Some(topic) = self.topic.take() {
            topic.shared.engine.metrics().count_dropped(1);
            leave(&topic, |state| {
                if let Some(ledger) = state.ledgers.get_mut(&topic.id) {
                    ledger.dropped += 1;
                }
            });
        }
    }
}

/// Gives a place back and lets waiting offers have it.
fn leave(topic: &Arc<TopicCore>, count: impl FnOnce(&mut State)) {
    let settled = {
        let mut guard = topic.shared.lock();
        guard.accounts.leave(topic.id);
        count(&mut guard);
        share_room(&mut guard)
    };
    settle(&topic.shared, settled);
}

type Settled = (Vec<(Resolver<Offered>, Arc<TopicCore>)>, Vec<Waiting>);

/// Lets waiting offers have what room there is, topic by topic in turn, until a whole round finds none.
fn share_room(state: &mut State) -> Settled {
    let (mut accepted, mut cancelled) = (Vec::new(), Vec::new());
    let mut refused = 0;
    while refused < state.rotation.len() {
        let Some(id) = state.rotation.pop_front() else { break };
        let Some(ledger) = state.ledgers.get_mut(&id) else { continue };
        refused += 1;
        if !ledger.waiting.is_empty()
            && state.accounts.admit(id)
            && let Some(offer) = ledger.waiting.pop_front()
        {
            refused = 0;
            if offer.resolver.begin() {
                let Waiting { topic, task, event, resolver, .. } = offer;
                topic.post(task, event);
                accepted.push((resolver, topic));
            } else {
                state.accounts.leave(id);
                ledger.dropped += 1;
                cancelled.push(offer);
            }
        }
        if !ledger.waiting.is_empty() {
            state.rotation.push_back(id);
        }
    }
    (accepted, cancelled)
}

/// Tells what became of offers; outside the lock, and whatever a callback or a waker does.
fn settle(shared: &Shared, (accepted, cancelled): Settled) {
    for (resolver, _topic) in accepted {
        let _ = caught(|| resolver.resolve(Ok(Offered::Accepted)));
    }
    shared.drop_offers(cancelled);
}
