//! Random changes, folds and restarts against an oracle; and backups of what came of them.

use super::flips::copy_all;
use super::*;
use crate::change::{Untold, untold_of};
use crate::folder::crash;
use crate::store::maps_folder;
use crate::{Life, backup, incomplete, restore, segment, verify};
use proptest::prelude::*;
use std::path::PathBuf;

#[derive(Debug, Clone)]
enum Step {
    Put(u16, u8, u16, bool),
    Remove(u16, u8),
    PutUntold(u16, u8, u16, bool),
    RemoveUntold(u16, u8),
    Told(u16, u8),
    Clear(u16),
    Destroy,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let partition = 0_u16..40;
    prop_oneof![
        20 => (partition.clone(), 0_u8..8, any::<u16>(), any::<bool>()).prop_map(|(p, k, v, l)| Step::Put(p, k, v, l)),
        8 => (partition.clone(), 0_u8..8).prop_map(|(partition, key)| Step::Remove(partition, key)),
        8 => (partition.clone(), 0_u8..8, any::<u16>(), any::<bool>()).prop_map(|(p, k, v, l)| Step::PutUntold(p, k, v, l)),
        4 => (partition.clone(), 0_u8..8).prop_map(|(partition, key)| Step::RemoveUntold(partition, key)),
        6 => (partition.clone(), 0_u8..8).prop_map(|(partition, key)| Step::Told(partition, key)),
        2 => partition.prop_map(Step::Clear),
        1 => Just(Step::Destroy),
        1 => Just(Step::Restart),
    ]
}

fn entry(partition: u16, key: u8, value: u16, lives: bool) -> Entry {
    let life = lives.then_some(Life { ttl_ms: 5, max_idle_ms: u64::MAX, ends_unix_ms: u64::from(value) });
    // Some of them large, so that segments fill.
    Entry { partition, key: vec![key; 3], value: vec![value as u8; usize::from(value % 400)], life }
}

/// Notes in the oracle that the store behind the map has yet to be told of a change.
fn untold(content: &mut Content, partition: u16, key: Vec<u8>, value: Option<Vec<u8>>) {
    let kept = Untold { partition, key, value }.into_entry();
    content.insert((kept.partition, kept.key.clone()), kept);
}

/// Runs steps until a restart; what is left of them.
fn session(folder: &Path, steps: &mut std::vec::IntoIter<Step>, content: &mut Content) {
    with_store(folder, |opened| {
        let (found, damage) = recovered(opened, &settings(4_096));
        assert_eq!(damage, Vec::new());
        assert_eq!(found, *content);
        let mut log = opened.log(MAP, &settings(4_096));
        for step in steps.by_ref() {
            match step {
                Step::Put(partition, key, value, lives) => {
                    let entry = entry(partition, key, value, lives);
                    store(&log, partition, &entry.as_change()).unwrap();
                    content.insert((partition, entry.key.clone()), entry);
                }
                Step::Remove(partition, key) => {
                    store(&log, partition, &Change::Remove { key: &[key; 3] }).unwrap();
                    content.remove(&(partition, vec![key; 3]));
                }
                Step::PutUntold(partition, key, value, lives) => {
                    let entry = entry(partition, key, value, lives);
                    let Entry { key, value, life, .. } = &entry;
                    store(&log, partition, &Change::PutUntold { key, value, life: *life }).unwrap();
                    untold(content, partition, key.clone(), Some(value.clone()));
                    content.insert((partition, entry.key.clone()), entry);
                }
                Step::RemoveUntold(partition, key) => {
                    store(&log, partition, &Change::RemoveUntold { key: &[key; 3] }).unwrap();
                    untold(content, partition, vec![key; 3], None);
                    content.remove(&(partition, vec![key; 3]));
                }
                Step::Told(partition, key) => {
                    store(&log, partition, &Change::Told { key: &[key; 3] }).unwrap();
                    content.remove(&(untold_of(partition), vec![key; 3]));
                }
                Step::Clear(partition) => {
                    store(&log, partition, &Change::Clear).unwrap();
                    content.retain(|(other, _), _| *other != partition);
                }
                Step::Destroy => {
                    log.reset();
                    log = opened.log(MAP, &settings(4_096));
                    content.clear();
                }
                Step::Restart => return,
            }
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5, ..ProptestConfig::default() })]

    #[test]
    fn what_was_stored_is_found_after_every_restart(steps in prop::collection::vec(step(), 1..250)) {
        let folder = tempfile::tempdir().unwrap();
        let (mut steps, mut content) = (steps.into_iter(), Content::new());
        while steps.len() > 0 {
            session(folder.path(), &mut steps, &mut content);
        }
        session(folder.path(), &mut steps, &mut content);

        // And so does a backup, whichever way.
        let (file, second) = (folder.path().join("backup"), tempfile::tempdir().unwrap());
        let saved = backup(folder.path(), &file, 5, &mut |_| {}).unwrap();
        prop_assert!(saved.is_sound());
        let untold = content.values().filter(|entry| entry.is_untold()).count();
        prop_assert_eq!(saved.entries(), (content.len() - untold) as u64);
        prop_assert_eq!(saved.maps.iter().map(|map| map.untold).sum::<u64>(), untold as u64);
        prop_assert_eq!(verify(folder.path(), &mut |_| {}).unwrap().entries(), saved.entries());
        let mut said = 0;
        let restored = restore(&file, second.path(), false, &mut |_| said += 1).unwrap();
        prop_assert_eq!(restored.entries(), saved.entries());
        prop_assert!(said > 0 || content.is_empty());
        with_store(second.path(), |opened| {
            let (found, damage) = recovered(opened, &settings(4_096));
            assert_eq!((found, damage), (content.clone(), Vec::new()));
        });
        if !saved.maps.is_empty() {
            prop_assert!(restore(&file, second.path(), false, &mut |_| {}).is_err(), "the map is there");
        }
        restore(&file, second.path(), true, &mut |_| {}).unwrap();
    }
}

