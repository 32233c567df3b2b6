//! What a user may do: nothing that is not said.

use crate::line::{Client, Member, authentication, int};
use bytes::BytesMut;
use filbert_gate::hazelcast::{HazelcastSettings, Need, Rights, SERVED, User};
use filbert_grid::{Action, Granted, Service};
use filbert_wire::Data;
use filbert_wire::frame::FRAME_HEADER;
use filbert_wire::message::{Request, Version, sample};
use filbert_wire::messages::client::{
    Authentication, CreateProxy, DestroyProxy, GetDistributedObjects, Ping,
};
use filbert_wire::messages::cp::atomic_ref;
use filbert_wire::messages::error::{ERROR_ID, ErrorCode, ErrorResponse};
use filbert_wire::messages::structures::RaftGroupId;
use filbert_wire::messages::{MESSAGES, map};
use std::io::Write;

fn member(rights: &[&str]) -> (Member, Client) {
    let may = rights.iter().map(|line| line.parse::<Rights>().unwrap()).collect();
    let user = User { name: "ann".into(), password: Some("secret".into()), token: None, may };
    let member = Member::with(HazelcastSettings { users: vec![user], ..HazelcastSettings::default() });
    let mut client = Client::connect(member.address());
    let login =
        Authentication { username: Some("ann".into()), password: Some("secret".into()), ..authentication() };
    assert_eq!(client.log_in(&login).status, 0);
    (member, client)
}

fn get(name: &str) -> map::Get {
    map::Get { name: name.into(), key: int(1), thread_id: 1 }
}

fn set(name: &str) -> map::Set {
    map::Set { name: name.into(), key: int(1), value: int(2), thread_id: 1, ttl_ms: -1 }
}

#[test]
fn a_right_holds_for_its_action_and_structure() {
    let (member, mut client) = member(&["map/orders: read, create"]);
    assert!(client.call(&get("orders")).is_ok());
    assert_eq!(client.refused(&set("orders")), ErrorCode::AccessControl);
    assert_eq!(client.refused(&get("other")), ErrorCode::AccessControl);
    assert_eq!(member.door.counts().denied, 2);
}

/// An interceptor changes what everyone reads: running code on entries is less than that.
#[test]
fn whoever_may_run_code_may_not_intercept() {
    let add = |name: &str| map::AddInterceptor { name: name.into(), interceptor: int(1) };
    let remove = |name: &str| map::RemoveInterceptor { name: name.into(), id: "x".into() };
    let (_member, mut client) = member(&["map/a: create, read, put, execute", "map/b: create, intercept"]);
    assert_eq!(client.refused(&add("a")), ErrorCode::AccessControl);
    assert_eq!(client.refused(&remove("a")), ErrorCode::AccessControl);
    assert_eq!(client.refused(&add("b")), ErrorCode::Serialization, "it is no code");
    assert!(!client.call(&remove("b")).unwrap().value);
}

#[test]
fn reading_does_not_make_what_the_user_may_not_make() {
    let (member, mut client) = member(&["map/*: read"]);
    assert_eq!(client.refused(&get("orders")), ErrorCode::AccessControl);
    assert!(!member.grid.structures().contains(Service::Map, "orders"));
    let _ = member.grid.map("orders");
    assert!(client.call(&get("orders")).is_ok());
}

#[test]
fn structures_are_made_destroyed_and_seen_by_right() {
    let (member, mut client) = member(&["map/mine*"]);
    let service_name = || "hz:impl:mapService".into();
    let _ = member.grid.map("theirs");
    assert!(client.call(&CreateProxy { name: "mine".into(), service_name: service_name() }).is_ok());
    let refused = client.refused(&CreateProxy { name: "other".into(), service_name: service_name() });
    assert_eq!(refused, ErrorCode::AccessControl);
    let refused = client.refused(&DestroyProxy { name: "theirs".into(), service_name: service_name() });
    assert_eq!(refused, ErrorCode::AccessControl);
    let seen = client.call(&GetDistributedObjects {}).unwrap().objects;
    assert_eq!(seen.iter().map(|object| &*object.name).collect::<Vec<_>>(), ["mine"]);
}

/// The right that the settings page shows is enough for a client to open the map, fill it and read it.
#[test]
fn reading_and_putting_need_no_other_right() {
    let (member, mut client) = member(&["map/orders*: read, put", "map/seen: read"]);
    let open = |name: &str| CreateProxy { name: name.into(), service_name: "hz:impl:mapService".into() };
    assert!(client.call(&open("orders")).is_ok());
    assert!(client.call(&set("orders")).is_ok());
    assert!(client.call(&set("orders-eu")).is_ok(), "made by its first entry");
    assert!(client.call(&get("orders")).is_ok());
    assert!(client.call(&open("seen")).is_ok(), "only a name");
    assert!(!member.grid.structures().contains(Service::Map, "seen"));
    assert_eq!(client.refused(&open("other")), ErrorCode::AccessControl);
}

/// Every message that needs a right is refused to someone who has none.
#[test]
fn nobody_without_rights_gets_anything() {
    let (member, mut client) = member(&[]);
    let mut seed = 1_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        seed >> 20
    };
    let mut number = 1_000;
    for served in SERVED.iter().filter(|served| matches!(served.need, Need::Right(..))) {
        let row = MESSAGES.iter().find(|row| row.id == served.id).unwrap();
        let mut out = BytesMut::new();
        number += 1;
        sample(&row.request, Version::NEWEST, number, &mut random, &mut out);
        client.stream.write_all(&out).unwrap();
        let answer = client.answer_to(number);
        assert_eq!(answer.id(), ERROR_ID, "{}", served.name);
        let code = ErrorResponse::decode(&answer).unwrap().errors[0].code;
        assert_eq!(code, ErrorCode::AccessControl as i32, "{}", served.name);
    }
    assert!(client.call(&Ping {}).is_ok());
    assert_eq!(member.grid.structures().list(), []);
}

