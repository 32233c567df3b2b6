//! `filbert grid`: commands over one connection, from a pipe and from a terminal.

use crate::line::DEADLINE;
use crate::process::Process;
use crate::shell::Shell;
use crate::{command, filbert, signal, text};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};
use std::time::Instant;

/// Runs lines over one connection.
pub(crate) fn piped(address: &str, lines: &str) -> Output {
    let mut child = command(&["grid", "--address", address])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = lines.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // It reads no further when a line says quit.
    let _ = writer.join().unwrap();
    output
}

#[test]
fn lines_of_a_pipe_are_commands() {
    let member = Process::start("");
    let address = member.address().to_string();
    let lines = "# cities\n\nmap put cities Oslo 709000 --value-as long\nfilbert map get cities Oslo\n\
                 map put people 1 '{\"name\": \"Ann Lee\"}' --value-as json\nmap get people 1\n\
                 queue offer jobs \"send mail\"\nqueue poll jobs --json\n";
    let ran = piped(&address, lines);
    assert_eq!(
        (ran.status.code(), &*text(&ran.stdout), &*text(&ran.stderr)),
        (
            Some(0),
            "(none)\n709000\n(none)\n{\"name\":\"Ann Lee\"}\ntrue\n{\"type\":\"string\",\"value\":\"send mail\"}",
            ""
        )
    );
}