/// A backup that lacks something is none that takes the place of a sound one.
#[test]
fn a_backup_of_what_is_damaged_replaces_none() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    with_store(&data, |opened| {
        let log = opened.log(MAP, &settings(1 << 20));
        for key in 0..20 {
            store(&log, 1, &put(1, key, "value").as_change()).unwrap();
        }
    });
    let file = folder.path().join("backup");
    assert!(backup(&data, &file, 9, &mut |_| {}).unwrap().is_sound());
    let sound = std::fs::read(&file).unwrap();
    let log = segment::path(&maps_folder(&data).join(MAP), 1);
    let mut bytes = std::fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    assert!(!backup(&data, &file, 9, &mut |_| {}).unwrap().is_sound());
    assert_eq!(std::fs::read(&file).unwrap(), sound);
    let rest = verify(incomplete(&file), &mut |_| {}).unwrap();
    assert_eq!(rest.entries(), 19);
}

/// Neither half a file nor an empty one stays where a backup could not be made.
#[test]
fn a_backup_that_fails_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = folder.path().join("nothing");
    assert!(backup(&nothing, folder.path().join("backup"), 9, &mut |_| {}).is_err());
    let data = folder.path().join("data");
    with_store(&data, |opened| {
        store(&opened.log(MAP, &settings(1 << 20)), 1, &put(1, 1, "value").as_change()).unwrap();
    });
    // A folder with something in it has the name that the backup is to have.
    let taken = folder.path().join("taken");
    std::fs::create_dir_all(taken.join("other")).unwrap();
    assert!(backup(&data, &taken, 9, &mut |_| {}).is_err());
    let mut left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["data", "taken"]);
}

/// A restore changes nothing before the backup was read to its end.
#[test]
fn nothing_of_a_damaged_backup_is_restored() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    with_store(&data, |opened| {
        let log = opened.log(MAP, &settings(1 << 20));
        for key in 0..20 {
            store(&log, 1, &put(1, key, "value").as_change()).unwrap();
        }
    });
    let (file, target) = (folder.path().join("backup"), folder.path().join("target"));
    backup(&data, &file, 9, &mut |_| {}).unwrap();
    let whole = std::fs::read(&file).unwrap();
    for bit in (0..whole.len() * 8).step_by(5) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&file, &bytes).unwrap();
        let refused = restore(&file, &target, false, &mut |_| {}).unwrap_err();
        assert!(matches!(refused, StoreError::BadBackup { .. }), "bit {bit}: {refused}");
        assert!(!target.exists());
    }
    for end in 0..whole.len() {
        std::fs::write(&file, &whole[..end]).unwrap();
        assert!(matches!(verify(&file, &mut |_| {}), Err(StoreError::BadBackup { .. })), "{end}");
    }
    assert!(verify(&target, &mut |_| {}).is_err());
}

pub(super) fn define(opened: &Store, key: &[u8], value: Option<&[u8]>) {
    let (told, wait) = mpsc::channel();
    let definitions = opened.definitions();
    let pending = match value {
        Some(value) => definitions.put(key, value),
        None => definitions.remove(key),
    };
    pending.unwrap().then(move |result| told.send(result).unwrap());
    wait.recv().unwrap().unwrap();
}

/// What a start finds of definitions.
fn definitions_of(data: &Path) -> Vec<String> {
    with_store(data, |opened| {
        let found = opened.read_definitions().unwrap();
        assert_eq!(found.damage, Vec::new());
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        found.all.into_iter().map(|(key, value)| text(key) + "=" + &text(value)).collect()
    })
}

