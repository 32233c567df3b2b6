//! What a worker thread does all day, and what any holder of a slot does while it waits for a fork.
//!
//! This module has two unsafe lines: it holds slots and runs jobs that it took out of a deque.

use super::core::{Core, Root, RootBody, Work};
use super::slot::{self, Slot};
use super::spare::SparePlace;
use super::vigil::{Seat, VIGIL_NANOS};
use crate::context;
use filbert_sync::idle::{News, Sleep, Was};
use filbert_sync::join_slot::JoinSlot;
use std::sync::Arc;

/// How long a worker without work looks for some before it sleeps, at most. A wake-up costs about as much on both sides.
const SEARCH_NANOS: u64 = 60_000;
/// How long it looks when it has not paid for some time.
const SHORT_SEARCH_NANOS: u64 = 2_000;
/// How long a worker looks out for its fork's result before it sleeps.
const WAIT_NANOS: u64 = 60_000;
/// Pauses between two looks into other workers' deques.
const PAUSES: usize = 8;

/// The body of a worker thread.
pub(super) fn run(core: Arc<Core>, index: usize) {
    work(&core, index, || false);
}

/// The body of a spare worker's thread.
pub(super) fn run_spare(mut place: SparePlace) {
    let core = Arc::clone(&place.core);
    work(&core, place.index, || place.leave());
    let slot = &core.slots[place.index];
    // Forks of completers that nobody took yet go to the others.
    while let Some(job) = slot.pop() {
        let root = Root { name: "fork", queued_at: core.env.now(), body: RootBody::Job(job) };
        let _ = core.push_root(root, false);
    }
    drop(place);
    // Somebody may have relied on this one to look.
    core.notify_visible();
}

/// Works in that slot until the pool ends, or until the worker is asked to leave.
fn work(core: &Core, index: usize, mut leaves: impl FnMut() -> bool) {
    let slot = &core.slots[index];
    let _stage = context::enter(core.id());
    // SAFETY: worker slots are held by their one thread, for its whole life, and spare ones by the thread that took them; `core` is kept
    // until its end.
    let _held = unsafe { slot::hold(slot) };
    let threads = core.settings.threads;
    core.idle.move_in(index);
    core.idle.enter_search();
    let mut was = Was::Looking;
    let mut patience = Patience::new();
    let (mut has_left, mut is_over) = (false, false);
    loop {
        if leaves() {
            break;
        }
        if let Some(work) = search(core, slot, was, &mut patience) {
            if was == Was::Looking && core.idle.found() {
                core.notify_visible();
            }
            let mut next = Some(work);
            while let Some(work) = next {
                slot.begin_task(matches!(work, Work::Task(_)));
                let began = core.env.now();
                core.run(index, work);
                slot.suspend_turn();
                if is_long(core, began) {
                    core.ring_spares();
                }
                has_left = leaves();
                next = if has_left { None } else { core.find_work(slot) };
                core.settle(slot);
            }
            if has_left {
                was = Was::Active;
                break;
            }
            let most = (threads / 2).max(1).max(core.seats.granted().min(threads));
            was = core.idle.search(most);
            continue;
        }
        if core.is_over() {
            is_over = true;
            break;
        }
        core.idle.announce(index, Sleep::Idle, was);
        if core.visible().is_none() && !core.is_over() {
            core.metrics.worker(index).count_parked();
            core.idle.sleep(index);
        }
        core.idle.get_up(index, Sleep::Idle);
        patience.slept(core.env.now());
        was = Was::Looking;
    }
    core.idle.leave(was);
    if is_over {
        core.idle.ring_all();
    }
}

/// True when the turn that began then has held its worker up.
fn is_long(core: &Core, began: u64) -> bool {
    let took = || u128::from(core.env.now().saturating_sub(began));
    core.settings.spares > 0 && core.settings.held_up_after.is_some_and(|limit| took() >= limit.as_nanos())
}

/// How long a worker looks for work before it sleeps: long where the last pauses between two pieces of work were short.
///
/// Who gets something to do once a millisecond would spend more time looking than working, and on a busy machine the kernel would make
/// it wait for that when there is something to do.
struct Patience {
    nanos: u64,
    /// When the search that is under way, or was given up last, began.
    since: u64,
}

impl Patience {
    fn new() -> Self {
        Self { nanos: SEARCH_NANOS, since: 0 }
    }

    /// A search begins; until when it goes on.
    fn search(&mut self, now: u64) -> u64 {
        self.since = now;
        now + self.nanos
    }

    /// The worker was woken: would a longer search have spared the sleep?
    fn slept(&mut self, now: u64) {
        let is_short = now.saturating_sub(self.since) < SEARCH_NANOS;
        self.nanos = if is_short { SEARCH_NANOS } else { (self.nanos / 2).max(SHORT_SEARCH_NANOS) };
    }
}

/// Looks for work: once, or for a while when the worker counts as searching.
fn search(core: &Core, slot: &Slot, was: Was, patience: &mut Patience) -> Option<Work> {
    let mut work = core.find_work(slot);
    if work.is_some() {
        return work;
    }
    let begin = core.env.now();
    let end = patience.search(begin);
    if was == Was::Active {
        return None;
    }
    let mut seat = None;
    while work.is_none() && !core.gate.is_closed() {
        let now = core.env.now();
        if now >= end {
            // Its patience is over; somebody may know that more is to come.
            let seat = seat.get_or_insert_with(|| core.seats.take());
            if now >= begin + VIGIL_NANOS || !seat.as_ref().is_some_and(Seat::is_granted) {
                break;
            }
        }
        (0..PAUSES).for_each(|_| std::hint::spin_loop());
        work = core.find_work(slot);
    }
    work
}

/// Runs forks, its own and others', until `done`; sleeps when there are none. Takes no roots: a wait must never end up
/// behind unrelated work.
pub(super) fn help_until(slot: &Slot, done: &JoinSlot) {
    let core = slot.core();
    let _forks = context::enter_closure();
    // This may take long, and ends in the middle of a task: what the turn woke is for others from here on.
    slot.suspend_turn();
    core.settle(slot);
    while !done.is_done() {
        if let Some(job) = slot.pop().or_else(|| core.steal(slot)) {
            // SAFETY: taken out of a deque.
            unsafe { job.run() };
        } else {
            core.idle.help();
            let job = wait_or_steal(core, slot, done);
            core.idle.stop_helping();
            // Publishers trusted us to find their forks, all of them: whatever we took, the rest is announced.
            if core.has_forks() {
                core.notify(News::Fork);
            }
            if let Some(job) = job {
                // SAFETY: taken out of a deque.
                unsafe { job.run() };
            }
        }
    }
}

/// While the thread does not count as active: waits for `done`, or for a fork to run meanwhile.
fn wait_or_steal(core: &Core, slot: &Slot, done: &JoinSlot) -> Option<super::job::JobRef> {
    loop {
        let end = core.env.now() + WAIT_NANOS;
        while core.env.now() < end {
            for _ in 0..PAUSES {
                if done.is_done() {
                    return None;
                }
                std::hint::spin_loop();
            }
            if let Some(job) = core.steal(slot) {
                return Some(job);
            }
        }
        core.idle.announce(slot.index, Sleep::Waiting, Was::Looking);
        if done.announce_wait() && !core.has_forks() {
            core.metrics.worker(slot.index).count_parked();
            core.idle.sleep(slot.index);
        }
        core.idle.get_up(slot.index, Sleep::Waiting);
    }
}
