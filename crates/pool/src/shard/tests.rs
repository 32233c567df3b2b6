//! The three operations against a sequential oracle, on every kind of stage they may meet.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// How tasks are run: the operations must end under all of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// At once, inside `spawn`.
    Inline,
    /// When the body is over, oldest first, on the calling thread.
    Fifo,
    /// When the body is over, newest first, on the calling thread.
    Lifo,
    /// By so many threads.
    Workers(usize),
}

const STAGES: [Stage; 6] =
    [Stage::Inline, Stage::Fifo, Stage::Lifo, Stage::Workers(1), Stage::Workers(2), Stage::Workers(4)];

struct Inline;

impl<'env> Spawn<'env> for Inline {
    fn spawn(&self, task: Task<'env>) {
        task(self);
    }
}

/// A queue of tasks for the other kinds; `open` counts the body and the tasks that have not ended.
struct Queue<'env> {
    state: Mutex<(VecDeque<Task<'env>>, usize)>,
    changed: Condvar,
}

impl<'env> Spawn<'env> for Queue<'env> {
    fn spawn(&self, task: Task<'env>) {
        let mut state = self.state.lock().unwrap();
        state.0.push_back(task);
        state.1 += 1;
        self.changed.notify_one();
    }
}

impl Queue<'_> {
    fn end_one(&self) {
        let mut state = self.state.lock().unwrap();
        state.1 -= 1;
        if state.1 == 0 {
            self.changed.notify_all();
        }
    }

    /// Runs tasks until all have ended.
    fn work(&self, newest_first: bool) {
        loop {
            let task = {
                let mut state = self.state.lock().unwrap();
                loop {
                    let next = if newest_first { state.0.pop_back() } else { state.0.pop_front() };
                    match next {
                        Some(task) => break task,
                        None if state.1 == 0 => return,
                        None => state = self.changed.wait(state).unwrap(),
                    }
                }
            };
            task(self);
            self.end_one();
        }
    }
}

impl Parallel for Stage {
    fn scope_from_here<'env>(&self, body: &mut dyn FnMut(&dyn Spawn<'env>)) {
        let queue = Queue { state: Mutex::new((VecDeque::new(), 1)), changed: Condvar::new() };
        match *self {
            Stage::Inline => body(&Inline),
            Stage::Fifo | Stage::Lifo => {
                body(&queue);
                queue.end_one();
                queue.work(*self == Stage::Lifo);
            }
            Stage::Workers(count) => std::thread::scope(|scope| {
                for _ in 0..count {
                    scope.spawn(|| queue.work(false));
                }
                body(&queue);
                queue.end_one();
            }),
        }
    }
}

/// An element that knows where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Element {
    input: usize,
    number: usize,
    key: u64,
}

fn collect(output: &mut Vec<Element>, element: Element) -> Result<(), Infallible> {
    output.push(element);
    Ok(())
}

fn inputs_of(sizes: &[usize], keys: u64) -> Vec<Vec<Element>> {
    sizes
        .iter()
        .enumerate()
        .map(|(input, &size)| {
            (0..size)
                .map(|number| Element { input, number, key: (number as u64 * 31 + input as u64) % keys })
                .collect()
        })
        .collect()
}

fn check_sharded(stage: Stage, sizes: &[usize]) {
    let inputs = inputs_of(sizes, 10);
    let outputs = sharded_for_each(&stage, inputs.clone(), |_| Vec::new(), collect).unwrap();
    assert_eq!(outputs, inputs);
}

fn check_sharding(stage: Stage, sharding: Sharding, size: usize, keys: u64) {
    let source = inputs_of(&[size], keys).remove(0);
    let outputs =
        sharding_for_each(&stage, &sharding, source.clone(), |element| element.key, |_| Vec::new(), collect)
            .unwrap();
    let expected: Vec<Vec<Element>> = (0..sharding.partitions)
        .map(|p| source.iter().copied().filter(|e| shard_of(&e.key, sharding.partitions) == p).collect())
        .collect();
    assert_eq!(outputs, expected, "{stage:?} {sharding:?}");
}

fn check_resharding(stage: Stage, sharding: Sharding, sizes: &[usize], keys: u64) {
    let inputs = inputs_of(sizes, keys);
    let copies = |element: &Element| element.number % 3;
    let outputs = resharding_for_each(
        &stage,
        &sharding,
        inputs.clone(),
        |element, outbox| {
            (0..copies(&element)).for_each(|_| outbox.emit(element));
            Ok(())
        },
        |element: &Element| element.key,
        |_| Vec::new(),
        collect,
    )
    .unwrap();
    assert_eq!(outputs.len(), sharding.partitions);
    for (partition, mut output) in outputs.into_iter().enumerate() {
        // Stable by input: the order within a pair of input and output must be that of the input already.
        output.sort_by_key(|element| element.input);
        let expected: Vec<Element> = inputs
            .iter()
            .flatten()
            .filter(|element| shard_of(&element.key, sharding.partitions) == partition)
            .flat_map(|element| std::iter::repeat_n(*element, copies(element)))
            .collect();
        assert_eq!(output, expected, "{stage:?} {sharding:?} partition {partition}");
    }
}

