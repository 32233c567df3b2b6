//! `filbert backup`, `restore` and `verify`, and a member that meets damage.

use crate::line::{eventually, int};
use crate::member;
use crate::process::Process;
use filbert_wire::messages::map;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn filbert(words: &[&str], paths: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_filbert")).args(words).args(paths).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

fn set(member: &Process, keys: std::ops::Range<i32>) {
    let mut client = member.client();
    for key in keys {
        let (key, value) = (int(key), int(key * 2));
        client.call(&map::Set { name: "orders".into(), key, value, thread_id: 1, ttl_ms: -1 }).unwrap();
    }
}

fn size(member: &Process) -> i32 {
    member.client().call(&map::Size { name: "orders".into() }).unwrap().value
}

/// The segments of the log of the map, the newest last.
fn segments(data: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(data.join("maps/orders")).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|end| end == "seg")).collect();
    files.sort();
    files
}

#[test]
fn a_backup_of_a_running_member_is_restored_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backup, second) =
        (folder.path().join("data"), folder.path().join("orders.fbk"), folder.path().join("second"));
    let running = member(&data, "always");
    set(&running, 0..500);
    let made = filbert(&["backup"], &[&data, &backup]);
    assert!(made.status.success() && text(&made.stdout).contains("500 entries of 1 map in"), "{made:?}");
    set(&running, 500..600);
    let refused = filbert(&["restore", "--replace"], &[&backup, &data]);
    assert!(
        !refused.status.success() && text(&refused.stderr).contains("in use by another member"),
        "{refused:?}"
    );
    assert!(filbert(&["restore"], &[&backup, &second]).status.success());
    assert!(!filbert(&["restore"], &[&backup, &second]).status.success(), "the map is there");
    let seen = filbert(&["verify", "--json"], &[&second]);
    let seen: serde_json::Value = serde_json::from_slice(&seen.stdout).unwrap();
    assert_eq!((&seen["map"], &seen["entries"]), (&"orders".into(), &500.into()), "{seen}");
    assert_eq!(size(&member(&second, "always")), 500);
    assert_eq!(size(&running), 600);
}

#[test]
fn two_members_do_not_share_a_data_directory() {
    let folder = tempfile::tempdir().unwrap();
    let _first = member(folder.path(), "always");
    let second = tempfile::tempdir().unwrap();
    let config = second.path().join("second.toml");
    let settings = format!("[grid]\ndata_directory = '{}'\n[map.x.persistence]\n", folder.path().display());
    std::fs::write(&config, settings).unwrap();
    let words = ["start", "--port", "0", "--postgres-port", "0", "--config"];
    let second = filbert(&words, &[&config]);
    assert!(
        !second.status.success() && text(&second.stderr).contains("in use by another member"),
        "{second:?}"
    );
}

/// What a member says when it starts, and then at `/health/ready`.
fn start_and_look(data: &Path) -> (String, String) {
    let config = data.with_extension("toml");
    let settings = format!("[grid]\ndata_directory = '{}'\n[map.orders.persistence]\n", data.display());
    std::fs::write(&config, settings).unwrap();
    let words =
        ["start", "--port", "0", "--postgres-port", "0", "--http-port", "0", "--log", "off", "--config"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_filbert"))
        .args(words)
        .arg(&config)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap) {
        let is_last = line.contains("the cluster is called");
        said.push(line);
        if is_last {
            break;
        }
    }
    let http = said.iter().find(|line| line.contains("over HTTP on")).unwrap();
    let mut stream = TcpStream::connect(http.rsplit(' ').next().unwrap()).unwrap();
    stream.write_all(b"GET /health/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut ready = String::new();
    stream.read_to_string(&mut ready).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(config).unwrap();
    (said.join("\n"), ready)
}

/// A flipped bit takes its partition, and nothing else.
#[test]
fn a_member_serves_what_is_not_damaged() {
    let folder = tempfile::tempdir().unwrap();
    set(&member(folder.path(), "always"), 0..100);
    // Seals the log of the member that was killed.
    assert_eq!(size(&member(folder.path(), "always")), 100);
    let first = segments(folder.path()).remove(0);
    let mut bytes = std::fs::read(&first).unwrap();
    // The value of key 42; as a key it comes later.
    let value = int(84);
    let at = bytes.windows(value.as_bytes().len()).position(|place| place == value.as_bytes()).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&first, bytes).unwrap();
    let seen = filbert(&["verify"], &[folder.path()]);
    let said = text(&seen.stdout);
    assert!(
        seen.status.code() == Some(1) && said.contains("is damaged") && said.contains("at byte"),
        "{said}"
    );

    let (said, ready) = start_and_look(folder.path());
    let lacks = "1 of 271 partitions are damaged and not served";
    assert!(said.contains("map \"orders\" is back from disk in part: ") && said.contains(lacks), "{said}");
    assert!(!said.contains("is back from disk: "), "{said}");
    assert!(ready.starts_with("HTTP/1.1 200 "), "{ready}");
    assert!(ready.ends_with(&format!("\r\nready\nmap \"orders\": {lacks}\n")), "{ready}");

    let member = member(folder.path(), "always");
    let mut client = member.client();
    let mut get = |key: i32| client.call(&map::Get { name: "orders".into(), key: int(key), thread_id: 1 });
    assert!(get(42).is_err(), "its value is damaged");
    let served =
        (0..100).filter(|key| get(*key).is_ok_and(|found| found.value == Some(int(key * 2)))).count();
    assert!((80..100).contains(&served), "{served}");
    set(&member, 1_000..1_001);
    drop(client);

    // The way out: what is not damaged, in a backup, over what is.
    let backup = folder.path().join("rest.fbk");
    assert_eq!(
        filbert(&["backup"], &[folder.path(), &backup]).status.code(),
        Some(1),
        "something is left out"
    );
    drop(member);
    assert!(!backup.exists(), "it is no whole one");
    let rest = folder.path().join("rest.fbk.incomplete");
    assert!(filbert(&["restore", "--replace"], &[&rest, folder.path()]).status.success());
    let whole = crate::member(folder.path(), "always");
    assert_eq!(size(&whole), 100, "one is lost, one came");
}

#[test]
fn a_member_that_ends_in_order_loses_nothing_whatever_is_set() {
    for fsync in ["interval", "never"] {
        let folder = tempfile::tempdir().unwrap();
        let first = member(folder.path(), fsync);
        set(&first, 0..300);
        let ended = Command::new("kill").args(["-TERM", &first.id().to_string()]).status().unwrap();
        assert!(ended.success());
        eventually("it ends", || !first.is_alive());
        assert_eq!(size(&member(folder.path(), fsync)), 300, "{fsync}");
    }
}

/// It was said to be no data directory, which sends the reader to look into it.
#[test]
fn what_is_not_there_is_said_not_to_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nonexist");
    let refused = filbert(&["verify"], &[&missing]);
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("there is no such file or folder") && said.contains("nonexist"), "{said}");
    let other = filbert(&["verify"], &[folder.path()]);
    assert!(String::from_utf8_lossy(&other.stderr).contains("no data directory of a member"));
}
