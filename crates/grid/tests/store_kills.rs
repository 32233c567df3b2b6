//! `kill -9` while changes of maps on disk wait for the store behind them: the store hears of every acknowledged one all the same.

#![allow(clippy::disallowed_methods, reason = "tests have processes and threads of their own")]

use filbert_grid::{
    EvictionPolicy, Fsync, Grid, GridSettings, Map, MapSettings, MapStore, MapStoreSettings, MaxSize,
    PersistenceSettings, Registry,
};
use filbert_pool::{Shutdown, Stages};
use filbert_wire::Data;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Names the folder of a member that this executable is to be, instead of the test.
const FOLDER: &str = "FILBERT_STORE_KILLS_FOLDER";
/// The number of the first change of that member; without it the member only writes what waits, and ends.
const FIRST: &str = "FILBERT_STORE_KILLS_FIRST";

const ROUNDS: i32 = 6;
const KEYS: i32 = 40;
/// Changes that are acknowledged before a kill.
const CHANGES: i32 = 150;
/// One keeps all its entries, from the other they are evicted while they wait for the store.
const MAPS: [&str; 2] = ["all", "few"];

fn data(number: i32) -> Data {
    // Long enough that the log is folded now and then.
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(100, number as u8);
    Data::new(-12, &payload)
}

fn number(data: &Data) -> i32 {
    i32::from_be_bytes(data.payload()[..4].try_into().unwrap_or_else(|_| panic!("{data:?}")))
}

/// A database of files, in the folder of a map. While there is a file `away`, it takes no changes.
struct Files {
    folder: PathBuf,
}

impl Files {
    fn of_map(folder: &Path, map: &str) -> Self {
        Self { folder: folder.join("database").join(map) }
    }

    fn changes(&self, change: impl FnOnce() -> std::io::Result<()>) -> Result<(), String> {
        if self.folder.join("away").exists() {
            return Err("the database is away".to_owned());
        }
        change().map_err(|error| error.to_string())
    }

    fn all(&self) -> BTreeMap<i32, i32> {
        let files = std::fs::read_dir(&self.folder).unwrap().map(|file| file.unwrap().path());
        let entry = |file: PathBuf| {
            let key = file.file_name()?.to_str()?.parse().ok()?;
            Some((key, number(&Data::from_bytes(std::fs::read(&file).unwrap()).unwrap())))
        };
        files.filter_map(entry).collect()
    }
}

