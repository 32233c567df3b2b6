//! One log: groups, ends, locks.

use super::*;
use crate::frame::{Found, Kind};
use crate::segment::{self, Segment};
use crate::store::maps_folder;
use std::time::Duration;

#[test]
fn those_who_come_together_share_a_flush() {
    let folder = tempfile::tempdir().unwrap();
    let stages = Stages::simulated(3);
    let store = Store::open(&stages, folder.path()).unwrap();
    let log = store.log(MAP, &settings(1 << 20));
    let told: Vec<_> = (0..100).map(|key| append(&log, 1, &put(1, key, "v").as_change())).collect();
    assert!(told.iter().all(|told| told.try_recv().is_err()), "not before they are flushed");
    stages.simulation().unwrap().settle();
    assert!(told.iter().all(|told| told.try_recv() == Ok(Ok(()))));
    let map = maps_folder(folder.path()).join(MAP);
    let segment = Segment::read(&map, segment::numbers(&map).unwrap()[0]).unwrap();
    let flushes = segment
        .frames()
        .unwrap()
        .filter(|(_, found)| matches!(found, Found::Whole(frame) if frame.kind == Kind::Safe));
    assert_eq!(flushes.count(), 1);
}

#[test]
fn an_interval_answers_at_once_and_flushes_later() {
    let folder = tempfile::tempdir().unwrap();
    let stages = Stages::simulated(4);
    let store = Store::open(&stages, folder.path()).unwrap();
    let interval = PersistenceSettings { fsync: Fsync::Interval, interval_ms: 500, ..settings(1 << 20) };
    let log = store.log(MAP, &interval);
    let first = append(&log, 1, &put(1, 1, "v").as_change());
    assert!(first.try_recv().is_err(), "the first change of a map is answered when it is written");
    let simulation = stages.simulation().unwrap();
    simulation.settle();
    assert_eq!(first.try_recv(), Ok(Ok(())));
    simulation.advance(Duration::from_millis(600));
    assert!(log.append(1, &put(1, 2, "v").as_change()).is_none());
    simulation.settle();
    let map = maps_folder(folder.path()).join(MAP);
    let segment = Segment::read(&map, 1).unwrap();
    let kinds: Vec<_> = segment
        .frames()
        .unwrap()
        .map(|(_, found)| match found {
            Found::Whole(frame) => frame.kind,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        kinds,
        [Kind::Named, Kind::Safe, Kind::Put, Kind::Safe, Kind::Put],
        "the second was written after a flush"
    );
}

#[test]
fn a_directory_has_one_member() {
    let folder = tempfile::tempdir().unwrap();
    with_store(folder.path(), |_| {
        let stages = Stages::simulated(1);
        let second = Store::open(&stages, folder.path()).unwrap_err();
        assert!(matches!(second, StoreError::Locked { .. }), "{second}");
    });
    with_store(folder.path(), |_| ());
    std::fs::remove_file(folder.path().join("filbert-data")).unwrap();
    let other = Store::open(&Stages::simulated(1), folder.path()).unwrap_err();
    assert!(matches!(other, StoreError::NotADataDirectory { .. }), "{other}");
}

#[test]
fn who_comes_after_the_end_is_told() {
    let folder = tempfile::tempdir().unwrap();
    with_store(folder.path(), |opened| {
        let log = opened.log(MAP, &settings(1 << 20));
        opened.close().unwrap();
        let late = store(&log, 1, &put(1, 1, "v").as_change()).unwrap_err();
        assert!(matches!(late, StoreError::Closed { .. }) && late.is_indeterminate(), "{late}");
    });
}

#[test]
fn a_map_that_was_destroyed_stays_so_whoever_still_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    with_store(folder.path(), |opened| {
        let old = opened.log(MAP, &settings(1 << 20));
        store(&old, 1, &put(1, 1, "old").as_change()).unwrap();
        old.reset();
        let new = opened.log(MAP, &settings(1 << 20));
        store(&new, 1, &put(1, 2, "new").as_change()).unwrap();
        assert!(old.append(1, &put(1, 3, "late").as_change()).is_none());
        assert!(old.append(1, &Change::Clear).is_none());
    });
    with_store(folder.path(), |opened| {
        let (content, damage) = recovered(opened, &settings(1 << 20));
        assert_eq!((content.len(), damage), (1, Vec::new()));
        let log = opened.log(MAP, &settings(1 << 20));
        log.reset();
    });
    with_store(folder.path(), |opened| {
        assert!(opened.recover(MAP, &settings(1 << 20)).unwrap().is_none());
        assert_eq!(opened.maps().unwrap(), Vec::<String>::new());
    });
}

