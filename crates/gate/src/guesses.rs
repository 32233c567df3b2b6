//! Guessed passwords are slowed: after a few failures of a user from an address, each further login of both waits for a turn of its own.
//!
//! ```text
//! login --> may it be checked?  few failures: now
//!                               more: at the next free turn, 100 ms after the last one, then 200 ms, ... up to a second
//!                               too many wait already: never; refused without a look
//! ```
//!
//! A turn is given before the secret is looked at, so that many connections side by side guess no faster than one. Who waits holds a timer
//! and nothing else. Only the same user from the same address waits: neither other users nor other addresses do. A success forgets the
//! failures, and so does a minute without any.
//!
//! What is kept is bounded: two generations of so many users and addresses; when the young one is full, the old one is forgotten. An IPv6
//! address counts by its first 64 bits, which one machine may choose freely among. Rejected: to close the user for a while, which would
//! let strangers shut others out.

use filbert_pool::Clock;
use futures::channel::oneshot;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Failures that cost nothing: a wrong password is typed before the right one.
const FREE: u32 = 5;
/// The pause after the first failure that costs something; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Who would wait longer is refused: clients give up by then, and the time for a login is over.
const LONGEST_WAIT: Duration = Duration::from_secs(3);
/// After so long without a failure they are forgotten.
const FORGOTTEN: Duration = Duration::from_secs(60);
/// Users and addresses in one generation.
const KEPT: usize = 10_000;

/// When a login may be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// At once.
    Now,
    /// At this time, by the clock of the stages.
    At(Duration),
    /// Not at all: too many others wait.
    Never,
}

/// Who guesses: an address, and a user by the hash of its name. A stranger's name may be of any length.
type Guesser = (IpAddr, u64);

/// The failures of a guesser.
#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    last: Duration,
    /// The next turn is not before this.
    next: Duration,
}

/// The failed logins of a door.
#[derive(Debug, Default)]
pub(crate) struct Guesses {
    /// Names fall together in ways that nobody outside can choose.
    hasher: RandomState,
    kept: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Guesser, Failures>,
    old: HashMap<Guesser, Failures>,
}

impl Generations {
    /// What is known of a guesser, unless it is long ago.
    fn of(&mut self, guesser: &Guesser, now: Duration) -> Option<&mut Failures> {
        if let Some(found) = self.old.remove(guesser) {
            self.young.entry(*guesser).or_insert(found);
        }
        let found = self.young.get(guesser)?;
        if now.saturating_sub(found.last) > FORGOTTEN {
            self.young.remove(guesser);
            return None;
        }
        self.young.get_mut(guesser)
    }
}

impl Guesses {
    fn kept(&self) -> MutexGuard<'_, Generations> {
        self.kept.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn guesser(&self, address: IpAddr, user: &str) -> Guesser {
        let address = match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
            address => address,
        };
        (address, self.hasher.hash_one(user))
    }

    /// When a login of `user` from `address` may be checked; its turn is taken then. Without a name, all of an address are one.
    pub(crate) fn turn(&self, address: IpAddr, user: &str, now: Duration) -> Turn {
        let guesser = self.guesser(address, user);
        let mut kept = self.kept();
        let Some(failures) = kept.of(&guesser, now).filter(|failures| failures.count >= FREE) else {
            return Turn::Now;
        };
        let at = failures.next.max(now);
        if at - now > LONGEST_WAIT {
            return Turn::Never;
        }
        failures.next = at + pause(failures.count);
        if at == now { Turn::Now } else { Turn::At(at) }
    }

    /// The same for who can wait: comes back when the login may be checked; false when it may not be at all. No thread waits.
    pub(crate) async fn wait(&self, address: IpAddr, user: &str, clock: &Clock) -> bool {
        let now = clock.now();
        match self.turn(address, user, now) {
            Turn::Now => true,
            Turn::Never => false,
            Turn::At(until) => {
                let (rings, rung) = oneshot::channel();
                clock.after(until - now, move || {
                    let _ = rings.send(());
                });
                // Dropped only when the member ends.
                rung.await.is_ok()
            }
        }
    }

    /// A login failed.
    pub(crate) fn failed(&self, address: IpAddr, user: &str, now: Duration) {
        let guesser = self.guesser(address, user);
        let mut kept = self.kept();
        if let Some(known) = kept.of(&guesser, now) {
            known.count = known.count.saturating_add(1);
            known.last = now;
            if known.count == FREE {
                known.next = now + pause(FREE);
            }
            return;
        }
        if kept.young.len() >= KEPT {
            kept.old = std::mem::take(&mut kept.young);
        }
        kept.young.insert(guesser, Failures { count: 1, last: now, next: now });
    }

    /// A login succeeded: whoever it was knows the secret.
    pub(crate) fn succeeded(&self, address: IpAddr, user: &str) {
        let guesser = self.guesser(address, user);
        let mut kept = self.kept();
        kept.young.remove(&guesser);
        kept.old.remove(&guesser);
    }
}

