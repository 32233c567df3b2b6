//! Listeners hear what they asked for, in order, with or without values.

use crate::{int, number, simulated};
use filbert_grid::{Interest, MapEvent, MapEventKind, MapSettings};
use std::sync::{Arc, Mutex};

#[test]
fn a_listener_hears_what_it_asked_for() {
    let (stages, grid) = simulated(1, MapSettings::default());
    let map = grid.map("m");
    let hear = |interest: Interest| {
        let heard = Arc::new(Mutex::new(Vec::<MapEvent>::new()));
        let (id, sink) = (grid.new_id(), Arc::clone(&heard));
        map.add_listener(id, interest, move |event| sink.lock().unwrap().push(event.clone()));
        (id, heard)
    };
    let (all, everything) = hear(Interest::ALL);
    let (_, no_values) = hear(Interest { include_value: false, ..Interest::ALL });
    let (_, of_two) = hear(Interest { key: Some(int(2)), ..Interest::ALL });
    let large = Arc::new(|_: &_, value: &_| number(value) > 10);
    let (_, of_large) = hear(Interest { condition: Some(large), include_value: false, ..Interest::ALL });
    let (_, added) = hear(Interest { flags: MapEventKind::Added.flag(), ..Interest::ALL });

    map.put(int(1), int(10)).wait().unwrap();
    map.set(int(1), int(11)).wait().unwrap();
    map.set(int(2), int(1)).wait().unwrap();
    map.remove(int(1)).wait().unwrap();
    map.evict(int(2)).wait().unwrap();
    map.put_all([(int(3), int(3)), (int(4), int(4))]).wait().unwrap();
    map.clear().wait().unwrap();
    map.clear().wait().unwrap();
    stages.simulation().unwrap().settle();
    assert!(map.remove_listener(all) && !map.remove_listener(all));
    map.set(int(9), int(9)).wait().unwrap();
    stages.simulation().unwrap().settle();

    use MapEventKind::{Added, ClearAll, Evicted, Removed, Updated};
    let kinds = |heard: &Mutex<Vec<MapEvent>>| {
        heard.lock().unwrap().iter().map(|event| event.kind).collect::<Vec<_>>()
    };
    let everything = everything.lock().unwrap();
    let of_one = |key: u32| {
        let told = everything.iter().filter(move |event| event.key == Some(int(key)));
        told.map(|event| (event.kind, event.old_value.as_ref().map(number), event.value.as_ref().map(number)))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of_one(1),
        [(Added, None, Some(10)), (Updated, Some(10), Some(11)), (Removed, Some(11), None)]
    );
    assert_eq!(of_one(2), [(Added, None, Some(1)), (Evicted, Some(1), None)]);
    let cleared: Vec<_> = everything.iter().filter(|event| event.kind == ClearAll).collect();
    assert_eq!((cleared.len(), cleared[0].affected), (1, 2), "an empty map is not cleared again");
    assert_eq!(kinds(&of_two), [Added, Evicted, ClearAll]);
    assert_eq!(kinds(&of_large), [Updated, Removed, ClearAll]);
    assert_eq!(kinds(&added), [Added; 5]);
    let no_values = no_values.lock().unwrap();
    assert_eq!(no_values.len(), everything.len() + 1);
    assert!(no_values.iter().all(|event| event.value.is_none() && event.old_value.is_none()));
}
