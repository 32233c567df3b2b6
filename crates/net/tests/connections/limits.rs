//! Limits and deadlines, and that each is counted.

use crate::line::{Client, Seen, eventually, open};
use filbert_net::{CloseReason, ListenError, Listener, NetSettings, RefuseReason};
use filbert_pool::Stages;
use std::io::{BufRead, Write};

#[test]
fn connections_in_all_and_per_address_are_limited() {
    let per_address = NetSettings { connections_per_address: 3, ..NetSettings::default() };
    let in_all = NetSettings { connections: 3, ..NetSettings::default() };
    for (settings, reason) in
        [(per_address, RefuseReason::TooManyFromAddress), (in_all, RefuseReason::TooMany)]
    {
        let (_stages, door, _seen) = open(settings, Seen::default());
        let mut clients: Vec<_> = (0..3).map(|_| Client::connect(&door)).collect();
        for client in &mut clients {
            client.send("echo in\n");
            assert_eq!(client.line(), "in");
        }
        assert_eq!(Client::connect(&door).rest(), "");
        eventually("it is counted", || door.stats().refused_by(reason) == 1);
        clients.pop();
        eventually("a place is free", || door.connection_count() == 2);
        let mut late = Client::connect(&door);
        late.send("echo in\n");
        assert_eq!(late.line(), "in");
        assert_eq!(door.stats().accepted, 4);
    }
}

/// A thousand connections that said nothing locked out everybody else of their address.
#[test]
fn silent_connections_give_way_to_newcomers() {
    let per_address = NetSettings { connections_per_address: 3, ..NetSettings::default() };
    let in_all = NetSettings { connections: 3, ..NetSettings::default() };
    for settings in [per_address, in_all] {
        let settings = NetSettings { login_timeout_ms: 600_000, ..settings };
        let (_stages, door, _seen) = open(settings, Seen { needs_login: true, ..Seen::default() });
        let mut known = Client::connect(&door);
        known.send("login\necho in\n");
        assert_eq!(known.line(), "in");
        let silent = [2, 3].map(|there| {
            let client = Client::connect(&door);
            // One after the other: each may live on another loop.
            eventually("it is there", || door.connections().len() == there);
            client
        });
        let mut newcomers = Vec::new();
        for mut silent in silent {
            let mut newcomer = Client::connect(&door);
            newcomer.send("login\necho in\n");
            assert_eq!(newcomer.line(), "in");
            assert_eq!(silent.rest(), "", "the oldest gives way");
            newcomers.push(newcomer);
        }
        eventually("they are counted", || door.stats().closed_by(CloseReason::Displaced) == 2);
        eventually("their places are free", || door.connection_count() == 3);
        assert_eq!(Client::connect(&door).rest(), "", "who has logged in gives way to nobody");
        known.send("echo still\n");
        assert_eq!(known.line(), "still");
    }
}

#[test]
fn who_does_not_log_in_is_closed_and_who_does_stays() {
    let settings = NetSettings { login_timeout_ms: 1_000, ..NetSettings::default() };
    let (_stages, door, _seen) = open(settings, Seen { needs_login: true, ..Seen::default() });
    let mut silent = Client::connect(&door);
    // On a busy machine who logs in may be too late: then another one tries.
    let (mut good, mut late) = (None, 0);
    eventually("one logs in in time", || {
        let (mut client, mut line) = (Client::connect(&door), String::new());
        let sent = client.reader.get_mut().write_all(b"login\necho in\n");
        let is_in = sent.is_ok() && client.reader.read_line(&mut line).is_ok() && line == "in\n";
        late += u64::from(!is_in);
        good = is_in.then_some(client);
        is_in
    });
    let mut good = good.unwrap();
    assert_eq!(silent.rest(), "");
    eventually("the silent one is closed", || {
        door.stats().closed_by(CloseReason::LoginTimeout) == 1 + late && door.connection_count() == 1
    });
    good.send("echo still\n");
    assert_eq!(good.line(), "still");
    assert!(door.connections()[0].authenticated);
}

#[test]
fn before_login_little_is_taken() {
    let (_stages, door, seen) = open(NetSettings::default(), Seen { needs_login: true, ..Seen::default() });
    let mut client = Client::connect(&door);
    client.send(&"x".repeat(4_096));
    assert_eq!(client.rest(), "");
    eventually("it is counted", || door.stats().closed_by(CloseReason::TooLarge) == 1);
    assert!(door.stats().bytes_in <= 4_096);
    eventually("it is told why", || *seen.closed.lock().unwrap() == [CloseReason::TooLarge]);
    let mut client = Client::connect(&door);
    client.send("login\n");
    let long = "y".repeat(100_000);
    client.send(&format!("echo {long}\n"));
    assert_eq!(client.line(), long);
}

#[test]
fn no_message_is_longer_than_the_protocol_says() {
    let (_stages, door, _seen) = open(NetSettings::default(), Seen::default());
    let mut client = Client::connect(&door);
    // The other side may close before all is written.
    let _ = std::io::Write::write_all(client.reader.get_mut(), &vec![b'x'; 2 << 20]);
    assert_eq!(client.rest(), "");
    eventually("it is counted", || door.stats().closed_by(CloseReason::TooLarge) == 1);
    assert!(door.stats().bytes_in <= 1 << 20);
}

#[test]
fn silence_asks_the_protocol() {
    let settings = NetSettings { idle_timeout_ms: 50, ..NetSettings::default() };
    let (_stages, door, _seen) = open(settings.clone(), Seen::default());
    assert_eq!(Client::connect(&door).rest(), "");
    eventually("it is counted", || door.stats().closed_by(CloseReason::Idle) == 1);
    let (_stages, door, _seen) = open(settings, Seen { pings: true, ..Seen::default() });
    let mut client = Client::connect(&door);
    assert_eq!([client.line(), client.line()], ["ping", "ping"]);
    client.send("echo here\n");
    while client.line() != "here" {}
}

#[test]
fn an_address_that_cannot_be_had_is_explained() {
    let (stages, door, _seen) = open(NetSettings::default(), Seen::default());
    let listen = |address: &str| {
        let listener = Listener::new(address.parse().unwrap());
        listener.listen(&stages, crate::line::lines(&stages, &Default::default())).unwrap_err().to_string()
    };
    let taken = door.local_addr().to_string();
    let said = listen(&taken);
    assert!(said.contains(&taken) && said.contains("choose another port"), "{said}");
    let said = listen("192.0.2.1:5701");
    assert!(said.contains("no interface of this machine"), "{said}");
}

#[test]
fn bad_settings_open_no_door() {
    let stages = Stages::start().unwrap();
    let settings = NetSettings { connections: 0, ..NetSettings::default() };
    let listener = Listener::new("127.0.0.1:0".parse().unwrap()).settings(settings);
    let error = listener.listen(&stages, crate::line::lines(&stages, &Default::default())).unwrap_err();
    assert!(matches!(error, ListenError::Settings(_)), "{error}");
}
