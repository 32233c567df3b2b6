//! Files and folders of a data directory that are deleted, swapped, cut, zeroed, or have bits flipped: what is served is what was stored, and what is
//! missing is named, also by later starts.

use super::flips::{compare, copy_all, files};
use super::restarts::define;
use super::*;
use crate::log::fold_lock;
use crate::marker;
use crate::store::maps_folder;
use crate::{Damage, Recovery, verify};
use crate::{definitions, folder_list};
use std::path::PathBuf;

/// Trials in one run of the test; `FILBERT_DISK_TRIALS` says otherwise.
const TRIALS: usize = 200;

const OTHER: &str = "users";

/// The definition of the image.
const DEFINED: &[u8] = b"a schema";

/// A data directory as it was found, with what its two maps hold, and a definition.
struct Image {
    folder: tempfile::TempDir,
    content: [Content; 2],
    /// The same folder some changes before.
    older: tempfile::TempDir,
}

/// Two maps with snapshots and logs on top; `is_killed`: the log has no seal, and its last group is flushed.
fn image(is_killed: bool) -> Image {
    let (folder, older, data) = (quick_folder(), quick_folder(), quick_folder());
    let mut content = [Content::new(), Content::new()];
    for round in 0..2_u32 {
        with_store(data.path(), |opened| {
            let _ = opened.read_definitions().unwrap();
            define(opened, DEFINED, Some(&round.to_be_bytes()));
            for (map, content) in [MAP, OTHER].into_iter().zip(&mut content) {
                let recovery = opened.recover(map, &settings(1 << 14)).unwrap();
                drop(recovery);
                let log = opened.log(map, &settings(1 << 14));
                let mut write = |key: u32| {
                    // Four shelves of sixteen: what is read is read quickly.
                    let partition = (key % 4 + key / 4 % 16 * 16) as u16;
                    let entry = put(partition, key / 3, &format!("value {key} of {map} in round {round}"));
                    let stored = append(&log, partition, &entry.as_change());
                    content.insert((partition, entry.key.clone()), entry);
                    stored
                };
                // One group that fills a segment, and one on top of the snapshot.
                for keys in [0..400, 380..420] {
                    let stored: Vec<_> = keys.map(&mut write).collect();
                    stored.iter().for_each(|stored| stored.recv().unwrap().unwrap());
                    eventually("a segment is not folded", || segments(data.path(), map) <= 1);
                }
            }
            if is_killed && round == 1 {
                let _no_folds =
                    [MAP, OTHER].map(|map| fold_lock(&maps_folder(data.path()).join(map)).unwrap());
                copy_all(data.path(), folder.path());
            }
        });
        if round == 0 {
            copy_all(data.path(), older.path());
        }
    }
    if !is_killed {
        copy_all(data.path(), folder.path());
    }
    Image { folder, content, older }
}

/// A folder in memory, where there is one: a flush of each of thousands of files takes long.
pub(super) fn quick_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn segments(data: &Path, map: &str) -> usize {
    crate::segment::numbers(&maps_folder(data).join(map)).unwrap().len()
}

/// What is done to a file, by number.
const KINDS: [&str; 6] = ["deleted", "swapped", "replaced by an older one", "cut", "zeroed", "flipped"];

/// The folders of a data directory.
fn folders(directory: &Path) -> [PathBuf; 3] {
    let maps = maps_folder(directory);
    [maps.join(MAP), maps.join(OTHER), definitions::folder(directory)]
}

/// Deletes a whole folder, swaps two, or puts an older copy in its place; every fourth time also the first list of the folders is deleted.
fn damage_folder(directory: &Path, older: &Path, random: &mut impl FnMut(usize) -> usize) -> Done {
    let (all, victim, kind) = (folders(directory), random(3), random(3));
    let other = (victim + 1 + random(2)) % 3;
    match kind {
        0 => std::fs::remove_dir_all(&all[victim]).unwrap(),
        1 => {
            let aside = directory.join("aside");
            std::fs::rename(&all[victim], &aside).unwrap();
            std::fs::rename(&all[other], &all[victim]).unwrap();
            std::fs::rename(&aside, &all[other]).unwrap();
        }
        _ => {
            std::fs::remove_dir_all(&all[victim]).unwrap();
            std::fs::create_dir(&all[victim]).unwrap();
            copy_all(&folders(older)[victim], &all[victim]);
        }
    }
    let lists = random(4);
    if lists == 0 {
        std::fs::remove_file(directory.join(folder_list::NAME)).unwrap();
    }
    let what = format!("folder {} is {} ({lists}, {other})", all[victim].display(), KINDS[kind]);
    Done { kind: None, to_marker: false, what }
}

