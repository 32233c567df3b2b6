//! A disk without room: typed errors, nothing lost that was acknowledged, and on again when there is room.

use super::flips::copy_all;
use super::*;
use crate::Room;
use crate::log::fold_lock;
use crate::store::maps_folder;

#[test]
fn a_full_disk_refuses_changes_and_takes_them_again() {
    let folder = tempfile::tempdir().unwrap();
    let stages = Stages::start().unwrap();
    let room = Room::of(10_000);
    let opened = Store::open_with(&stages, folder.path(), room.clone()).unwrap();
    let log = opened.log(MAP, &settings(1 << 30));
    let mut content = Content::new();
    let refused = loop {
        let entry = put(1, content.len() as u32, "some value or other");
        content.insert((1, entry.key.clone()), entry.clone());
        if let Err(refused) = store(&log, 1, &entry.as_change()) {
            break refused;
        }
    };
    assert!(
        matches!(&refused, StoreError::NotStored { problem, .. } if problem.contains("room")),
        "{refused}"
    );
    assert!(refused.is_indeterminate() && content.len() > 50);
    let next = log.refuses().expect("no change is begun now");
    assert!(matches!(next, StoreError::TakesNoChanges { .. }) && next.is_retryable(), "{next}");
    // What the member does by itself is not refused: it waits.
    let told = append(&log, 1, &Change::Remove { key: &0_u32.to_be_bytes() });
    assert!(told.recv().unwrap().is_err());
    content.remove(&(1, 0_u32.to_be_bytes().to_vec()));

    room.set(1 << 20);
    eventually("there is room, and changes are refused", || log.refuses().is_none());
    let entry = put(2, 1, "after");
    store(&log, 2, &entry.as_change()).unwrap();
    content.insert((2, entry.key.clone()), entry);
    opened.close().unwrap();
    drop((opened, log));
    stages.shutdown(Shutdown::Drain).unwrap();
    with_store(folder.path(), |opened| {
        assert_eq!(recovered(opened, &settings(1 << 30)), (content, Vec::new()));
    });
}

/// Also when not even the first file can be begun.
#[test]
fn a_disk_that_is_full_from_the_start_is_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let stages = Stages::start().unwrap();
    let room = Room::of(3);
    let opened = Store::open_with(&stages, folder.path(), room.clone()).unwrap();
    let log = opened.log(MAP, &settings(1 << 30));
    assert!(store(&log, 1, &put(1, 1, "v").as_change()).is_err());
    room.set(1 << 20);
    eventually("there is room, and changes are refused", || log.refuses().is_none());
    opened.close().unwrap();
    drop((opened, log));
    stages.shutdown(Shutdown::Drain).unwrap();
    with_store(folder.path(), |opened| assert_eq!(recovered(opened, &settings(1 << 30)).0.len(), 1));
}

/// A member was killed on a full disk, in the middle of a fold, and starts before there is room: nothing is damaged, and all goes on when
/// there is.
#[test]
fn a_start_on_a_full_disk_is_no_damage_and_heals() {
    let (folder, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut content = Content::new();
    with_store(folder.path(), |opened| {
        let log = opened.log(MAP, &settings(1 << 12));
        for key in 0..200_u32 {
            let entry = put(key as u16, key, "some value or other");
            store(&log, key as u16, &entry.as_change()).unwrap();
            content.insert((key as u16, entry.key.clone()), entry);
        }
        let map = maps_folder(folder.path()).join(MAP);
        eventually("nothing is folded", || map.join("shelf-02.sums").exists());
        let _no_fold = fold_lock(&map).unwrap();
        copy_all(folder.path(), killed.path());
    });
    // As a fold leaves it that is under way.
    std::fs::remove_file(maps_folder(killed.path()).join(MAP).join("shelf-02.sums")).unwrap();
    let stages = Stages::start().unwrap();
    let room = Room::of(0);
    let opened = Store::open_with(&stages, killed.path(), room.clone()).unwrap();
    assert_eq!(recovered(&opened, &settings(1 << 12)), (content.clone(), Vec::new()));
    let log = opened.log(MAP, &settings(1 << 12));
    let late = put(2, 7_000, "late");
    let refused = store(&log, 2, &late.as_change()).unwrap_err();
    assert!(refused.to_string().contains("room"), "{refused}");
    content.insert((2, late.key.clone()), late);
    room.set(1 << 30);
    eventually("there is room, and changes are refused", || log.refuses().is_none());
    for key in 0..200_u32 {
        let entry = put(2, 8_000 + key, "some value or other");
        store(&log, 2, &entry.as_change()).unwrap();
        content.insert((2, entry.key.clone()), entry);
    }
    opened.close().unwrap();
    drop((opened, log));
    stages.shutdown(Shutdown::Drain).unwrap();
    with_store(killed.path(), |opened| {
        assert_eq!(recovered(opened, &settings(1 << 12)), (content, Vec::new()));
    });
}
