//! A reliable topic gives every message to every listener, in order, also to one that is slow.

use crate::{long, number};
use filbert_grid::{Grid, GridSettings, Overflow, Registry, RingbufferSettings, Service};
use filbert_pool::{Stages, simulate};
use std::sync::{Arc, Mutex};

#[test]
fn every_listener_hears_every_message_in_order() {
    simulate::seeds("every_listener_hears_every_message_in_order", 0..200, |seed| {
        let stages = Stages::simulated(seed);
        let grid = Grid::new(&stages);
        let topic = grid.reliable_topic("t");
        let heard: Vec<Arc<Mutex<Vec<usize>>>> = (0..3).map(|_| Arc::default()).collect();
        let mut ids = Vec::new();
        for (late, heard) in heard.iter().enumerate() {
            let hears = Arc::clone(heard);
            ids.push(
                topic.add_listener(move |message| hears.lock().unwrap().push(number(&message.data))).unwrap(),
            );
            topic.publish(&long(late), Overflow::Overwrite).wait().unwrap();
        }
        let many: Vec<_> = (3..50).map(long).collect();
        topic.publish_all(&many, Overflow::Overwrite).wait().unwrap();
        stages.simulation().unwrap().settle();
        for (late, heard) in heard.iter().enumerate() {
            assert_eq!(*heard.lock().unwrap(), (late..50).collect::<Vec<_>>());
        }
        assert!(topic.remove_listener(ids[0]) && !topic.remove_listener(ids[0]));
        topic.publish(&long(50), Overflow::Overwrite).wait().unwrap();
        stages.simulation().unwrap().settle();
        assert_eq!(heard.iter().map(|heard| heard.lock().unwrap().len()).collect::<Vec<_>>(), [50, 50, 49]);
    });
}

#[test]
fn its_ringbuffer_has_the_settings_of_its_name_and_goes_with_it() {
    let stages = Stages::simulated(1);
    let mut settings = GridSettings::default();
    settings.ringbuffers.set("t", RingbufferSettings { capacity: 2, ttl_seconds: 60 });
    let grid = Grid::with(&stages, settings, Registry::new());
    let topic = grid.reliable_topic("t");
    let publish = |item| topic.publish(&long(item), Overflow::Fail).wait().unwrap();
    assert_eq!((publish(0), publish(1), publish(2)), (Some(0), Some(1), None));
    assert!(grid.structures().contains(Service::Ringbuffer, "_hz_rb_t"));
    assert!(grid.structures().destroy(Service::ReliableTopic, "t"));
    assert!(!grid.structures().contains(Service::Ringbuffer, "_hz_rb_t"));
}
