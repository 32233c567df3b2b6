//! A queue that nobody waits at does what a `VecDeque` does, for every seed.

use filbert_grid::{Grid, GridSettings, Queue, QueueSettings, Registry};
use filbert_pool::{Stages, simulate};
use filbert_wire::Data;
use std::collections::VecDeque;
use std::time::Duration;

const MAX_SIZE: usize = 12;

fn data(number: usize) -> Data {
    Data::new(-8, &(number as u64).to_be_bytes())
}

fn one_step(queue: &Queue, model: &mut VecDeque<Data>, mut random: impl FnMut(usize) -> usize) {
    let item = data(random(20));
    let some: Vec<_> = (0..random(5)).map(|_| data(random(20))).collect();
    match random(16) {
        0..3 => {
            let fits = model.len() < MAX_SIZE;
            assert_eq!(queue.offer(&item, Duration::ZERO).wait(), Ok(fits));
            model.extend(fits.then_some(item));
        }
        3 => {
            let fits = !some.is_empty() && model.len() + some.len() <= MAX_SIZE;
            assert_eq!(queue.add_all(some.clone()).wait(), Ok(fits));
            model.extend(some.into_iter().filter(|_| fits));
        }
        4 | 5 => assert_eq!(queue.poll(Duration::ZERO).wait(), Ok(model.pop_front())),
        6 => assert_eq!(queue.peek().wait().unwrap().as_ref(), model.front()),
        7 => {
            let max = random(4);
            let expected: Vec<_> = model.drain(..max.min(model.len())).collect();
            assert_eq!(queue.drain(Some(max)).wait(), Ok(expected));
        }
        8 if random(10) == 0 => assert_eq!(queue.drain(None).wait(), Ok(model.drain(..).collect())),
        9 => {
            let at = model.iter().position(|known| *known == item);
            assert_eq!(queue.remove(&item).wait(), Ok(at.is_some()));
            at.map(|at| model.remove(at));
        }
        10 => assert_eq!(queue.contains(&item).wait(), Ok(model.contains(&item))),
        11 => {
            let expected = some.iter().all(|item| model.contains(item));
            assert_eq!(queue.contains_all(some).wait(), Ok(expected));
        }
        12 if random(4) == 0 => {
            let keep = random(2) == 0;
            let before = model.len();
            model.retain(|item| some.contains(item) == keep);
            let changed = if keep { queue.retain_all(some) } else { queue.remove_all(some) };
            assert_eq!(changed.wait(), Ok(before != model.len()));
        }
        13 if random(20) == 0 => {
            assert_eq!(queue.clear().wait(), Ok(()));
            model.clear();
        }
        14 => assert_eq!(queue.get_all().wait(), Ok(model.iter().cloned().collect())),
        _ => {
            assert_eq!(queue.size().wait(), Ok(model.len()));
            assert_eq!(queue.is_empty().wait(), Ok(model.is_empty()));
            assert_eq!(queue.remaining_capacity().wait(), Ok(MAX_SIZE - model.len()));
        }
    }
}

#[test]
fn a_queue_is_a_deque() {
    simulate::seeds("a_queue_is_a_deque", 0..200, |seed| {
        let stages = Stages::simulated(seed);
        let clock = stages.clock();
        let mut settings = GridSettings::default();
        settings.queues.set("*", QueueSettings { max_size: MAX_SIZE });
        let queue = Grid::with(&stages, settings, Registry::new()).queue("any");
        let mut model = VecDeque::new();
        for _ in 0..300 {
            one_step(&queue, &mut model, |bound| clock.random_below(bound));
        }
    });
}
