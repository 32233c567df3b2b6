//! A list does what a vector does, for every seed; a long operation on it is as atomic as a short one.

use filbert_grid::{Grid, GridError, GridResult, GridSettings, List, ListSettings, Registry};
use filbert_pool::{Stages, simulate};
use filbert_wire::Data;
use std::sync::Arc;

fn data(number: usize) -> Data {
    Data::new(-8, &(number as u64).to_be_bytes())
}

fn place(index: i64, end: usize) -> Option<usize> {
    usize::try_from(index).ok().filter(|place| *place < end)
}

/// The result of an operation with a place: out of bounds, or what the model says.
fn check_place<T: PartialEq + std::fmt::Debug>(got: GridResult<T>, expected: Option<T>, index: i64) {
    match (got, expected) {
        (Ok(got), Some(expected)) => assert_eq!(got, expected),
        (Err(GridError::IndexOutOfBounds { index: named, .. }), None) => assert_eq!(named, index),
        (got, expected) => panic!("at {index}: {got:?} instead of {expected:?}"),
    }
}

fn one_step(list: &List, model: &mut Vec<Data>, max_size: usize, mut random: impl FnMut(usize) -> usize) {
    let item = data(random(40));
    let index = random(model.len() + 4) as i64 - 2;
    let some: Vec<_> = (0..random(5)).map(|_| data(random(40))).collect();
    let fits = |model: &Vec<Data>, count: usize| count > 0 && model.len() + count <= max_size;
    match random(18) {
        0 => assert_eq!(list.size().wait(), Ok(model.len())),
        1 => assert_eq!(list.contains(&item).wait(), Ok(model.contains(&item))),
        2 => {
            let expected = some.iter().all(|item| model.contains(item));
            assert_eq!(list.contains_all(some).wait(), Ok(expected));
        }
        3 | 4 => {
            let expected = fits(model, 1);
            assert_eq!(list.add(&item).wait(), Ok(expected));
            model.extend(expected.then_some(item));
        }
        5 => {
            let at = model.iter().position(|known| *known == item);
            assert_eq!(list.remove(&item).wait(), Ok(at.is_some()));
            at.map(|at| model.remove(at));
        }
        6 => {
            let expected = fits(model, some.len());
            assert_eq!(list.add_all(some.clone()).wait(), Ok(expected));
            model.extend(some.into_iter().filter(|_| expected));
        }
        7 | 8 if random(4) == 0 => {
            let keep = random(2) == 0;
            let named: Vec<_> = (0..30).map(|_| data(random(40))).collect();
            let before = model.len();
            model.retain(|item| named.contains(item) == keep);
            let changed = if keep { list.retain_all(named) } else { list.remove_all(named) };
            assert_eq!(changed.wait(), Ok(before != model.len()));
        }
        9 if random(20) == 0 => {
            assert_eq!(list.clear().wait(), Ok(()));
            model.clear();
        }
        10 => assert_eq!(list.get_all().wait().as_ref(), Ok(&*model)),
        11 => {
            let expected = place(index, model.len() + 1).map(|at| {
                let fits = fits(model, some.len());
                model.splice(at..at, some.iter().filter(|_| fits).cloned());
                fits
            });
            check_place(list.add_all_at(index, some).wait(), expected, index);
        }
        12 => {
            check_place(list.get(index).wait(), place(index, model.len()).map(|at| model[at].clone()), index)
        }
        13 => {
            let expected =
                place(index, model.len()).map(|at| std::mem::replace(&mut model[at], item.clone()));
            check_place(list.set(index, &item).wait(), expected, index);
        }
        14 => {
            let expected = place(index, model.len()).map(|at| model.remove(at));
            check_place(list.remove_at(index).wait(), expected, index);
        }
        15 => {
            let expected = model.iter().position(|known| *known == item);
            assert_eq!(list.index_of(&item).wait(), Ok(expected));
            let expected = model.iter().rposition(|known| *known == item);
            assert_eq!(list.last_index_of(&item).wait(), Ok(expected));
        }
        16 => {
            let to = random(model.len() + 2) as i64;
            let expected = place(index, model.len() + 1)
                .zip(place(to, model.len() + 1))
                .filter(|(from, to)| from <= to)
                .map(|(from, to)| model[from..to].to_vec());
            let named = if place(index, model.len() + 1).is_none() { index } else { to };
            check_place(list.sub(index, to).wait(), expected, named);
            let expected = place(index, model.len() + 1).map(|from| model[from..].to_vec());
            check_place(list.get_from(index).wait(), expected, index);
        }
        _ => assert_eq!(list.is_empty().wait(), Ok(model.is_empty())),
    }
}

