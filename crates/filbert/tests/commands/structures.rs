//! `filbert queue`, `topic`, `list` and `set`.

use crate::line::DEADLINE;
use crate::process::Process;
use crate::{command, filbert, text};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// A command that goes on until this is dropped.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    /// Starts a watch, and waits until it is registered.
    fn start(words: &[&str]) -> Self {
        let mut child = command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut said).unwrap();
        assert!(said.contains("Ctrl-C ends it"), "{words:?}: {said}");
        let lines = lines(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn next(&self) -> String {
        self.lines.recv_timeout(DEADLINE).expect("an event")
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It has ended, unless it has no limit or the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(out: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

#[test]
fn a_queue_gives_its_items_in_order() {
    let member = Process::start("");
    let address = member.address().to_string();
    let queue = |words: &[&str]| filbert(&[&["queue"], words, &["--address", &address]].concat());
    let said = |words: &[&str]| {
        let output = queue(words);
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    assert_eq!(said(&["offer", "jobs", "send mail"]), "true");
    assert_eq!(said(&["put", "jobs", "-7", "--value-as", "int", "--json"]), "{\"offered\":true}");
    assert_eq!(said(&["offer", "jobs", "last"]), "true");
    assert_eq!(said(&["list"]), "name  items\njobs      3");
    assert_eq!(said(&["size", "jobs", "--json"]), "{\"size\":3}");
    assert_eq!(said(&["peek", "jobs"]), "send mail");
    assert_eq!(said(&["items", "jobs"]), "send mail\n-7\nlast");
    let some = queue(&["items", "jobs", "--limit", "2", "--json"]);
    assert_eq!(
        text(&some.stdout),
        "{\"type\":\"string\",\"value\":\"send mail\"}\n{\"type\":\"int\",\"value\":-7}"
    );
    assert_eq!(text(&some.stderr), "(2 of 3 items shown; --limit all shows the rest)");
    assert_eq!(said(&["poll", "jobs"]), "send mail");
    assert_eq!(said(&["poll", "jobs", "--wait", "60", "--json"]), "{\"type\":\"int\",\"value\":-7}");
    assert!(text(&queue(&["clear", "jobs"]).stderr).contains("clear queue \"jobs\" with 1 item"));
    assert_eq!(said(&["clear", "jobs", "--yes"]), "cleared jobs");
    for verb in ["poll", "peek"] {
        for (form, printed) in [(&[][..], ""), (&["--json"], "{\"type\":null,\"value\":null}")] {
            let empty = queue(&[&[verb, "jobs"], form].concat());
            assert_eq!((empty.status.code(), &*text(&empty.stdout)), (Some(1), printed));
            assert_eq!(text(&empty.stderr), "filbert: queue \"jobs\" is empty");
        }
    }
}

/// The request is held by the member, and answered when there is something.
#[test]
fn a_poll_waits_for_an_item() {
    let member = Process::start("");
    let address = member.address().to_string();
    let queue = |words: &[&str]| filbert(&[&["queue"], words, &["--address", &address]].concat());
    assert!(queue(&["offer", "jobs", "first"]).status.success());
    assert!(queue(&["poll", "jobs"]).status.success());
    let poll = ["queue", "poll", "jobs", "--wait", "600", "--address", &address];
    let waiting = command(&poll).stdout(Stdio::piped()).spawn().unwrap();
    // Whether it waits already or comes later: it gets the item.
    assert!(queue(&["offer", "jobs", "second"]).status.success());
    let output = waiting.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*text(&output.stdout)), (Some(0), "second"));
}

#[test]
fn a_full_queue_refuses_an_item() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("filbert.toml");
    std::fs::write(&settings, "[queue.small]\nmax_size = 1\n").unwrap();
    let mut start = command(&crate::service::START);
    start.arg("--config").arg(&settings);
    let (mut child, _, said) = crate::service::start(start);
    let offer = |value| filbert(&["queue", "offer", "small", value, "--address", &said.hazelcast]);
    assert!(offer("one").status.success());
    let full = offer("two");
    assert_eq!(full.status.code(), Some(1));
    assert_eq!(text(&full.stderr), "filbert: queue \"small\" is full; nothing was put in");
    crate::signal(child.id(), "TERM");
    child.wait().unwrap();
}

#[test]
fn a_list_has_its_items_by_place() {
    let member = Process::start("");
    let address = member.address().to_string();
    let list = |words: &[&str]| filbert(&[&["list"], words, &["--address", &address]].concat());
    let said = |words: &[&str]| {
        let output = list(words);
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    for item in ["a", "b", "c", "b"] {
        assert_eq!(said(&["add", "todo", item]), "true");
    }
    assert_eq!(said(&["list", "--json"]), "{\"items\":4,\"name\":\"todo\"}");
    assert_eq!(said(&["get", "todo", "2"]), "c");
    assert_eq!(said(&["set", "todo", "2", "C"]), "c");
    assert_eq!(said(&["contains", "todo", "C", "--json"]), "{\"contains\":true}");
    assert_eq!(said(&["remove", "todo", "b"]), "true");
    assert_eq!(said(&["remove", "todo", "nuts"]), "false");
    assert_eq!(said(&["items", "todo"]), "a\nC\nb");
    assert_eq!(said(&["remove-at", "todo", "0"]), "a");
    assert_eq!(said(&["size", "todo"]), "2");
    let wrong = list(&["get", "todo", "2"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(text(&wrong.stderr).contains('2'), "{}", text(&wrong.stderr));
    assert_eq!(list(&["clear", "todo"]).status.code(), Some(1));
    assert_eq!(said(&["clear", "todo", "--yes", "--json"]), "{\"cleared\":\"todo\"}");
    assert_eq!(said(&["size", "todo"]), "0");
}

#[test]
fn a_set_has_an_item_once() {
    let member = Process::start("");
    let address = member.address().to_string();
    let set = |words: &[&str]| filbert(&[&["set"], words, &["--address", &address]].concat());
    let said = |words: &[&str]| {
        let output = set(words);
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    assert_eq!(said(&["add", "tags", "red"]), "true");
    assert_eq!(said(&["add", "tags", "red", "--json"]), "{\"added\":false}");
    assert_eq!(said(&["add", "tags", "blue"]), "true");
    let items = said(&["items", "tags"]);
    let mut items: Vec<&str> = items.lines().collect();
    items.sort_unstable();
    assert_eq!(items, ["blue", "red"]);
    assert_eq!(said(&["contains", "tags", "red"]), "true");
    assert_eq!(said(&["remove", "tags", "red"]), "true");
    assert_eq!(said(&["contains", "tags", "red"]), "false");
    assert_eq!(said(&["size", "tags"]), "1");
    assert_eq!(said(&["list"]), "name  items\ntags      1");
    assert_eq!(set(&["clear", "tags"]).status.code(), Some(1));
    assert_eq!(said(&["clear", "tags", "--yes"]), "cleared tags");
    assert_eq!(said(&["size", "tags"]), "0");
}

#[test]
fn a_structure_whose_name_is_not_spelled_right_is_not_made() {
    let member = Process::start("");
    let address = member.address().to_string();
    let run = |words: &[&str]| filbert(&[words, &["--address", &address]].concat());
    for words in
        [["queue", "offer", "almonds", "1"], ["list", "add", "almonds", "1"], ["set", "add", "almonds", "1"]]
    {
        assert!(run(&words).status.success());
    }
    for words in [
        &["queue", "poll", "almods"][..],
        &["queue", "peek", "almods"],
        &["queue", "items", "almods"],
        &["queue", "size", "almods"],
        &["queue", "clear", "almods", "--yes"],
        &["list", "get", "almods", "0"],
        &["list", "set", "almods", "0", "x"],
        &["list", "items", "almods"],
        &["list", "contains", "almods", "x"],
        &["list", "remove", "almods", "x"],
        &["list", "remove-at", "almods", "0"],
        &["list", "size", "almods"],
        &["list", "clear", "almods", "--yes"],
        &["set", "contains", "almods", "x"],
        &["set", "remove", "almods", "x"],
        &["set", "items", "almods"],
        &["set", "size", "almods"],
        &["set", "clear", "almods", "--yes"],
    ] {
        let wrong = run(words);
        assert_eq!(wrong.status.code(), Some(1), "{words:?}");
        let said = format!("filbert: there is no {} \"almods\"; is it \"almonds\"?", words[0]);
        assert_eq!(text(&wrong.stderr), said, "{words:?}");
    }
    for kind in ["queue", "list", "set"] {
        assert_eq!(text(&run(&[kind, "list"]).stdout), "name     items\nalmonds      1");
    }
}

#[test]
fn a_topic_is_watched() {
    let member = Process::start("");
    let address = member.address().to_string();
    let topic = |words: &[&str]| filbert(&[&["topic"], words, &["--address", &address]].concat());
    let endless = Watch::start(&["topic", "watch", "news", "--address", &address]);
    let watch = ["topic", "subscribe", "news", "--limit", "2", "--json", "--address", &address];
    let mut two = Watch::start(&watch);
    for message in ["it works", "two\nlines", "more"] {
        assert_eq!(text(&topic(&["publish", "news", message]).stdout), "published to news");
    }
    for line in ["it works", "two\\nlines", "more"] {
        assert_eq!(endless.next(), line);
    }
    for message in ["it works", "two\nlines"] {
        let said: serde_json::Value = serde_json::from_str(&two.next()).unwrap();
        assert_eq!((&said["message"], &said["type"]), (&message.into(), &"string".into()));
        assert!(said["published_ms"].as_u64().is_some_and(|at| at > 0), "{said}");
    }
    assert!(two.child.wait().unwrap().success());
    assert_eq!(text(&topic(&["list"]).stdout), "name\nnews");
    assert_eq!(text(&topic(&["list", "--json"]).stdout), "{\"name\":\"news\"}");
}

/// A user who may write chooses names that others look at.
#[test]
fn a_name_does_not_command_the_terminal() {
    let member = Process::start("");
    let address = member.address().to_string();
    let run = |words: &[&str]| filbert(&[words, &["--address", &address]].concat());
    let (name, shown) = ("a\u{1b}[2Jb", "a\\u{1b}[2Jb");
    for words in [&["map", "put", name, "1", "2"][..], &["list", "add", name, "1"]] {
        assert!(run(words).status.success());
    }
    assert_eq!(text(&run(&["topic", "publish", name, "1"]).stdout), format!("published to {shown}"));
    let listed = text(&run(&["map", "list"]).stdout);
    assert!(listed.lines().any(|line| line.starts_with(shown)), "{listed}");
    let listed: serde_json::Value = serde_json::from_slice(&run(&["map", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed["name"], name);
    let wrong = text(&run(&["map", "size", "quite_another"]).stderr);
    assert!(wrong.ends_with(&format!("there are: {shown}")), "{wrong}");
    let wrong = text(&run(&["list", "get", name, "7"]).stderr);
    assert!(wrong.contains('7') && !wrong.contains('\u{1b}'), "{wrong}");
    assert_eq!(text(&run(&["map", "clear", name, "--yes"]).stdout), format!("cleared {shown}"));
}

#[test]
fn a_map_is_watched() {
    let member = Process::start("");
    let address = member.address().to_string();
    let map = |words: &[&str]| filbert(&[&["map"], words, &["--address", &address]].concat());
    assert!(map(&["put", "m", "x", "0"]).status.success());
    let endless = Watch::start(&["map", "watch", "m", "--address", &address]);
    let mut two = Watch::start(&["map", "watch", "m", "--limit", "2", "--json", "--address", &address]);
    for words in [
        &["put", "m", "a", "1"][..],
        &["put", "m", "a", "2"],
        &["remove", "m", "a"],
        &["clear", "m", "--yes"],
    ] {
        assert!(map(words).status.success());
    }
    for line in ["added    a  1", "updated  a  2 (was 1)", "removed  a  2", "cleared (1)"] {
        assert_eq!(endless.next(), line);
    }
    let event = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let added = event(&two.next());
    assert_eq!(
        (&added["event"], &added["key"], &added["value"]),
        (&"added".into(), &"a".into(), &"1".into())
    );
    let updated = event(&two.next());
    assert_eq!((&updated["event"], &updated["old_value"]), (&"updated".into(), &"1".into()));
    assert!(two.child.wait().unwrap().success());
    // An entry that expires.
    assert!(map(&["put", "m", "b", "1", "--ttl-seconds", "1"]).status.success());
    assert_eq!(endless.next(), "added    b  1");
    assert_eq!(endless.next(), "expired  b  1");
}

/// Every command that the page shows prints what the page shows.
#[test]
fn the_page_shows_what_the_commands_print() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/terminal.md");
    let page = std::fs::read_to_string(page).unwrap();
    let member = Process::start("");
    let run = |line: &str| {
        let line = format!("filbert() {{ \"$BINARY\" \"$@\" --address \"$ADDRESS\"; }}; {{ {line}; }} 2>&1");
        let output = std::process::Command::new("sh")
            .args(["-c", &line])
            .env("BINARY", env!("CARGO_BIN_EXE_filbert"))
            .env("ADDRESS", member.address().to_string())
            .env_remove("FILBERT_PASSWORD")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        text(&output.stdout)
    };
    let mut commands = 0;
    for block in page.split("```text\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        for (line, shown) in block.split("$ ").skip(1).filter_map(|shown| shown.split_once('\n')) {
            assert_eq!(run(line), shown.trim_end(), "{line}");
            commands += 1;
        }
    }
    assert!(commands > 15, "{commands}");
}
