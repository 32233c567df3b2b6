//! Who is let in, and how.

use crate::client::{Client, Member};
use filbert_gate::hazelcast::{Rights, User};
use filbert_gate::postgres::{Door, PostgresSettings};
use filbert_net::TlsSettings;
use filbert_pool::Stages;
use filbert_sql::Sql;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use std::net::TcpStream;
use std::sync::{Arc, Barrier};

pub(crate) fn user(name: &str, password: &str, may: Rights) -> User {
    User { name: name.into(), password: Some(password.into()), token: None, may }
}

fn with_users() -> PostgresSettings {
    let users = vec![
        user("ann", "secret", Rights::everything()),
        User { name: "bot".into(), password: None, token: Some("t".into()), may: Rights::everything() },
    ];
    PostgresSettings { users, ..PostgresSettings::default() }
}

#[test]
fn a_password_is_proven_by_scram() {
    let member = Member::with(with_users());
    let mut client = Client::connect(member.address());
    client.scram("ann", "secret").ok();
    assert_eq!(client.query("SELECT current_user AS me").ok().texts(), [["ann"]]);
    assert_eq!(member.door.counts().logins, 1);
}

#[test]
fn a_wrong_password_and_an_unknown_user_look_the_same() {
    let member = Member::with(with_users());
    for (name, password) in [("ann", "wrong"), ("bob", "secret"), ("bot", "t"), ("ann", "")] {
        let mut client = Client::connect(member.address());
        let reply = client.scram(name, password);
        assert_eq!(reply.code(), "28P01");
        assert_eq!(reply.errors[0].1, format!("password authentication failed for user {name:?}"));
        assert!(client.receive().is_none(), "the connection is closed");
    }
    assert_eq!(member.door.counts().failed_logins, 4);
    // Nobody talks before the login.
    let mut client = Client::connect(member.address());
    client.start(&[("user", "ann")]);
    client.receive();
    client.send('Q', b"SELECT 1\0");
    assert_eq!(client.until_ready().code(), "08P01");
}

/// Whoever was removed went on for as long as the connection lasted.
#[test]
fn a_reload_closes_the_sessions_of_changed_users_and_no_others() {
    let settings = PostgresSettings {
        users: ["ann", "bob", "eve"].map(|name| user(name, "secret", Rights::everything())).to_vec(),
        ..PostgresSettings::default()
    };
    let member = Member::with(settings);
    let [mut ann, mut bob, mut eve] = ["ann", "bob", "eve"].map(|name| {
        let mut client = Client::connect(member.address());
        client.scram(name, "secret").ok();
        client
    });
    let fewer = user("eve", "secret", Rights::default());
    let users =
        vec![user("ann", "secret", Rights::everything()), fewer, user("new", "n", Rights::everything())];
    assert_eq!(member.door.replace_users(users.clone()).unwrap(), 2);
    assert!(bob.receive().is_none() && eve.receive().is_none(), "removed, and with other rights");
    assert_eq!(ann.query("SELECT 1 AS one").ok().texts(), [["1"]]);
    let log_in = |name: &str, password: &str| Client::connect(member.address()).scram(name, password);
    log_in("new", "n").ok();
    assert_eq!(log_in("bob", "secret").code(), "28P01");
    assert_eq!(member.door.replace_users(users).unwrap(), 0, "nothing has changed");
    assert_eq!(ann.query("SELECT 1 AS one").ok().texts(), [["1"]]);
}

/// So many guess at once.
const GUESSERS: usize = 150;

/// A guess at ann's password; true when it was refused before anybody looked at it.
fn is_refused_unread(address: std::net::SocketAddr, all_ready: &Barrier) -> bool {
    let mut client = Client::connect(address);
    client.start(&[("user", "ann")]);
    client.receive();
    all_ready.wait();
    let first = b"n,,n=,r=abc";
    client.send('p', &[&b"SCRAM-SHA-256\0"[..], &(first.len() as u32).to_be_bytes(), first].concat());
    let answer = client.receive().unwrap();
    if answer.kind == 'E' {
        assert!(String::from_utf8_lossy(&answer.body).contains("C28000"));
        return true;
    }
    client.send('p', b"c=biws,r=abc,p=AAAA");
    assert_eq!(client.until_ready().code(), "28P01");
    false
}

/// A hundred guesses a second from one thread went unnoticed.
#[test]
fn guesses_wait_their_turn_and_others_do_not() {
    let member = Member::with(with_users());
    let address = member.address();
    for _ in 0..5 {
        assert!(!is_refused_unread(address, &Barrier::new(1)));
    }
    // All at once: only so many have their turn in the time that a login has.
    let all_ready = Arc::new(Barrier::new(GUESSERS));
    let guesser = |_| {
        let all_ready = Arc::clone(&all_ready);
        std::thread::spawn(move || is_refused_unread(address, &all_ready))
    };
    let guessers: Vec<_> = (0..GUESSERS).map(guesser).collect();
    let refused = guessers.into_iter().map(|guesser| guesser.join().unwrap());
    let refused = refused.filter(|refused| *refused).count();
    assert!(refused >= 5, "{refused} of {GUESSERS} were not looked at");
    assert_eq!(Client::connect(address).scram("bob", "guess").code(), "28P01", "nobody else waits");
}

/// A certificate for `localhost`, signed by itself.
fn certificate() -> (tempfile::TempDir, TlsSettings) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (cert_pem_path, key_pem_path) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert_pem_path, made.cert.pem()).unwrap();
    std::fs::write(&key_pem_path, made.signing_key.serialize_pem()).unwrap();
    (folder, TlsSettings { cert_pem_path, key_pem_path, client_ca_pem_path: None })
}

