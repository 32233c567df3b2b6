//! One connection on its loop: a turn reads all there is, lets the protocol handle it, and writes all at once.
//!
//! ```text
//! woken -> collect what others sent -> read and handle, while not congested -> write once -> sleep until something changes
//! ```
//!
//! A turn never waits and ends after a fixed number of reads and writes, so that a busy connection shares its loop. It is written
//! as one function that is polled, not as two async halves: reader and writer share the bounds, and one task costs one wake-up.
//! One timer per connection is set to the next deadline that could matter and moved only forward, so a request sets no timer.

use crate::backlog::Backlog;
use crate::buffers::{self, READ_BYTES};
use crate::ledger::{Ledger, Seat};
use crate::link::{Link, Order};
use crate::outbound::Outbound;
use crate::outlet::Outlet;
use crate::protocol::{Close, Protocol};
use crate::reason::CloseReason;
use crate::settings::NetSettings;
use crate::transport::Transport;
use bytes::BytesMut;
use filbert_pool::Clock;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Sleep;

/// Reads before what they brought is answered.
const READS: usize = 4;

/// Writes before the other connections of the loop have their turn.
const WRITES: usize = 16;

/// How often a connection that is not read, and that nothing is written to, is looked at: no event tells that its peer is gone.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often a turn begins anew before the other connections have theirs.
const ROUNDS: usize = 2;

/// A connection in the books; whatever happens to it, it is struck off when this is dropped.
pub(crate) struct Entry {
    pub(crate) link: Arc<Link>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) reason: CloseReason,
    /// Dropped after the connection was struck off, so that who waits for the last one finds the books closed.
    _seat: Option<Seat>,
}

/// A connection that is being served.
pub(crate) struct Connection<P: Protocol> {
    protocol: P,
    stream: Transport,
    input: BytesMut,
    out: Outbound,
    entry: Entry,
    settings: Arc<NetSettings>,
    clock: Clock,
    phase: Phase,
    /// True when `input` may hold messages that congestion kept from being handled.
    left_over: bool,
    /// True when it is not read because of congestion.
    paused: bool,
    /// True when the transport may hold bytes that the system has not taken.
    unflushed: bool,
    /// True when the last turn left something to write.
    was_pending: bool,
    /// True while the protocol's code runs: if it never comes back, it panicked.
    in_protocol: bool,
    opened_at: Duration,
    received_at: Duration,
    /// When the peer last took something of what waits for it.
    taken_at: Duration,
    timer: Pin<Box<Sleep>>,
    timer_due: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    New,
    Open,
    /// Answers that are owed, then the end.
    Draining,
    /// What is written already, then the end.
    Ending(CloseReason),
}

impl Entry {
    /// Returns how many complaints about strangers were left out, when the next one may be logged.
    pub(crate) fn complaint(&self, now: Duration) -> Option<u64> {
        self.ledger.complaints.take(now)
    }

    pub(crate) fn new(link: Arc<Link>, ledger: Arc<Ledger>, seat: Option<Seat>) -> Self {
        ledger.opened(&link);
        // What a drop finds when nobody said otherwise.
        Self { link, ledger, reason: CloseReason::StagesEnded, _seat: seat }
    }

    /// The connection ends before it could be served.
    pub(crate) fn end(mut self, reason: CloseReason) -> CloseReason {
        self.reason = reason;
        reason
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.link.end();
        self.ledger.closed(self.link.info.id, self.reason);
        let (id, peer, reason) = (self.link.info.id, self.link.info.peer, self.reason);
        tracing::debug!(connection = id.0, %peer, %reason, "connection closed");
    }
}

impl<P: Protocol> Connection<P> {
    /// Must be called on the loop that will run it.
    pub(crate) fn new(
        protocol: P,
        stream: Transport,
        entry: Entry,
        settings: Arc<NetSettings>,
        clock: Clock,
    ) -> Self {
        let now = clock.now();
        let out = Outbound::new(Outlet::new(Arc::clone(&entry.link)));
        Self {
            protocol,
            stream,
            input: BytesMut::new(),
            out,
            entry,
            settings,
            clock,
            phase: Phase::New,
            left_over: false,
            paused: false,
            unflushed: false,
            was_pending: false,
            in_protocol: false,
            opened_at: now,
            received_at: now,
            taken_at: now,
            timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
            timer_due: None,
        }
    }

