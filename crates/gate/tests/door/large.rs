//! Answers that would be too large: refused before they take the memory, one by one and all together.

use crate::line::{Client, Member, blob, eventually, int};
use filbert_gate::hazelcast::HazelcastSettings;
use filbert_wire::Data;
use filbert_wire::messages::client::Ping;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::structures::{AnchorDataListHolder, PagingPredicateHolder};
use filbert_wire::messages::{list, map, queue};

const ITEM: usize = 10_000;
const ITEMS: i32 = 40;

/// Room for half of what `fill` writes.
fn member() -> Member {
    let answer_bytes = ITEM * ITEMS as usize / 2;
    Member::with(HazelcastSettings { answer_bytes, ..HazelcastSettings::default() })
}

fn fill(client: &mut Client, count: i32) {
    for key in 0..count {
        let set = map::Set { name: "m".into(), key: int(key), value: blob(ITEM), thread_id: 1, ttl_ms: -1 };
        client.call(&set).unwrap();
        client.call(&list::Add { name: "l".into(), value: blob(ITEM) }).unwrap();
        client.call(&queue::Offer { name: "q".into(), value: blob(ITEM), timeout_ms: 0 }).unwrap();
    }
}

/// An object of one of Hazelcast's classes that has no fields.
fn object(factory: i32, class: i32) -> Data {
    Data::new(-2, &[&[1], &factory.to_be_bytes()[..], &class.to_be_bytes()].concat())
}

fn everything() -> Data {
    object(-20, 14)
}

/// One page that has all there is.
fn page() -> PagingPredicateHolder {
    PagingPredicateHolder {
        anchors: AnchorDataListHolder { pages: Vec::new(), anchors: Vec::new() },
        predicate: None,
        comparator: None,
        page_size: i32::MAX,
        page: 0,
        iteration_type: 1,
        partition_key: None,
        partition_keys: None,
    }
}

#[test]
fn an_answer_that_is_too_large_is_refused() {
    let member = member();
    let mut client = member.client();
    fill(&mut client, ITEMS);
    let name = || "m".into();
    let refused = [
        client.refused(&map::Values { name: name() }),
        client.refused(&map::EntrySet { name: name() }),
        client.refused(&map::ValuesWithPredicate { name: name(), predicate: everything() }),
        client.refused(&map::EntriesWithPredicate { name: name(), predicate: everything() }),
        client.refused(&map::ValuesWithPagingPredicate { name: name(), predicate: page() }),
        client.refused(&map::Project { name: name(), projection: object(-30, 2) }),
        // However often a key is named.
        client.refused(&map::GetAll { name: name(), keys: vec![int(1); ITEMS as usize] }),
        client.refused(&list::GetAll { name: "l".into() }),
        client.refused(&list::Iterator { name: "l".into() }),
        client.refused(&queue::Iterator { name: "q".into() }),
    ];
    assert_eq!(refused, [ErrorCode::QueryResultSizeExceeded; 10]);
    assert_eq!(client.call(&map::KeySet { name: name() }).unwrap().values.len(), ITEMS as usize);
    assert_eq!(client.call(&map::GetAll { name: name(), keys: vec![int(1)] }).unwrap().entries.len(), 1);
    assert_eq!(client.call(&list::Sub { name: "l".into(), from: 0, to: 5 }).unwrap().values.len(), 5);
    assert!(client.call(&Ping {}).is_ok());
}

/// What is taken out cannot be refused: it would be lost.
#[test]
fn a_drain_takes_what_one_answer_may_hold() {
    let member = member();
    let mut client = member.client();
    fill(&mut client, ITEMS);
    let mut rounds = 0;
    let mut left = ITEMS as usize;
    while left > 0 {
        let drained = client.call(&queue::DrainTo { name: "q".into() }).unwrap().values.len();
        assert!(drained > 0 && drained <= ITEMS as usize / 2, "{drained}");
        (left, rounds) = (left - drained, rounds + 1);
    }
    assert!(rounds > 1);
}

/// Answers that nobody reads stay counted until their connection is gone, so that many connections take no more than few.
#[test]
fn all_answers_together_are_bounded() {
    let size = ITEM * ITEMS as usize;
    let settings = HazelcastSettings {
        answer_bytes: 20 * size,
        total_answer_bytes: 20 * size,
        ..HazelcastSettings::default()
    };
    let member = Member::with(settings);
    let mut client = member.client();
    // Larger than what the system takes from a peer that does not read.
    for key in 0..15 {
        let set = map::Set { name: "m".into(), key: int(key), value: blob(size), thread_id: 1, ttl_ms: -1 };
        client.call(&set).unwrap();
    }
    let values = map::Values { name: "m".into() };
    assert_eq!(client.call(&values).unwrap().values.len(), 15);
    // It has its answer a moment before the bytes are given back.
    eventually("nothing waits", || member.door.stats().in_flight == 0);
    let mut deaf = member.client();
    deaf.send(&values);
    eventually("its answer waits", || member.door.stats().in_flight > size);
    assert_eq!(client.refused(&values), ErrorCode::Overload);
    assert!(client.call(&map::Get { name: "m".into(), key: int(1), thread_id: 1 }).is_ok());
    drop(deaf);
    // Its bytes are given back a moment after it is gone.
    let answered =
        |values: &map::Values| member.client().call(values).is_ok_and(|all| all.values.len() == 15);
    eventually("there is room again", || answered(&values));
}