/// Whatever was flushed is there, and what was not is not, wherever the end of the file is.
#[test]
fn a_torn_end_is_cut_at_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    let map = maps_folder(folder.path()).join(MAP);
    with_store(folder.path(), |opened| {
        let log = opened.log(MAP, &settings(1 << 20));
        for key in 0..6 {
            store(&log, key as u16, &put(key as u16, key, "value").as_change()).unwrap();
        }
    });
    let whole = std::fs::read(segment::path(&map, 1)).unwrap();
    let mut counts = Vec::new();
    let manifest = std::fs::read(map.join("manifest")).unwrap();
    // Its begin has its name only when it is whole.
    for end in segment::NAMED..whole.len() {
        std::fs::remove_dir_all(&map).unwrap();
        std::fs::create_dir_all(&map).unwrap();
        // Without a word on how far it was flushed, as a machine without power may leave it.
        std::fs::write(map.join("manifest"), &manifest).unwrap();
        std::fs::write(segment::path(&map, 1), &whole[..end]).unwrap();
        let read = |expected: usize| {
            reading(folder.path(), |opened| {
                let (content, damage) = recovered(opened, &settings(1 << 20));
                assert_eq!(damage, Vec::new(), "{end}");
                assert!(content.values().all(|entry| entry.value == b"value"));
                assert!(expected == usize::MAX || content.len() == expected, "{end}");
                content.len()
            })
        };
        let count = read(usize::MAX);
        // It was cut and sealed: the next start finds the same.
        read(count);
        counts.push(count);
    }
    assert!(counts.is_sorted() && counts.last() == Some(&6), "{counts:?}");
}

/// Whoever writes while the log is closed: what is answered is there, and everyone is answered.
#[test]
#[expect(clippy::disallowed_methods, reason = "a thread that writes while the test's own closes")]
fn nothing_that_is_answered_during_an_end_is_lost() {
    for round in 0..30 {
        let folder = tempfile::tempdir().unwrap();
        let interval = PersistenceSettings { fsync: Fsync::Interval, ..settings(1 << 20) };
        let answered: u32 = with_store(folder.path(), |opened| {
            let log = opened.log(MAP, &interval);
            let (began, wait) = mpsc::channel();
            std::thread::scope(|scope| {
                let writes = scope.spawn(|| {
                    let stored = |key: &u32| {
                        let _ = began.send(());
                        store(&log, 1, &put(1, *key, "v").as_change()).is_ok()
                    };
                    (0..1_000_000).take_while(stored).count() as u32
                });
                (0..=round * 20).for_each(|_| wait.recv().unwrap());
                opened.close().unwrap();
                writes.join().unwrap()
            })
        });
        let found = reading(folder.path(), |opened| recovered(opened, &interval).0.len() as u32);
        assert_eq!(found, answered);
    }
}

#[test]
fn a_name_that_is_too_long_for_a_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    with_store(folder.path(), |opened| {
        let fits = opened.log(&"x".repeat(240), &settings(1 << 20));
        assert_eq!(fits.refuses(), None);
        store(&fits, 1, &put(1, 1, "v").as_change()).unwrap();
        for name in ["x".repeat(241), "/".repeat(81)] {
            let refused = opened.log(&name, &settings(1 << 20)).refuses();
            let Some(StoreError::NameTooLong { map, bytes, most: 240 }) = refused else {
                panic!("{refused:?}")
            };
            assert!(map == name && bytes > 240);
        }
    });
}