/// What was done to a folder.
struct Done {
    /// The number of one of [`KINDS`]; `None` when there was no older file.
    kind: Option<usize>,
    /// To the marker of the folder, too.
    to_marker: bool,
    what: String,
}

/// Damages one file in `folder`, or swaps two.
fn damage(folder: &Path, older: &Path, random: &mut impl FnMut(usize) -> usize) -> Done {
    let mut all: Vec<PathBuf> = Vec::new();
    files(folder, &mut all);
    let marker = folder.join(marker::NAME);
    all.push(marker.clone());
    all.sort();
    let victim = &all[random(all.len())];
    let mut bytes = std::fs::read(victim).unwrap();
    let shown = victim.strip_prefix(folder).unwrap().display().to_string();
    let kind = random(KINDS.len());
    let done = |other: &Path, what: String| {
        let to_marker = *victim == marker || other == marker;
        Done { kind: Some(kind), to_marker, what: format!("{shown} is {}{what}", KINDS[kind]) }
    };
    match kind {
        0 => {
            std::fs::remove_file(victim).unwrap();
            return done(victim, String::new());
        }
        1 => {
            let other = &all[random(all.len())];
            std::fs::write(victim, std::fs::read(other).unwrap()).unwrap();
            std::fs::write(other, bytes).unwrap();
            return done(other, format!(" with {}", other.display()));
        }
        2 => {
            // An older copy of the same file, if there was one.
            let before = older.join(&shown);
            match std::fs::read(before) {
                Ok(before) => bytes = before,
                Err(_) => return Done { kind: None, to_marker: false, what: "nothing".to_owned() },
            }
        }
        3 => bytes.truncate(random(bytes.len())),
        4 => {
            let from = random(bytes.len());
            let to = (from + random(8_192) + 1).min(bytes.len());
            bytes[from..to].fill(0);
        }
        _ => {
            let bit = random(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
    std::fs::write(victim, &bytes).unwrap();
    done(victim, format!(" ({} bytes left)", bytes.len()))
}

/// Starts on a folder: what is damaged of each map, or why it is refused.
fn start(folder: &Path, content: &[Content; 2], what: &str) -> Result<Vec<Damage>, StoreError> {
    let stages = Stages::simulated(1);
    let opened = Store::open(&stages, folder)?;
    let found = opened.read_definitions().unwrap();
    let mut all = found.damage;
    all.extend(opened.damage());
    let newest = 1_u32.to_be_bytes().to_vec();
    assert!(
        !all.is_empty() || found.all.contains(&(DEFINED.to_vec(), newest)),
        "{what}: no word of {:?}",
        found.all
    );
    let told = opened.definitions().put(b"another", b"value");
    stages.simulation().unwrap().settle();
    drop(told);
    for (map, content) in [MAP, OTHER].into_iter().zip(content) {
        let recovery = opened.recover(map, &settings(1 << 14));
        let recovery: Recovery = recovery.unwrap().unwrap_or_else(|| panic!("{what}: {map} is gone"));
        let damage = compare(recovery, content, &format!("{what}, map {map}"));
        if !damage.is_empty() {
            opened.has_damage(map, &settings(1 << 14));
        }
        // Life goes on: it must not hide what is damaged.
        let log = opened.log(map, &settings(1 << 14));
        let key = content.values().find(|entry| !damage.iter().any(|damage| damage.reaches(entry.partition)));
        if let Some(entry) = key {
            let told = append(&log, entry.partition, &entry.as_change());
            stages.simulation().unwrap().settle();
            told.recv().unwrap().unwrap();
        }
        all.extend(damage);
    }
    opened.close().unwrap();
    Ok(all)
}

#[test]
fn no_file_is_missing_or_wrong_without_a_word() {
    let trials = std::env::var("FILBERT_DISK_TRIALS").ok().and_then(|trials| trials.parse().ok());
    let images = [image(false), image(true)];
    let mut seed = 0xd15c_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below.max(1)
    };
    let (mut harmless, mut named, mut refused, mut kinds) = (0, 0, 0, [0; KINDS.len()]);
    for trial in 0..trials.unwrap_or(TRIALS) {
        let Image { folder, content, older } = &images[trial % 2];
        let copy = quick_folder();
        copy_all(folder.path(), copy.path());
        let Done { kind, to_marker, what } = damage(copy.path(), older.path(), &mut random);
        let what = format!("trial {trial}: {what}");
        kind.into_iter().for_each(|kind| kinds[kind] += 1);
        let verified = verify(copy.path(), &mut |_| {});
        let first = match start(copy.path(), content, &what) {
            Ok(first) => first,
            // Nobody knows what a folder is whose marker is damaged; nothing else is a reason not to serve what is sound.
            Err(StoreError::NotADataDirectory { .. }) if to_marker => {
                assert!(verified.is_err(), "{what}");
                refused += 1;
                continue;
            }
            Err(error) => panic!("{what}: {error}"),
        };
        assert_eq!(verified.unwrap().is_sound(), first.is_empty(), "{what}: {first:?}");
        let second = start(copy.path(), content, &what).unwrap();
        assert_eq!(second.is_empty(), first.is_empty(), "{what}: {first:?}, then {second:?}");
        if first.is_empty() { harmless += 1 } else { named += 1 }
    }
    let seen =
        format!("{named} were named, {refused} refused, {harmless} took nothing away; {KINDS:?}: {kinds:?}");
    // The seed is the same each time; when somebody wants fewer trials they may miss some.
    let is_whole = trials.is_none_or(|trials| trials >= TRIALS);
    assert!(!is_whole || (named >= 40 && refused >= 3 && harmless >= 40), "{seen}");
    assert!(!is_whole || kinds.iter().all(|kind| *kind >= 10), "{seen}");
    println!("{seen}");
}

/// A map whose folder was gone was an empty map, and a member without its schemas had none.
#[test]
fn no_folder_is_missing_or_wrong_without_a_word() {
    let images = [image(false), image(true)];
    let mut seed = 0xf01d_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below.max(1)
    };
    for trial in 0..60 {
        let Image { folder, content, older } = &images[trial % 2];
        let copy = quick_folder();
        copy_all(folder.path(), copy.path());
        let Done { what, .. } = damage_folder(copy.path(), older.path(), &mut random);
        let what = format!("trial {trial}: {what}");
        let verified = verify(copy.path(), &mut |_| {}).unwrap();
        assert!(!verified.is_sound(), "{what}");
        for start_number in 0..3 {
            let damage = start(copy.path(), content, &what).unwrap();
            assert!(
                damage.iter().any(|damage| damage.problem.contains("folder")),
                "{what}, start {start_number}: {damage:?}"
            );
        }
    }
}

/// Both copies of the list are gone: what is there is served, and nobody says that all is well.
#[test]
fn a_list_of_folders_that_is_gone_is_named_and_takes_nothing_away() {
    let Image { folder, content, .. } = image(false);
    for name in [folder_list::NAME, folder_list::COPY] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    let verified = verify(folder.path(), &mut |_| {}).unwrap();
    assert!(!verified.is_sound() && verified.entries() > 0, "{verified:?}");
    for _ in 0..2 {
        let damage = start(folder.path(), &content, "no list").unwrap();
        assert_eq!(damage.len(), 1, "{damage:?}");
        assert!(damage[0].problem.contains("nobody knows whether all maps are there"), "{damage:?}");
    }
}

/// The way out of a map that is lost: to destroy it, or to restore it.
#[test]
fn a_missing_map_is_there_again_once_it_is_destroyed_or_restored() {
    let Image { folder, content, .. } = image(false);
    let backed_up = quick_folder();
    let file = backed_up.path().join("backup");
    assert!(crate::backup(folder.path(), &file, 9, &mut |_| {}).unwrap().is_sound());
    let is_named = |directory: &Path| !verify(directory, &mut |_| {}).unwrap().is_sound();
    for destroys in [true, false] {
        let copy = quick_folder();
        copy_all(folder.path(), copy.path());
        std::fs::remove_dir_all(maps_folder(copy.path()).join(MAP)).unwrap();
        assert!(!start(copy.path(), &content, "a missing folder").unwrap().is_empty());
        assert!(is_named(copy.path()));
        if destroys {
            with_store(copy.path(), |opened| {
                assert_eq!(recovered(opened, &settings(1 << 14)).1.len(), 1);
                opened.log(MAP, &settings(1 << 14)).reset();
                // The map of that name as it is now.
                let entry = put(1, 1, "new");
                store(&opened.log(MAP, &settings(1 << 14)), 1, &entry.as_change()).unwrap();
            });
            with_store(copy.path(), |opened| {
                let (found, damage) = recovered(opened, &settings(1 << 14));
                assert_eq!((found.len(), damage), (1, Vec::new()));
            });
        } else {
            crate::restore(&file, copy.path(), true, &mut |_| {}).unwrap();
            assert_eq!(start(copy.path(), &content, "restored").unwrap(), Vec::new());
        }
        assert!(!is_named(copy.path()));
    }
}

/// A map that was destroyed is no missing one, whenever the process is killed.
#[test]
fn a_map_that_was_destroyed_is_not_missed() {
    let folder = quick_folder();
    for map in [MAP, OTHER] {
        with_store(folder.path(), |opened| {
            store(&opened.log(map, &settings(1 << 14)), 1, &put(1, 1, "value").as_change()).unwrap();
        });
    }
    with_store(folder.path(), |opened| {
        let _ = recovered(opened, &settings(1 << 14));
        opened.log(MAP, &settings(1 << 14)).reset();
    });
    // Killed after it is off the list, and after its folder stands aside; then nothing comes between.
    for renames in [Some(0), Some(1), None] {
        crate::folder::crash::after(renames);
        let killed = reading(folder.path(), |opened| opened.recover(MAP, &settings(1 << 14)).map(|_| ()));
        crate::folder::crash::after(None);
        assert_eq!(killed.is_err(), renames == Some(0), "{killed:?}");
        assert!(verify(folder.path(), &mut |_| {}).unwrap().is_sound(), "after {renames:?} renames");
    }
    let report = verify(folder.path(), &mut |_| {}).unwrap();
    assert_eq!(report.maps.iter().map(|map| &*map.name).collect::<Vec<_>>(), [OTHER]);
    reading(folder.path(), |opened| assert_eq!(opened.maps().unwrap(), [OTHER]));
}

/// The way that a file gets lost: a copy that was not whole.
#[test]
fn a_missing_file_is_named() {
    let Image { folder, content, .. } = image(false);
    let mut all = Vec::new();
    files(&maps_folder(folder.path()).join(MAP), &mut all);
    for ending in ["redb", "seg"] {
        let victims = all.iter().filter(|path| path.extension().is_some_and(|end| end == ending));
        for victim in victims.filter(|path| path.is_file()) {
            let copy = quick_folder();
            copy_all(folder.path(), copy.path());
            std::fs::remove_file(copy.path().join(victim.strip_prefix(folder.path()).unwrap())).unwrap();
            let damage = start(copy.path(), &content, "a missing file").unwrap();
            assert!(damage.iter().any(|damage| damage.problem.contains("missing")), "{damage:?}");
        }
    }
}

/// A log that was killed has no seal; how far it was flushed is known all the same.
#[test]
fn a_log_that_ends_before_it_was_flushed_is_damaged() {
    let Image { folder, content, .. } = image(true);
    let map = maps_folder(folder.path()).join(MAP);
    let newest = crate::segment::path(&map, *crate::segment::numbers(&map).unwrap().last().unwrap());
    let whole = std::fs::read(&newest).unwrap();
    for end in (0..whole.len()).step_by(whole.len() / 20 + 1) {
        let copy = quick_folder();
        copy_all(folder.path(), copy.path());
        std::fs::write(copy.path().join(newest.strip_prefix(folder.path()).unwrap()), &whole[..end]).unwrap();
        let damage = start(copy.path(), &content, "a log that was cut").unwrap();
        assert!(!damage.is_empty(), "cut at {end} of {}", whole.len());
    }
}
