//! The loop of the stripes' threads, step by step in every order, with so many changes of the thread that goes on: whatever is pushed is run,
//! also what waits behind a stripe that is stuck. A wake-up that is lost ends in stripes that all sleep while an entry waits.

use super::*;
use crate::striped::core::{Core, Turn};
use crate::striped::worker::{Life, Then};
use filbert_sync::strand::Lane;
use std::sync::Mutex;

/// How often another thread goes on although the one before could have.
const CHANGES: usize = 3;

/// More steps than any order takes that comes to rest.
const STEPS: usize = 400;

/// A strand that is ready once.
struct Once {
    number: usize,
    home: usize,
    /// Its turn never ends.
    sticks: bool,
    ran: Arc<Mutex<Vec<usize>>>,
}

impl Turn for Once {
    fn turn(self: Arc<Self>, _: usize, _: Lane) {
        self.ran.lock().unwrap().push(self.number);
    }

    fn home(&self) -> usize {
        self.home
    }

    /// Tells the test which strands stick.
    fn depth(&self) -> usize {
        usize::from(self.sticks)
    }

    fn called(&self) -> u64 {
        0
    }

    fn close(&self) -> bool {
        false
    }
}

/// The choices of one order, which say the next one.
#[derive(Default)]
struct Choices {
    taken: Vec<(usize, usize)>,
    next: usize,
}

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        if self.next == self.taken.len() {
            self.taken.push((0, bound));
        }
        self.next += 1;
        self.taken[self.next - 1].0
    }

    /// The next order; false when there is none.
    fn advance(&mut self) -> bool {
        self.next = 0;
        while let Some((chosen, of)) = self.taken.pop() {
            if chosen + 1 < of {
                self.taken.push((chosen + 1, of));
                return true;
            }
        }
        false
    }
}

/// What a stripe's thread does between two steps.
#[derive(Clone, Copy, PartialEq)]
enum State {
    GoesOn,
    Sleeps { until: Option<u64> },
    Stuck,
}

struct World<'a> {
    env: Arc<Env>,
    core: Arc<Core>,
    lives: Vec<Life>,
    states: Vec<State>,
    /// By home, and whether it sticks; one thread pushes them in this order.
    pushes: &'a [(usize, bool)],
    pushed: usize,
    ran: Arc<Mutex<Vec<usize>>>,
    changes: usize,
    last: Option<usize>,
    steps: usize,
}

impl World<'_> {
    fn can_go_on(&self, thread: usize) -> bool {
        match self.states.get(thread) {
            // Whoever pushes.
            None => self.pushed < self.pushes.len(),
            Some(State::GoesOn) => true,
            Some(State::Stuck) => false,
            // A push or a wake-up changes the mode of the stripe before it wakes the thread.
            Some(State::Sleeps { until }) => {
                !self.core.stripes[thread].is_asleep() || until.is_some_and(|until| until <= self.env.now())
            }
        }
    }

    /// Goes on until everybody sleeps or is stuck.
    fn play(&mut self, choices: &mut Choices) {
        loop {
            self.steps += 1;
            assert!(self.steps < STEPS, "it never comes to rest");
            let ready: Vec<usize> =
                (0..=self.states.len()).filter(|thread| self.can_go_on(*thread)).collect();
            let Some(&first) = ready.first() else {
                let due = self.states.iter().filter_map(|state| match state {
                    State::Sleeps { until } => *until,
                    _ => None,
                });
                let Some(due) = due.min() else { return };
                self.env.simulator().unwrap().settle(&self.env, due - self.env.now());
                continue;
            };
            let last = self.last.filter(|last| ready.contains(last));
            let thread = match last {
                Some(last) if self.changes == 0 => last,
                Some(last) => {
                    let others: Vec<usize> = ready.into_iter().filter(|thread| *thread != last).collect();
                    match choices.below(1 + others.len()) {
                        0 => last,
                        other => {
                            self.changes -= 1;
                            others[other - 1]
                        }
                    }
                }
                None if ready.len() == 1 => first,
                None => ready[choices.below(ready.len())],
            };
            self.last = Some(thread);
            if self.go_on(thread, choices) {
                return;
            }
        }
    }

    /// One step of a thread; true when it sticks, and everything else was played while it did.
    fn go_on(&mut self, thread: usize, choices: &mut Choices) -> bool {
        if thread == self.states.len() {
            let (home, sticks) = self.pushes[self.pushed];
            let strand = Once { number: self.pushed, home, sticks, ran: Arc::clone(&self.ran) };
            self.pushed += 1;
            self.core.push(Arc::new(strand), Lane::Normal);
            return false;
        }
        self.states[thread] = State::GoesOn;
        match self.lives[thread].step(&self.core) {
            Then::Run(entry) if entry.strand.depth() > 0 => {
                self.states[thread] = State::Stuck;
                entry.take_turn(thread);
                let core = Arc::clone(&self.core);
                core.metrics.observe_turn(thread, "stuck", || self.play(choices));
                return true;
            }
            Then::Run(entry) => entry.take_turn(thread),
            Then::GoOn | Then::Spin => {}
            Then::Sleep { nanos } => {
                let until = nanos.map(|nanos| self.env.now() + nanos.max(1));
                self.states[thread] = State::Sleeps { until };
            }
            Then::End => panic!("nobody closed the stage"),
        }
        false
    }
}

/// Plays all orders, and says how many there are.
fn in_every_order(stripes: usize, takeover: Option<Duration>, pushes: &[(usize, bool)]) -> usize {
    let (mut choices, mut orders) = (Choices::default(), 0);
    loop {
        let env = Env::simulated(1);
        let settings = StripedSettings { takeover, ..settings(stripes) };
        let core = Core::new(&env, StageId::of(StageKind::Partition), &settings);
        let mut world = World {
            core,
            lives: (0..stripes).map(Life::new).collect(),
            states: vec![State::GoesOn; stripes],
            pushes,
            pushed: 0,
            ran: Arc::default(),
            changes: CHANGES,
            last: None,
            steps: 0,
            env,
        };
        world.play(&mut choices);
        orders += 1;
        let mut ran = std::mem::take(&mut *world.ran.lock().unwrap());
        ran.sort_unstable();
        let all: Vec<usize> = (0..pushes.len()).collect();
        assert_eq!(ran, all, "somebody sleeps over what waits; order {orders}: {:?}", choices.taken);
        if !choices.advance() {
            return orders;
        }
    }
}

#[test]
fn what_is_pushed_is_run_in_every_order() {
    for takeover in [None, Some(TAKEOVER)] {
        for pushes in [&[(0, false), (1, false)][..], &[(0, false), (0, false), (1, false)]] {
            let orders = in_every_order(2, takeover, pushes);
            assert!(orders > 500, "only {orders} orders");
        }
    }
}

#[test]
fn what_waits_behind_a_stuck_stripe_is_run_in_every_order() {
    let orders = in_every_order(2, Some(TAKEOVER), &[(0, true), (0, false)]);
    assert!(orders > 200, "only {orders} orders");
    in_every_order(2, Some(TAKEOVER), &[(0, true), (0, false), (0, false), (1, false)]);
    // One watches, and must hand the watch over before it is stuck itself.
    in_every_order(3, Some(TAKEOVER), &[(0, true), (0, true), (0, false)]);
}
