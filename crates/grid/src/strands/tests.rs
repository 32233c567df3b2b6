//! The mechanism, with a target that is a box for numbers: taking waits for a number, a scan yields, a bomb panics.

use super::*;
use crate::operation::{Action, Step};
use filbert_pool::{TaskError, simulate};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use std::time::Duration;

#[derive(Debug, Default)]
struct Numbers(Vec<u32>);

impl Target for Numbers {
    type Event = ();
}

#[derive(Debug, Serialize, Deserialize)]
struct Put(u32);

impl Operation for Put {
    type Target = Numbers;
    type Output = usize;
    const NAME: &'static str = "numbers.put";
    const ACTION: Action = Action::Put;

    fn run(&mut self, target: &mut Numbers, turn: &mut Turn<'_, Numbers>) -> Step<Self> {
        target.0.push(self.0);
        turn.happened(());
        Step::done(target.0.len())
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Take {
    timeout: Option<Duration>,
    deadline: Option<Duration>,
}

impl Take {
    fn within(timeout: Option<Duration>) -> Self {
        Self { timeout, deadline: None }
    }
}

impl Operation for Take {
    type Target = Numbers;
    type Output = Option<u32>;
    const NAME: &'static str = "numbers.take";
    const ACTION: Action = Action::Remove;

    fn run(&mut self, target: &mut Numbers, turn: &mut Turn<'_, Numbers>) -> Step<Self> {
        if target.0.is_empty() {
            if let Some(timeout) = self.timeout.take() {
                self.deadline = Some(turn.now() + timeout);
            }
            return Step::Wait { event: (), deadline: self.deadline };
        }
        Step::done(Some(target.0.remove(0)))
    }

    fn expired(self, _: &mut Numbers) -> GridResult<Option<u32>> {
        Ok(None)
    }
}

/// Sums one number per turn.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Scan {
    next: usize,
    sum: u32,
}

impl Operation for Scan {
    type Target = Numbers;
    type Output = u32;
    const NAME: &'static str = "numbers.scan";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, target: &mut Numbers, _: &mut Turn<'_, Numbers>) -> Step<Self> {
        match target.0.get(self.next) {
            None => Step::done(self.sum),
            Some(number) => {
                self.sum += number;
                self.next += 1;
                Step::Again
            }
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Bomb;

impl Operation for Bomb {
    type Target = Numbers;
    type Output = ();
    const NAME: &'static str = "numbers.bomb";
    const ACTION: Action = Action::Execute;

    fn run(&mut self, _: &mut Numbers, _: &mut Turn<'_, Numbers>) -> Step<Self> {
        panic!("boom")
    }
}

/// Tells the listeners of a topic a number per turn; between the first and the others it waits for a number to be put.
#[derive(Debug, Serialize, Deserialize)]
struct Tell {
    turns: u32,
    waits: bool,
    #[serde(skip)]
    topic: Option<filbert_pool::Topic>,
}

impl Operation for Tell {
    type Target = Numbers;
    type Output = ();
    const NAME: &'static str = "numbers.tell";
    const ACTION: Action = Action::Put;

    fn run(&mut self, _: &mut Numbers, turn: &mut Turn<'_, Numbers>) -> Step<Self> {
        let Some(left) = self.turns.checked_sub(1) else { return Step::done(()) };
        self.turns = left;
        if let Some(topic) = &self.topic {
            turn.offered(topic.offer("tell", || {}).unwrap());
        }
        if std::mem::take(&mut self.waits) { Step::Wait { event: (), deadline: None } } else { Step::Again }
    }
}

const HERE: PartitionId = PartitionId::new(7).unwrap();

fn numbers(stages: &Stages) -> Arc<Strands<Numbers>> {
    Strands::single(stages, &MemoryAccount::new(u64::MAX), &Arc::from("numbers"), HERE, Numbers::default())
}

#[test]
fn an_idle_strand_answers_at_once() {
    let stages = Stages::start().unwrap();
    let numbers = numbers(&stages);
    let put = numbers.call(HERE, Put(1));
    assert!(put.is_done());
    assert_eq!(put.wait(), Ok(1));
    assert_eq!(numbers.call(HERE, Take::within(None)).wait(), Ok(Some(1)));
}

#[test]
fn what_waits_is_served_in_order_and_holds_no_thread() {
    for seed in 0..200 {
        let stages = Stages::simulated(seed);
        let numbers = numbers(&stages);
        let takers: Vec<_> = (0..50).map(|_| numbers.call(HERE, Take::within(None))).collect();
        stages.simulation().unwrap().settle();
        assert!(takers.iter().all(|taker| !taker.is_done()));
        for number in 0..50 {
            numbers.call(HERE, Put(number)).detach();
        }
        let taken: Vec<_> = takers.into_iter().map(|taker| taker.wait().unwrap().unwrap()).collect();
        assert_eq!(taken, (0..50).collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn a_wait_ends_at_its_deadline_and_not_before() {
    simulate::seeds("a_wait_ends_at_its_deadline_and_not_before", 0..200, |seed| {
        let stages = Stages::simulated(seed);
        let (numbers, simulation) = (numbers(&stages), stages.simulation().unwrap());
        let late = numbers.call(HERE, Take::within(Some(Duration::from_secs(9))));
        let early = numbers.call(HERE, Take::within(Some(Duration::from_secs(3))));
        simulation.advance(Duration::from_secs(2));
        assert!(!early.is_done());
        simulation.advance(Duration::from_secs(2));
        assert!(early.is_done() && !late.is_done());
        assert_eq!(early.wait(), Ok(None));
        numbers.call(HERE, Put(5)).detach();
        assert_eq!(late.wait(), Ok(Some(5)));
    });
}

/// Mails some puts from within, and then says that something happened.
#[derive(Debug, Serialize, Deserialize)]
struct Flood {
    #[serde(skip)]
    home: Weak<Strands<Numbers>>,
    mails: u32,
}

impl Operation for Flood {
    type Target = Numbers;
    type Output = u32;
    const NAME: &'static str = "numbers.flood";
    const ACTION: Action = Action::Put;

    fn run(&mut self, target: &mut Numbers, turn: &mut Turn<'_, Numbers>) -> Step<Self> {
        let home = self.home.upgrade().unwrap();
        let taken = (0..self.mails).take_while(|mail| home.mail(HERE, Put(100 + mail)).is_ok()).count();
        target.0.push(1);
        turn.happened(());
        Step::done(taken as u32)
    }
}

/// Waits until something happens, and counts what is there then.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Count {
    waited: bool,
}

impl Operation for Count {
    type Target = Numbers;
    type Output = usize;
    const NAME: &'static str = "numbers.count";
    const ACTION: Action = Action::Read;

    fn run(&mut self, target: &mut Numbers, _: &mut Turn<'_, Numbers>) -> Step<Self> {
        if std::mem::replace(&mut self.waited, true) {
            return Step::done(target.0.len());
        }
        Step::Wait { event: (), deadline: None }
    }
}

/// Bug: what was parked waited for its event, and then once more behind all that users had mailed meanwhile.
#[test]
fn what_waits_goes_on_before_the_mail_of_others() {
    for seed in 0..50 {
        let stages = Stages::simulated(seed);
        let numbers = numbers(&stages);
        let counted = numbers.call(HERE, Count::default());
        let flood = Flood { home: Arc::downgrade(&numbers), mails: 50 };
        assert_eq!(numbers.call(HERE, flood).wait(), Ok(50));
        assert_eq!(counted.wait(), Ok(1), "seed {seed}: what was there when it happened");
    }
}

/// The system finds room in a mailbox that users have filled, and its turn before them.
#[test]
fn a_full_mailbox_takes_the_mail_of_the_system() {
    let stages = Stages::builder().set("partition.mailbox_capacity", 10).simulated(1).unwrap();
    let numbers = numbers(&stages);
    let counted = numbers.call(HERE, Count::default());
    let flood = Flood { home: Arc::downgrade(&numbers), mails: 1_000 };
    let taken = numbers.call(HERE, flood).wait().unwrap();
    assert!(taken < 1_000, "the mailbox is full after {taken}");
    assert_eq!(counted.wait(), Ok(1));
}

/// A deadline that moves forward sets another timer; the one before it must not go on setting timers of its own.
#[test]
fn timers_do_not_add_up() {
    let stages = Stages::simulated(1);
    let (numbers, simulation) = (numbers(&stages), stages.simulation().unwrap());
    let second = Duration::from_secs(1);
    let stays = numbers.call(HERE, Take::within(Some(1_000 * second)));
    let mut costs = Vec::new();
    for _ in 0..100 {
        let before = stages.partition().snapshot().executed;
        let late = numbers.call(HERE, Take::within(Some(3 * second)));
        let early = numbers.call(HERE, Take::within(Some(second)));
        simulation.advance(2 * second);
        assert!(early.is_done() && !late.is_done());
        late.detach();
        costs.push(stages.partition().snapshot().executed - before);
    }
    assert!(costs[99] <= costs[10] + 2, "{costs:?}");
    // The timer of the one that stays is passed over a hundred times, and set once.
    for _ in 0..100 {
        let short = numbers.call(HERE, Take::within(Some(second)));
        simulation.advance(4 * second);
        assert_eq!(short.wait(), Ok(None));
    }
    simulation.advance(300 * second);
    let before = stages.partition().snapshot().executed;
    simulation.advance(200 * second);
    assert_eq!(stays.wait(), Ok(None));
    let cost = stages.partition().snapshot().executed - before;
    assert!(cost <= 3, "{cost} timers for one deadline");
}

#[test]
fn a_taker_that_gave_up_takes_nothing() {
    let stages = Stages::simulated(3);
    let numbers = numbers(&stages);
    let gone: Vec<_> = (0..200).map(|_| numbers.call(HERE, Take::within(None))).collect();
    let stays = numbers.call(HERE, Take::within(None));
    gone.into_iter().for_each(|taker| {
        taker.cancel();
    });
    numbers.call(HERE, Put(1)).detach();
    assert_eq!(stays.wait(), Ok(Some(1)));
}

#[test]
fn a_long_operation_lets_others_have_their_turn() {
    let stages = Stages::simulated(1);
    let numbers = numbers(&stages);
    for _ in 0..10 {
        numbers.call(HERE, Put(1)).detach();
    }
    let scan = numbers.call(HERE, Scan::default());
    let put = numbers.call(HERE, Put(1));
    assert_eq!(put.wait(), Ok(11), "while the scan is under way");
    assert_eq!(scan.wait(), Ok(11), "which sees it when it gets there");
}

#[test]
fn a_panic_is_the_operations_own() {
    let stages = Stages::start().unwrap();
    let numbers = numbers(&stages);
    let waits = numbers.call(HERE, Take::within(None));
    let lost = numbers.call(HERE, Bomb).wait();
    assert!(matches!(lost, Err(GridError::Task(TaskError::Panicked { .. }))), "{lost:?}");
    numbers.call(HERE, Put(1)).detach();
    assert_eq!(waits.wait(), Ok(Some(1)));
}

/// The offers of all its runs count, not those of the last: else a long or parked operation would not be slowed at all.
#[test]
fn an_answer_waits_for_the_listeners_of_every_run() {
    simulate::seeds("an_answer_waits_for_the_listeners_of_every_run", 0..100, |seed| {
        for waits in [false, true] {
            let timeout = Duration::from_millis(250);
            let stages = Stages::builder()
                .set("event.capacity", 2)
                .set("event.reserved_per_topic", 1)
                .set("event.offer_timeout_ms", timeout.as_millis() as u64)
                .simulated(seed)
                .unwrap();
            let (numbers, simulation) = (numbers(&stages), stages.simulation().unwrap());
            let topic = stages.event().topic("told");
            let (sleeper, began) = (stages.clone(), stages.clock().now());
            // Time goes on while it sleeps, and with it all that has to be looked at here.
            let sleep = move || {
                let (promise, awake) = sleeper.promise(StageKind::Partition, "sleep");
                sleeper.clock().after(8 * timeout, move || promise.keep(()));
                awake.wait().unwrap();
            };
            let _ = topic.offer("sleep", sleep).unwrap();
            let ends = |told: Invocation<()>| {
                let (clock, ended) = (stages.clock(), Arc::new(OnceLock::new()));
                let ends = Arc::clone(&ended);
                told.on_complete(move |_| ends.set(clock.now()).unwrap());
                ended
            };
            // Two are taken, the third finds no room; the turns after it offer nothing.
            let told = ends(numbers.call(HERE, Tell { turns: 3, waits, topic: Some(topic) }));
            let silent = ends(numbers.call(HERE, Tell { turns: 3, waits: false, topic: None }));
            numbers.call(HERE, Put(1)).detach();
            simulation.settle();
            let (told, silent) = (*told.get().unwrap() - began, *silent.get().unwrap() - began);
            assert!(silent < timeout, "seed {seed}: {silent:?}");
            assert!((timeout..2 * timeout).contains(&told), "seed {seed}, waits {waits}: {told:?}");
        }
    });
}

/// Each was a callback of its own: a hundred ways to `generic`, or levels of the stack where that was closed.
#[test]
fn many_offers_are_one_callback() {
    let timeout = Duration::from_millis(250);
    let stages = Stages::builder()
        .set("event.capacity", 2)
        .set("event.reserved_per_topic", 1)
        .set("event.offer_timeout_ms", timeout.as_millis() as u64)
        .simulated(1)
        .unwrap();
    let (numbers, topic) = (numbers(&stages), stages.event().topic("told"));
    let sleeper = stages.clone();
    let sleep = move || {
        let (promise, awake) = sleeper.promise(StageKind::Partition, "sleep");
        sleeper.clock().after(8 * timeout, move || promise.keep(()));
        awake.wait().unwrap();
    };
    let _ = topic.offer("sleep", sleep).unwrap();
    let generic = || stages.snapshot().into_iter().find(|stage| stage.stage == "generic").unwrap();
    let callbacks = || generic().executed;
    let (before, began) = (callbacks(), stages.clock().now());
    numbers.call(HERE, Tell { turns: 100, waits: false, topic: Some(topic) }).wait().unwrap();
    assert!(stages.clock().now() >= began + timeout, "they found no room");
    assert!(callbacks() - before <= 2, "{} callbacks", callbacks() - before);
}

/// Everybody waited as long as 100,000 operations take, and most had gone by then.
#[test]
fn new_work_is_refused_while_mail_waits_too_long() {
    let stages = Stages::builder().set("partition.overload_ms", 1_000_u64).simulated(1).unwrap();
    let (numbers, simulation) = (numbers(&stages), stages.simulation().unwrap());
    let (second, refused) = (Duration::from_millis(1_001), || stages.partition().snapshot().refused);
    let parked = numbers.call(HERE, Take::within(None));
    simulation.advance(10 * second);
    assert_eq!(numbers.call(HERE, Count { waited: true }).wait(), Ok(0), "what is parked is no overload");
    let waits = numbers
        .try_look(HERE, "hold", |_, _| {
            let waits = numbers.call(HERE, Put(1));
            simulation.advance(second / 2);
            let too = numbers.call(HERE, Put(2));
            assert!(!waits.is_done() && !too.is_done() && refused() == 0);
            simulation.advance(second);
            for _ in 0..3 {
                let late = numbers.call(HERE, Put(3)).now().unwrap().unwrap_err();
                assert!(
                    matches!(late, GridError::Refused(SubmitError::Late { bound_ms: 1_000, .. })),
                    "{late}"
                );
                assert!(late.is_retryable() && !late.is_indeterminate());
            }
            let all = numbers.call_all(Spread::Beside, [(HERE, Scan::default())], |sums| sums);
            assert!(matches!(all.now(), Ok(Err(GridError::Refused(SubmitError::Late { .. })))));
            assert_eq!(refused(), 4);
            assert!(!numbers.call(HERE, Take::within(None)).is_done(), "removals go on");
            assert_eq!(numbers.mail(HERE, Put(4)), Ok(()), "the member's own");
            waits
        })
        .unwrap();
    assert_eq!(waits.wait(), Ok(1));
    simulation.settle();
    assert_eq!(parked.wait(), Ok(Some(1)));
    assert_eq!(
        numbers.call(HERE, Count { waited: true }).wait(),
        Ok(1),
        "3 was refused, and one of 1, 2 and 4 was taken"
    );
    assert_eq!(refused(), 4);
}

#[test]
fn without_a_bound_mail_may_wait_for_ever() {
    let stages = Stages::builder().set("partition.overload_ms", 0_u64).simulated(1).unwrap();
    let (numbers, simulation) = (numbers(&stages), stages.simulation().unwrap());
    let held = numbers.try_look(HERE, "hold", |_, _| {
        let waits = numbers.call(HERE, Put(1));
        simulation.advance(Duration::from_secs(100_000));
        (waits, numbers.call(HERE, Put(2)))
    });
    let (first, second) = held.unwrap();
    assert_eq!((first.wait(), second.wait()), (Ok(1), Ok(2)));
}

/// Holds the strands of all these partitions, and lets go of one after the other, the first one first; `before` is called before each.
fn let_go(map: &Strands<Numbers>, held: &[PartitionId], before: &mut dyn FnMut(usize)) {
    let Some((last, others)) = held.split_last() else { return };
    map.try_look(*last, "hold", |_, _| {
        let_go(map, others, before);
        before(others.len());
    })
    .unwrap();
}

/// Predicate scans waited for eleven seconds where more came than could be served: each a moment at each partition.
#[test]
fn new_scans_are_refused_while_others_wait_too_long() {
    let builder = Stages::builder().set("partition.overload_ms", 1_000_u64).set("partition.threads", 2_u64);
    let stages = builder.simulated(1).unwrap();
    let (simulation, account) = (stages.simulation().unwrap(), MemoryAccount::new(u64::MAX));
    let map = Strands::partitioned(&stages, &account, &Arc::from("numbers"), |_| Numbers(vec![1]));
    let partitions: Vec<PartitionId> = map.partitions().collect();
    let scan = |of: &[PartitionId]| {
        let parts: Vec<_> = of.iter().map(|partition| (*partition, Scan::default())).collect();
        map.call_all(Spread::Beside, parts, |sums: Vec<u32>| sums.len())
    };
    let (mut first, mut taken, mut refused) = (None, Vec::new(), 0);
    let_go(&map, &partitions, &mut |number| {
        let first = first.get_or_insert_with(|| scan(&partitions));
        assert!(!first.is_done());
        // Each of the parts waits for 20 ms, and all of them for almost three seconds.
        simulation.advance(Duration::from_millis(10));
        if number % 20 == 10 {
            match scan(&partitions[270..]).now() {
                Ok(Err(GridError::Refused(SubmitError::Late { .. }))) => refused += 1,
                other => taken.push((number, other.expect_err("its partition is held"))),
            }
        }
    });
    let numbers: Vec<usize> = taken.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [10], "one may have bad luck for a quarter of the bound");
    assert_eq!(refused, 13);
    assert_eq!(first.unwrap().wait(), Ok(271));
    for (_, small) in taken {
        assert_eq!(small.wait(), Ok(1));
    }
    assert_eq!(scan(&partitions).wait(), Ok(271), "nobody waits any more");
}

#[test]
fn operations_travel() {
    let text = serde_json::to_string(&Take::within(Some(Duration::from_secs(1)))).unwrap();
    let back: Take = serde_json::from_str(&text).unwrap();
    assert_eq!(back.timeout, Some(Duration::from_secs(1)));
}
