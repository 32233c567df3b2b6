//! Whoever waits for an item or for room holds no thread, is served in the order in which it came, and takes nothing when it gave up.

use filbert_grid::{Grid, GridError, GridSettings, Invocation, Queue, QueueSettings, Registry, Service};
use filbert_pool::{Stages, simulate};
use filbert_wire::Data;
use std::sync::Arc;
use std::time::Duration;

fn data(number: usize) -> Data {
    Data::new(-8, &(number as u64).to_be_bytes())
}

fn number(item: &Data) -> usize {
    u64::from_be_bytes(item.payload().try_into().unwrap()) as usize
}

fn bounded(stages: &Stages, max_size: usize) -> (Grid, Arc<Queue>) {
    let mut settings = GridSettings::default();
    settings.queues.set("bounded", QueueSettings { max_size });
    let grid = Grid::with(stages, settings, Registry::new());
    let queue = grid.queue("bounded");
    (grid, queue)
}

/// The strongest oracle: whatever the order in which they come, the nth taker gets the nth item.
#[test]
fn the_nth_taker_gets_the_nth_item() {
    simulate::seeds("the_nth_taker_gets_the_nth_item", 0..400, |seed| {
        let stages = Stages::simulated(seed);
        let clock = stages.clock();
        let (_grid, queue) = bounded(&stages, 1 + clock.random_below(4));
        let (mut takers, mut puts) = (Vec::new(), Vec::new());
        for _ in 0..80 {
            match clock.random_below(8) {
                0..3 => puts.push(queue.put(&data(puts.len()))),
                3..6 => takers.push(queue.take()),
                6 => stages.simulation().unwrap().settle(),
                _ => {
                    // So that the strand is busy and operations queue up before it.
                    queue.contains(&data(0)).detach();
                    queue.size().detach();
                }
            }
        }
        while puts.len() < takers.len() {
            puts.push(queue.put(&data(puts.len())));
        }
        let all = puts.len();
        let taken: Vec<_> = takers.into_iter().map(|taker| number(&taker.wait().unwrap())).collect();
        assert_eq!(taken, (0..taken.len()).collect::<Vec<_>>());
        let mut rest = Vec::new();
        while rest.len() < all - taken.len() {
            rest.push(number(&queue.take().wait().unwrap()));
        }
        assert_eq!(rest, (taken.len()..all).collect::<Vec<_>>());
        puts.into_iter().for_each(|put| assert_eq!(put.wait(), Ok(())));
    });
}

/// With time-outs and cancellation: what was offered was taken in order, or is still there, and nothing else.
#[test]
fn items_that_went_in_come_out_once_and_in_order() {
    simulate::seeds("items_that_went_in_come_out_once_and_in_order", 0..400, |seed| {
        let stages = Stages::simulated(seed);
        let (clock, simulation) = (stages.clock(), stages.simulation().unwrap());
        let (_grid, queue) = bounded(&stages, 1 + clock.random_below(5));
        let mut offers: Vec<Option<Invocation<bool>>> = Vec::new();
        let mut polls: Vec<Option<Invocation<Option<Data>>>> = Vec::new();
        for _ in 0..100 {
            let timeout = Duration::from_millis([0, 5, 50, 5_000][clock.random_below(4)]);
            match clock.random_below(9) {
                0..3 => offers.push(Some(queue.offer(&data(offers.len()), timeout))),
                3..6 => polls.push(Some(queue.poll(timeout))),
                6 => simulation.advance(Duration::from_millis(clock.random_below(20) as u64)),
                // A cancelled one that was not done yet did nothing; one that was done stays.
                7 if !offers.is_empty() => give_up(&mut offers, clock.random_below(1_000)),
                8 if !polls.is_empty() => give_up(&mut polls, clock.random_below(1_000)),
                _ => {}
            }
        }
        simulation.advance(Duration::from_secs(6));
        let inside: Vec<usize> = offers
            .into_iter()
            .enumerate()
            .filter_map(|(number, offer)| offer?.wait().unwrap().then_some(number))
            .collect();
        let mut out: Vec<usize> =
            polls.into_iter().filter_map(|poll| poll?.wait().unwrap()).map(|item| number(&item)).collect();
        out.extend(queue.drain(None).wait().unwrap().iter().map(number));
        assert_eq!(out, inside);
    });
}

