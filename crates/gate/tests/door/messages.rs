//! Every message of the table gets an answer, and the connection lives on.

use crate::line::{Member, blob, int};
use bytes::BytesMut;
use filbert_gate::hazelcast::{HazelcastSettings, SERVED};
use filbert_wire::message::{Raises, Request};
use filbert_wire::message::{Version, sample};
use filbert_wire::messages::client::{
    AddClusterViewListener, CreateProxy, MembersView, PartitionsView, Ping, Statistics,
};
use filbert_wire::messages::error::{ERROR_ID, ErrorCode, ErrorResponse};
use filbert_wire::messages::{MESSAGES, map};
use std::collections::HashSet;
use std::io::Write;

/// Waits for ever by its nature: no answer to a sample can be expected.
fn may_wait(name: &str) -> bool {
    ["Queue.put", "Queue.take", "Queue.offer", "Queue.poll"].contains(&name)
}

/// The connection was cut off without a word, and every other thread of the program with it.
#[test]
fn a_message_that_is_too_long_is_answered_and_the_next_one_served() {
    let settings = HazelcastSettings { message_bytes: 100_000, ..HazelcastSettings::default() };
    let member = Member::with(settings);
    let mut client = member.client();
    let set =
        |bytes| map::Set { name: "m".into(), key: int(1), value: blob(bytes), thread_id: 1, ttl_ms: -1 };
    for bytes in [100_000, 5_000_000] {
        let error = client.call(&set(bytes)).unwrap_err();
        assert_eq!(error.errors[0].code, ErrorCode::MaxMessageSizeExceeded as i32);
        let text = error.errors[0].message.as_deref().unwrap_or_default();
        assert!(text.contains("100000") && text.contains("hazelcast.message_bytes"), "{text}");
        client.call(&set(90_000)).unwrap();
    }
}

#[test]
fn every_message_is_answered_and_never_with_a_closed_connection() {
    let member = Member::start();
    let served: HashSet<u32> = SERVED.iter().map(|served| served.id).collect();
    let mut seed = 7_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        seed >> 20
    };
    let mut number = 1_000;
    for round in 0..20 {
        // Samples lock keys; the locks of one round go with its connection.
        let mut client = member.client();
        for row in MESSAGES.iter().filter(|row| !may_wait(row.name)) {
            let mut out = BytesMut::new();
            number += 1;
            sample(&row.request, Version::NEWEST, number, &mut random, &mut out);
            client.stream.write_all(&out).unwrap();
            let answer = client.answer_to(number);
            let unsupported = answer.id() == ERROR_ID
                && ErrorResponse::decode(&answer).unwrap().errors[0].code
                    == ErrorCode::UnsupportedOperation as i32;
            assert!(
                unsupported || served.contains(&row.id),
                "{} in round {round} was served without a row",
                row.name
            );
        }
        assert!(client.call(&Ping {}).is_ok());
    }
    assert_eq!(member.door.counts().malformed, 0);
}

#[test]
fn what_is_not_known_is_unsupported_and_the_connection_lives_on() {
    let member = Member::start();
    let mut client = member.client();
    for id in [0x00_FF_00_u32, 0x77_01_00, map::Get::ID | 1, 0] {
        let mut out = BytesMut::new();
        Ping {}.encode(99, -1, &mut out);
        out[6..10].copy_from_slice(&id.to_le_bytes());
        client.stream.write_all(&out).unwrap();
        let error = ErrorResponse::decode(&client.answer_to(99)).unwrap();
        assert_eq!(error.errors[0].code, ErrorCode::UnsupportedOperation as i32);
    }
    let service_name = "hz:impl:cardinalityEstimatorService".into();
    let refused = client.refused(&CreateProxy { name: "r".into(), service_name });
    assert_eq!(refused, ErrorCode::UnsupportedOperation);
    assert!(client.call(&Ping {}).is_ok());
    assert_eq!(member.door.counts().unsupported, 4);
}

#[test]
fn a_client_sees_the_member_and_its_partitions() {
    let member = Member::start();
    let mut client = member.client();
    client.call(&AddClusterViewListener {}).unwrap();
    let members: MembersView = AddClusterViewListener::decode_event(&client.event()).unwrap();
    assert_eq!(members.member_infos.len(), 1);
    let this = &members.member_infos[0];
    assert_eq!((this.uuid, this.address.port), (member.grid.member(), i32::from(member.address().port())));
    let partitions: PartitionsView = AddClusterViewListener::decode_event(&client.event()).unwrap();
    assert_eq!(partitions.partitions.0[0].1.len(), 271);
}

#[test]
fn what_a_client_says_of_itself_is_kept() {
    let member = Member::start();
    let mut client = member.client();
    let request = Statistics {
        timestamp_ms: 1,
        client_attributes: "os=linux".into(),
        metrics_blob: Default::default(),
    };
    client.call(&request).unwrap();
    assert_eq!(member.door.clients()[0].1.as_deref(), Some("os=linux"));
}

/// The partition in the header is what the client believes; the key decides.
#[test]
fn the_clients_partition_is_not_believed() {
    let member = Member::start();
    let mut client = member.client();
    for partition in [-1, 0, 270, 271, i32::MAX, i32::MIN] {
        let mut out = BytesMut::new();
        let set = map::Set { name: "m".into(), key: int(5), value: int(partition), thread_id: 1, ttl_ms: -1 };
        set.encode(1_000, partition, &mut out);
        client.stream.write_all(&out).unwrap();
        assert_eq!(client.answer_to(1_000).id(), map::Set::RESPONSE_ID);
        let found = client.call(&map::Get { name: "m".into(), key: int(5), thread_id: 1 }).unwrap();
        assert_eq!(found.value, Some(int(partition)));
    }
    assert_eq!(client.call(&map::Size { name: "m".into() }).unwrap().value, 1);
}

#[test]
fn a_destroyed_map_is_not_found_by_an_old_handle() {
    let member = Member::start();
    let mut client = member.client();
    let set = map::Set { name: "m".into(), key: int(1), value: int(1), thread_id: 1, ttl_ms: -1 };
    for _ in 0..5 {
        client.call(&set).unwrap();
        assert_eq!(client.call(&map::Size { name: "m".into() }).unwrap().value, 1);
        member.grid.structures().destroy(filbert_grid::Service::Map, "m");
        assert_eq!(client.call(&map::Size { name: "m".into() }).unwrap().value, 0);
    }
}
