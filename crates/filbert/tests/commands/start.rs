//! `filbert start`: how a member ends, and what it says meanwhile.

use crate::line::{Client, DEADLINE, authentication, blob, int};
use crate::process::Process;
use crate::service::{self, START};
use crate::{command, signal, text};
use filbert_wire::messages::client::{Authentication, Ping};
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::{map, queue};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn terminate(child: u32) {
    signal(child, "TERM");
}

#[test]
fn a_member_says_what_it_is_and_when_it_has_ended() {
    let words =
        ["start", "--port", "0", "--postgres-port", "0", "--http-port", "0", "--cluster-name", "shop"];
    let mut child = command(&words).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with("filbert: Hazelcast clients on 127.0.0.1:"));
    assert!(lines.next().unwrap().starts_with("filbert: PostgreSQL clients on 127.0.0.1:"));
    assert!(lines.next().unwrap().starts_with("filbert: metrics and health over HTTP on 127.0.0.1:"));
    let version = format!("filbert: version {}, process {}", env!("CARGO_PKG_VERSION"), child.id());
    assert_eq!(lines.next().unwrap(), version);
    let memory = lines.next().unwrap();
    assert!(memory.starts_with("filbert: memory: ") && memory.contains("grid.memory_bytes"), "{memory}");
    // Where the system allows few open files, a line says so.
    let files = |line: &String| line.starts_with("filbert: the system allows ");
    // It depends on how the tests are started.
    let hang_up = lines.by_ref().find(|line| !files(line)).unwrap();
    assert!(hang_up.starts_with("filbert: SIGHUP "), "{hang_up}");
    let cluster = lines.next().unwrap();
    assert_eq!(cluster, "filbert: the cluster is called \"shop\"; Ctrl-C ends the member");
    signal(child.id(), "INT");
    assert_eq!(lines.collect::<Vec<_>>(), ["filbert: SIGINT, draining", "filbert: ended"]);
    assert!(child.wait().unwrap().success());
}

/// The log alone tells who came and went, and why somebody could not come in.
#[test]
fn the_log_says_who_comes_goes_and_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let made = command(&["config", "certificates", folder.path().to_str().unwrap()]).output().unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
    let settings = folder.path().join("filbert.toml");
    std::fs::write(&settings, text(&made.stdout)).unwrap();
    let ca = folder.path().join("ca.pem");
    let words =
        ["start", "--port", "0", "--postgres-port", "0", "--http-port", "0", "--log", "info", "--config"];
    let mut child =
        command(&words).arg(&settings).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    let port = first.rsplit(':').next().unwrap().to_owned();
    lines.by_ref().find(|line| line.contains("the cluster is called")).unwrap();
    let address = format!("localhost:{port}");
    let size = |more: &[&str]| {
        let words = [&["map", "size", "m", "--address", &address], more].concat();
        text(&command(&words).output().unwrap().stderr).to_owned()
    };
    assert!(size(&["--ca", ca.to_str().unwrap()]).contains("there is no map"));
    let other = folder.path().join("client.pem");
    let refused = size(&["--ca", other.to_str().unwrap()]);
    assert!(refused.contains("signed by another authority") && !refused.contains("Other("), "{refused}");
    size(&[]);
    terminate(child.id());
    lines.for_each(drop);
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(child.wait().unwrap().success());
    for told in [
        "the member starts",
        "listening",
        "a client logged in",
        "a client left",
        "the client does not use TLS",
        "the client does not accept the certificate of this side",
        "the member drains",
        "the member has ended",
    ] {
        assert!(log.contains(told), "{told:?} is not in\n{log}");
    }
}

/// `nohup filbert start &` outlives the terminal.
#[test]
fn a_hangup_that_was_ignored_stays_ignored() {
    let words = ["start", "--port", "0", "--postgres-port", "0", "--http-port", "0"];
    let script = format!("trap '' HUP; exec '{}' {}", env!("CARGO_BIN_EXE_filbert"), words.join(" "));
    let mut child = Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut lines = lines.skip_while(|line| !line.contains("the cluster is called"));
    lines.next().unwrap();
    signal(child.id(), "HUP");
    terminate(child.id());
    assert_eq!(lines.collect::<Vec<_>>(), ["filbert: SIGTERM, draining", "filbert: ended"]);
    assert!(child.wait().unwrap().success());
}

/// What `filbert start` with these words says until it serves.
fn said_until_it_serves(words: &[&str]) -> Vec<String> {
    let words = [&["start", "--port", "0", "--postgres-port", "0", "--http-port", "0"], words].concat();
    let mut child = command(&words).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let said = lines.by_ref().take_while(|line| !line.contains("the cluster is called")).collect();
    terminate(child.id());
    lines.for_each(drop);
    assert!(child.wait().unwrap().success());
    said
}