fn give_up<T: Send + 'static>(all: &mut [Option<Invocation<T>>], chosen: usize) {
    let chosen = &mut all[chosen % all.len()];
    if let Some(one) = chosen.take_if(|one| !one.is_done()) {
        one.cancel();
    }
}

#[test]
fn a_time_out_ends_a_wait_and_not_before() {
    let stages = Stages::simulated(5);
    let simulation = stages.simulation().unwrap();
    let (_grid, queue) = bounded(&stages, 1);
    let poll = queue.poll(Duration::from_secs(3));
    simulation.advance(Duration::from_secs(2));
    assert!(!poll.is_done());
    simulation.advance(Duration::from_secs(2));
    assert_eq!(poll.wait(), Ok(None));
    assert_eq!(queue.offer(&data(1), Duration::ZERO).wait(), Ok(true));
    let offer = queue.offer(&data(2), Duration::from_secs(3));
    let endless = queue.offer(&data(3), Duration::MAX);
    simulation.advance(Duration::from_secs(4));
    assert_eq!(offer.wait(), Ok(false));
    assert_eq!(queue.offer(&data(4), Duration::ZERO).wait(), Ok(false));
    assert_eq!(queue.poll(Duration::ZERO).wait(), Ok(Some(data(1))));
    assert_eq!(endless.wait(), Ok(true));
    assert_eq!(queue.get_all().wait(), Ok(vec![data(3)]));
}

#[test]
fn whoever_waits_learns_that_the_queue_is_destroyed() {
    simulate::seeds("whoever_waits_learns_that_the_queue_is_destroyed", 0..100, |seed| {
        let stages = Stages::simulated(seed);
        let (grid, queue) = bounded(&stages, 1);
        let takers: Vec<_> = (0..20).map(|_| queue.take()).collect();
        grid.structures().destroy(Service::Queue, "bounded");
        for taker in takers {
            assert!(matches!(taker.wait(), Err(GridError::Destroyed { .. })));
        }
        let queue = grid.queue("bounded");
        queue.put(&data(0)).detach();
        let puts: Vec<_> = (0..20).map(|_| queue.put(&data(1))).collect();
        grid.structures().destroy(Service::Queue, "bounded");
        for put in puts {
            assert!(matches!(put.wait(), Err(GridError::Destroyed { .. })));
        }
        assert!(matches!(queue.size().wait(), Err(GridError::Destroyed { .. })));
    });
}

#[test]
fn a_larger_bound_lets_those_in_that_wait_for_room() {
    let stages = Stages::simulated(2);
    let (_grid, queue) = bounded(&stages, 1);
    let puts: Vec<_> = (0..4).map(|number| queue.put(&data(number))).collect();
    stages.simulation().unwrap().settle();
    assert_eq!(puts.iter().filter(|put| put.is_done()).count(), 1);
    assert_eq!(queue.set_max_size(0).wait(), Ok(()));
    puts.into_iter().for_each(|put| assert_eq!(put.wait(), Ok(())));
    assert_eq!(queue.remaining_capacity().wait(), Ok(i32::MAX as usize - 4));
    assert_eq!(queue.set_max_size(2).wait(), Ok(()));
    assert_eq!(queue.remaining_capacity().wait(), Ok(0));
    assert_eq!(queue.get_all().wait(), Ok((0..4).map(data).collect::<Vec<_>>()));
}

/// Real threads: thousands of waiters on both sides of a small queue, and no thread for any of them.
#[test]
fn many_wait_on_both_sides_with_real_threads() {
    let stages = Stages::builder().set("partition.threads", 2).start().unwrap();
    let (_grid, queue) = bounded(&stages, 3);
    let count = 3_000;
    let takers: Vec<_> = (0..count).map(|_| queue.take()).collect();
    let puts: Vec<_> = (0..count).map(|number| queue.put(&data(number))).collect();
    let taken: Vec<_> = takers.into_iter().map(|taker| number(&taker.wait().unwrap())).collect();
    assert_eq!(taken, (0..count).collect::<Vec<_>>());
    puts.into_iter().for_each(|put| assert_eq!(put.wait(), Ok(())));
    assert_eq!(queue.size().wait(), Ok(0));
}
