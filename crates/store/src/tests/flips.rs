//! Random bits flip in whatever file: what is loaded is what was stored, and what is not loaded is named.

use super::*;
use crate::shelf::Access;
use crate::store::maps_folder;
use crate::{Damage, Recovery, verify};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Flips in one run of the test; `FILBERT_BIT_FLIPS` says otherwise, for as long as it takes.
const FLIPS: usize = 400;

/// After so many flips a member starts on what is there; the others only look, which is quicker.
const START_EVERY: usize = 25;

/// Flips that every run makes, however slow the machine is.
const LEAST: usize = 60;

/// What one run may take when nobody says how many flips it is to be.
const TIME: Duration = Duration::from_secs(10);

pub(super) fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.metadata().unwrap().len() > 0 && path.file_name().unwrap() != "filbert-data" {
            found.push(path);
        }
    }
}

/// A map with a snapshot and a log on top of it.
fn filled(folder: &Path) -> Content {
    let mut content = Content::new();
    for round in 0..2_u32 {
        with_store(folder, |opened| {
            let _ = recovered(opened, &settings(1 << 14));
            let log = opened.log(MAP, &settings(1 << 14));
            for key in 0..400_u32 {
                let partition = (key % 271) as u16;
                let entry = put(partition, key / 3, &format!("value {key} of round {round}"));
                store(&log, partition, &entry.as_change()).unwrap();
                content.insert((partition, entry.key.clone()), entry);
            }
        });
    }
    content
}

/// Everything that is served is what was stored, and nothing of it is missing; what is damaged.
pub(super) fn compare(recovery: Recovery, content: &Content, what: &str) -> Vec<Damage> {
    let (mut found, mut damage) = (Content::new(), recovery.damage.clone());
    for shelf in recovery.into_shelves() {
        let read = shelf.read(|entry| drop(found.insert((entry.partition, entry.key.clone()), entry)));
        damage.extend(read.unwrap());
    }
    let is_served = |place: &(u16, Vec<u8>)| !damage.iter().any(|damage| damage.reaches(place.0));
    for (place, entry) in found.iter().filter(|(place, _)| is_served(place)) {
        assert_eq!(content.get(place), Some(entry), "{what}");
    }
    let missing = content.keys().find(|place| is_served(place) && !found.contains_key(*place));
    assert_eq!(missing, None, "{what}: nobody says that it is missing");
    damage
}

pub(super) fn copy_all(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy_all(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "bounds how long the test takes, and asserts no time")]
fn nothing_corrupt_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let content = filled(folder.path());
    let mut all = Vec::new();
    files(folder.path(), &mut all);
    assert!(all.iter().any(|path| path.extension().is_some_and(|end| end == "redb")), "{all:?}");
    assert!(all.iter().any(|path| path.extension().is_some_and(|end| end == "seg")), "{all:?}");
    let map = maps_folder(folder.path()).join(MAP);
    let asked = std::env::var("FILBERT_BIT_FLIPS").ok().and_then(|flips| flips.parse::<usize>().ok());
    let (begin, mut seed) = (Instant::now(), 0x5eed_u64);
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let (mut named, mut harmless) = (0, 0);
    for flip in 0..asked.unwrap_or(FLIPS) {
        if asked.is_none() && flip >= LEAST && begin.elapsed() > TIME {
            break;
        }
        let victim = &all[random(all.len())];
        let sound = std::fs::read(victim).unwrap();
        let (mut bytes, bit) = (sound.clone(), random(sound.len() * 8));
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(victim, &bytes).unwrap();
        let what = format!("flip {flip}: bit {bit} of {}", victim.display());

        let seen = Recovery::read(MAP, &map, &Access::Look, 0, None).unwrap();
        let damage = compare(seen, &content, &what);
        if flip % START_EVERY == 0 {
            assert_eq!(verify(folder.path(), &mut |_| {}).unwrap().is_sound(), damage.is_empty(), "{what}");
            // A start repairs what it can, so it gets a copy.
            let copy = tempfile::tempdir().unwrap();
            copy_all(folder.path(), copy.path());
            let started = reading(copy.path(), |opened| {
                compare(opened.recover(MAP, &settings(1 << 14)).unwrap().unwrap(), &content, &what)
            });
            assert_eq!(started.is_empty(), damage.is_empty(), "{what}: {started:?}, {damage:?}");
        }
        std::fs::write(victim, &sound).unwrap();
        if damage.is_empty() { harmless += 1 } else { named += 1 }
    }
    // Those in the sums and in the last seal take nothing away.
    assert!(named > 0, "{named} were named, {harmless} were harmless");
    assert!(named + harmless >= asked.unwrap_or(LEAST));
    println!("{named} flips were named, {harmless} took nothing away");
}
