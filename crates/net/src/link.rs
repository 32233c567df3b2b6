//! What the loop of a connection shares with the threads that send through it: the queue, the counts, and who must be woken.
//!
//! Everything that can change what the loop does next happens under one lock, held for a few instructions, and leaves `nudged`
//! behind. The loop clears it when it collects, and falls asleep under the same lock only when it is still clear: so no send is
//! missed, and a batch of sends costs one wake-up, none at all while the loop is in its turn anyway.
//! A lock-free queue was rejected: the wake-up costs a hundred times the lock, and the bytes would need a node each.

use crate::backlog::Backlog;
use crate::protocol::ConnectionInfo;
use crate::reason::CloseReason;
use crate::settings::NetSettings;
use bytes::Bytes;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::Waker;

/// A connection as other threads see it.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) info: ConnectionInfo,
    pub(crate) since_unix_ms: u64,
    /// Who has logged in; set at most once.
    pub(crate) user: OnceLock<Arc<str>>,
    queue: Mutex<Queue>,
    /// Bytes in the queue; written under its lock, read without.
    queued: AtomicUsize,
    /// Bytes that the loop holds and the system has not taken; written by the loop.
    unwritten: AtomicUsize,
    /// Answers under way that count against congestion.
    owed: AtomicUsize,
    /// Bytes of the requests that these answers are for: they lie in mailboxes until then.
    owed_requests: AtomicUsize,
    /// Answers under way that may take any time and do not count.
    waiting: AtomicUsize,
    /// What an answer may be expected to have, in bytes.
    answer_bytes: AtomicUsize,
    /// Bytes that all connections of the door hold and the system has not taken.
    total_unwritten: Arc<AtomicUsize>,
    total_congested_bytes: usize,
    congested_bytes: usize,
    overflow_bytes: usize,
    least_answer_bytes: usize,
    pub(crate) counters: Counters,
}

/// Written by the loop, read by whoever asks.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) bytes_in: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) congestions: AtomicU64,
    pub(crate) authenticated: AtomicBool,
    /// True when it went over to TLS on the way.
    pub(crate) encrypted: AtomicBool,
}

#[derive(Debug, Default)]
struct Queue {
    backlog: Backlog,
    order: Order,
    nudged: bool,
    asleep: bool,
    over: bool,
    waker: Option<Waker>,
}

/// What a connection was told from outside; a later word only ever makes it stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Order {
    #[default]
    Stay,
    Drain,
    Close(CloseReason),
}