/// Whoever names a folder believes that data is kept there.
#[test]
fn a_start_tells_what_is_kept_on_disk_and_where() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let said = said_until_it_serves(&["--data-dir", data]).join("\n");
    assert!(said.contains(&format!("nothing is kept in {data}")) && said.contains("persistence"), "{said}");
    let settings = folder.path().join("filbert.toml");
    std::fs::write(&settings, "[map.orders.persistence]\n[map.'log-*'.persistence]\n").unwrap();
    let said = said_until_it_serves(&["--data-dir", data, "--config", settings.to_str().unwrap()]).join("\n");
    let kept = said.lines().find(|line| line.contains("kept on disk in")).unwrap_or_else(|| panic!("{said}"));
    assert!(kept.contains(data) && kept.contains("\"orders\"") && kept.contains("\"log-*\""), "{kept}");
    let said = said_until_it_serves(&[]).join("\n");
    assert!(!said.contains("kept"), "{said}");
}

/// A relative path of the settings began at the current directory: after an upgrade the maps seemed lost.
#[test]
fn a_start_leaves_no_maps_behind_in_the_current_directory() {
    let folder = tempfile::tempdir().unwrap();
    let (etc, earlier) = (folder.path().join("etc"), folder.path().join("earlier"));
    std::fs::create_dir(&etc).unwrap();
    std::fs::create_dir(&earlier).unwrap();
    let settings = etc.join("filbert.toml");
    std::fs::write(&settings, "[grid]\ndata_directory = 'data'\n[map.orders.persistence]\n").unwrap();
    let member = |more: &[&str]| {
        let mut member = command(&START);
        member.args(more).arg("--config").arg(&settings).current_dir(&earlier);
        member
    };
    let (mut child, _, said) = service::start(member(&["--data-dir", "data"]));
    let put = command(&["map", "--address", &said.hazelcast, "put", "orders", "1", "nuts"]).output().unwrap();
    assert!(put.status.success(), "{}", text(&put.stderr));
    terminate(child.id());
    assert!(child.wait().unwrap().success());
    let refused = member(&[]).output().unwrap();
    let why = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{why}");
    assert!(why.contains("/etc/data") && why.contains("/earlier/data") && why.contains("absolute"), "{why}");
    assert!(!etc.join("data").exists(), "nothing was made");
    let (mut child, _, _said) = service::start(member(&["--data-dir", "data"]));
    terminate(child.id());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_data_directory_that_cannot_be_written_is_refused() {
    let refused = command(&["start", "--port", "0", "--data-dir", "/dev/null/data"]).output().unwrap();
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("/dev/null/data") && said.contains("cannot be written"), "{said}");
}

/// `filbert start | head -1`, and a supervisor that closes its end: what the member says goes nowhere, what it owes does not.
#[test]
fn a_member_drains_though_nobody_reads_what_it_says() {
    // The reader of its output goes away when its address is known.
    let member = Process::start("");
    let mut client = member.client();
    let waits = client.send(&queue::Take { name: "q".into() });
    assert!(client.call(&Ping {}).is_ok());
    terminate(member.id());
    let error = client.answer::<queue::Take>(waits).unwrap_err();
    assert_eq!(error.errors[0].code, ErrorCode::RetryableHazelcast as i32);
}

