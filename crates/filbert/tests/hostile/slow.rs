//! Clients that take their time before they say who they are: closed by the deadline, and nobody else notices.

use crate::bystander::Bystander;
use crate::line::{Client, authentication};
use crate::process::Process;
use bytes::BytesMut;
use filbert_wire::message::Request;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

/// How long the member waits for a login in these tests, in milliseconds: long enough for a bystander's on a busy machine.
const LOGIN_MS: u64 = 10_000;

/// How long who is slow rests between two bytes.
const REST: Duration = Duration::from_millis(250);

/// How long the tests wait for what must come.
const DEADLINE: Duration = Duration::from_secs(180);

fn member() -> Process {
    Process::start(&format!(
        "connections = {{ login_timeout_ms = {LOGIN_MS}, connections_per_address = 2_000 }}"
    ))
}

/// True when the member has closed it.
fn is_closed(client: &mut Client) -> bool {
    let mut sink = [0; 4 << 10];
    loop {
        match client.stream.read(&mut sink) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
}

/// Waits until all are closed; each says its next byte whenever it is looked at.
fn until_closed(mut clients: Vec<(Client, Vec<u8>)>) {
    let begin = Instant::now();
    clients.iter().for_each(|(client, _)| client.stream.set_nonblocking(true).unwrap());
    while !clients.is_empty() {
        clients.retain_mut(|(client, words)| {
            if !words.is_empty() {
                let word = words.remove(0);
                let _ = client.stream.write(&[word]);
            }
            !is_closed(client)
        });
        assert!(begin.elapsed() < DEADLINE, "{} connections are open", clients.len());
        // sleeps because a byte now and then is what this is about.
        std::thread::sleep(REST);
    }
}

#[test]
fn a_thousand_that_never_log_in_are_closed() {
    let member = member();
    let bystander = Bystander::start(&member);
    let (before, served) = (member.resident(), bystander.served());
    let silent = (0..1_000).map(|_| (Client::silent(member.address()), Vec::new())).collect();
    let most = member.resident();
    until_closed(silent);
    println!("a thousand silent connections: {} KB", most.saturating_sub(before) >> 10);
    assert!(bystander.end() > served);
    assert!(member.is_alive() && most < before + (32 << 20), "from {before} to {most}");
}

#[test]
fn one_byte_at_a_time_is_too_slow() {
    let member = member();
    let bystander = Bystander::start(&member);
    let mut login = BytesMut::from(&b"CP2"[..]);
    authentication().encode(1, -1, &mut login);
    // At that pace the login takes longer than the member waits.
    assert!(login.len() as u64 * REST.as_millis() as u64 > 2 * LOGIN_MS);
    let slow = (0..50).map(|_| (Client::silent(member.address()), login.to_vec())).collect();
    until_closed(slow);
    bystander.end();
}

#[test]
fn half_a_login_is_none() {
    let member = member();
    let bystander = Bystander::start(&member);
    let mut login = BytesMut::new();
    authentication().encode(1, -1, &mut login);
    let half = (0..50).map(|number| {
        let mut client = Client::connect(member.address());
        client.stream.write_all(&login[..1 + number * (login.len() - 2) / 50]).unwrap();
        (client, Vec::new())
    });
    until_closed(half.collect());
    // Wrong ones use up the same time, however many are allowed.
    let mut wrong = Client::connect(member.address());
    let refused =
        filbert_wire::messages::client::Authentication { cluster_name: "other".into(), ..authentication() };
    assert_ne!(wrong.log_in(&refused).status, 0);
    until_closed(vec![(wrong, Vec::new())]);
    bystander.end();
}
