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
