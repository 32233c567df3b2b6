//! Listeners of a list hear of each item that comes and goes, in order.

use filbert_grid::{Grid, ItemChange};
use filbert_pool::{Stages, simulate};
use filbert_wire::Data;
use std::sync::{Arc, Mutex};

fn data(number: usize) -> Data {
    Data::new(-8, &(number as u64).to_be_bytes())
}

#[test]
fn each_item_is_heard_of_once_and_in_order() {
    simulate::seeds("each_item_is_heard_of_once_and_in_order", 0..50, |seed| {
        let stages = Stages::simulated(seed);
        let grid = Grid::new(&stages);
        let list = grid.list("heard");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        let member = grid.member();
        let id = list.add_listener(true, move |event| {
            assert_eq!(event.member, member);
            log.lock().unwrap().push((event.change, event.item.clone().unwrap()));
        });
        let blind = Arc::new(Mutex::new(0));
        let count = Arc::clone(&blind);
        list.add_listener(false, move |event| {
            assert_eq!(event.item, None);
            *count.lock().unwrap() += 1;
        });
        let mut expected = Vec::new();
        let many: Vec<_> = (0..700).map(data).collect();
        list.add_all(many.clone()).detach();
        expected.extend(many.iter().map(|item| (ItemChange::Added, item.clone())));
        list.set(0, &data(1_000)).detach();
        expected.extend([(ItemChange::Removed, data(0)), (ItemChange::Added, data(1_000))]);
        list.remove(&data(5)).detach();
        expected.push((ItemChange::Removed, data(5)));
        list.retain_all((0..3).map(data).collect()).detach();
        let gone = [1_000, 3, 4].into_iter().chain(6..700).map(|number| (ItemChange::Removed, data(number)));
        expected.extend(gone);
        list.clear().detach();
        expected.extend([1, 2].map(|number| (ItemChange::Removed, data(number))));
        stages.simulation().unwrap().settle();
        assert_eq!(*heard.lock().unwrap(), expected);
        assert_eq!(*blind.lock().unwrap(), expected.len());
        assert!(list.remove_listener(id) && !list.remove_listener(id));
        list.add(&data(1)).detach();
        stages.simulation().unwrap().settle();
        assert_eq!(heard.lock().unwrap().len(), expected.len(), "it listens no more");
    });
}