/// A client that takes nothing holds a drain up, but not one who asks twice.
#[test]
fn a_second_signal_ends_a_member_at_once() {
    let (mut child, address) = start(&[]);
    let address: SocketAddr = address.parse().unwrap();
    let mut deaf = Client::connect(address);
    assert_eq!(deaf.log_in(&authentication()).status, 0);
    let set = map::Set { name: "m".into(), key: int(1), value: blob(8 << 20), thread_id: 1, ttl_ms: -1 };
    deaf.call(&set).unwrap();
    deaf.send(&map::Get { name: "m".into(), key: int(1), thread_id: 1 });
    // Its answer has begun to come, and will not end.
    deaf.stream.peek(&mut [0]).unwrap();
    terminate(child.id());
    let begin = Instant::now();
    while TcpStream::connect(address).is_ok() {
        assert!(begin.elapsed() < DEADLINE, "it does not drain");
        // sleeps because connections without end would use up the ports: then the next one fails though somebody listens
        std::thread::sleep(Duration::from_millis(5));
    }
    terminate(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

fn start(words: &[&str]) -> (Child, String) {
    let words = [&["start", "--port", "0", "--postgres-port", "0", "--http-port", "0"], words].concat();
    let mut child = command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().rsplit(' ').next().unwrap().to_owned())
}

#[test]
fn what_goes_wrong_is_logged_unless_it_is_switched_off() {
    for (words, is_logged) in [(&[][..], true), (&["--log", "off"], false)] {
        let (mut child, address) = start(words);
        let mut stranger = Client::connect(address.parse().unwrap());
        let password = Some("sesame".into());
        let login = Authentication { cluster_name: "other".into(), password, ..authentication() };
        assert_ne!(stranger.log_in(&login).status, 0);
        // The begin of a TLS handshake, at a door without TLS.
        let mut wants_tls = TcpStream::connect(&address).unwrap();
        wants_tls.write_all(&[0x16, 3, 1, 2, 0, 1]).unwrap();
        wants_tls.read_to_end(&mut Vec::new()).ok();
        terminate(child.id());
        let mut said = Vec::new();
        child.stderr.take().unwrap().read_to_end(&mut said).unwrap();
        assert!(child.wait().unwrap().success());
        let said = text(&said);
        assert_eq!(said.contains("a login failed"), is_logged, "{said}");
        // Both names, so that one sees the difference; no secret.
        let names = said.contains("asked_for=\"other\"") && said.contains("cluster=\"dev\"");
        assert_eq!(names, is_logged, "{said}");
        assert!(!said.contains("sesame"), "{said}");
        assert_eq!(said.contains("it begins like TLS"), is_logged, "{said}");
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let (mut child, address) = start(&[]);
    let port = address.rsplit(':').next().unwrap();
    let second = command(&["start", "--port", port]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = text(&second.stderr);
    assert!(said.contains(&address) && said.contains("another program listens there"), "{said}");
    terminate(child.id());
    child.wait().unwrap();
}

/// A page of a member, and its status line.
fn page(address: &str, path: &str) -> String {
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(format!("GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_member_is_watched_over_http_and_logs_json() {
    let words = [
        "start",
        "--port",
        "0",
        "--postgres-port",
        "0",
        "--http-port",
        "0",
        "--log-format",
        "json",
        "--log",
        "info",
    ];
    let mut child = command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut address = || lines.next().unwrap().rsplit(' ').next().unwrap().to_owned();
    let (hazelcast, _, http) = (address(), address(), address());
    let put =
        command(&["map", "--address", &hazelcast, "put", "cit\"ies", "Oslo", "1", "--value-as", "long"])
            .output();
    assert!(put.unwrap().status.success());
    let metrics = page(&http, "/metrics");
    assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"), "{metrics}");
    for line in [
        "filbert_map_entries{map=\"cit\\\"ies\"} 1\n",
        "filbert_map_puts_total{map=\"cit\\\"ies\"} 1\n",
        "# TYPE filbert_stage_executed_total counter\n",
        "filbert_door_accepted_total{door=\"hazelcast\"} 1\n",
        "filbert_structures{kind=\"map\"} 1\n",
        "filbert_sql_queries_running 0\n",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    assert!(page(&http, "/health/live").ends_with("live\n"));
    assert!(page(&http, "/health/ready").ends_with("ready\n"));
    let top = command(&["top", "--once", "--address", &http]).output().unwrap();
    let shown = text(&top.stdout);
    assert!(top.status.success() && shown.contains("cit\"ies") && shown.contains("hazelcast"), "{shown}");
    let top = command(&["top", "--json", "--address", &http]).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&top.stdout).unwrap();
    assert_eq!(status["maps"][0]["entries"], 1);
    // Not by a statement, which would be one of them, and would wait where SQL is stuck.
    assert_eq!(status["queries"], serde_json::Value::Array(Vec::new()), "{status}");
    let mut stranger = Client::connect(hazelcast.parse().unwrap());
    let login = Authentication { cluster_name: "other".into(), ..authentication() };
    assert_ne!(stranger.log_in(&login).status, 0);
    terminate(child.id());
    let mut said = Vec::new();
    child.stderr.take().unwrap().read_to_end(&mut said).unwrap();
    assert!(child.wait().unwrap().success());
    let said = text(&said);
    let line = said.lines().find(|line| line.contains("a login failed")).unwrap_or_else(|| panic!("{said}"));
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!((&line["level"], &line["asked_for"]), (&"WARN".into(), &"other".into()));
    let gone = command(&["top", "--once", "--address", &http]).output().unwrap();
    assert!(text(&gone.stderr).contains("http.address"), "{}", text(&gone.stderr));
}

/// A member ended with a panic from within, and advice for those who debug it.
#[test]
fn a_start_that_lacks_threads_says_so_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("filbert.toml");
    // The stacks of so many take more than the address space that is allowed.
    std::fs::write(&settings, "[partition]\nthreads = 1024\n").unwrap();
    let script = format!(
        "ulimit -v 1000000; exec '{}' start --port 0 --postgres-port 0 --http-port 0 --config '{}'",
        env!("CARGO_BIN_EXE_filbert"),
        settings.display()
    );
    let refused = Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = text(&refused.stderr);
    assert_eq!((refused.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.starts_with("filbert: the system allows ") && said.contains("ulimit"), "{said}");
}
