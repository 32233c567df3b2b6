//! Data directories of an earlier version: without manifests, with segments and shelves that do not say whose they are.

use super::trials::quick_folder;
use super::*;
use crate::overlay::{Overlay, place};
use crate::shelf::{Shelf, Stamp};
use crate::store::maps_folder;
use crate::{Room, backup, frame, restore, segment, sums, verify};
use crate::{folder_list, marker};
use std::path::PathBuf;

/// A segment of version 1.
fn segment_1(salt: u64, entries: &[Entry], is_sealed: bool) -> Vec<u8> {
    let mut bytes = b"FILBERTL".to_vec();
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(salt.to_le_bytes());
    let sum = frame::checksum(&[&bytes]);
    bytes.extend(sum.to_le_bytes());
    entries.iter().for_each(|entry| entry.as_change().write(&mut bytes, salt, entry.partition));
    if is_sealed {
        bytes.extend(segment::seal(salt));
    }
    bytes
}

/// A data directory of version 1: a snapshot, a sealed segment, and one whose writer was killed.
fn version_1(directory: &Path) -> (PathBuf, Content) {
    let map = maps_folder(directory).join(MAP);
    std::fs::create_dir_all(&map).unwrap();
    std::fs::write(directory.join(marker::NAME), marker::EARLIER).unwrap();
    let folded = put(3, 1, "in the snapshot");
    let mut overlay = Overlay::default();
    overlay.changes.insert(place(3, &folded.key), Some(folded.clone()));
    let stamp = Stamp { id: 1, folded: 1 };
    Shelf::new(&map, 3).fold(MAP, &overlay, stamp, &Room::default()).unwrap();
    // Without a stamp, as it was written then.
    let path = map.join("shelf-03.redb");
    let database = redb::Database::open(&path).unwrap();
    let changes = database.begin_write().unwrap();
    assert!(changes.delete_table(redb::TableDefinition::<(), &[u8]>::new("stamp")).unwrap());
    changes.commit().unwrap();
    drop(database);
    sums::write(&path, &Room::default()).unwrap();
    let (sealed, open) = (put(5, 2, "in the sealed segment"), put(6, 3, "in the open segment"));
    let segments = [
        segment_1(98, std::slice::from_ref(&sealed), true),
        segment_1(99, std::slice::from_ref(&open), false),
    ];
    for (number, bytes) in [2, 3].into_iter().zip(segments) {
        std::fs::write(segment::path(&map, number), bytes).unwrap();
    }
    let all = [folded, sealed, open].map(|entry| ((entry.partition, entry.key.clone()), entry));
    (map, Content::from(all))
}

fn found(directory: &Path) -> (Content, Vec<crate::Damage>) {
    reading(directory, |opened| recovered(opened, &settings(1 << 14)))
}

/// Each file that is listed is noticed when it is gone.
fn each_missing_file_is_named(directory: &Path, files: &[PathBuf]) {
    for file in files {
        let bytes = std::fs::read(file).unwrap();
        std::fs::remove_file(file).unwrap();
        let report = verify(directory, &mut |_| {}).unwrap();
        let mut damage = report.maps[0].damage.iter();
        assert!(
            damage.any(|damage| damage.problem == "the file is missing"),
            "{}: {report:?}",
            file.display()
        );
        std::fs::write(file, bytes).unwrap();
    }
}

/// Written by a version that had no manifests: it is read, and its files are listed from then on.
#[test]
fn a_folder_without_a_manifest_gets_one() {
    let folder = tempfile::tempdir().unwrap();
    let (map, mut content) = version_1(folder.path());
    let report = verify(folder.path(), &mut |_| {}).unwrap();
    assert!(report.is_sound() && report.entries() == 3, "{report:?}");
    assert_eq!(found(folder.path()), (content.clone(), Vec::new()));
    assert_eq!(found(folder.path()), (content.clone(), Vec::new()));
    with_store(folder.path(), |opened| {
        let _ = recovered(opened, &settings(1 << 14));
        let entry = put(6, 4, "new");
        store(&opened.log(MAP, &settings(1 << 14)), 6, &entry.as_change()).unwrap();
        content.insert((6, entry.key.clone()), entry);
    });
    assert_eq!(found(folder.path()), (content, Vec::new()));
    let files = [segment::path(&map, 2), segment::path(&map, 3), map.join("shelf-03.redb")];
    each_missing_file_is_named(folder.path(), &files);
}

