//! A member as a service: what it tells a supervisor, `filbert ping` and `filbert stop`.

use crate::line::{Client, DEADLINE, authentication, blob, int};
use crate::{command, filbert, signal, text};
use filbert_wire::messages::map;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::net::UnixDatagram;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

pub(crate) const START: [&str; 7] = ["start", "--port", "0", "--postgres-port", "0", "--http-port", "0"];

/// The output of a member: the part that was read, and the rest.
pub(crate) struct Said {
    pub(crate) hazelcast: String,
    lines: Lines<BufReader<ChildStdout>>,
}

/// Starts a member; gives its door for metrics, and what it says.
pub(crate) fn start(mut command: Command) -> (Child, String, Said) {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (mut hazelcast, mut http) = (None, None);
    for line in lines.by_ref().map(Result::unwrap) {
        let address = line.rsplit(' ').next().map(str::to_owned);
        if line.contains("Hazelcast clients on") {
            hazelcast = address;
        } else if line.contains("over HTTP on") {
            http = address;
        } else if line.contains("the cluster is called") {
            break;
        }
    }
    (child, http.unwrap(), Said { hazelcast: hazelcast.unwrap(), lines })
}

#[test]
fn a_supervisor_hears_that_a_member_serves_lives_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    let hear = || {
        let mut state = [0; 200];
        let length = socket.recv(&mut state).unwrap();
        text(&state[..length])
    };
    let mut member = command(&START);
    member.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "20000").env_remove("WATCHDOG_PID");
    let (mut child, _, _said) = start(member);
    assert!(hear().starts_with("READY=1\n"), "it serves before it says so");
    for _ in 0..2 {
        assert_eq!(hear(), "WATCHDOG=1");
    }
    signal(child.id(), "TERM");
    let mut state = hear();
    while state == "WATCHDOG=1" {
        state = hear();
    }
    assert!(state.starts_with("STOPPING=1\n"), "{state}");
    assert!(child.wait().unwrap().success());
}

/// A service is no less a service because its supervisor went away.
#[test]
fn a_supervisor_that_does_not_listen_is_logged_and_no_more() {
    let mut member = command(&START);
    member.env("NOTIFY_SOCKET", "/nowhere/notify").stderr(Stdio::piped());
    let (child, _, _said) = start(member);
    signal(child.id(), "TERM");
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success());
    assert!(text(&ended.stderr).contains("NOTIFY_SOCKET"), "{}", text(&ended.stderr));
}

#[test]
fn ping_tells_by_its_status_whether_a_member_is_ready() {
    let (mut child, http, _said) = start(command(&START));
    for words in [&["ping", "--address", &http][..], &["ping", "--live", "--address", &http]] {
        let pinged = filbert(words);
        assert!(pinged.status.success(), "{}", text(&pinged.stderr));
        assert!(text(&pinged.stdout).starts_with(&format!("{http}: ")), "{}", text(&pinged.stdout));
    }
    let json = filbert(&["ping", "--json", "--address", &http]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["is_well"], &json["state"]), (&true.into(), &"ready".into()), "{json}");
    signal(child.id(), "TERM");
    child.wait().unwrap();
    let gone = filbert(&["ping", "--address", &http]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(text(&gone.stderr).contains(&http), "{}", text(&gone.stderr));
    let gone = filbert(&["ping", "--json", "--address", &http]);
    assert_eq!(gone.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&gone.stdout).unwrap();
    assert!(json["is_well"] == false && json["error"].is_string(), "{json}");
}

/// A load balancer must know of a drain while clients still have their answers to take.
#[test]
fn ping_tells_that_a_member_drains() {
    let (mut child, http, said) = start(command(&START));
    let mut deaf = Client::connect(said.hazelcast.parse().unwrap());
    assert_eq!(deaf.log_in(&authentication()).status, 0);
    let (name, key, value) = ("m", int(1), blob(8 << 20));
    deaf.call(&map::Set { name: name.into(), key: key.clone(), value, thread_id: 1, ttl_ms: -1 }).unwrap();
    // Nobody takes this answer, so the drain does not end.
    deaf.send(&map::Get { name: name.into(), key, thread_id: 1 });
    deaf.stream.peek(&mut [0]).unwrap();
    signal(child.id(), "TERM");
    let begin = Instant::now();
    let refused = loop {
        let pinged = filbert(&["ping", "--address", &http]);
        if !pinged.status.success() {
            break pinged;
        }
        assert!(begin.elapsed() < DEADLINE, "it does not drain");
    };
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stdout).contains(": ending ("), "{}", text(&refused.stderr));
    let live = filbert(&["ping", "--live", "--address", &http]);
    assert!(live.status.success(), "{}", text(&live.stderr));
    signal(child.id(), "TERM");
    child.wait().unwrap();
}

#[test]
fn stop_ends_a_member_in_order_and_no_stranger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filbert.pid");
    let path = path.to_str().unwrap();
    let stop = || filbert(&["stop", "--pid-file", path]);
    assert!(text(&stop().stderr).contains("--pid-file"), "there is no such file yet");
    let with_file = || {
        let mut member = command(&START);
        member.args(["--pid-file", path]);
        member
    };
    let (mut child, _, said) = start(with_file());
    let second = with_file().output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stderr).contains("another member holds"), "{}", text(&second.stderr));
    // Its end is taken notice of, so that the process is gone when it has ended.
    let ended = std::thread::spawn(move || child.wait().unwrap());
    let stopped = stop();
    assert!(stopped.status.success(), "{}", text(&stopped.stderr));
    assert!(ended.join().unwrap().success());
    let said: Vec<String> = said.lines.map(Result::unwrap).collect();
    assert_eq!(said, ["filbert: SIGTERM, draining", "filbert: ended"]);
    // The id of a process that never was a member: this test.
    std::fs::write(path, std::process::id().to_string()).unwrap();
    let refused = stop();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("no member runs"), "{}", text(&refused.stderr));
}

#[test]
fn every_command_has_a_manual_page_and_completions() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man");
    assert!(filbert(&["man", pages.to_str().unwrap()]).status.success());
    for page in ["filbert.1", "filbert-start.1", "filbert-config-check.1"] {
        let page = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(page.contains(".SH NAME"), "{page}");
    }
    let refused = filbert(&["man", "/dev/null/man"]);
    assert!(text(&refused.stderr).contains("/dev/null/man"), "{}", text(&refused.stderr));
    for shell in ["bash", "zsh", "fish"] {
        let script = filbert(&["completions", shell]);
        assert!(text(&script.stdout).contains("ping"), "{shell}");
    }
}
