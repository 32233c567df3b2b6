//! Messages are heard in the order of each publisher, and each once.

use filbert_grid::{Grid, GridError, Service};
use filbert_pool::{Stages, simulate};
use filbert_wire::Data;
use std::sync::{Arc, Mutex};

fn data(publisher: usize, number: usize) -> Data {
    Data::new(-8, &((publisher * 1_000_000 + number) as u64).to_be_bytes())
}

fn parts(data: &Data) -> (usize, usize) {
    let number = u64::from_be_bytes(data.payload().try_into().unwrap()) as usize;
    (number / 1_000_000, number % 1_000_000)
}

#[test]
fn each_publisher_is_heard_in_its_order() {
    simulate::seeds("each_publisher_is_heard_in_its_order", 0..100, |seed| {
        let stages = Stages::simulated(seed);
        let clock = stages.clock();
        let grid = Grid::new(&stages);
        let topic = grid.topic("news");
        let heard = Arc::new(Mutex::new(vec![Vec::new(); 4]));
        let log = Arc::clone(&heard);
        let member = grid.member();
        let id = topic.add_listener(move |message| {
            assert_eq!(message.member, member);
            let (publisher, number) = parts(&message.data);
            log.lock().unwrap()[publisher].push(number);
        });
        let mut sent = [0; 4];
        for _ in 0..100 {
            let publisher = clock.random_below(4);
            let count = 1 + clock.random_below(5);
            let first = sent[publisher];
            sent[publisher] += count;
            let messages = (first..first + count).map(|number| data(publisher, number));
            match clock.random_below(2) {
                0 => topic.publish_all(messages.collect()).detach(),
                _ => messages.for_each(|message| topic.publish(&message).detach()),
            }
        }
        stages.simulation().unwrap().settle();
        for (heard, sent) in heard.lock().unwrap().iter().zip(sent) {
            assert_eq!(*heard, (0..sent).collect::<Vec<_>>());
        }
        let all = sent.iter().sum::<usize>() as u64;
        let stats = topic.stats();
        assert_eq!((stats.published, stats.delivered, stats.dropped, stats.queued), (all, all, 0, 0));
        assert!(topic.remove_listener(id) && !topic.remove_listener(id));
        topic.publish(&data(0, 0)).detach();
        stages.simulation().unwrap().settle();
        assert_eq!((topic.stats().published, topic.stats().delivered), (all + 1, all), "nobody listens");
    });
}

#[test]
fn a_topic_that_is_destroyed_says_so() {
    let stages = Stages::start().unwrap();
    let grid = Grid::new(&stages);
    let topic = grid.topic("old");
    assert!(grid.structures().destroy(Service::Topic, "old"));
    assert!(matches!(topic.publish(&data(0, 0)).wait(), Err(GridError::Destroyed { .. })));
    assert_eq!(grid.topic("old").publish(&data(0, 0)).wait(), Ok(()));
}
