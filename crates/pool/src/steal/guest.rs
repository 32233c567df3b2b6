//! A thread from outside takes part: it becomes a worker for the length of one call, and starts at once.
//!
//! Rejected: handing the call to a worker and blocking. The two thread switches cost more than most calls, and the caller's
//! core would stand idle.
//!
//! This module has one unsafe line: a guest holds a slot.

use super::core::{Core, GUESTS, Root, RootBody};
use super::slot::{self, Held, Slot};
use crate::context::{self, Entered};
use filbert_sync::Pass;

/// A thread from outside that holds a slot of the pool.
pub(super) struct Guest<'a> {
    core: &'a Core,
    slot: &'a Slot,
    pass: Option<Pass<'a>>,
    _held: Held,
    _stage: Entered,
}

impl<'a> Guest<'a> {
    /// Becomes a guest, if the pool is open and a slot is free.
    pub(super) fn enter(core: &'a Core) -> Option<Self> {
        let pass = core.gate.enter()?;
        let workers = core.settings.threads;
        let Some(slot) = core.slots[workers..workers + GUESTS].iter().find(|slot| slot.try_take()) else {
            core.leave(pass);
            return None;
        };
        core.idle.enter_active();
        slot.begin_task(false);
        // SAFETY: `try_take` made this thread the only holder until `give_back`; `core` outlives the guest.
        let held = unsafe { slot::hold(slot) };
        Some(Self { core, slot, pass: Some(pass), _held: held, _stage: context::enter(core.id()) })
    }

    pub(super) fn slot(&self) -> &'a Slot {
        self.slot
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        // Forks of completers that nobody took yet go to the workers.
        while let Some(job) = self.slot.pop() {
            let root = Root { name: "fork", queued_at: self.core.env.now(), body: RootBody::Job(job) };
            let _ = self.core.push_root(root, false);
        }
        self.slot.give_back();
        self.core.idle.leave_active();
        self.core.notify_visible();
        if let Some(pass) = self.pass.take() {
            self.core.leave(pass);
        }
    }
}