#[test]
fn tls_begins_where_the_client_asks_for_it() {
    let (_folder, tls) = certificate();
    let certificate = CertificateDer::from_pem_file(&tls.cert_pem_path).unwrap();
    let member = Member::with(PostgresSettings { tls: Some(tls), ..with_users() });

    // In the clear there is no session.
    let mut clear = Client::connect(member.address());
    clear.start(&[("user", "ann")]);
    assert_eq!(clear.until_ready().code(), "28000");

    let mut stream = TcpStream::connect(member.address()).unwrap();
    let mut asking = Client::over(Box::new(stream.try_clone().unwrap()));
    asking.packet(80_877_103, &[]);
    assert_eq!(asking.byte(), b'S');
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let mut connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    connection.complete_io(&mut stream).unwrap();
    let mut client = Client::over(Box::new(rustls::StreamOwned::new(connection, stream)));
    client.scram("ann", "secret").ok();
    assert_eq!(client.query("SELECT 1 AS a").ok().texts(), [["1"]]);
    let rows = client.query("SELECT value FROM generate_series(1, 50000)").ok().rows.len();
    assert_eq!(rows, 50_000);
}

#[test]
fn nothing_is_taken_for_encrypted_that_came_before() {
    let (_folder, tls) = certificate();
    let member = Member::with(PostgresSettings { tls: Some(tls), ..with_users() });
    let mut client = Client::connect(member.address());
    // A request for encryption, and behind it what somebody in between put there.
    client.raw(&[0, 0, 0, 8, 4, 210, 22, 47, b'Q', 0, 0, 0, 5, 0]);
    assert_eq!(client.until_ready().code(), "08P01");
}

#[test]
fn without_a_certificate_the_client_is_told_no() {
    let member = Member::start();
    let mut client = Client::connect(member.address());
    client.packet(80_877_104, &[]);
    assert_eq!(client.byte(), b'N');
    client.packet(80_877_103, &[]);
    assert_eq!(client.byte(), b'N');
    client.start(&[("user", "ann"), ("database", "any"), ("application_name", "x")]);
    client.until_ready().ok();
    assert_eq!(client.query("SHOW application_name").ok().texts(), [["x"]]);
}

#[test]
fn newer_protocols_are_talked_down_and_nameless_clients_refused() {
    let member = Member::start();
    let mut client = Client::connect(member.address());
    client.packet(196_610, b"user\0ann\0_pq_.new\0x\0\0");
    let told = client.receive().unwrap();
    assert_eq!((told.kind, &told.body[..]), ('v', &b"\0\0\0\0\0\0\0\x01_pq_.new\0"[..]));
    client.until_ready().ok();
    let mut nameless = Client::connect(member.address());
    nameless.start(&[("database", "x")]);
    assert_eq!(nameless.until_ready().code(), "28000");
    let mut old = Client::connect(member.address());
    old.packet(2 << 16, b"user\0ann\0\0");
    assert_eq!(old.until_ready().code(), "0A000");
    let mut replica = Client::connect(member.address());
    replica.start(&[("user", "ann"), ("replication", "database")]);
    assert_eq!(replica.until_ready().code(), "0A000");
}

/// Bug: pgjdbc's `currentSchema`, dbt's `search_path` and timeouts in `options` were refused with the connection.
#[test]
fn schemas_and_timeouts_in_the_settings_of_a_tool_keep_nobody_out() {
    let member = Member::start();
    for (name, value, variable, kept) in [
        ("search_path", "app", "search_path", "public"),
        ("options", "-csearch_path=app,other", "search_path", "public"),
        ("extra_float_digits", "0", "extra_float_digits", "1"),
        (
            "options",
            "-c idle_in_transaction_session_timeout=60000",
            "idle_in_transaction_session_timeout",
            "0",
        ),
    ] {
        let mut client = Client::connect(member.address());
        client.start(&[("user", "ann"), (name, value)]);
        let reply = client.until_ready().ok();
        assert!(reply.warnings.len() == 1 && reply.warnings[0].contains(variable), "{:?}", reply.warnings);
        assert_eq!(client.query(&format!("SHOW {variable}")).ok().texts(), [[kept]]);
    }
    let mut client = Client::connect(member.address());
    client.start(&[("user", "ann"), ("search_path", "app"), ("client_min_messages", "error")]);
    assert_eq!(client.until_ready().ok().warnings.len(), 0);
    assert_eq!(client.query("SET search_path = app").code(), "22023");
    // Tools that name the schema of every table begin with this.
    for function in ["set_config", "pg_catalog.set_config"] {
        let cleared = client.query(&format!("SELECT {function}('search_path', '', false)")).ok();
        assert_eq!(cleared.texts(), [[""]]);
    }
    assert_eq!(client.query("SELECT set_config('search_path', 'app', false)").code(), "22023");
    assert_eq!(client.query("SELECT set_config('jit', 'perhaps', false)").code(), "22023");
    // Texts in another encoding would be wrong.
    let mut client = Client::connect(member.address());
    client.start(&[("user", "ann"), ("client_encoding", "LATIN1")]);
    assert_eq!(client.until_ready().code(), "22023");
}

#[test]
fn a_door_that_strangers_reach_stays_shut() {
    let stages = Stages::start().unwrap();
    let sql = Sql::start(&stages, Default::default()).unwrap();
    let settings = PostgresSettings { address: "0.0.0.0:0".parse().unwrap(), ..PostgresSettings::default() };
    let said = Door::new(&stages, &sql, settings).open().unwrap_err().to_string();
    for word in ["0.0.0.0", "tls with cert_pem_path", "at least one user", "127.0.0.1"] {
        assert!(said.contains(word), "{said}");
    }
}
