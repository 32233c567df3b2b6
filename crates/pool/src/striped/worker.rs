//! A stripe's thread: finds a ready strand and gives it a turn; with none it spins for a moment, then watches or sleeps.
//!
//! Its life is made of [steps](Life::step), each of which ends before the next look at what others write. The thread takes one after the
//! other; a test takes the steps of several stripes in every order (`tests/orders.rs`), and so looks for lost wake-ups in the code that runs.

use super::core::{Core, SLEEPER, WATCHER};
use super::stripe::Entry;
use crate::context;
use crate::engine::Engine;
use crate::thread::spin_until;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The life of stripe `me`.
pub(super) fn run(core: &Core, me: usize) {
    let _entered = context::enter(core.metrics.id);
    let stripe = &core.stripes[me];
    let mut life = Life::new(me);
    loop {
        match life.step(core) {
            Then::Run(entry) => entry.take_turn(me),
            Then::GoOn => {}
            Then::Spin => {
                if spin_until(|| stripe.waiting() > 0) {
                    life.look_again();
                }
            }
            Then::Sleep { nanos: None } => stripe.parker.park(),
            Then::Sleep { nanos: Some(nanos) } => {
                stripe.parker.park_timeout(Duration::from_nanos(nanos));
            }
            Then::End => return,
        }
    }
}

/// Where the life of a stripe stands between two steps.
pub(super) struct Life {
    me: usize,
    at: At,
    /// It slept as the watcher, or was woken to be the next one.
    watched: bool,
}

/// The next step.
#[derive(Debug, Clone, Copy)]
enum At {
    /// Looks for an entry.
    Looking,
    /// Goes to sleep, unless something came.
    Leaving,
    /// Counts itself among the sleepers.
    Registering,
    /// Looks whether it has to watch the others meanwhile.
    Choosing,
    /// Gets up; it was counted as this.
    Rising(usize),
}

/// What the thread does before the next step.
pub(super) enum Then {
    /// Gives a strand its turn.
    Run(Entry),
    /// Nothing.
    GoOn,
    /// Spins for a moment, and looks again when something comes.
    Spin,
    /// Sleeps until it is woken, or so long at most.
    Sleep { nanos: Option<u64> },
    /// Ends.
    End,
}

impl Life {
    pub(super) fn new(me: usize) -> Self {
        Self { me, at: At::Looking, watched: false }
    }

    /// Something came while it spun.
    fn look_again(&mut self) {
        self.at = At::Looking;
    }

    /// Takes the next step.
    pub(super) fn step(&mut self, core: &Core) -> Then {
        let (me, stripe) = (self.me, &core.stripes[self.me]);
        match self.at {
            At::Looking => match core.find(me) {
                Some(entry) => {
                    if std::mem::take(&mut self.watched) {
                        core.hand_over_watch();
                    }
                    return Then::Run(entry);
                }
                None => {
                    self.at = At::Leaving;
                    return Then::Spin;
                }
            },
            At::Leaving => self.at = if stripe.fall_asleep() { At::Registering } else { At::Looking },
            At::Registering => {
                // Registered first, then everything else is looked at: see "Stripes, sleep and the watch" on the page.
                core.idle.fetch_add(SLEEPER, Ordering::SeqCst);
                if core.is_drained() {
                    core.idle.fetch_sub(SLEEPER, Ordering::SeqCst);
                    return Then::End;
                }
                self.at = At::Choosing;
            }
            At::Choosing => {
                core.metrics.worker(me).count_parked();
                let now = core.metrics.env().now();
                let nanos = core.watch_until(me, now).map(|until| until.saturating_sub(now));
                let counted = if nanos.is_some() { WATCHER } else { SLEEPER };
                core.idle.fetch_add(counted - SLEEPER, Ordering::SeqCst);
                self.at = At::Rising(counted);
                return Then::Sleep { nanos };
            }
            At::Rising(counted) => {
                core.idle.fetch_sub(counted, Ordering::SeqCst);
                self.watched = counted == WATCHER || stripe.was_summoned();
                self.at = At::Looking;
            }
        }
        Then::GoOn
    }
}