    /// Serves it until it ends.
    pub(crate) async fn run(mut self) -> CloseReason {
        let reason = poll_fn(|context| self.poll_turn(context)).await;
        self.entry.reason = reason;
        reason
    }

    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<CloseReason> {
        self.out.begin_turn();
        let turn = self.turn(context);
        self.entry.link.set_unwritten(self.out.backlog.len());
        self.out.end_turn();
        buffers::return_input(&mut self.input);
        match turn {
            Ok(Rest::Asleep) => Poll::Pending,
            Ok(Rest::Again) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Err(reason) => {
                self.stream.shut_down(context);
                Poll::Ready(reason)
            }
        }
    }

    fn turn(&mut self, context: &mut Context<'_>) -> Result<Rest, CloseReason> {
        let _origin = self.entry.link.info.id.origin().enter();
        let now = self.clock.now();
        if self.phase == Phase::New {
            self.phase = Phase::Open;
            self.call(|protocol, _, out| protocol.opened(out));
        }
        // Here too, and not only before it sleeps: who floods us has not logged in either.
        if !self.protocol.is_authenticated() && now >= self.opened_at + self.settings.login_timeout() {
            return Err(CloseReason::LoginTimeout);
        }
        for _ in 0..ROUNDS {
            // Before collecting: an answer is in the queue before it stops to be under way.
            let under_way = self.entry.link.under_way();
            self.collect()?;
            let mut again = self.receive(context, now)?;
            if self.entry.link.in_flight() > 0 {
                // Sent from within, or while this ran: it joins the same write.
                self.collect()?;
            }
            again |= self.write(context, now)?;
            let empty = self.out.backlog.is_empty() && !self.unflushed;
            match self.phase {
                Phase::Ending(reason) if empty => return Err(reason),
                Phase::Draining if empty && !self.left_over && under_way == 0 => {
                    return Err(CloseReason::Drained);
                }
                _ => {}
            }
            again |= self.paused && !self.is_congested();
            if !again && self.entry.link.sleep(context.waker()) {
                return self.wait_for_deadline(context, now);
            }
        }
        Ok(Rest::Again)
    }

    fn collect(&mut self) -> Result<(), CloseReason> {
        match self.entry.link.collect(&mut self.out.backlog) {
            Order::Stay => {}
            Order::Close(reason) => return Err(reason),
            Order::Drain if self.phase == Phase::Open => {
                self.phase = Phase::Draining;
                self.call(|protocol, _, out| {
                    protocol.draining(out);
                    Ok(())
                });
            }
            Order::Drain => {}
        }
        Ok(())
    }

    /// Reads and handles; true when there is probably more.
    fn receive(&mut self, context: &mut Context<'_>, now: Duration) -> Result<bool, CloseReason> {
        for _ in 0..READS {
            if matches!(self.phase, Phase::Ending(_)) {
                return Ok(false);
            }
            if self.is_resting(now) {
                if self.stream.is_read_closed() {
                    self.phase = Phase::Ending(CloseReason::PeerClosed);
                }
                return Ok(false);
            }
            if self.is_paused() {
                // It is not read, and nothing is written that could fail: answers are owed, perhaps because of a lock that it holds
                // itself. Nobody would ever learn that the peer is gone.
                let may_end = self.out.backlog.is_empty() && !self.protocol.reads_to_the_end();
                if may_end && self.stream.is_read_closed() {
                    self.phase = Phase::Ending(CloseReason::PeerClosed);
                }
                return Ok(false);
            }
            if self.left_over {
                self.handle()?;
                continue;
            }
            if self.phase != Phase::Open {
                return Ok(false);
            }
            let most = self.make_room();
            match self.stream.poll_read(context, &mut self.input, most) {
                Poll::Pending => return Ok(false),
                Poll::Ready(Err(error)) => return Err(self.broken("read", &error)),
                Poll::Ready(Ok(0)) => {
                    self.phase = Phase::Ending(CloseReason::PeerClosed);
                    return Ok(false);
                }
                Poll::Ready(Ok(count)) => {
                    let counters = &self.entry.link.counters;
                    add(&counters.bytes_in, count);
                    add(&counters.reads, 1);
                    self.received_at = now;
                    self.handle()?;
                }
            }
        }
        Ok(true)
    }

