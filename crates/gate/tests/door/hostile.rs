//! Messages that nobody sane sends. Mutated ones by the million are sent to a member in a process of its own by the tests of `filbert`.

use crate::line::{Member, int};
use bytes::BytesMut;
use filbert_wire::message::Request;
use filbert_wire::messages::client::Ping;
use filbert_wire::messages::map;
use std::io::Write;

#[test]
fn a_malformed_message_is_answered_with_an_error() {
    let member = Member::start();
    let mut client = member.client();
    let mut out = BytesMut::new();
    map::Get { name: "m".into(), key: int(1), thread_id: 1 }.encode(77, -1, &mut out);
    // The key's frame becomes the last one of a message that ends too early.
    let mut short = BytesMut::new();
    Ping {}.encode(77, -1, &mut short);
    short[6..10].copy_from_slice(&map::Get::ID.to_le_bytes());
    client.stream.write_all(&short).unwrap();
    assert_eq!(client.answer_to(77).id(), 0);
    assert!(client.call(&Ping {}).is_ok());
    assert_eq!(member.door.counts().malformed, 1);
}
