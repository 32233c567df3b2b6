//! What those who watch a member learn of its troubles: slow tasks, and writes that it refuses.

use crate::line::{Client, DEADLINE, authentication, blob, int};
use crate::service::{START, start};
use crate::{command, signal};
use filbert_wire::messages::client::Authentication;
use filbert_wire::messages::map;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The body of a page of a member.
fn page(http: &str, path: &str) -> String {
    let mut client = TcpStream::connect(http).unwrap();
    client.set_read_timeout(Some(DEADLINE)).unwrap();
    write!(client, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

fn set(name: &str, key: i32, bytes: usize) -> map::Set {
    map::Set { name: name.into(), key: int(key), value: blob(bytes), thread_id: 1, ttl_ms: -1 }
}

/// An operator knew that something was slow, and not for whom.
#[test]
fn a_slow_task_is_logged_with_its_map_its_client_and_its_user() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("filbert.toml");
    let user = "[[hazelcast.users]]\nname = 'ann'\npassword = 'secret'\nmay = ['*']\n";
    std::fs::write(&settings, format!("[partition]\nslow_ms = 1\n{user}")).unwrap();
    let mut member = command(&START);
    member.arg("--config").arg(&settings).stderr(Stdio::piped());
    let (mut child, _, said) = start(member);
    let log = BufReader::new(child.stderr.take().unwrap());
    let mut client = Client::connect(said.hazelcast.parse().unwrap());
    let (username, password) = (Some("ann".into()), Some("secret".into()));
    assert_eq!(client.log_in(&Authentication { username, password, ..authentication() }).status, 0);
    let peer = client.stream.local_addr().unwrap();
    let (found, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let lines = log.lines().map_while(Result::ok);
        lines.filter(|line| line.contains("slow task")).all(|line| found.send(line).is_ok())
    });
    let begin = Instant::now();
    let line = loop {
        // It copies the value, which takes longer than a millisecond sooner or later.
        client.call(&set("orders", 1, 12 << 20)).unwrap();
        if let Some(line) = lines.try_iter().find(|line| line.contains("stage=\"partition\"")) {
            break line;
        }
        assert!(begin.elapsed() < DEADLINE, "nothing was slow");
    };
    for word in [
        "task=\"map.set\"".to_owned(),
        "about=\"orders\"".to_owned(),
        format!("client=\"{peer}\""),
        "user=\"ann\"".to_owned(),
    ] {
        assert!(line.contains(&word), "{word} is not in {line}");
    }
    signal(child.id(), "TERM");
    child.wait().unwrap();
}

/// `/health/ready` said `ready`, no figure changed, and only the log knew that the disk was full.
#[test]
fn writes_that_a_disk_refuses_are_seen_in_health_figures_and_status() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("filbert.toml");
    let text = "[grid]\ndata_directory = 'data'\n[map.orders.persistence]\nfsync = 'always'\n";
    std::fs::write(&settings, text).unwrap();
    // No file may be larger than 4 MiB, which is as good as a disk without room.
    let script = format!(
        "trap '' XFSZ; ulimit -f 8192; exec '{}' {} --log off --config '{}'",
        env!("CARGO_BIN_EXE_filbert"),
        START.join(" "),
        settings.display()
    );
    let mut member = Command::new("sh");
    member.args(["-c", &script]);
    let (mut child, http, said) = start(member);
    assert!(folder.path().join("data").is_dir(), "the path begins at the folder of the settings");
    let mut client = Client::connect(said.hazelcast.parse().unwrap());
    assert_eq!(client.log_in(&authentication()).status, 0);
    client.call(&set("orders", 1, 10)).unwrap();
    let ready = page(&http, "/health/ready");
    assert!(ready.starts_with("HTTP/1.1 200") && !ready.contains("orders"), "{ready}");
    assert!(client.call(&set("orders", 2, 8 << 20)).is_err(), "it fits into no file");
    assert!(client.call(&set("orders", 3, 10)).is_err(), "what comes behind it is refused");
    let ready = page(&http, "/health/ready");
    assert!(ready.starts_with("HTTP/1.1 200"), "reads go on: {ready}");
    assert!(ready.contains("map \"orders\": writes are refused: they cannot be kept on disk\n"), "{ready}");
    assert!(!ready.contains(folder.path().to_str().unwrap()), "whoever reads it need not log in: {ready}");
    let metrics = page(&http, "/metrics");
    for line in [
        "filbert_refused_writes_total{reason=\"disk\"} 1",
        "filbert_refused_writes_total{reason=\"memory\"} 0",
        "filbert_map_refused_writes_total{map=\"orders\"} 1",
        "filbert_map_refuses_writes{map=\"orders\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in {metrics}");
    }
    let status = page(&http, "/status");
    let status = status.split("\r\n\r\n").nth(1).unwrap();
    let status: serde_json::Value = serde_json::from_str(status).unwrap();
    assert_eq!(status["refused_writes"], serde_json::json!({ "memory": 0, "disk": 1 }));
    let why = status["maps"][0]["refuses_writes"].as_str().unwrap();
    assert!(why.contains(folder.path().to_str().unwrap()), "{why}");
    client.call(&map::Get { name: "orders".into(), key: int(1), thread_id: 1 }).unwrap();
    // What is not on disk is lost with the member: it ended well, and nobody heard of it.
    signal(child.id(), "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}