    /// True while the protocol makes the peer wait.
    fn is_resting(&self, now: Duration) -> bool {
        self.protocol.rests_until().is_some_and(|until| now < until)
    }

    fn is_congested(&self) -> bool {
        self.entry.link.is_congested(self.out.backlog.len())
    }

    fn is_paused(&mut self) -> bool {
        let congested = self.is_congested();
        if congested && !self.paused {
            add(&self.entry.link.counters.congestions, 1);
        }
        self.paused = congested;
        congested
    }

    /// Makes room to read, within the protocol's limit, and says how much.
    fn make_room(&mut self) -> usize {
        buffers::lend_input(&mut self.input);
        let held = self.input.len();
        let most = self.receive_limit().saturating_sub(held).clamp(1, READ_BYTES.max(held));
        // A part of a long message: grow by doubling, not by reads. A small rest of room costs a read of its own.
        if self.input.capacity() - held < most.min(READ_BYTES / 4) {
            self.input.reserve(most);
        }
        most
    }

    fn receive_limit(&self) -> usize {
        let limit = self.protocol.receive_limit();
        if self.protocol.is_authenticated() { limit } else { limit.min(self.settings.before_login_bytes) }
    }

    /// Lets the protocol take messages out of the input.
    fn handle(&mut self) -> Result<(), CloseReason> {
        self.call(P::received);
        if matches!(self.phase, Phase::Ending(_)) {
            self.input.clear();
            self.left_over = false;
            return Ok(());
        }
        let counters = &self.entry.link.counters;
        if !counters.authenticated.load(Ordering::Relaxed) && self.protocol.is_authenticated() {
            counters.authenticated.store(true, Ordering::Relaxed);
        }
        // What it was told counts, not what is true by now: it may have stopped for a congestion that is over.
        let stopped = self.out.take_told_congested() || self.is_congested();
        self.left_over = (stopped && !self.input.is_empty()) || self.protocol.rests_until().is_some();
        if !self.left_over && self.input.len() >= self.receive_limit() {
            let (id, peer) = (self.entry.link.info.id, self.entry.link.info.peer);
            tracing::debug!(connection = id.0, %peer, bytes = self.input.len(), "a message is too large");
            return Err(CloseReason::TooLarge);
        }
        Ok(())
    }

    /// Calls into the protocol; what it complains of ends the connection after its last words are sent.
    fn call(&mut self, body: impl FnOnce(&mut P, &mut BytesMut, &mut Outbound) -> Result<(), Close>) {
        self.in_protocol = true;
        let said = body(&mut self.protocol, &mut self.input, &mut self.out);
        self.in_protocol = false;
        if let Err(close) = said {
            let (id, peer) = (self.entry.link.info.id, self.entry.link.info.peer);
            let is_stranger = !self.protocol.is_authenticated();
            let complaint = if is_stranger { self.entry.complaint(self.clock.now()) } else { None };
            match complaint {
                Some(left_out) => {
                    tracing::warn!(%peer, left_out, why = close.why(), "a connection was closed before its login");
                }
                None => {
                    tracing::debug!(connection = id.0, %peer, why = close.why(), "the protocol closes the connection");
                }
            }
            self.phase = Phase::Ending(CloseReason::Protocol);
        }
    }