/// The first start after an upgrade was on a full disk: the list of the files could not be written, and the log that wrote it later listed
/// none of those that were there.
#[test]
fn a_folder_without_a_manifest_on_a_full_disk_is_served_for_good() {
    for folds in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (map, mut content) = version_1(folder.path());
        let fold_bytes = if folds { 1 << 12 } else { 1 << 20 };
        let stages = Stages::start().unwrap();
        let room = Room::of(0);
        let opened = Store::open_with(&stages, folder.path(), room.clone()).unwrap();
        assert_eq!(recovered(&opened, &settings(fold_bytes)), (content.clone(), Vec::new()));
        let log = opened.log(MAP, &settings(fold_bytes));
        let mut write = |key: u32| {
            let entry = put(3, key, "some value or other");
            let stored = store(&log, 3, &entry.as_change());
            content.insert((3, entry.key.clone()), entry);
            stored
        };
        let refused = write(7_000).unwrap_err();
        assert!(refused.to_string().contains("room"), "{refused}");
        room.set(1 << 30);
        eventually("there is room, and changes are refused", || log.refuses().is_none());
        (0..200).for_each(|key| write(8_000 + key).unwrap());
        if folds {
            eventually("nothing is folded", || !segment::path(&map, 3).exists());
        } else {
            let files = [segment::path(&map, 2), segment::path(&map, 3), map.join("shelf-03.redb")];
            each_missing_file_is_named(folder.path(), &files);
        }
        opened.close().unwrap();
        drop((opened, log));
        stages.shutdown(Shutdown::Drain).unwrap();
        assert_eq!(found(folder.path()), (content, Vec::new()), "folds: {folds}");
    }
}

/// Written by a version that had no list of folders: what is there is listed, also when there is room for that only later.
#[test]
fn a_data_directory_without_a_list_gets_one() {
    let folder = tempfile::tempdir().unwrap();
    with_store(folder.path(), |opened| {
        store(&opened.log(MAP, &settings(1 << 14)), 1, &put(1, 1, "value").as_change()).unwrap();
    });
    for name in [folder_list::NAME, folder_list::COPY] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join(marker::NAME), marker::WITHOUT_LIST).unwrap();
    assert!(verify(folder.path(), &mut |_| {}).unwrap().is_sound());
    let full = Store::open_with(&Stages::simulated(1), folder.path(), Room::of(0)).unwrap();
    assert_eq!(recovered(&full, &settings(1 << 14)).1, Vec::new());
    drop(full);
    let says = || std::fs::read_to_string(folder.path().join(marker::NAME)).unwrap();
    assert_eq!(says(), marker::WITHOUT_LIST);
    assert_eq!(found(folder.path()).1, Vec::new());
    assert_eq!(says(), marker::CURRENT);
    std::fs::remove_dir_all(maps_folder(folder.path()).join(MAP)).unwrap();
    assert_eq!(found(folder.path()).1.len(), 1);
    assert!(!verify(folder.path(), &mut |_| {}).unwrap().is_sound());
}

/// A program of version 1 would read past manifests, and take segments of version 2 for damaged ones: it refuses a folder that may have any.
#[test]
fn the_marker_says_the_version_before_anything_of_it_is_written() {
    let says = |directory: &Path| std::fs::read_to_string(directory.join(marker::NAME)).unwrap();
    let new = tempfile::tempdir().unwrap();
    with_store(new.path(), |_| ());
    assert_eq!(says(new.path()), marker::CURRENT);

    // A restore writes manifests too.
    let (old, backed_up) = (tempfile::tempdir().unwrap(), new.path().join("backup"));
    let _ = version_1(old.path());
    backup(old.path(), &backed_up, 9, &mut |_| {}).unwrap();
    assert_eq!(says(old.path()), marker::EARLIER);
    restore(&backed_up, old.path(), true, &mut |_| {}).unwrap();
    assert_eq!(says(old.path()), marker::CURRENT);

    let (mut earlier, mut current) = (0, 0);
    // The marker takes 15 bytes, the list of folders a hundred, a manifest some hundreds.
    for bytes in (0..40).chain((40..1_200).step_by(24)) {
        let folder = quick_folder();
        let (map, content) = version_1(folder.path());
        let stages = Stages::simulated(1);
        let opened = Store::open_with(&stages, folder.path(), Room::of(bytes)).unwrap();
        assert_eq!(recovered(&opened, &settings(1 << 14)), (content, Vec::new()));
        let (told, key) =
            (append(&opened.log(MAP, &settings(1 << 14)), 6, &put(6, 4, "new").as_change()), b"key");
        let defined = opened.definitions().put(key, b"value");
        let schedule = stages.simulation().unwrap();
        schedule.settle();
        drop((told, defined));
        let is_newer =
            |name: &String| name.starts_with("manifest") || name.starts_with("log-0000000000000004");
        let definitions = crate::definitions::folder(folder.path());
        let newer: Vec<String> = [&map, &definitions]
            .into_iter()
            .flat_map(|folder| crate::folder::names(folder).unwrap())
            .filter(is_newer)
            .collect();
        match &*says(folder.path()) {
            marker::CURRENT => {
                let is_there = |name: &&str| folder.path().join(name).is_file();
                assert!([folder_list::NAME, folder_list::COPY].iter().all(is_there), "room for {bytes}");
                current += 1;
            }
            marker::WITHOUT_LIST => {}
            other => {
                assert_eq!((other, newer), (marker::EARLIER, Vec::new()), "room for {bytes}");
                earlier += 1;
            }
        }
        let _ = opened.close();
    }
    assert!(earlier > 10 && current > 10, "{earlier} say the earlier version, {current} the current one");
}
