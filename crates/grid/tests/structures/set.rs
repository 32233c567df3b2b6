//! A set does what a `HashSet` with a bound does, for every seed, and its listeners hear of each change.

use crate::long;
use filbert_grid::{Grid, GridSettings, ItemChange, Registry, Set, SetSettings};
use filbert_pool::{Stages, simulate};
use filbert_wire::Data;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

const MAX_SIZE: usize = 12;

fn one_step(set: &Set, model: &mut HashSet<Data>, mut random: impl FnMut(usize) -> usize) {
    let item = long(random(20));
    let some: Vec<_> = (0..random(5)).map(|_| long(random(20))).collect();
    match random(10) {
        0..3 => {
            let fits = model.contains(&item) || model.len() < MAX_SIZE;
            assert_eq!(set.add(&item).wait(), Ok(fits && model.insert(item)));
        }
        3 => {
            let new: HashSet<_> = some.iter().filter(|item| !model.contains(*item)).cloned().collect();
            let fits = model.len() + new.len() <= MAX_SIZE;
            assert_eq!(set.add_all(some).wait(), Ok(fits && !new.is_empty()));
            model.extend(new.into_iter().filter(|_| fits));
        }
        4 | 5 => assert_eq!(set.remove(&item).wait(), Ok(model.remove(&item))),
        6 => {
            assert_eq!(set.contains(&item).wait(), Ok(model.contains(&item)));
            let all = some.iter().all(|item| model.contains(item));
            assert_eq!(set.contains_all(some).wait(), Ok(all));
        }
        7 if random(4) == 0 => {
            let (keep, before) = (random(2) == 0, model.len());
            model.retain(|item| some.contains(item) == keep);
            let changed = if keep { set.retain_all(some) } else { set.remove_all(some) };
            assert_eq!(changed.wait(), Ok(before != model.len()));
        }
        8 if random(20) == 0 => {
            set.clear().wait().unwrap();
            model.clear();
        }
        _ => {
            assert_eq!(set.size().wait(), Ok(model.len()));
            assert_eq!(set.get_all().wait().unwrap().into_iter().collect::<HashSet<_>>(), *model);
        }
    }
}

#[test]
fn a_set_is_a_hash_set() {
    simulate::seeds("a_set_is_a_hash_set", 0..200, |seed| {
        let stages = Stages::simulated(seed);
        let clock = stages.clock();
        let mut settings = GridSettings::default();
        settings.sets.set("*", SetSettings { max_size: MAX_SIZE });
        let set = Grid::with(&stages, settings, Registry::new()).set("any");
        let heard: Arc<Mutex<BTreeMap<Vec<u8>, i32>>> = Arc::default();
        let hears = Arc::clone(&heard);
        let listener = set.add_listener(true, move |event| {
            let mut heard = hears.lock().unwrap();
            let change = if event.change == ItemChange::Added { 1 } else { -1 };
            *heard.entry(event.item.as_ref().unwrap().payload().to_vec()).or_default() += change;
        });
        let mut model = HashSet::new();
        for _ in 0..300 {
            one_step(&set, &mut model, |bound| clock.random_below(bound));
        }
        stages.simulation().unwrap().settle();
        let heard = heard.lock().unwrap();
        assert!(heard.values().all(|count| *count == 0 || *count == 1), "{heard:?}");
        let there: HashSet<_> =
            heard.iter().filter(|(_, count)| **count == 1).map(|(item, _)| item).collect();
        assert_eq!(
            there,
            model.iter().map(|item| item.payload().to_vec()).collect::<HashSet<_>>().iter().collect()
        );
        assert!(set.remove_listener(listener) && !set.remove_listener(listener));
    });
}