    /// Writes what waits, as far as the system takes it; true when it would take more.
    fn write(&mut self, context: &mut Context<'_>, now: Duration) -> Result<bool, CloseReason> {
        if !self.was_pending {
            self.taken_at = now;
        }
        let mut writes = 0;
        while !self.out.backlog.is_empty() && writes < WRITES {
            match self.stream.poll_write(context, &self.out.backlog) {
                Poll::Pending => break,
                Poll::Ready(Ok(0)) => return Err(CloseReason::Broken),
                Poll::Ready(Err(error)) => return Err(self.broken("write", &error)),
                Poll::Ready(Ok(count)) => {
                    self.out.backlog.advance(count);
                    let counters = &self.entry.link.counters;
                    add(&counters.bytes_out, count);
                    add(&counters.writes, 1);
                    self.taken_at = now;
                    self.unflushed = matches!(self.stream, Transport::Encrypted(_));
                    writes += 1;
                }
            }
        }
        if self.unflushed {
            match self.stream.poll_flush(context) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => self.unflushed = false,
                Poll::Ready(Err(error)) => return Err(self.broken("write", &error)),
            }
        }
        self.was_pending = !self.out.backlog.is_empty() || self.unflushed;
        self.entry.link.set_unwritten(self.out.backlog.len());
        if writes > 0 && !self.was_pending {
            self.call(|protocol, _, _| {
                protocol.sent();
                Ok(())
            });
        }
        Ok(writes == WRITES && self.was_pending)
    }

    fn broken(&self, verb: &str, error: &std::io::Error) -> CloseReason {
        let (id, peer) = (self.entry.link.info.id, self.entry.link.info.peer);
        tracing::debug!(connection = id.0, %peer, %error, "cannot {verb}");
        CloseReason::Broken
    }

    /// Ends what is overdue, and sees to it that the next deadline is not missed.
    fn wait_for_deadline(&mut self, context: &mut Context<'_>, now: Duration) -> Result<Rest, CloseReason> {
        let mut next = Duration::MAX;
        // The turn began before it.
        if !self.protocol.is_authenticated() {
            next = self.opened_at + self.settings.login_timeout();
        }
        if let Some(until) = self.protocol.rests_until() {
            next = next.min(until.max(now + Duration::from_millis(1))).min(now + LOOK_EVERY);
        }
        if self.was_pending {
            let due = self.taken_at + self.settings.stall_timeout();
            if now >= due {
                return Err(CloseReason::Stalled);
            }
            next = next.min(due);
        }
        // A peer that is not read cannot be silent.
        if self.phase == Phase::Open && !self.paused {
            let due = self.received_at + self.settings.idle_timeout();
            if now >= due {
                self.received_at = now;
                self.call(|protocol, _, out| protocol.idle(out));
                if matches!(self.phase, Phase::Ending(_)) {
                    self.phase = Phase::Ending(CloseReason::Idle);
                }
                return Ok(Rest::Again);
            }
            next = next.min(due);
        }
        if self.paused && !self.was_pending {
            next = next.min(now + LOOK_EVERY);
        }
        if next == Duration::MAX {
            return Ok(Rest::Asleep);
        }
        if self.timer.is_elapsed() || self.timer_due.is_none_or(|due| next < due) {
            self.timer.set(tokio::time::sleep(next - now));
            self.timer_due = Some(next);
            if self.timer.as_mut().poll(context).is_ready() {
                return Ok(Rest::Again);
            }
        }
        Ok(Rest::Asleep)
    }
}

impl<P: Protocol> Drop for Connection<P> {
    fn drop(&mut self) {
        if self.in_protocol {
            self.entry.reason = CloseReason::Panicked;
        }
        self.entry.link.end();
        self.out.backlog = Backlog::default();
        self.protocol.closed(self.entry.reason);
    }
}

/// How a turn ends.
enum Rest {
    Asleep,
    Again,
}

/// Adds to a counter that only this loop writes.
pub(crate) fn add(counter: &AtomicU64, count: usize) {
    counter.store(counter.load(Ordering::Relaxed) + count as u64, Ordering::Relaxed);
}