#[test]
fn every_number_of_partitions_on_every_stage() {
    for stage in STAGES {
        for partitions in 1..=17 {
            let sizes: Vec<usize> = (0..partitions).map(|input| (input * 37) % 100).collect();
            check_sharded(stage, &sizes);
            let tight = Sharding::new(partitions).batch(4).queue(1);
            check_sharding(stage, tight, 700, 1000);
            check_resharding(stage, tight, &sizes, 1000);
            check_resharding(stage, Sharding::new(partitions), &sizes, 1000);
        }
    }
}

#[test]
fn all_elements_to_one_partition() {
    for stage in STAGES {
        let tight = Sharding::new(16).batch(1).queue(1);
        check_sharding(stage, tight, 3000, 1);
        check_resharding(stage, tight, &[500; 16], 1);
        // One large input among empty ones.
        check_resharding(stage, tight, &[0, 0, 3000, 0], 100);
    }
}

#[test]
fn nothing_in_nothing_out() {
    for stage in STAGES {
        check_sharded(stage, &[]);
        check_sharded(stage, &[0, 0]);
        check_sharding(stage, Sharding::new(5), 0, 1);
        check_resharding(stage, Sharding::new(5), &[], 1);
        check_resharding(stage, Sharding::new(5), &[0, 0, 0], 1);
    }
}

#[test]
fn more_producers_than_threads_and_slow_consumers() {
    // Consumers that yield make locks be found taken and lanes be found full.
    for stage in [Stage::Workers(1), Stage::Workers(2), Stage::Workers(3)] {
        let slowly = |output: &mut usize, _: usize| {
            std::thread::yield_now();
            *output += 1;
            Ok::<_, Infallible>(())
        };
        let tight = Sharding::new(3).batch(2).queue(1);
        let outputs =
            sharding_for_each(&stage, &tight, 0..4000usize, |number| *number, |_| 0, slowly).unwrap();
        assert_eq!(outputs.iter().sum::<usize>(), 4000);
        let inputs = vec![0..500usize; 12];
        let outputs = resharding_for_each(
            &stage,
            &tight,
            inputs,
            |number, outbox| {
                outbox.emit(number);
                Ok(())
            },
            |number: &usize| number / 100,
            |_| 0,
            slowly,
        )
        .unwrap();
        assert_eq!(outputs.iter().sum::<usize>(), 6000);
    }
}

#[test]
fn the_first_error_wins_and_stops_the_others() {
    for stage in STAGES {
        let seen = AtomicUsize::new(0);
        let fail_at = |output: &mut usize, number: usize| {
            seen.fetch_add(1, Ordering::Relaxed);
            *output += 1;
            if number == 500 { Err(number) } else { Ok(()) }
        };
        let tight = Sharding::new(4).batch(3).queue(1);
        // The sources never end by themselves.
        let result = sharding_for_each(&stage, &tight, 0.., |number| *number, |_| 0, fail_at);
        assert_eq!(result, Err(500), "{stage:?}");
        let result = sharding_for_each(&stage, &Sharding::new(1), 0.., |number| *number, |_| 0, fail_at);
        assert_eq!(result, Err(500), "{stage:?}");
        let result = sharded_for_each(&stage, vec![0..; 4], |_| 0, fail_at);
        assert_eq!(result, Err(500), "{stage:?}");
        let forward = |number, outbox: &mut Outbox<'_, usize, _>| {
            outbox.emit(number);
            Ok(())
        };
        let result = resharding_for_each(
            &stage,
            &tight,
            vec![0..; 4],
            forward,
            |number: &usize| *number,
            |_| 0,
            fail_at,
        );
        assert_eq!(result, Err(500), "{stage:?}");
        let result = resharding_for_each(
            &stage,
            &tight,
            vec![0..; 4],
            |number: usize, outbox: &mut Outbox<'_, usize, _>| {
                outbox.emit(number);
                if number == 300 { Err(number) } else { Ok(()) }
            },
            |number| *number,
            |_| 0,
            |output, _| {
                *output += 1;
                Ok(())
            },
        );
        assert_eq!(result, Err(300), "{stage:?}");
    }
}

fn itself(number: &usize) -> usize {
    *number
}

/// What the panic said.
fn message_of(body: impl FnOnce()) -> String {
    crate::panics::message(&*catch_unwind(AssertUnwindSafe(body)).expect_err("it must panic"))
}

