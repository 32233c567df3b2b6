//! A stripe's thread: finds a ready strand and gives it a turn; with none it spins for a moment, then watches or sleeps.

use super::core::{Core, SLEEPER, WATCHER};
use crate::context;
use crate::engine::Engine;
use crate::thread::spin_until;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The life of stripe `me`.
pub(super) fn run(core: &Core, me: usize) {
    let _entered = context::enter(core.metrics.id);
    let stripe = &core.stripes[me];
    let mut watched = false;
    loop {
        if let Some(entry) = core.find(me) {
            if std::mem::take(&mut watched) {
                core.hand_over_watch();
            }
            entry.take_turn(me);
            continue;
        }
        if spin_until(|| stripe.waiting() > 0) || !stripe.fall_asleep() {
            continue;
        }
        // Registered first, then everything else is looked at: see "Stripes, sleep and the watch" on the page.
        core.idle.fetch_add(SLEEPER, Ordering::SeqCst);
        if core.is_drained() {
            core.idle.fetch_sub(SLEEPER, Ordering::SeqCst);
            return;
        }
        core.metrics.worker(me).count_parked();
        let now = core.metrics.env().now();
        match core.watch_until(me, now) {
            None => {
                stripe.parker.park();
                core.idle.fetch_sub(SLEEPER, Ordering::SeqCst);
                watched = stripe.was_summoned();
            }
            Some(until) => {
                core.idle.fetch_add(WATCHER - SLEEPER, Ordering::SeqCst);
                stripe.parker.park_timeout(Duration::from_nanos(until.saturating_sub(now)));
                core.idle.fetch_sub(WATCHER, Ordering::SeqCst);
                watched = true;
            }
        }
    }
}