/// Bug: sixteen megabytes were decoded on the io loop before anybody looked whether the user had any right to what they ask for. Seen by what is
/// said of a body that cannot be decoded.
#[test]
fn a_large_body_is_not_decoded_for_someone_without_rights() {
    let (member, mut client) = member(&["map/mine: create, put"]);
    for (number, name, malformed) in [(1_001, "other", 0), (1_002, "mine", 1)] {
        let (mut out, key) = (BytesMut::new(), Data::new(-12, &[7; 4_096]));
        map::Get { name: name.into(), key, thread_id: 1 }.encode(number, -1, &mut out);
        // Says that it is a putAll: those have no key there.
        out[FRAME_HEADER..FRAME_HEADER + 4].copy_from_slice(&map::PutAll::ID.to_le_bytes());
        client.stream.write_all(&out).unwrap();
        let answer = client.answer_to(number);
        assert_eq!(answer.id(), ERROR_ID, "{name}");
        let code = ErrorResponse::decode(&answer).unwrap().errors[0].code;
        assert_eq!(code == ErrorCode::AccessControl as i32, malformed == 0, "{name}: {code}");
        assert_eq!(member.door.counts().malformed, malformed, "{name}");
    }
}

/// The same for structures of the CP subsystem, whose requests begin with a group: their values were decoded first.
#[test]
fn a_large_value_for_a_group_is_not_decoded_for_someone_without_rights() {
    let (member, mut client) =
        member(&["atomic-reference/mine: create, execute", "atomic-reference/mine@team: create, execute"]);
    let cases = [("other", "default", 0), ("mine", "other", 0), ("mine", "default", 1), ("mine", "team", 2)];
    for (number, (name, group, malformed)) in (1_001..).zip(cases) {
        let (mut out, value) = (BytesMut::new(), Data::new(-12, &[7; 4_096]));
        let group = RaftGroupId { name: group.into(), seed: 0, id: 0 };
        let set =
            atomic_ref::Set { group, name: name.into(), new_value: Some(value), return_old_value: false };
        set.encode(number, -1, &mut out);
        // Says that it is an apply: those have a number where this one ends.
        out[FRAME_HEADER..FRAME_HEADER + 4].copy_from_slice(&atomic_ref::Apply::ID.to_le_bytes());
        client.stream.write_all(&out).unwrap();
        let answer = client.answer_to(number);
        assert_eq!(answer.id(), ERROR_ID, "{name}");
        let code = ErrorResponse::decode(&answer).unwrap().errors[0].code;
        assert_eq!(code != ErrorCode::AccessControl as i32, malformed > 0, "{name}: {code}");
        assert_eq!(member.door.counts().malformed, malformed, "{name}");
    }
}

/// Whoever may make structures may not make any number: each takes memory for as long as it lives.
#[test]
fn structures_are_bounded() {
    let member = Member::with(HazelcastSettings { structures: 3, ..HazelcastSettings::default() });
    let mut client = member.client();
    let proxy = |name: &str, service: &str| CreateProxy {
        name: name.into(),
        service_name: format!("hz:impl:{service}Service").as_str().into(),
    };
    assert!(client.call(&set("a")).is_ok() && client.call(&get("b")).is_ok());
    assert!(client.call(&proxy("a", "queue")).is_ok());
    for refused in [client.refused(&get("c")), client.refused(&proxy("c", "topic"))] {
        assert_eq!(refused, ErrorCode::Overload);
    }
    assert!(client.call(&get("a")).is_ok() && client.call(&proxy("b", "map")).is_ok());
    let service_name = "hz:impl:mapService".into();
    client.call(&DestroyProxy { name: "b".into(), service_name }).unwrap();
    assert!(client.call(&get("c")).is_ok());
}

/// The table of the door says what a message needs, and its operations say what they do: both are the same, for all that the tests of this
/// program have sent so far and a sample of every message.
#[test]
#[cfg(debug_assertions)]
fn every_operation_does_what_the_table_grants() {
    let (_member, mut client) = member(&["*"]);
    let mut seed = 7_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        seed >> 20
    };
    let mut number = 1_000_000;
    for served in
        SERVED.iter().filter(|served| matches!(served.need, Need::Right(..))).cycle().take(3 * SERVED.len())
    {
        let row = MESSAGES.iter().find(|row| row.id == served.id).unwrap();
        let mut out = BytesMut::new();
        number += 1;
        sample(&row.request, Version::NEWEST, number, &mut random, &mut out);
        client.stream.write_all(&out).unwrap();
        // Its answer may never come, but what it invokes is invoked by then.
        assert!(client.call(&Ping {}).is_ok(), "{}", served.name);
    }
    let noted = Granted::noted();
    let differ: Vec<_> = noted.iter().filter(|noted| noted.granted != noted.declared).collect();
    assert!(differ.is_empty(), "{differ:#?}");
    let names: std::collections::BTreeSet<_> = noted.iter().map(|noted| noted.operation).collect();
    assert!(names.len() > 80, "{} operations were invoked: {names:?}", names.len());
}

#[test]
fn reads_need_no_more_than_the_right_to_read() {
    let need = |id| SERVED.iter().find(|served| served.id == id).unwrap().need;
    use filbert_wire::message::Request;
    assert_eq!(need(map::Get::ID), Need::Right(Service::Map, Action::Read));
    assert_eq!(need(map::Set::ID), Need::Right(Service::Map, Action::Put));
    assert_eq!(need(Ping::ID), Need::Login);
}
