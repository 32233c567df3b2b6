//! A disk that fails otherwise than by being full: no flush, no cut, no seal, and a lock that someone else holds.

use super::*;
use crate::Room;
use crate::log::fold_lock;
use crate::segment;
use crate::store::maps_folder;
use std::time::Duration;

fn opened(folder: &Path, stages: &Stages, room: &Room) -> Store {
    Store::open_with(stages, folder, room.clone()).unwrap()
}

fn interval() -> PersistenceSettings {
    PersistenceSettings { fsync: Fsync::Interval, interval_ms: 500, ..settings(1 << 20) }
}

fn numbers(folder: &Path) -> Vec<u64> {
    segment::numbers(&maps_folder(folder).join(MAP)).unwrap()
}

fn keys(folder: &Path) -> Vec<u32> {
    with_store(folder, |opened| {
        let (content, damage) = recovered(opened, &settings(1 << 20));
        assert_eq!(damage, Vec::new());
        content.keys().map(|(_, key)| u32::from_be_bytes(key[..].try_into().unwrap())).collect()
    })
}

/// Half a group stays in the file: what comes after it goes to another one, and both are read.
#[test]
fn what_cannot_be_cut_off_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (stages, room) = (Stages::simulated(1), Room::of(1 << 20));
    let simulation = stages.simulation().unwrap();
    let opened = opened(folder.path(), &stages, &room);
    let log = opened.log(MAP, &settings(1 << 20));
    let store = |key| {
        let told = append(&log, 1, &put(1, key, "some value").as_change());
        simulation.settle();
        told.recv().unwrap()
    };
    store(1).unwrap();
    room.fail_to_cut(true);
    for round in 0..3 {
        room.set(30);
        assert!(store(10 + round).is_err());
        room.set(1 << 20);
        simulation.advance(Duration::from_millis(300));
        assert_eq!(log.refuses(), None);
        store(20 + round).unwrap();
    }
    assert_eq!(numbers(folder.path()), [1, 2, 3, 4]);
    opened.close().unwrap();
    drop((opened, log));
    assert_eq!(keys(folder.path()), [1, 10, 11, 12, 20, 21, 22]);
    // Only so much of it counts, but that does.
    let first = segment::path(&maps_folder(folder.path()).join(MAP), 1);
    let bytes = std::fs::read(&first).unwrap();
    std::fs::write(&first, &bytes[..segment::NAMED + 36]).unwrap();
    let damage = reading(folder.path(), |opened| recovered(opened, &settings(1 << 20)).1);
    assert!(damage.len() == 1 && damage[0].problem.contains("the end is missing"), "{damage:?}");
}

/// They are folded as others are.
#[test]
fn what_was_left_behind_is_folded() {
    let folder = tempfile::tempdir().unwrap();
    let (stages, room) = (Stages::simulated(1), Room::of(1 << 20));
    let simulation = stages.simulation().unwrap();
    let opened = opened(folder.path(), &stages, &room);
    let log = opened.log(MAP, &settings(1 << 12));
    room.fail_to_cut(true);
    for key in 0..200 {
        room.set(if key == 20 { 30 } else { 1 << 20 });
        let told = append(&log, 1, &put(1, key, "some value that is longer than others").as_change());
        simulation.settle();
        assert_eq!(told.recv().unwrap().is_err(), key == 20);
        room.set(1 << 20);
        simulation.advance(Duration::from_millis(300));
    }
    let left = numbers(folder.path()).len();
    assert!(left <= 2, "a fold stopped: {left} segments");
    opened.close().unwrap();
    drop((opened, log));
    assert_eq!(keys(folder.path()).len(), 200);
}

#[test]
fn a_flush_that_failed_is_told_and_what_it_left_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let (stages, room) = (Stages::simulated(2), Room::of(1 << 20));
    let simulation = stages.simulation().unwrap();
    let opened = opened(folder.path(), &stages, &room);
    let log = opened.log(MAP, &interval());
    for key in 0..3 {
        let told = log.append(1, &put(1, key, "v").as_change());
        assert_eq!(told.is_some(), key == 0, "only the first waits");
        simulation.settle();
    }
    room.fail_to_flush(true);
    room.set(0);
    assert_eq!(log.refuses(), None);
    simulation.advance(Duration::from_millis(600));
    let refused = log.refuses().expect("the flush failed, and nobody says so");
    assert!(refused.is_retryable(), "{refused}");
    simulation.advance(Duration::from_secs(2));
    assert!(log.refuses().is_some(), "it is not on disk yet");
    room.fail_to_flush(false);
    room.set(1 << 20);
    simulation.advance(Duration::from_secs(2));
    assert_eq!(log.refuses(), None);
    assert_eq!(numbers(folder.path()), [1, 2]);
    // What was not flushed of the first is in the second.
    let first = segment::path(&maps_folder(folder.path()).join(MAP), 1);
    let bytes = std::fs::read(&first).unwrap();
    std::fs::write(&first, &bytes[..segment::NAMED]).unwrap();
    opened.close().unwrap();
    drop((opened, log));
    assert_eq!(keys(folder.path()), [0, 1, 2]);
}