/// Definitions come back after a restart, and with a backup: on top of those that are there.
#[test]
fn definitions_come_back_and_are_in_backups() {
    let folder = tempfile::tempdir().unwrap();
    let (data, second, file) =
        (folder.path().join("data"), folder.path().join("second"), folder.path().join("backup"));
    let found = definitions_of;
    with_store(&data, |opened| {
        store(&opened.log(MAP, &settings(1 << 20)), 1, &put(1, 1, "v").as_change()).unwrap();
        define(opened, b"a", Some(b"1"));
        define(opened, b"b", Some(b"2"));
        define(opened, b"a", None);
        define(opened, b"c", Some(b"3"));
    });
    assert_eq!(found(&data), ["b=2", "c=3"]);
    let saved = backup(&data, &file, 9, &mut |_| {}).unwrap();
    assert_eq!((saved.entries(), saved.definitions.as_ref().map(|report| report.entries)), (1, Some(2)));
    assert_eq!(verify(&file, &mut |_| {}).unwrap(), saved);
    with_store(&second, |opened| {
        define(opened, b"b", Some(b"older"));
        define(opened, b"d", Some(b"4"));
    });
    assert_eq!(restore(&file, &second, false, &mut |_| {}).unwrap(), saved);
    assert_eq!(found(&second), ["b=2", "c=3", "d=4"]);
    // They are watched over as maps are.
    std::fs::write(second.join("definitions/shelf-00.redb"), b"nothing").unwrap();
    let report = verify(&second, &mut |_| {}).unwrap();
    assert!(!report.is_sound() && report.maps.iter().all(|map| map.damage.is_empty()), "{report:?}");
}

/// A data directory with a map and a definition, a backup of it, and another one with other values in both.
fn with_definitions(folder: &Path) -> [PathBuf; 3] {
    let paths = ["data", "backup", "target"].map(|name| folder.join(name));
    for (data, key, value) in [(&paths[0], b"backed up", "new"), (&paths[2], b"was there", "old")] {
        with_store(data, |opened| {
            store(&opened.log(MAP, &settings(1 << 20)), 1, &put(1, 1, value).as_change()).unwrap();
            define(opened, key, Some(b"1"));
        });
    }
    backup(&paths[0], &paths[1], 9, &mut |_| {}).unwrap();
    paths
}

/// A restore put the definitions of a backup on top of what could be read of those there, and nobody heard of the rest.
#[test]
fn a_restore_onto_damaged_definitions_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let [_, file, target] = with_definitions(folder.path());
    std::fs::remove_dir_all(maps_folder(&target)).unwrap();
    let log = segment::path(&target.join("definitions"), 1);
    let mut bytes = std::fs::read(&log).unwrap();
    // In the definition.
    let at = bytes.windows(9).position(|bytes| bytes == b"was there").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    let refused = restore(&file, &target, false, &mut |_| {}).unwrap_err();
    assert!(refused.to_string().contains("definitions there are damaged"), "{refused}");
    assert_eq!(std::fs::read(&log).unwrap(), bytes);
    assert_eq!(Store::maps_in(&target), Vec::<String>::new());
    let report = restore(&file, &target, true, &mut |_| {}).unwrap();
    let definitions = report.definitions.as_ref().unwrap();
    assert!(!report.is_sound() && definitions.damage.len() == 1, "{report:?}");
    assert_eq!(definitions_of(&target), ["backed up=1"]);
}

/// A restore removed what it replaces before the new was in its place: a kill between the two left all maps without definitions.
#[test]
fn a_restore_that_is_killed_takes_nothing_away() {
    let folder = tempfile::tempdir().unwrap();
    let [_, file, sound] = with_definitions(folder.path());
    let mut seen = std::collections::BTreeSet::new();
    for renames in 0.. {
        let target = folder.path().join(format!("target-{renames}"));
        std::fs::create_dir(&target).unwrap();
        copy_all(&sound, &target);
        crash::after(Some(renames));
        let restored = restore(&file, &target, true, &mut |_| {});
        crash::after(None);
        let seen_aside = verify(&target, &mut |_| {}).unwrap();
        assert!(seen_aside.is_sound() && seen_aside.entries() == 1, "after {renames}: {seen_aside:?}");
        assert!(seen_aside.definitions.is_some_and(|definitions| definitions.entries >= 1));
        let (map, damage) = reading(&target, |opened| recovered(opened, &settings(1 << 20)));
        assert_eq!(damage, Vec::new());
        let values: Vec<_> = map.into_values().map(|entry| String::from_utf8(entry.value).unwrap()).collect();
        let definitions = definitions_of(&target);
        assert!(definitions.contains(&"was there=1".to_owned()), "after {renames}: {definitions:?}");
        // The definitions first: a map that is there can be read.
        assert!(values == ["old"] || definitions.contains(&"backed up=1".to_owned()), "after {renames}");
        let is_aside = |name: &String| name.ends_with(crate::folder::ASIDE);
        for folder in [&target, &maps_folder(&target)] {
            assert!(!crate::folder::names(folder).unwrap().iter().any(is_aside));
        }
        seen.insert((values, definitions));
        if restored.is_ok() {
            assert_eq!(renames, 6);
            break;
        }
    }
    assert_eq!(seen.len(), 3, "before, between, and after: {seen:?}");
}