/// The lines behind a failure run too, and the status tells of it.
#[test]
fn a_line_that_fails_is_named_and_sets_the_status() {
    let member = Process::start("");
    let address = member.address().to_string();
    let lines = "map put m a 1\nmap get m b\nmop\nmap get m 'a\nmap clear m\nmap size m\nquit\nmap size m\n";
    let ran = piped(&address, lines);
    assert_eq!((ran.status.code(), &*text(&ran.stdout)), (Some(1), "(none)\n1"));
    let said = text(&ran.stderr);
    for part in [
        "filbert: line 2: map \"m\" has no key \"b\"",
        "filbert: line 3: unrecognized subcommand 'mop'",
        "filbert: line 4: a quote ' is not closed",
        "filbert: line 5: nobody can be asked",
        "filbert: 4 of 7 commands failed",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let alone = filbert(&["grid", "--address", "127.0.0.1:1"]);
    assert_eq!(alone.status.code(), Some(1));
}

#[test]
fn a_prompt_goes_on_after_errors_and_completes_names() {
    let member = Process::start("");
    let folder = tempfile::tempdir().unwrap();
    let open = |folder| Shell::open(folder, 100, &format!("grid --address {}", member.address()), "grid> ");
    let mut prompt = open(folder.path());
    assert!(prompt.ask("help").contains("queue"));
    assert!(prompt.ask("map put cities Oslo 709000").contains("(none)"));
    let said = prompt.ask("map get citis Oslo");
    assert!(said.contains("error: there is no map \"citis\"; is it \"cities\"?"), "{said}");
    assert!(prompt.ask("map git").contains("error: unrecognized subcommand 'git'"));
    // Tab completes the verb, and the name of a structure.
    let said = prompt.ask("map ge\t ci\t Oslo");
    assert!(said.contains("map get cities Oslo") && said.contains("\n709000"), "{said}");
    prompt.end("quit");
    let history = folder.path().join("filbert/grid_history");
    assert_eq!(history.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(history).unwrap().contains("map put cities Oslo 709000"));
    let mut prompt = open(folder.path());
    prompt.press(b"\x04");
    prompt.wait();
}

#[test]
fn ctrl_c_ends_what_runs_and_not_the_prompt() {
    let member = Process::start("");
    let folder = tempfile::tempdir().unwrap();
    let address = member.address().to_string();
    let mut prompt = Shell::open(folder.path(), 100, &format!("grid --address {address}"), "grid> ");
    prompt.ask("queue offer jobs 1");
    prompt.ask("queue poll jobs");
    prompt.type_in("topic watch news");
    prompt.until("Ctrl-C ends it");
    assert!(filbert(&["topic", "publish", "news", "it works", "--address", &address]).status.success());
    prompt.until("it works");
    prompt.press(b"\x03");
    prompt.until("grid> ");
    // What waits in the member is given up there, too: later items are for the next who asks.
    prompt.type_in("queue poll jobs --wait 3600");
    prompt.until("--wait 3600\n");
    prompt.press(b"\x03");
    prompt.until("cancelled");
    prompt.until("grid> ");
    let deadline = Instant::now() + DEADLINE;
    loop {
        assert!(prompt.ask("queue offer jobs 2").contains("true"));
        // The member may not have noticed yet that the connection is gone.
        if prompt.ask("queue poll jobs").contains("\n2") {
            break;
        }
        assert!(Instant::now() < deadline, "the poll is never given up");
    }
    prompt.end("exit");
}

#[test]
fn a_prompt_asks_before_it_clears() {
    let member = Process::start("");
    let folder = tempfile::tempdir().unwrap();
    let mut prompt =
        Shell::open(folder.path(), 100, &format!("grid --address {}", member.address()), "grid> ");
    prompt.ask("map put m a 1");
    prompt.ask("map put m b 2");
    for (answer, said, left) in
        [("n", "nothing was cleared", 2), ("", "nothing was cleared", 2), ("y", "cleared m", 0)]
    {
        prompt.type_in("map clear m");
        prompt.until("clear map \"m\" with 2 entries? [y/N] ");
        assert!(prompt.ask(answer).contains(said));
        assert!(prompt.ask("map size m").contains(&format!("\n{left}")));
    }
    prompt.end("quit");
}

/// The lines come from a terminal, and what they print goes to a file.
#[test]
fn a_terminal_is_asked_even_if_results_go_elsewhere() {
    let member = Process::start("");
    let folder = tempfile::tempdir().unwrap();
    let words = format!("grid --address {} | cat", member.address());
    let mut prompt = Shell::begin(folder.path(), 100, &words, "[y/N] ");
    prompt.type_in("map put m a 1");
    prompt.until("(none)");
    prompt.type_in("map clear m");
    prompt.until("clear map \"m\" with 1 entry? [y/N] ");
    prompt.type_in("y");
    prompt.until("cleared m");
    prompt.end("quit");
}

/// A pipe gets all of them: the first thousand make the columns, and the others follow as they come.
#[test]
fn a_pipe_gets_every_entry_of_a_large_map() {
    let member = Process::start("");
    let address = member.address().to_string();
    let lines: String = (0..1_100).map(|key| format!("map put m k{key} v{key}\n")).collect();
    assert!(piped(&address, &lines).status.success());
    let printed = text(&filbert(&["map", "entries", "m", "--address", &address]).stdout);
    let mut rows = printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    assert_eq!(rows.next().as_deref(), Some("key type value type"));
    let mut rows: Vec<String> = rows.collect();
    let mut expected: Vec<String> = (0..1_100).map(|key| format!("k{key} string v{key} string")).collect();
    rows.sort_unstable();
    expected.sort_unstable();
    assert_eq!(rows, expected);
}

/// A terminal gets the first entries of a large map.
#[test]
fn a_terminal_shows_so_many_entries() {
    let member = Process::start("");
    let address = member.address().to_string();
    let lines: String = (0..50).map(|key| format!("map put m k{key} v{key}\n")).collect();
    assert!(piped(&address, &lines).status.success());
    let folder = tempfile::tempdir().unwrap();
    let mut prompt = Shell::open(folder.path(), 100, &format!("grid --address {address}"), "grid> ");
    let said = prompt.ask("map entries m");
    let left_out = "(40 of 50 entries shown, in no order; --limit all shows the rest)";
    assert!(said.contains(left_out) && said.matches("string  v").count() == 40, "{said}");
    let said = prompt.ask("map entries m --limit all");
    assert!(!said.contains("shown") && said.matches("string  v").count() == 50, "{said}");
    prompt.end("quit");
}

/// A member that ended and came again is found by the next command.
#[test]
fn a_prompt_outlives_its_member() {
    // An address of its own where the machine has more than one: nobody else is given its port while no member listens there.
    let host = match TcpListener::bind("127.0.0.77:0") {
        Ok(_) => "127.0.0.77",
        Err(_) => "127.0.0.1",
    };
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("filbert.toml");
    std::fs::write(&settings, format!("[hazelcast]\naddress = \"{host}:0\"\n")).unwrap();
    let start = |port: &str| {
        let mut start = command(&["start", "--log", "off", "--port", port]);
        start.args(["--postgres-port", "0", "--http-port", "0", "--config"]).arg(&settings);
        crate::service::start(start)
    };
    let (mut child, _, said) = start("0");
    let mut prompt = Shell::open(folder.path(), 100, &format!("grid --address {}", said.hazelcast), "grid> ");
    assert!(prompt.ask("map put m a 1").contains("(none)"));
    signal(child.id(), "KILL");
    child.wait().unwrap();
    assert!(prompt.ask("map size m").contains("error: "));
    let port = said.hazelcast.rsplit_once(':').unwrap().1;
    let (mut child, ..) = start(port);
    assert!(prompt.ask("map put m a 1").contains("(none)"));
    signal(child.id(), "TERM");
    child.wait().unwrap();
    prompt.end("quit");
}
