//! `filbert top` on a terminal, for a pipe, and with a login.

use crate::line::{Client, DEADLINE, authentication, blob, int};
use crate::service::{START, start};
use crate::{command, signal, text};
use filbert_wire::messages::map;
use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// The sequences that enter and leave a screen of its own.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// A terminal, and what is shown on it.
struct Terminal {
    outside: File,
    inside: OwnedFd,
    shown: Receiver<Vec<u8>>,
    seen: Vec<u8>,
}

impl Terminal {
    fn open(columns: u16, lines: u16) -> Self {
        let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let ends = openpty(&size, None).unwrap();
        let outside = File::from(ends.master);
        let (mut from, (show, shown)) = (outside.try_clone().unwrap(), channel());
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                if show.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { outside, inside: ends.slave, shown, seen: Vec::new() }
    }

    fn run(&self, mut command: Command) -> Child {
        let end = || Stdio::from(self.inside.try_clone().unwrap());
        command.env("TERM", "xterm").stdin(end()).stdout(end()).stderr(end()).spawn().unwrap()
    }

    fn press(&mut self, keys: &str) {
        self.outside.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until a text was shown since the last call, and forgets all up to it.
    fn until(&mut self, text: &str) {
        loop {
            let found = self.seen.windows(text.len()).position(|part| part == text.as_bytes());
            if let Some(at) = found {
                self.seen.drain(..at + text.len());
                return;
            }
            let seen = || String::from_utf8_lossy(&self.seen).into_owned();
            let more = self.shown.recv_timeout(DEADLINE);
            let more = more.unwrap_or_else(|_| panic!("{text:?} is never shown after {:?}", seen()));
            self.seen.extend(more);
        }
    }

    /// Returns whether lines are edited, and keys seen and signals: the state that a shell needs.
    fn is_a_shells(&self) -> bool {
        let needed = LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG;
        tcgetattr(&self.inside).unwrap().local_flags.contains(needed)
    }
}

/// A member that ends with this.
struct Member(Child);

impl Member {
    /// Ends it in order.
    fn end(mut self) {
        signal(self.0.id(), "TERM");
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a member with a map; gives its door for metrics, too.
fn member() -> (Member, String) {
    let (child, http, said) = start(command(&START));
    let member = Member(child);
    let mut client = Client::connect(said.hazelcast.parse().unwrap());
    assert_eq!(client.log_in(&authentication()).status, 0);
    for number in 0..10 {
        let set = map::Set {
            name: "cities".into(),
            key: int(number),
            value: blob(720_000),
            thread_id: 1,
            ttl_ms: -1,
        };
        client.call(&set).unwrap();
    }
    (member, http)
}

/// `q` did not end it.
#[test]
fn keys_work_and_q_gives_the_terminal_back() {
    let (member, http) = member();
    let mut terminal = Terminal::open(80, 24);
    let mut top = terminal.run(command(&["top", "--address", &http]));
    terminal.until(ENTER);
    terminal.until("cities");
    terminal.until("7.2 MB");
    terminal.until("s sorts stages");
    assert!(!terminal.is_a_shells(), "keys come at once");
    terminal.press("\t");
    terminal.until("s sorts maps");
    terminal.press("s");
    terminal.until("gets▼");
    terminal.press("?");
    terminal.until("PgUp, PgDn");
    terminal.press("? ");
    terminal.until("PAUSED");
    terminal.press("q");
    assert!(top.wait().unwrap().success());
    terminal.until(LEAVE);
    assert!(terminal.is_a_shells());
    member.end();
}

#[test]
fn a_signal_and_ctrl_c_give_the_terminal_back() {
    let (member, http) = member();
    for by_signal in [true, false] {
        let mut terminal = Terminal::open(120, 40);
        let mut top = terminal.run(command(&["top", "--address", &http]));
        terminal.until("q quits");
        match by_signal {
            true => signal(top.id(), "TERM"),
            false => terminal.press("\x03"),
        }
        assert!(top.wait().unwrap().success());
        terminal.until(LEAVE);
        assert!(terminal.is_a_shells());
    }
    member.end();
}

#[test]
fn a_member_that_goes_away_ends_it_and_the_terminal_is_given_back() {
    let (member, http) = member();
    let mut terminal = Terminal::open(80, 24);
    let mut top = terminal.run(command(&["top", "--address", &http]));
    terminal.until("q quits");
    member.end();
    terminal.until("NOT NOW (1 of 5)");
    assert_eq!(top.wait().unwrap().code(), Some(1));
    terminal.until(LEAVE);
    terminal.until("filbert: cannot connect to");
    assert!(terminal.is_a_shells());
}

/// The message had two questions in a row.
#[test]
fn a_member_that_is_not_there_is_asked_for_once() {
    let gone = command(&["top", "--once", "--address", "127.0.0.1:1"]).output().unwrap();
    let said = text(&gone.stderr);
    assert!(!gone.status.success() && said.contains("http.address"), "{said}");
    assert_eq!(said.matches('?').count(), 1, "{said}");
}

/// A pipe gets one page without escapes.
#[test]
fn a_pipe_gets_one_page_of_plain_text() {
    let (member, http) = member();
    let once = command(&["top", "--once", "--address", &http]).output().unwrap();
    let shown = text(&once.stdout);
    assert!(once.status.success() && shown.contains("cities") && shown.contains("7.2 MB"), "{shown}");
    assert!(!shown.contains('\x1b') && !shown.contains("q quits"), "{shown}");
    let piped = command(&["top", "--address", &http]).stdin(Stdio::null()).output().unwrap();
    assert!(piped.status.success() && text(&piped.stdout).contains("cities"));
    member.end();
}

/// The connections and doors of an idle member were counted as queued: they wait for bytes, and for no thread.
#[test]
fn an_idle_member_has_nothing_queued_on_io() {
    let (member, http) = member();
    let begin = Instant::now();
    loop {
        let json = command(&["top", "--json", "--address", &http]).output().unwrap();
        let status: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
        let io = status["stages"].as_array().unwrap().iter().find(|stage| stage["stage"] == "io").unwrap();
        assert!(io["suspended"].as_u64().unwrap() >= 3, "each door waits for connections: {io}");
        if io["depth"] == 0 {
            break;
        }
        assert!(begin.elapsed() < DEADLINE, "{io}");
    }
    member.end();
}

#[test]
fn a_name_with_its_password_opens_the_door() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("filbert.toml");
    let users = "[[http.users]]\nname = \"ann\"\npassword = \"secret\"\nmay = [\"*\"]\n\
                 [[http.users]]\nname = \"bob\"\npassword = \"secret\"\nmay = []\n";
    std::fs::write(&settings, users).unwrap();
    let mut words = START.to_vec();
    words.extend(["--config", settings.to_str().unwrap()]);
    let (child, http, _said) = start(command(&words));
    let member = Member(child);
    let top = |user: &[&str], password: Option<&str>| {
        let mut top = command(&[&["top", "--once", "--address", &http], user].concat());
        if let Some(password) = password {
            top.env("FILBERT_PASSWORD", password);
        }
        let done = top.env_remove("FILBERT_TOKEN").output().unwrap();
        (done.status.success(), text(&done.stdout) + &text(&done.stderr))
    };
    let (is_well, shown) = top(&["--user", "ann"], Some("secret"));
    assert!(is_well && shown.contains("partition"), "{shown}");
    for (user, password, says) in [
        (&["--user", "ann"][..], Some("wrong"), "does not know this user"),
        (&["--user", "bob"], Some("secret"), "all rights"),
        (&["--user", "ann"], None, "FILBERT_PASSWORD"),
        (&[], None, "--user"),
    ] {
        let (is_well, said) = top(user, password);
        assert!(!is_well && said.contains(says), "{user:?}: {said}");
    }
    member.end();
}