impl MapStore for Files {
    fn load(&self, key: &Data) -> Result<Option<Data>, String> {
        match std::fs::read(self.folder.join(number(key).to_string())) {
            Ok(bytes) => Data::from_bytes(bytes).map(Some).map_err(|error| error.to_string()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    fn store(&self, key: &Data, value: &Data) -> Result<(), String> {
        let file = self.folder.join(number(key).to_string());
        let new = file.with_extension("new");
        self.changes(|| std::fs::write(&new, value.as_bytes()).and_then(|()| std::fs::rename(&new, &file)))
    }

    fn delete(&self, key: &Data) -> Result<(), String> {
        let removed = || std::fs::remove_file(self.folder.join(number(key).to_string()));
        self.changes(|| {
            removed().or_else(|error| match error.kind() {
                ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })
        })
    }
}

fn open(stages: &Stages, folder: &Path) -> Grid {
    let persistence = PersistenceSettings { fsync: Fsync::Always, fold_bytes: 4_096, ..Default::default() };
    let store = MapStoreSettings {
        name: "files".to_owned(),
        write_delay_ms: 20,
        batch: 7,
        retry_ms: 5,
        ..Default::default()
    };
    let all = MapSettings { persistence: Some(persistence), store: Some(store), ..Default::default() };
    let few =
        MapSettings { eviction: EvictionPolicy::Lru, max_size: Some(MaxSize::Entries(5)), ..all.clone() };
    let data_directory = folder.join("data").display().to_string();
    let mut settings = GridSettings { data_directory, ..Default::default() };
    settings.maps.set("all", all);
    settings.maps.set("few", few);
    let folder = folder.to_owned();
    let registry = Registry::new().with_map_store("files", move |map| Ok(Files::of_map(&folder, map)));
    Grid::open(stages, settings, registry, &|_| ()).unwrap()
}

/// Gives a key a value, or removes it; says on the output what is under way and what is acknowledged.
fn change(map: &Map, step: i32) {
    let (key, new) = (step / 2 * 7 % KEYS, (step % 5 != 4).then_some(step));
    let shown = format!("{} {key} {}", map.name(), new.map_or("-".to_owned(), |new| new.to_string()));
    println!("begin {shown}");
    match new {
        Some(new) => map.set(data(key), data(new)).wait().unwrap(),
        None => {
            map.delete(data(key)).wait().unwrap();
        }
    }
    println!("done {shown}");
}

/// The member that is killed: this test, run again by the other.
#[test]
fn member() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let first = std::env::var(FIRST).ok().map(|first| first.parse::<i32>().unwrap());
    // The name of the test may stand at the begin of the line.
    println!();
    let stages = Stages::builder().set("mixed.threads", 2).start().unwrap();
    let grid = open(&stages, Path::new(&folder));
    match first {
        Some(first) => {
            for step in first.. {
                change(&grid.map(MAPS[step as usize % 2]), step);
            }
        }
        None => {
            let untold: u64 = grid.recovered().iter().map(|map| map.untold).sum();
            println!("untold {untold}");
            MAPS.iter().for_each(|map| grid.map(map).flush().wait().unwrap());
            for key in 0..KEYS {
                let found = grid.map("all").get(data(key)).wait().unwrap();
                println!(
                    "found all {key} {}",
                    found.map_or("-".to_owned(), |found| number(&found).to_string())
                );
            }
        }
    }
    grid.close().unwrap();
    stages.shutdown(Shutdown::Drain).unwrap();
}

/// Starts the member in a process of its own, which is killed at the latest when the test ends.
fn start(folder: &Path, first: Option<i32>) -> Killed {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["member", "--exact", "--nocapture"]).env(FOLDER, folder).stdout(Stdio::piped());
    if let Some(first) = first {
        command.env(FIRST, first.to_string());
    }
    Killed(command.spawn().unwrap())
}

struct Killed(Child);

impl Killed {
    /// Gives what the member says of maps and keys.
    fn words(&mut self) -> impl Iterator<Item = Vec<String>> + use<> {
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        let words = lines.map(|line| line.unwrap().split(' ').map(str::to_owned).collect::<Vec<_>>());
        words.filter(|words| matches!(&*words[0], "begin" | "done" | "found" | "untold"))
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// What a key may hold: what was acknowledged last, and what was under way since.
type Known = BTreeMap<(String, i32), BTreeSet<Option<i32>>>;

/// Notes what the member says; the number of the last change.
fn note(words: &[String], known: &mut Known) -> i32 {
    let [word, map, key, value] = words else { panic!("{words:?}") };
    let value = value.parse().ok();
    let may_be = known.entry((map.clone(), key.parse().unwrap())).or_insert_with(|| BTreeSet::from([None]));
    if word == "done" {
        may_be.clear();
    }
    may_be.insert(value);
    value.unwrap_or_default()
}

#[test]
fn a_store_hears_of_what_waited_when_the_member_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let stores = MAPS.map(|map| Files::of_map(folder.path(), map));
    stores.iter().for_each(|store| std::fs::create_dir_all(&store.folder).unwrap());
    let (mut known, mut last) = (Known::new(), 0);
    for round in 0..ROUNDS {
        for store in &stores {
            let away = store.folder.join("away");
            if round % 2 == 0 {
                std::fs::write(away, "").unwrap();
            } else {
                std::fs::remove_file(away).unwrap();
            }
        }
        let mut member = start(folder.path(), Some(last + 1));
        let (mut words, mut done) = (member.words(), 0);
        while done < CHANGES + round {
            let words = words.next().expect("it changes its maps until it is killed");
            last = last.max(note(&words, &mut known));
            done += i32::from(words[0] == "done");
        }
        member.0.kill().unwrap();
        // What it had said until then.
        for words in words {
            last = last.max(note(&words, &mut known));
        }
    }
    // The last round has left the database there; what waits is to be a whole round's changes.
    stores.iter().for_each(|store| std::fs::write(store.folder.join("away"), "").unwrap());
    let mut member = start(folder.path(), Some(last + 1));
    let mut words = member.words();
    for words in words.by_ref().take(2 * CHANGES as usize) {
        last = last.max(note(&words, &mut known));
    }
    member.0.kill().unwrap();
    for words in words {
        note(&words, &mut known);
    }
    stores.iter().for_each(|store| std::fs::remove_file(store.folder.join("away")).unwrap());

    let mut member = start(folder.path(), None);
    let (mut untold, mut found) = (0, BTreeMap::new());
    for words in member.words() {
        match &*words[0] {
            "untold" => untold = words[1].parse().unwrap(),
            _ => {
                if let Ok(value) = words[3].parse::<i32>() {
                    found.insert(words[2].parse::<i32>().unwrap(), value);
                }
            }
        }
    }
    assert!(member.0.wait().unwrap().success());
    assert!(untold > KEYS, "{untold} changes waited, of {KEYS} keys of each map");
    assert_eq!(found, stores[0].all(), "the map and the database agree");
    let stored: BTreeMap<&str, _> = MAPS.into_iter().zip(stores.iter().map(Files::all)).collect();
    for ((map, key), may_be) in &known {
        let value = stored[&**map].get(key).copied();
        assert!(may_be.contains(&value), "{map}, key {key}: {value:?} is none of {may_be:?}");
    }
    // Nothing waits any more, so nothing is told twice for ever.
    let mut again = start(folder.path(), None);
    let words: Vec<_> = again.words().collect();
    assert_eq!(words[0], ["untold", "0"]);
    assert!(again.0.wait().unwrap().success());
}