#[test]
fn panics_reach_the_caller_wherever_they_arise() {
    let fine = |_: &mut (), _: usize| Ok::<_, Infallible>(());
    let tight = Sharding::new(3).batch(2).queue(1);
    let bomb = |number: usize| {
        assert!(number != 100, "boom");
        number
    };
    let forward = |number, outbox: &mut Outbox<'_, usize, _>| {
        outbox.emit(number);
        Ok(())
    };
    let explode = |_: &mut (), number: usize| {
        bomb(number);
        Ok::<_, Infallible>(())
    };
    for stage in STAGES {
        let messages = [
            message_of(|| drop(sharded_for_each(&stage, vec![0..; 3], |_| (), explode))),
            message_of(|| drop(sharding_for_each(&stage, &tight, 0.., itself, |_| (), explode))),
            message_of(|| drop(sharding_for_each(&stage, &tight, (0..).map(bomb), itself, |_| (), fine))),
            message_of(|| drop(sharding_for_each(&stage, &tight, 0.., |n| bomb(*n), |_| (), fine))),
            message_of(|| {
                drop(resharding_for_each(&stage, &tight, vec![0..; 3], forward, itself, |_| (), explode))
            }),
            message_of(|| {
                let inputs = vec![(0..).map(bomb), (0..).map(bomb)];
                drop(resharding_for_each(&stage, &tight, inputs, forward, itself, |_| (), fine))
            }),
        ];
        assert_eq!(messages, ["boom"; 6], "{stage:?}");
    }
}

#[test]
fn a_failure_drops_every_element_once() {
    struct Counted(usize, Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }
    for stage in STAGES {
        let (made, dropped) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let make = |number| {
            made.fetch_add(1, Ordering::Relaxed);
            Counted(number, Arc::clone(&dropped))
        };
        let keep = |output: &mut Vec<_>, element: Counted| {
            let number = element.0;
            output.push(element);
            if number == 77 { Err(()) } else { Ok(()) }
        };
        let tight = Sharding::new(3).batch(2).queue(1);
        let result = resharding_for_each(
            &stage,
            &tight,
            vec![0..; 5],
            |number, outbox: &mut Outbox<'_, _, _>| {
                outbox.emit(make(number));
                Ok(())
            },
            |element: &Counted| element.0,
            |_| Vec::new(),
            keep,
        );
        assert!(result.is_err());
        drop(result);
        assert_eq!(made.load(Ordering::Relaxed), dropped.load(Ordering::Relaxed), "{stage:?}");
        let result =
            sharding_for_each(&stage, &tight, (0..).map(make), |element| element.0, |_| Vec::new(), keep);
        assert!(result.is_err());
        drop(result);
        assert_eq!(made.load(Ordering::Relaxed), dropped.load(Ordering::Relaxed), "{stage:?}");
    }
}

#[test]
fn a_drop_that_panics_while_all_stop_harms_nobody() {
    struct Loud(usize, Arc<AtomicBool>);
    impl Drop for Loud {
        fn drop(&mut self) {
            if self.0 > 50 && self.1.load(Ordering::Relaxed) && !std::thread::panicking() {
                panic!("loud drop");
            }
        }
    }
    for stage in STAGES {
        let failed = Arc::new(AtomicBool::new(false));
        let result = resharding_for_each(
            &stage,
            &Sharding::new(3).batch(2).queue(1),
            vec![0..; 5],
            |number, outbox: &mut Outbox<'_, _, _>| {
                outbox.emit(Loud(number, Arc::clone(&failed)));
                Ok(())
            },
            |element: &Loud| element.0,
            |_| (),
            |(), element| {
                if element.0 == 50 {
                    failed.store(true, Ordering::Relaxed);
                    return Err("stop");
                }
                Ok(())
            },
        );
        assert_eq!(result, Err("stop"), "the first failure wins, {stage:?}");
    }
}

#[test]
fn a_failing_consumer_never_leaves_the_producer_asleep() {
    // Many short runs in which the failure comes while the producer is somewhere around falling asleep.
    for turn in 0..400usize {
        let stage = Stage::Workers(1 + turn % 2);
        let tight = Sharding::new(2).batch(1).queue(1);
        let result = sharding_for_each(
            &stage,
            &tight,
            0..,
            |number: &usize| *number,
            |_| (),
            |(), number| {
                if number == turn % 40 { Err(()) } else { Ok(()) }
            },
        );
        assert_eq!(result, Err(()));
    }
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    assert!(message_of(|| _ = Sharding::new(0)).contains("at least one partition"));
    assert!(message_of(|| _ = Sharding::new(1).batch(0)).contains("at least one element"));
    assert!(message_of(|| _ = Sharding::new(1).queue(0)).contains("at least one batch"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_shape_on_any_stage(
        stage in proptest::sample::select(STAGES.to_vec()),
        partitions in 1usize..=17,
        batch in 1usize..40,
        queue in 1usize..4,
        sizes in proptest::collection::vec(0usize..400, 0..12),
        keys in prop_oneof![Just(1u64), Just(3), Just(1000)],
    ) {
        let sharding = Sharding::new(partitions).batch(batch).queue(queue);
        check_sharded(stage, &sizes);
        check_sharding(stage, sharding, sizes.iter().sum(), keys);
        check_resharding(stage, sharding, &sizes, keys);
    }
}