/// How far two turns are apart after so many failures.
fn pause(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(FREE).min(10);
    FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn after_failures(count: u32) -> Guesses {
        let guesses = Guesses::default();
        (0..count).for_each(|_| guesses.failed(HERE, "ann", ms(1_000)));
        guesses
    }

    #[test]
    fn a_few_mistakes_cost_nothing_and_more_cost_turns() {
        assert_eq!(after_failures(FREE - 1).turn(HERE, "ann", ms(1_000)), Turn::Now);
        let guesses = after_failures(FREE);
        assert_eq!(guesses.turn(HERE, "ann", ms(1_000)), Turn::At(ms(1_100)));
        assert_eq!(guesses.turn(HERE, "ann", ms(1_000)), Turn::At(ms(1_200)), "side by side is no faster");
        assert_eq!(guesses.turn(HERE, "bob", ms(1_000)), Turn::Now);
        assert_eq!(guesses.turn("10.0.0.1".parse().unwrap(), "ann", ms(1_000)), Turn::Now);
        assert_eq!(guesses.turn(HERE, "ann", ms(9_000)), Turn::Now, "the next turn has long come");
    }

    #[test]
    fn a_thousand_guessers_at_once_guess_no_faster_than_one() {
        let guesses = after_failures(100);
        let turns: Vec<Turn> = (0..1_000).map(|_| guesses.turn(HERE, "ann", ms(2_000))).collect();
        let checked = turns.iter().filter(|turn| **turn != Turn::Never).count();
        assert!((3..=5).contains(&checked), "{checked}");
        assert_eq!(turns.last(), Some(&Turn::Never));
    }

    #[test]
    fn a_success_and_time_forget_failures() {
        let guesses = after_failures(50);
        guesses.succeeded(HERE, "ann");
        assert_eq!(guesses.turn(HERE, "ann", ms(1_000)), Turn::Now);
        let guesses = after_failures(50);
        assert_eq!(guesses.turn(HERE, "ann", ms(62_000)), Turn::Now);
        guesses.failed(HERE, "ann", ms(62_000));
        assert_eq!(guesses.turn(HERE, "ann", ms(62_000)), Turn::Now, "the count began anew");
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_last_guesser_is_among_it() {
        let guesses = after_failures(50);
        for number in 0..3 * KEPT {
            guesses.failed(HERE, &number.to_string(), ms(1_000));
            if number % KEPT == 0 {
                assert_ne!(guesses.turn(HERE, "ann", ms(1_000)), Turn::Now, "who goes on is not forgotten");
            }
        }
        let kept = guesses.kept();
        assert!(kept.young.len() + kept.old.len() <= 2 * KEPT + 2);
        drop(kept);
        let network = |last: u16| IpAddr::V6(std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, last));
        (0..FREE).for_each(|number| guesses.failed(network(number as u16), "eve", ms(1_000)));
        assert_eq!(
            guesses.turn(network(99), "eve", ms(1_000)),
            Turn::At(ms(1_100)),
            "one machine, one guesser"
        );
    }
}
