//! Who is let in, and what can be sent before.

use crate::line::{Client, Member, authentication, eventually};
use bytes::Bytes;
use filbert_gate::hazelcast::{Door, HazelcastSettings, Rights, User};
use filbert_grid::Grid;
use filbert_pool::Stages;
use filbert_wire::messages::client::{Authentication, AuthenticationCustom, GetDistributedObjects, Ping};
use filbert_wire::messages::error::ErrorCode;
use std::io::Write;
use uuid::Uuid;

fn users() -> HazelcastSettings {
    let user =
        |name: &str| User { name: name.into(), password: None, token: None, may: Rights::everything() };
    HazelcastSettings {
        users: vec![
            User { password: Some("open sesame".into()), ..user("ann") },
            User { token: Some("a token".into()), ..user("bob") },
        ],
        ..HazelcastSettings::default()
    }
}

fn with(name: &str, password: &str) -> Authentication {
    Authentication { username: Some(name.into()), password: Some(password.into()), ..authentication() }
}

fn token(token: &'static [u8]) -> AuthenticationCustom {
    let plain = authentication();
    AuthenticationCustom {
        cluster_name: plain.cluster_name,
        credentials: Bytes::from_static(token),
        uuid: None,
        client_type: plain.client_type,
        serialization_version: 1,
        client_hazelcast_version: plain.client_hazelcast_version,
        client_name: plain.client_name,
        labels: Vec::new(),
        routing_mode: 0,
        cp_direct_to_leader_routing: false,
    }
}

#[test]
fn without_users_the_name_of_the_cluster_is_enough() {
    let member = Member::start();
    let answer = Client::connect(member.address()).log_in(&authentication());
    assert_eq!((answer.status, answer.partition_count), (0, 271));
    assert_eq!(answer.member_uuid, Some(member.grid.member()));
    assert_eq!(answer.address.unwrap().port, i32::from(member.address().port()));
    let other = Authentication { cluster_name: "prod".into(), ..authentication() };
    let answer = Client::connect(member.address()).log_in(&other);
    assert_eq!((answer.status, answer.member_uuid, answer.partition_count), (1, None, -1));
    assert_eq!((member.door.counts().logins, member.door.counts().failed_logins), (1, 1));
}

#[test]
fn with_users_only_they_are_let_in() {
    let member = Member::with(users());
    let status = |request: &Authentication| Client::connect(member.address()).log_in(request).status;
    assert_eq!(status(&with("ann", "open sesame")), 0);
    let wrong = [
        with("ann", "open simsim"),
        with("bob", "open sesame"),
        with("bob", "a token"),
        with("", ""),
        authentication(),
    ];
    assert_eq!(wrong.map(|request| status(&request)), [1; 5]);
    let mut by_token = Client::connect(member.address());
    assert_eq!(by_token.call(&token(b"a tokem")).unwrap().status, 1);
    assert_eq!(by_token.call(&token(b"a token")).unwrap().status, 0);
    assert!(by_token.call(&Ping {}).is_ok());
}

/// Whoever was removed went on for as long as the connection lasted.
#[test]
fn a_reload_closes_the_connections_of_changed_users_and_no_others() {
    let member = Member::with(users());
    let (mut ann, mut bob) = (Client::connect(member.address()), Client::connect(member.address()));
    assert_eq!(ann.log_in(&with("ann", "open sesame")).status, 0);
    assert_eq!(bob.call(&token(b"a token")).unwrap().status, 0);
    let renewed = |known: User| User { token: Some("another".into()), ..known };
    let [known, other] = <[User; 2]>::try_from(users().users).unwrap();
    assert_eq!(member.door.replace_users(vec![known, renewed(other)]), 1);
    assert!(bob.is_closed(), "his token is another");
    ann.call(&Ping {}).unwrap();
    let mut again = Client::connect(member.address());
    assert_eq!(again.call(&token(b"a token")).unwrap().status, 1);
    assert_eq!(again.call(&token(b"another")).unwrap().status, 0);
    // Without users everybody may come in, and with them again nobody who came without a name may stay.
    member.door.replace_users(Vec::new());
    assert!(ann.is_closed() && again.is_closed());
    let mut anybody = Client::connect(member.address());
    assert_eq!(anybody.log_in(&authentication()).status, 0);
    member.door.replace_users(users().users);
    assert!(anybody.is_closed());
}

#[test]
fn another_serialization_is_said_to_be_the_reason() {
    let member = Member::start();
    let request = Authentication { serialization_version: 2, ..authentication() };
    assert_eq!(Client::connect(member.address()).log_in(&request).status, 2);
}

