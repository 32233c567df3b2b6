//! The test member as a process: it says where it listens, and somebody is there.
#![allow(clippy::disallowed_methods, reason = "tests make processes of their own")]

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};

#[test]
fn it_says_where_hazelcast_clients_connect() {
    let mut member = Command::new(env!("CARGO_BIN_EXE_filbert-test-member"))
        .args(["start", "--port", "0", "--cluster-name", "starts"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let read = BufReader::new(member.stdout.take().unwrap()).read_line(&mut line);
    let address = line.trim().rsplit(' ').next().map(str::to_owned);
    let reached = address.map(TcpStream::connect);
    member.kill().unwrap();
    member.wait().unwrap();
    assert!(read.is_ok() && line.contains("Hazelcast clients on"), "{line:?}");
    assert!(matches!(reached, Some(Ok(_))), "{line:?}");
}
