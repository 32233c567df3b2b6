//! The door for HTTP over real connections: pages, refusals, who may read what, and clients that misbehave.
#![allow(clippy::disallowed_methods, reason = "tests make threads and sockets of their own")]

use filbert_gate::hazelcast::{Rights, User};
use filbert_gate::http::{Door, HttpSettings, OpenDoor, Page, Pages};
use filbert_pool::Stages;
use futures::future::BoxFuture;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

struct Few;

impl Pages for Few {
    fn page(&self, path: &str) -> Option<BoxFuture<'static, Page>> {
        Some(match path {
            "/well" => Box::pin(async { Page::text("well\n") }),
            "/ill" => Box::pin(async { Page::text("ill\n").unwell() }),
            "/panics" => Box::pin(async { panic!("a page that panics") }),
            "/figures" => Box::pin(async { Page::text("{}").of("application/json") }),
            _ => return None,
        })
    }

    fn is_public(&self, path: &str) -> bool {
        path == "/well"
    }
}

fn opened(users: Vec<User>) -> (Stages, OpenDoor) {
    opened_within(60_000, users)
}

/// The same for clients that have so long to ask.
fn opened_within(login_timeout_ms: u64, users: Vec<User>) -> (Stages, OpenDoor) {
    let stages = Stages::start().unwrap();
    let mut settings =
        HttpSettings { address: "127.0.0.1:0".parse().unwrap(), users, ..HttpSettings::default() };
    settings.connections.login_timeout_ms = login_timeout_ms;
    let door = Door::new(&stages, Few, settings).open().unwrap();
    (stages, door)
}

fn connected(door: &OpenDoor) -> TcpStream {
    let client = TcpStream::connect(door.local_addr()).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    client
}

/// Everything that comes until the door closes the connection.
fn answers(door: &OpenDoor, requests: &[u8]) -> String {
    let mut client = connected(door);
    client.write_all(requests).unwrap();
    let mut answer = Vec::new();
    // A connection that is closed while we still send may end with an error; what came before counts.
    let _ = client.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

fn get(door: &OpenDoor, path: &str, headers: &str) -> String {
    answers(
        door,
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Connection: close\r\n\r\n").as_bytes(),
    )
}

#[test]
fn pages_are_read_one_after_the_other_on_one_connection() {
    let (_stages, door) = opened(Vec::new());
    let requests = b"GET /well HTTP/1.1\r\n\r\nHEAD /figures HTTP/1.1\r\n\r\nGET /ill?a HTTP/1.1\r\nConnection: close\r\n\r\n";
    let said = answers(&door, requests);
    let parts: Vec<&str> = said.split("HTTP/1.1 ").skip(1).collect();
    assert_eq!(parts.len(), 3, "{said}");
    assert!(parts[0].starts_with("200 OK\r\n") && parts[0].ends_with("keep-alive\r\n\r\nwell\n"), "{said}");
    assert!(parts[1].contains("Content-Type: application/json\r\nContent-Length: 2\r\n"), "{said}");
    assert!(parts[1].ends_with("\r\n\r\n"), "HEAD has no page: {said}");
    assert!(
        parts[2].starts_with("503 Service Unavailable\r\n") && parts[2].ends_with("close\r\n\r\nill\n"),
        "{said}"
    );
}

#[test]
fn what_is_not_there_or_goes_wrong_has_a_status() {
    let (_stages, door) = opened(Vec::new());
    assert!(get(&door, "/none", "").starts_with("HTTP/1.1 404 Not Found\r\n"));
    assert!(get(&door, "/panics", "").starts_with("HTTP/1.1 503 Service Unavailable\r\n"));
    assert!(get(&door, "/well", "").starts_with("HTTP/1.1 200 OK\r\n"), "others go on");
    let posted = answers(&door, b"POST /well HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
    assert!(posted.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"), "{posted}");
    let body = answers(&door, b"GET /well HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
    assert!(body.starts_with("HTTP/1.1 413 ") && body.contains("Connection: close"), "{body}");
}

/// A page of a stranger, open in a browser of this machine, can have its own name lead to 127.0.0.1 and read what it likes.
#[test]
fn a_name_that_is_not_ours_reads_no_figures() {
    let (_stages, door) = opened(Vec::new());
    let asked = |path: &str, host: &str| {
        answers(&door, format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes())
    };
    let refused = asked("/figures", "evil.example:8080");
    assert!(refused.starts_with("HTTP/1.1 421 ") && refused.contains("http.hosts"), "{refused}");
    assert!(!refused.contains("{}"), "{refused}");
    for host in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080"] {
        assert!(asked("/figures", host).starts_with("HTTP/1.1 200 OK\r\n"), "{host}");
    }
    assert!(asked("/well", "evil.example").starts_with("HTTP/1.1 200 OK\r\n"), "health is for everybody");
}

#[test]
fn users_are_asked_who_they_are_but_for_public_pages() {
    let user = |name: &str, may: Rights| User {
        name: name.into(),
        password: Some("secret".into()),
        token: Some(format!("token of {name}").as_str().into()),
        may,
    };
    let few: Rights = "map/a: read".parse().unwrap();
    let (_stages, door) = opened(vec![user("ann", Rights::everything()), user("bob", few)]);
    assert!(get(&door, "/well", "").starts_with("HTTP/1.1 200"));
    let asked = get(&door, "/figures", "");
    assert!(
        asked.starts_with("HTTP/1.1 401 Unauthorized\r\n") && asked.contains("WWW-Authenticate: Basic"),
        "{asked}"
    );
    for (shown, status) in [
        ("Bearer token of ann", "200"),
        ("Bearer token of bob", "403"),
        ("Bearer wrong", "401"),
        // ann:secret, ann:secre
        ("Basic YW5uOnNlY3JldA==", "200"),
        ("Basic YW5uOnNlY3Jl", "401"),
    ] {
        let said = get(&door, "/figures", &format!("Authorization: {shown}\r\n"));
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{shown}: {said}");
        assert!(get(&door, "/none", "").starts_with("HTTP/1.1 401 "), "nobody learns which pages there are");
    }
}

#[test]
fn heads_without_end_and_silent_clients_are_closed() {
    let (_stages, door) = opened_within(1_000, Vec::new());
    let long = answers(&door, &[b"GET /well HTTP/1.1\r\nX: ".to_vec(), vec![b'a'; 1 << 20]].concat());
    assert!(long.is_empty() || long.starts_with("HTTP/1.1 431 "), "{long:.100}");
    // Says a little, and waits for longer than it may.
    assert_eq!(answers(&door, b"GET /well"), "");
    // On a busy machine one may be too slow by itself: then another one asks.
    assert!((0..60).any(|_| get(&door, "/well", "").starts_with("HTTP/1.1 200")));
}

#[test]
fn settings_that_would_let_strangers_in_keep_it_shut() {
    let stages = Stages::start().unwrap();
    let settings = HttpSettings { address: "0.0.0.0:0".parse().unwrap(), ..HttpSettings::default() };
    let said = Door::new(&stages, Few, settings).open().unwrap_err().to_string();
    assert!(said.contains("stays shut") && said.contains("tls"), "{said}");
}