/// A disk that takes bytes and flushes none: the map takes no changes until it does, and what is repeated does not pile up.
#[test]
fn changes_are_taken_again_only_when_a_flush_works() {
    let never = PersistenceSettings { fsync: Fsync::Never, ..settings(1 << 12) };
    for map in [interval(), never] {
        let folder = tempfile::tempdir().unwrap();
        let (stages, room) = (Stages::simulated(2), Room::of(1 << 30));
        let simulation = stages.simulation().unwrap();
        let opened = opened(folder.path(), &stages, &room);
        let log = opened.log(MAP, &map);
        for key in 0..100 {
            let told = log.append(1, &put(1, key, "some value that is longer than others").as_change());
            assert_eq!(told.is_some(), key == 0, "only the first waits");
            if key == 0 {
                simulation.settle();
                room.fail_to_flush(true);
            }
        }
        simulation.settle();
        simulation.advance(Duration::from_millis(600));
        for _ in 0..20 {
            assert!(log.refuses().is_some(), "nothing is flushed");
            simulation.advance(Duration::from_millis(300));
        }
        assert!(numbers(folder.path()).len() <= 2, "{:?}", numbers(folder.path()));
        room.fail_to_flush(false);
        simulation.advance(Duration::from_secs(1));
        assert_eq!(log.refuses(), None);
        opened.close().unwrap();
        drop((opened, log));
        assert_eq!(keys(folder.path()).len(), 100);
    }
}

/// The one after it begins under another name: killed there, the one that was left is the last, and its end is cut as it would be without.
#[test]
fn a_kill_while_the_next_segment_begins_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (stages, room) = (Stages::simulated(1), Room::of(1 << 20));
    let simulation = stages.simulation().unwrap();
    let opened = opened(folder.path(), &stages, &room);
    let log = opened.log(MAP, &settings(1 << 20));
    let told = append(&log, 1, &put(1, 1, "v").as_change());
    simulation.settle();
    told.recv().unwrap().unwrap();
    room.fail_to_cut(true);
    room.set(30);
    let told = append(&log, 1, &put(1, 2, "v").as_change());
    simulation.settle();
    assert!(told.recv().unwrap().is_err());
    // Room for half a begin.
    room.set(10);
    simulation.advance(Duration::from_millis(300));
    assert!(log.refuses().is_some());
    assert_eq!(numbers(folder.path()), [1]);
    let killed = tempfile::tempdir().unwrap();
    copy(folder.path(), killed.path());
    assert_eq!(keys(killed.path()), [1]);
    room.set(1 << 20);
    simulation.advance(Duration::from_millis(300));
    assert_eq!(log.refuses(), None);
    opened.close().unwrap();
    drop((opened, log));
    assert_eq!(keys(folder.path()), [1, 2]);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn an_end_without_a_seal_is_told() {
    for (map, is_safe) in [(settings(1 << 20), true), (interval(), false)] {
        let folder = tempfile::tempdir().unwrap();
        let (stages, room) = (Stages::simulated(3), Room::of(1 << 20));
        let opened = opened(folder.path(), &stages, &room);
        let log = opened.log(MAP, &map);
        let told = append(&log, 1, &put(1, 7, "v").as_change());
        stages.simulation().unwrap().settle();
        told.recv().unwrap().unwrap();
        room.fail_to_flush(true);
        let not_sealed = opened.close().unwrap_err();
        let StoreError::NotSealed { is_flushed, .. } = &not_sealed else { panic!("{not_sealed}") };
        assert_eq!((*is_flushed, not_sealed.is_indeterminate()), (is_safe, !is_safe), "{not_sealed}");
        drop((opened, log));
        assert_eq!(keys(folder.path()), [7]);
    }
}

/// A backup that is stopped holds the lock of the folds: the member ends all the same.
#[test]
fn an_end_does_not_wait_for_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let stages = Stages::start().unwrap();
    let opened = Store::open(&stages, folder.path()).unwrap();
    let log = opened.log(MAP, &settings(1 << 12));
    store(&log, 1, &put(1, 0, "v").as_change()).unwrap();
    let held = fold_lock(&maps_folder(folder.path()).join(MAP)).unwrap();
    for key in 1..200 {
        store(&log, 1, &put(1, key, "some value that is longer than others").as_change()).unwrap();
    }
    eventually("no fold was begun", || {
        stages.snapshot().iter().any(|stage| stage.stage == "maintenance" && !stage.running.is_empty())
    });
    let (ended, wait) = mpsc::channel();
    let closing = opened.clone();
    stages.mixed().submit("close", move || ended.send(closing.close())).unwrap().detach();
    assert_eq!(wait.recv_timeout(Duration::from_secs(30)), Ok(Ok(())));
    drop(held);
    drop((opened, log));
    stages.shutdown(Shutdown::Drain).unwrap();
    assert_eq!(keys(folder.path()).len(), 200);
}

#[test]
fn what_stands_behind_a_seal_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    with_store(folder.path(), |opened| {
        store(&opened.log(MAP, &settings(1 << 20)), 1, &put(1, 1, "v").as_change()).unwrap();
    });
    let path = segment::path(&maps_folder(folder.path()).join(MAP), 1);
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len() as u64;
    bytes.push(0);
    std::fs::write(&path, &bytes).unwrap();
    let damage = reading(folder.path(), |opened| recovered(opened, &settings(1 << 20)).1);
    assert_eq!((damage.len(), damage[0].at, damage[0].length), (1, end, 1), "{damage:?}");
}