#[test]
fn a_list_is_a_vector() {
    simulate::seeds("a_list_is_a_vector", 0..150, |seed| {
        let stages = Stages::simulated(seed);
        let clock = stages.clock();
        let max_size = [1_000_000, 20][seed as usize % 2];
        let mut settings = GridSettings::default();
        settings.lists.set("a*", ListSettings { max_size });
        let grid = Grid::with(&stages, settings, Registry::new());
        let list = grid.list("all");
        let mut model = Vec::new();
        if seed % 30 == 0 {
            // So long that every scan yields several times.
            model = (0..10_000).map(|_| data(clock.random_below(40))).collect();
            assert_eq!(list.add_all(model.clone()).wait(), Ok(true));
        }
        let steps = if model.is_empty() { 300 } else { 60 };
        for _ in 0..steps {
            one_step(&list, &mut model, max_size, |bound| clock.random_below(bound));
        }
        assert_eq!(list.get_all().wait(), Ok(model));
    });
}

/// A list of 20,000 items, on which a look at all of them takes several turns.
fn long(stages: &Stages) -> (Arc<List>, Vec<Data>) {
    let list = Grid::new(stages).list("long");
    let items: Vec<_> = (0..20_000).map(data).collect();
    assert_eq!(list.add_all(items.clone()).wait(), Ok(true));
    (list, items)
}

#[test]
fn a_long_look_sees_one_moment() {
    simulate::seeds("a_long_look_sees_one_moment", 0..30, |seed| {
        let stages = Stages::simulated(seed);
        let (list, items) = long(&stages);
        let (look, last) = (list.get_all(), list.last_index_of(&data(19_999)));
        assert!(!look.is_done(), "it takes several turns");
        list.remove_at(7).detach();
        list.set(3, &data(99_999)).detach();
        list.add_at(0, &data(77_777)).detach();
        let after = list.clear();
        assert_eq!(look.wait(), Ok(items));
        assert_eq!(last.wait(), Ok(Some(19_999)));
        assert_eq!(after.wait(), Ok(()));
        assert_eq!(list.is_empty().wait(), Ok(true));
    });
}

#[test]
fn a_long_removal_happens_at_one_moment_although_others_write() {
    simulate::seeds("a_long_removal_happens_at_one_moment_although_others_write", 0..30, |seed| {
        let stages = Stages::simulated(seed);
        let (list, items) = long(&stages);
        let odd: Vec<_> = items.iter().skip(1).step_by(2).cloned().collect();
        let removal = list.remove_all(odd.clone());
        let one = list.remove(&data(19_998));
        // Each of these makes the removal look again; it ends all the same.
        let mut writes = Vec::new();
        for item in &odd[..200] {
            writes.push(list.add(item));
            stages.simulation().unwrap().until(|| writes.last().unwrap().is_done());
        }
        assert_eq!(removal.wait(), Ok(true));
        assert_eq!(one.wait(), Ok(true));
        let left = list.get_all().wait().unwrap();
        let mut expected: Vec<_> =
            items.iter().step_by(2).filter(|item| **item != data(19_998)).cloned().collect();
        let kept = left.len() - expected.len();
        expected.extend_from_slice(&odd[200 - kept..200]);
        assert_eq!(left, expected, "what was added after that moment, and only that, is there");
    });
}

#[test]
fn a_list_that_is_destroyed_says_so() {
    let stages = Stages::start().unwrap();
    let grid = Grid::new(&stages);
    let list = grid.list("short-lived");
    assert_eq!(list.add(&data(1)).wait(), Ok(true));
    assert!(grid.structures().destroy(filbert_grid::Service::List, "short-lived"));
    assert!(matches!(list.add(&data(2)).wait(), Err(GridError::Destroyed { .. })));
    assert!(matches!(list.get_all().wait(), Err(GridError::Destroyed { .. })));
    assert_eq!(grid.list("short-lived").size().wait(), Ok(0));
}