impl Link {
    pub(crate) fn new(
        info: ConnectionInfo,
        since_unix_ms: u64,
        settings: &NetSettings,
        total_unwritten: &Arc<AtomicUsize>,
    ) -> Self {
        Self {
            info,
            since_unix_ms,
            user: OnceLock::new(),
            queue: Mutex::default(),
            queued: AtomicUsize::new(0),
            unwritten: AtomicUsize::new(0),
            owed: AtomicUsize::new(0),
            owed_requests: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            // A stranger starts with a few answers; the window opens as small ones are seen.
            answer_bytes: AtomicUsize::new(settings.congested_bytes / 4),
            total_unwritten: Arc::clone(total_unwritten),
            total_congested_bytes: settings.total_congested_bytes,
            congested_bytes: settings.congested_bytes,
            overflow_bytes: settings.overflow_bytes,
            least_answer_bytes: (settings.congested_bytes / settings.owed_answers).max(1),
            counters: Counters::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Leaves a nudge; returns the waker to call, after the lock is released, when the loop sleeps.
    fn nudge(queue: &mut Queue) -> Option<Waker> {
        queue.nudged = true;
        if std::mem::take(&mut queue.asleep) { queue.waker.clone() } else { None }
    }

    /// Puts bytes into the queue with `put`; false when the connection is over, or ends because of this.
    pub(crate) fn send(&self, put: impl FnOnce(&mut Backlog)) -> bool {
        let mut queue = self.lock();
        // Nobody asked for these bytes, so that nothing else bounds them over all connections.
        let all = self.total_unwritten.load(Ordering::Relaxed);
        let limit = if all > self.total_congested_bytes { self.congested_bytes } else { self.overflow_bytes };
        let (sent, waker) = self.enqueue(&mut queue, limit, put);
        drop(queue);
        wake(waker);
        sent
    }

    fn enqueue(
        &self,
        queue: &mut Queue,
        limit: usize,
        put: impl FnOnce(&mut Backlog),
    ) -> (bool, Option<Waker>) {
        if queue.over || matches!(queue.order, Order::Close(_)) {
            return (false, None);
        }
        if queue.backlog.len() + self.unwritten.load(Ordering::Relaxed) > limit {
            queue.order = Order::Close(CloseReason::Overflow);
            queue.backlog.clear();
            self.queued.store(0, Ordering::Relaxed);
            return (false, Self::nudge(queue));
        }
        put(&mut queue.backlog);
        self.queued.store(queue.backlog.len(), Ordering::Relaxed);
        (true, Self::nudge(queue))
    }

    /// Sends an owed answer. It is counted off only when it lies in the queue, so that a drain does not miss it.
    pub(crate) fn send_owed(&self, bytes: Bytes, waits: bool, request_bytes: usize) -> bool {
        let len = bytes.len();
        let mut queue = self.lock();
        let (sent, waker) = self.enqueue(&mut queue, self.overflow_bytes, |backlog| backlog.push(bytes));
        if sent {
            // Up at once, down slowly: it is a bound on memory before it is a forecast.
            let expected = self.answer_bytes.load(Ordering::Relaxed);
            let expected = if len >= expected { len } else { expected - (expected - len).div_ceil(4) };
            self.answer_bytes.store(expected.max(self.least_answer_bytes), Ordering::Relaxed);
        }
        self.count_off(waits, request_bytes);
        drop(queue);
        wake(waker);
        sent
    }

    pub(crate) fn owe(&self, request_bytes: usize) {
        self.owed.fetch_add(1, Ordering::Relaxed);
        self.owed_requests.fetch_add(request_bytes, Ordering::Relaxed);
    }

    /// An owed answer will not come.
    pub(crate) fn forgive(&self, waits: bool, request_bytes: usize) {
        let mut queue = self.lock();
        self.count_off(waits, request_bytes);
        let waker = Self::nudge(&mut queue);
        drop(queue);
        wake(waker);
    }

    /// An owed answer may take any time from now on.
    pub(crate) fn let_wait(&self, request_bytes: usize) {
        let mut queue = self.lock();
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.owed_requests.fetch_sub(request_bytes, Ordering::Relaxed);
        self.owed.fetch_sub(1, Ordering::Relaxed);
        let waker = Self::nudge(&mut queue);
        drop(queue);
        wake(waker);
    }

    fn count_off(&self, waits: bool, request_bytes: usize) {
        if waits {
            self.waiting.fetch_sub(1, Ordering::Release);
        } else {
            self.owed_requests.fetch_sub(request_bytes, Ordering::Relaxed);
            self.owed.fetch_sub(1, Ordering::Release);
        }
    }

    /// All answers under way, those that may take any time included.
    pub(crate) fn under_way(&self) -> usize {
        self.owed.load(Ordering::Acquire) + self.waiting.load(Ordering::Acquire)
    }

    /// Gives the loop an order, unless a stricter one stands.
    pub(crate) fn order(&self, order: Order) {
        let mut queue = self.lock();
        match (queue.order, order) {
            (Order::Close(_), _) | (Order::Drain, Order::Stay | Order::Drain) => return,
            _ => queue.order = order,
        }
        let waker = Self::nudge(&mut queue);
        drop(queue);
        wake(waker);
    }

    /// For the loop: all that was sent, and what was ordered. Whatever comes later is a new nudge.
    pub(crate) fn collect(&self, into: &mut Backlog) -> Order {
        let mut queue = self.lock();
        (queue.nudged, queue.asleep) = (false, false);
        let sent = (!queue.backlog.is_empty()).then(|| std::mem::take(&mut queue.backlog));
        let order = queue.order;
        if let Some(sent) = sent {
            self.queued.store(0, Ordering::Relaxed);
            // Counted under the lock: no sender finds both counts low, and sends beyond the bound.
            self.set_unwritten(into.len() + sent.len());
            drop(queue);
            into.append(sent);
        }
        order
    }

    /// For the loop: true when it may sleep, and will be woken; false when there is something to collect.
    pub(crate) fn sleep(&self, waker: &Waker) -> bool {
        let mut queue = self.lock();
        if queue.nudged {
            return false;
        }
        if !queue.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            queue.waker = Some(waker.clone());
        }
        queue.asleep = true;
        true
    }

    /// For the loop: the connection ended; what is sent from now on is refused.
    pub(crate) fn end(&self) {
        let mut queue = self.lock();
        queue.over = true;
        let left = (std::mem::take(&mut queue.backlog), queue.waker.take());
        self.queued.store(0, Ordering::Relaxed);
        self.set_unwritten(0);
        drop(queue);
        drop(left);
    }

    pub(crate) fn is_over(&self) -> bool {
        let queue = self.lock();
        queue.over || matches!(queue.order, Order::Close(_))
    }

    /// For the loop, the only one that changes it: how much it holds now.
    pub(crate) fn set_unwritten(&self, bytes: usize) {
        let before = self.unwritten.load(Ordering::Relaxed);
        if before != bytes {
            self.unwritten.store(bytes, Ordering::Relaxed);
            // Wraps round when it is less, as it should.
            self.total_unwritten.fetch_add(bytes.wrapping_sub(before), Ordering::Relaxed);
        }
    }

    /// Bytes that wait for the peer.
    pub(crate) fn in_flight(&self) -> usize {
        self.queued.load(Ordering::Relaxed) + self.unwritten.load(Ordering::Relaxed)
    }

    /// True when no more messages should be handled: `unwritten` bytes of the loop, what is queued, the requests whose answers are
    /// under way, and what those will probably bring are too much.
    pub(crate) fn is_congested(&self, unwritten: usize) -> bool {
        let expected = match self.owed.load(Ordering::Relaxed) {
            0 => 0,
            owed => {
                let answers = owed.saturating_mul(self.answer_bytes.load(Ordering::Relaxed));
                answers.saturating_add(self.owed_requests.load(Ordering::Relaxed))
            }
        };
        let waits = expected.saturating_add(unwritten + self.queued.load(Ordering::Relaxed));
        waits > self.congested_bytes
            || (waits > 0 && self.total_unwritten.load(Ordering::Relaxed) > self.total_congested_bytes)
    }

    /// As seen from another thread.
    pub(crate) fn looks_congested(&self) -> bool {
        self.is_congested(self.unwritten.load(Ordering::Relaxed))
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