#[test]
fn a_few_failures_close_the_connection() {
    let member = Member::with(users());
    let mut guesser = Client::connect(member.address());
    for _ in 0..3 {
        assert_eq!(guesser.log_in(&with("ann", "guess")).status, 1);
    }
    assert!(guesser.is_closed());
    assert_eq!(member.door.counts().failed_logins, 3);
}

/// So many guess at once that they have no turn in time, also where a busy machine looks at them one after the other.
const GUESSERS: usize = 300;

/// Thousands of guesses a second went unnoticed.
#[test]
fn guesses_wait_their_turn_and_others_do_not() {
    let member = Member::with(users());
    let status = |request: &Authentication| Client::connect(member.address()).log_in(request).status;
    for _ in 0..5 {
        assert_eq!(status(&with("ann", "guess")), 1);
    }
    // Side by side: only so many are looked at in the time that a login has.
    let mut guessers: Vec<Client> = (0..GUESSERS).map(|_| Client::connect(member.address())).collect();
    let sent: Vec<i64> = guessers.iter_mut().map(|client| client.send(&with("ann", "guess"))).collect();
    // Meanwhile others come in.
    assert_eq!(Client::connect(member.address()).call(&token(b"a token")).unwrap().status, 0);
    let mut refused = 0;
    for (client, correlation) in guessers.iter_mut().zip(sent) {
        match client.answer::<Authentication>(correlation) {
            Ok(answer) => assert_eq!(answer.status, 1),
            Err(error) => {
                assert!(error.errors[0].message.as_deref().unwrap_or_default().contains("try again"));
                refused += 1;
            }
        }
    }
    assert!(refused >= 5, "{refused} of {GUESSERS} were not looked at");
    // Who knows the password waits a moment, and is let in.
    eventually("she is let in", || {
        let answer = Client::connect(member.address()).call(&with("ann", "open sesame"));
        answer.is_ok_and(|answer| answer.status == 0)
    });
}

#[test]
fn nothing_but_a_login_is_served_before_it() {
    let member = Member::start();
    let mut client = Client::connect(member.address());
    assert_eq!(client.refused(&GetDistributedObjects {}), ErrorCode::Authentication);
    assert!(client.is_closed());
}

#[test]
fn who_a_connection_is_cannot_be_changed() {
    let member = Member::with(users());
    let mut client = Client::connect(member.address());
    assert_eq!(client.log_in(&with("ann", "open sesame")).status, 0);
    assert_eq!(client.refused(&with("ann", "open sesame")), ErrorCode::IllegalState);
    assert!(client.call(&Ping {}).is_ok());
}

#[test]
fn the_id_of_another_users_client_cannot_be_taken() {
    let member = Member::with(users());
    let uuid = Some(Uuid::from_u128(7));
    let mut first = Client::connect(member.address());
    assert_eq!(first.log_in(&Authentication { uuid, ..with("ann", "open sesame") }).status, 0);
    let mut thief = Client::connect(member.address());
    assert_eq!(thief.call(&AuthenticationCustom { uuid, ..token(b"a token") }).unwrap().status, 1);
    drop(first);
    eventually("the client leaves", || member.door.clients().is_empty());
    assert_eq!(thief.call(&AuthenticationCustom { uuid, ..token(b"a token") }).unwrap().status, 0);
}

#[test]
fn messages_before_login_are_small() {
    let member = Member::start();
    let mut client = Client::connect(member.address());
    let request = Authentication { client_name: "n".repeat(5 << 10).into(), ..authentication() };
    client.send(&request);
    assert!(client.is_closed());
    let mut fits = Client::connect(member.address());
    let request = Authentication { client_name: "n".repeat(3 << 10).into(), ..authentication() };
    assert_eq!(fits.log_in(&request).status, 0);
}

#[test]
fn what_does_not_begin_like_a_client_is_closed() {
    let member = Member::start();
    for words in ["GET / HTTP/1.1\r\n\r\n", "CP1", "CQ"] {
        let mut client = Client::silent(member.address());
        client.stream.write_all(words.as_bytes()).unwrap();
        assert!(client.is_closed(), "{words}");
    }
    let mut slow = Client::silent(member.address());
    for byte in b"CP2" {
        slow.stream.write_all(&[*byte]).unwrap();
    }
    assert_eq!(slow.log_in(&authentication()).status, 0);
}

#[test]
fn an_address_that_strangers_reach_needs_tls_and_users() {
    let stages = Stages::start().unwrap();
    let settings =
        HazelcastSettings { address: "0.0.0.0:0".parse().unwrap(), ..HazelcastSettings::default() };
    let said = Door::new(&Grid::new(&stages), settings).open().unwrap_err().to_string();
    assert!(said.contains("tls") && said.contains("user"), "{said}");
}
