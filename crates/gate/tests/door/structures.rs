//! Structures beside maps, seen from a socket: what goes with a connection, whose a session is, what is bounded.

use crate::line::{Client, DEADLINE, Member, blob, eventually, int};
use filbert_gate::hazelcast::{HazelcastSettings, Rights, User};
use filbert_grid::{GridSettings, MapSettings, QueueSettings, SemaphoreSettings};
use filbert_pool::Stages;
use filbert_wire::Data;
use filbert_wire::field::Text;
use filbert_wire::messages::client::{
    Authentication, CreateProxies, CreateProxy, DestroyProxy, GetDistributedObjects, Ping,
};
use filbert_wire::messages::cp::{atomic_long, atomic_ref, fenced_lock, group, latch, semaphore, session};
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::structures::RaftGroupId;
use filbert_wire::messages::{flake_id, map, multi_map, pn_counter, queue, replicated_map, ringbuffer};
use std::sync::{Mutex, mpsc};
use uuid::Uuid;

fn default_group() -> RaftGroupId {
    RaftGroupId { name: "default".into(), seed: 0, id: 0 }
}

fn new_session(client: &mut Client) -> i64 {
    let create = session::CreateSession { group: default_group(), endpoint_name: "test".into() };
    client.call(&create).unwrap().session_id
}

fn lock(session_id: i64, call: u128, timeout_ms: i64) -> fenced_lock::TryLock {
    let invocation = Uuid::from_u128(call);
    fenced_lock::TryLock {
        group: default_group(),
        name: "l".into(),
        session_id,
        thread_id: 1,
        invocation,
        timeout_ms,
    }
}

fn acquire(session_id: i64, permits: i32, timeout_ms: i64) -> semaphore::Acquire {
    let (group, name, invocation) = (default_group(), "s".into(), Uuid::from_u128(9));
    semaphore::Acquire { group, name, session_id, thread_id: 1, invocation, permits, timeout_ms }
}

fn available(client: &mut Client) -> i32 {
    client.call(&semaphore::AvailablePermits { group: default_group(), name: "s".into() }).unwrap().value
}

/// Thousands of structures in one message held up every connection of the io loop, for seconds.
#[test]
fn many_structures_are_made_beside_other_work() {
    let member = Member::start();
    let mut client = member.client();
    let name = |number: usize| (format!("m{number}").into(), "hz:impl:mapService".into());
    let mut all: Vec<(Text, Text)> = (0..3_000).map(name).collect();
    client.call(&CreateProxies { proxies: all.clone() }).unwrap();
    assert_eq!(client.call(&GetDistributedObjects {}).unwrap().objects.len(), 3_000);
    // What cannot be made is told, also when it comes late.
    all.push(("x".repeat(5_000).as_str().into(), "hz:impl:mapService".into()));
    assert_eq!(client.refused(&CreateProxies { proxies: all }), ErrorCode::IllegalArgument);
    let few = vec![("x".repeat(5_000).as_str().into(), "hz:impl:mapService".into())];
    assert_eq!(client.refused(&CreateProxies { proxies: few }), ErrorCode::IllegalArgument);
}

/// The io loop that the message came to serves others meanwhile: it is the only one.
#[test]
fn others_are_served_while_many_structures_are_made() {
    let member = Member::on(Stages::builder().set("io.threads", 1).start().unwrap());
    let (mut maker, mut other) = (member.client(), member.client());
    let ((makes, is_made), (go_on, waits)) = (mpsc::channel(), mpsc::channel::<()>());
    let channels = Mutex::new((makes, waits));
    member.grid.structures().watch(move |_, _, name| {
        if &**name == "m100" {
            let (makes, waits) = &*channels.lock().unwrap();
            makes.send(()).unwrap();
            // Until the other one is served, or the test has failed.
            let _ = waits.recv_timeout(2 * DEADLINE);
        }
    });
    let proxies: Vec<(Text, Text)> = (0..3_000)
        .map(|number| (format!("m{number}").as_str().into(), "hz:impl:mapService".into()))
        .collect();
    let sent = maker.send(&CreateProxies { proxies });
    is_made.recv_timeout(DEADLINE).expect("they are made");
    assert!(other.call(&Ping {}).is_ok());
    assert!(member.grid.structures().len() < 3_000);
    go_on.send(()).unwrap();
    assert!(maker.answer::<CreateProxies>(sent).is_ok());
    assert_eq!(member.grid.structures().len(), 3_000);
}

#[test]
fn a_name_may_be_empty() {
    let member = Member::start();
    let mut client = member.client();
    let set = map::Set { name: "".into(), key: int(1), value: int(2), thread_id: 1, ttl_ms: -1 };
    client.call(&set).unwrap();
    let get = map::Get { name: "".into(), key: int(1), thread_id: 1 };
    assert_eq!(client.call(&get).unwrap().value, Some(int(2)));
    client.call(&queue::Offer { name: "".into(), value: int(1), timeout_ms: 0 }).unwrap();
    let objects = client.call(&GetDistributedObjects {}).unwrap().objects;
    assert!(objects.len() == 2 && objects.iter().all(|object| object.name.is_empty()));
}

/// A client that goes between its request and the answer: what it took is gone, and nobody gets an item twice.
#[test]
fn an_item_is_given_to_one_client_at_most() {
    let (items, gone) = (200, 40);
    let member = Member::start();
    let mut client = member.client();
    for item in 0..items {
        client.call(&queue::Offer { name: "q".into(), value: int(item), timeout_ms: 0 }).unwrap();
    }
    let mut taken = Vec::new();
    let poll = queue::Poll { name: "q".into(), timeout_ms: 0 };
    for _ in 0..gone {
        member.client().send(&poll);
        taken.extend(client.call(&poll).unwrap().value);
    }
    while let Some(item) = client.call(&poll).unwrap().value {
        taken.push(item);
    }
    let number = |item: &Data| i32::from_be_bytes(item.payload().try_into().unwrap());
    let numbers: Vec<_> = taken.iter().map(number).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "in order, each once: {numbers:?}");
    assert!(numbers.len() as i32 >= items - gone, "one for each client that is gone, no more: {numbers:?}");
}

/// The part of a name that chooses the partition took the settings away, silently.
#[test]
fn settings_hold_for_names_that_choose_a_partition() {
    let mut settings = GridSettings::default();
    settings.maps.set("x", MapSettings { ttl_seconds: 1, ..Default::default() });
    settings.queues.set("b", QueueSettings { max_size: 2 });
    settings.semaphores.set("s", SemaphoreSettings { sessionless: true });
    let member = Member::with_grid(settings);
    let mut client = member.client();
    assert_eq!(member.grid.map("x@key").settings().ttl_seconds, 1);
    let mut offer = |value| {
        let offer = queue::Offer { name: "b@key".into(), value: int(value), timeout_ms: 0 };
        client.call(&offer).unwrap().value
    };
    assert_eq!([1, 2, 3].map(&mut offer), [true, true, false]);
    let kind = semaphore::GetSemaphoreType { proxy_name: "s@group".into() };
    assert!(client.call(&kind).unwrap().value);
}

/// Permits that belong to nobody would be lost for ever.
#[test]
fn nothing_is_taken_for_a_connection_that_is_gone() {
    let member = Member::start();
    let mut giver = member.client();
    for round in 1..=20 {
        let mut waits = member.client();
        // One more than there are: the next that comes would be its.
        waits.send(&acquire(-1, i32::try_from(round).unwrap(), -1));
        let read = ringbuffer::ReadMany {
            name: "r".into(),
            start_sequence: round,
            min_count: 1,
            max_count: 1,
            filter: None,
        };
        waits.send(&read);
        assert!(waits.call(&Ping {}).is_ok());
        drop(waits);
        eventually("it is gone", || member.door.clients().len() == 1);
        let change = semaphore::Change {
            group: default_group(),
            name: "s".into(),
            session_id: -1,
            thread_id: 1,
            invocation: Uuid::from_u128(1),
            permits: 1,
        };
        giver.call(&change).unwrap();
        assert_eq!(i64::from(available(&mut giver)), round);
    }
}

/// Hazelcast's identity bug again: a session is the connection's client's, whatever number another client says.
#[test]
fn a_session_belongs_to_the_client_that_began_it() {
    let member = Member::start();
    let (mut ann, mut bob) = (member.client(), member.client());
    let of_ann = new_session(&mut ann);
    let fence = ann.call(&lock(of_ann, 1, 0)).unwrap().value;
    assert_ne!(fence, 0);
    assert_eq!(bob.refused(&lock(of_ann, 2, 0)), ErrorCode::SessionExpired);
    let unlock = |session_id| {
        let (group, invocation) = (default_group(), Uuid::from_u128(7));
        fenced_lock::Unlock { group, name: "l".into(), session_id, thread_id: 1, invocation }
    };
    assert_eq!(bob.refused(&unlock(of_ann)), ErrorCode::SessionExpired);
    assert_eq!(bob.refused(&acquire(of_ann, 1, 0)), ErrorCode::SessionExpired);
    let heartbeat = session::HeartbeatSession { group: default_group(), session_id: of_ann };
    assert_eq!(bob.refused(&heartbeat), ErrorCode::SessionExpired);
    let close = session::CloseSession { group: default_group(), session_id: of_ann };
    assert!(!bob.call(&close).unwrap().value);
    ann.call(&heartbeat).unwrap();
    let of_bob = new_session(&mut bob);
    assert_eq!(bob.refused(&unlock(of_bob)), ErrorCode::IllegalMonitorState);
    let waits = bob.send(&lock(of_bob, 3, 60_000));
    assert!(ann.call(&close).unwrap().value && !ann.call(&close).unwrap().value);
    assert!(bob.answer::<fenced_lock::TryLock>(waits).unwrap().value > fence);
    let ownership = fenced_lock::GetLockOwnership { group: default_group(), name: "l".into() };
    let owner = bob.call(&ownership).unwrap();
    assert_eq!((owner.session_id, owner.lock_count), (of_bob, 1));
}

/// A lock that went to a client which waits no more would be held until its session ends.
#[test]
fn a_lock_is_not_given_to_a_client_that_is_gone() {
    let member = Member::start();
    let mut holder = member.client();
    let session = new_session(&mut holder);
    let set = latch::TrySetCount { group: default_group(), name: "never".into(), count: 1 };
    assert!(holder.call(&set).unwrap().value);
    for round in 0..10_u128 {
        let mine = holder.call(&lock(session, 2 * round, 0)).unwrap().value;
        assert_ne!(mine, 0, "round {round}");
        let mut waits = member.client();
        let other = new_session(&mut waits);
        waits.send(&lock(other, 2 * round, 3_600_000));
        waits.send(&latch::Await {
            group: default_group(),
            name: "never".into(),
            invocation: Uuid::from_u128(round),
            timeout_ms: 3_600_000,
        });
        assert!(waits.call(&Ping {}).is_ok());
        drop(waits);
        eventually("it is gone", || member.door.clients().len() == 1);
        let (group, invocation) = (default_group(), Uuid::from_u128(2 * round + 1));
        let unlock =
            fenced_lock::Unlock { group, name: "l".into(), session_id: session, thread_id: 1, invocation };
        holder.call(&unlock).unwrap();
        let ownership = fenced_lock::GetLockOwnership { group: default_group(), name: "l".into() };
        assert_eq!(holder.call(&ownership).unwrap().lock_count, 0, "round {round}");
    }
}

/// Numbers that a hostile client makes up: each is refused before anything is made for it.
#[test]
fn numbers_that_cannot_be_are_refused() {
    let member = Member::start();
    let mut client = member.client();
    let read = |min_count, max_count| ringbuffer::ReadMany {
        name: "r".into(),
        start_sequence: 0,
        min_count,
        max_count,
        filter: None,
    };
    for (min, max) in [(0, i32::MAX), (2, 1), (i32::MIN, 1), (0, -1), (i32::MAX, i32::MAX)] {
        assert_eq!(client.refused(&read(min, max)), ErrorCode::IllegalArgument, "{min} to {max}");
    }
    for permits in [i32::MIN, -1, 0] {
        assert_eq!(client.refused(&acquire(-1, permits, -1)), ErrorCode::IllegalArgument, "{permits}");
    }
    for batch_size in [i32::MIN, 0, i32::MAX] {
        let batch = flake_id::NewIdBatch { name: "f".into(), batch_size };
        assert_eq!(client.refused(&batch), ErrorCode::IllegalArgument, "{batch_size}");
    }
    let init = |permits| semaphore::Init { group: default_group(), name: "s".into(), permits };
    assert_eq!(client.refused(&init(-1)), ErrorCode::IllegalArgument);
    assert!(client.call(&init(i32::MAX)).unwrap().value);
    let release = semaphore::Release {
        group: default_group(),
        name: "s".into(),
        session_id: -1,
        thread_id: 1,
        invocation: Uuid::from_u128(1),
        permits: i32::MAX,
    };
    assert_eq!(client.refused(&release), ErrorCode::IllegalArgument, "more than can be counted");
    assert_eq!(available(&mut client), i32::MAX);
    assert!(client.call(&Ping {}).is_ok());
}

#[test]
fn locks_of_a_multimap_go_with_their_client() {
    let member = Member::start();
    let (mut holder, mut other) = (member.client(), member.client());
    let lock = multi_map::Lock { name: "m".into(), key: int(1), thread_id: 1, ttl_ms: -1, reference_id: 1 };
    holder.call(&lock).unwrap();
    let put = multi_map::Put { name: "m".into(), key: int(1), value: int(2), thread_id: 1 };
    let waits = other.send(&put);
    assert!(other.call(&multi_map::IsLocked { name: "m".into(), key: int(1) }).unwrap().value);
    drop(holder);
    assert!(other.answer::<multi_map::Put>(waits).unwrap().value);
}

/// The Node.js client sends null as a value whose type says so.
#[test]
fn a_null_within_a_value_is_null() {
    let member = Member::start();
    let mut client = member.client();
    let null = || Some(Data::new(0, b""));
    let name = || "n".into();
    let group = default_group;
    let set = |old_value, new_value| atomic_ref::CompareAndSet {
        group: group(),
        name: name(),
        old_value,
        new_value,
    };
    assert!(client.call(&set(null(), Some(int(1)))).unwrap().value);
    assert!(client.call(&set(Some(int(1)), null())).unwrap().value);
    assert!(client.call(&atomic_ref::Contains { group: group(), name: name(), value: None }).unwrap().value);
    assert_eq!(client.call(&atomic_ref::Get { group: group(), name: name() }).unwrap().value, None);
    client.call(&ringbuffer::Add { name: name(), overflow_policy: 0, value: int(7) }).unwrap();
    let filter = null();
    let read = ringbuffer::ReadMany { name: name(), start_sequence: 0, min_count: 1, max_count: 1, filter };
    assert_eq!(client.call(&read).unwrap().items, [int(7)]);
}

#[test]
fn what_was_destroyed_in_the_cp_subsystem_stays_destroyed() {
    let member = Member::start();
    let mut client = member.client();
    let get = || atomic_long::Get { group: default_group(), name: "n".into() };
    let destroy = || group::DestroyCpObject {
        group: default_group(),
        service_name: "hz:raft:atomicLongService".into(),
        object_name: "n".into(),
    };
    assert_eq!(client.call(&get()).unwrap().value, 0);
    client.call(&destroy()).unwrap();
    client.call(&destroy()).unwrap();
    assert_eq!(client.refused(&get()), ErrorCode::DistributedObjectDestroyed);
    let proxy = DestroyProxy { name: "n".into(), service_name: "hz:raft:atomicLongService".into() };
    client.call(&proxy).unwrap();
    assert_eq!(client.refused(&get()), ErrorCode::DistributedObjectDestroyed, "not that way either");
    assert!(
        client.call(&GetDistributedObjects {}).unwrap().objects.is_empty(),
        "clients have no proxy for it"
    );
    let mut other = get();
    other.group.name = "mine".into();
    assert_eq!(client.call(&other).unwrap().value, 0);
    for (proxy_name, expected) in [("n", "default"), ("n@ mine", "mine")] {
        let made = client.call(&group::CreateCpGroup { proxy_name: proxy_name.into() }).unwrap();
        assert_eq!(&*made.group.name, expected);
    }
    let wrong = group::CreateCpGroup { proxy_name: "n@METADATA".into() };
    assert_eq!(client.refused(&wrong), ErrorCode::IllegalArgument);
}

#[test]
fn a_read_of_a_ringbuffer_holds_no_more_than_an_answer_may() {
    let member = Member::with(HazelcastSettings { answer_bytes: 100_000, ..HazelcastSettings::default() });
    let mut client = member.client();
    for _ in 0..20 {
        let add = ringbuffer::Add { name: "r".into(), overflow_policy: 0, value: blob(30_000) };
        client.call(&add).unwrap();
    }
    let mut from = 0;
    while from < 20 {
        let read = ringbuffer::ReadMany {
            name: "r".into(),
            start_sequence: from,
            // More than an answer holds, as long as there are so many.
            min_count: i32::try_from(20 - from).unwrap().min(4),
            max_count: 10,
            filter: None,
        };
        let many = client.call(&read).unwrap();
        assert!((1..=3).contains(&many.items.len()), "{} items", many.items.len());
        assert_eq!(many.item_sequences.unwrap()[0], from);
        from = many.next_sequence;
    }
    for (policy, min_count) in [(7, 1), (0, -1)] {
        let add = ringbuffer::Add { name: "r".into(), overflow_policy: policy, value: int(1) };
        let read = ringbuffer::ReadMany {
            name: "r".into(),
            start_sequence: 0,
            min_count,
            max_count: 1,
            filter: None,
        };
        let refused = if policy == 7 { client.refused(&add) } else { client.refused(&read) };
        assert_eq!(refused, ErrorCode::IllegalArgument);
    }
    let filter = Some(int(1));
    let read =
        ringbuffer::ReadMany { name: "r".into(), start_sequence: 0, min_count: 0, max_count: 1, filter };
    assert_eq!(client.refused(&read), ErrorCode::Serialization, "it is no code");
}

#[test]
fn a_counter_says_whose_replica_it_is() {
    let member = Member::start();
    let mut client = member.client();
    let add = |target_replica, replica_timestamps| pn_counter::Add {
        name: "c".into(),
        delta: 5,
        get_before_update: true,
        replica_timestamps,
        target_replica,
    };
    let here = member.grid.member();
    let counted = client.call(&add(here, Vec::new())).unwrap();
    assert_eq!((counted.value, counted.replica_timestamps.clone()), (0, vec![(here, 1)]));
    let counted = client.call(&add(here, counted.replica_timestamps)).unwrap();
    assert_eq!((counted.value, counted.replica_count), (5, 1));
    let stranger = Uuid::from_u128(5);
    assert_eq!(client.refused(&add(stranger, Vec::new())), ErrorCode::TargetNotReplica);
    for lost in [(here, 99), (stranger, 1)] {
        assert_eq!(client.refused(&add(here, vec![lost])), ErrorCode::ConsistencyLost);
    }
    let batch = flake_id::NewIdBatch { name: "f".into(), batch_size: -1 };
    assert_eq!(client.refused(&batch), ErrorCode::IllegalArgument);
}

/// Sessions take memory: nobody makes any who could lock nothing with them.
#[test]
fn a_user_without_locks_has_no_sessions() {
    let login = |may: &[&str]| {
        let may = may.iter().map(|line| line.parse::<Rights>().unwrap()).collect();
        let user = User { name: "ann".into(), password: Some("secret".into()), token: None, may };
        let member = Member::with(HazelcastSettings { users: vec![user], ..HazelcastSettings::default() });
        let mut client = Client::connect(member.address());
        let (username, password) = (Some("ann".into()), Some("secret".into()));
        let login = Authentication { username, password, ..crate::line::authentication() };
        assert_eq!(client.log_in(&login).status, 0);
        (member, client)
    };
    let create = || session::CreateSession { group: default_group(), endpoint_name: "x".into() };
    let (_member, mut client) = login(&["map/*"]);
    assert_eq!(client.refused(&create()), ErrorCode::AccessControl);
    let destroy = group::DestroyCpObject {
        group: default_group(),
        service_name: "hz:raft:lockService".into(),
        object_name: "l".into(),
    };
    assert_eq!(client.refused(&destroy), ErrorCode::AccessControl);
    let (member, mut client) = login(&["lock/l: create, lock", "lock/m@mine: read"]);
    let session = client.call(&create()).unwrap().session_id;
    assert!(client.call(&lock(session, 1, 0)).is_ok());
    let elsewhere = |name: &str| {
        let group = RaftGroupId { name: "mine".into(), ..default_group() };
        fenced_lock::TryLock { group, name: name.into(), ..lock(session, 1, 0) }
    };
    assert_eq!(client.refused(&elsewhere("l")), ErrorCode::AccessControl, "a group is part of the name");
    assert_eq!(client.refused(&elsewhere("m")), ErrorCode::AccessControl);
    assert_eq!(member.grid.structures().len(), 1);
}

#[test]
fn proxies_of_all_kinds_can_be_made_and_destroyed() {
    let member = Member::start();
    let mut client = member.client();
    let kinds =
        ["set", "multiMap", "replicatedMap", "ringbuffer", "reliableTopic", "flakeIdGenerator", "PNCounter"];
    for kind in kinds {
        let service_name = || format!("hz:impl:{kind}Service").as_str().into();
        client.call(&CreateProxy { name: "x".into(), service_name: service_name() }).unwrap();
        assert!(!member.grid.structures().is_empty(), "{kind}");
        client.call(&DestroyProxy { name: "x".into(), service_name: service_name() }).unwrap();
        assert_eq!(member.grid.structures().list(), [], "{kind}");
    }
}

#[test]
fn a_latch_is_waited_for_without_a_thread() {
    let member = Member::start();
    let mut client = member.client();
    let (group, name) = (default_group, || "l".into());
    assert!(client.call(&latch::TrySetCount { group: group(), name: name(), count: 1 }).unwrap().value);
    let mut waiting = Vec::new();
    for call in 0..500 {
        let invocation = Uuid::from_u128(call);
        waiting.push(client.send(&latch::Await {
            group: group(),
            name: name(),
            invocation,
            timeout_ms: 60_000,
        }));
    }
    let round = client.call(&latch::GetRound { group: group(), name: name() }).unwrap().value;
    let (expected_round, invocation) = (round, Uuid::from_u128(1));
    client.call(&latch::CountDown { group: group(), name: name(), invocation, expected_round }).unwrap();
    for correlation in waiting {
        assert!(client.answer::<latch::Await>(correlation).unwrap().value);
    }
    assert_eq!(
        client.refused(&latch::TrySetCount { group: group(), name: name(), count: -1 }),
        ErrorCode::IllegalArgument
    );
}

/// As Java's client iterates: partition by partition, with the pointers that it was given.
#[test]
fn a_map_is_iterated_page_by_page() {
    let member = Member::start();
    let mut client = member.client();
    let map = member.grid.map("m");
    for key in 0..2_000 {
        map.set(int(key), int(-key)).wait().unwrap();
    }
    let mut found = std::collections::BTreeMap::new();
    for partition in 0..271 {
        let mut iteration_pointers = vec![(i32::MAX, -1)];
        while iteration_pointers.last().unwrap().0 >= 0 {
            let fetch = map::FetchEntries { name: "m".into(), iteration_pointers, batch: 3 };
            let page = client.call_on(partition, &fetch).unwrap();
            assert!(page.entries.len() <= 3);
            found.extend(page.entries.into_iter().map(|(key, value)| (key.payload().to_vec(), value)));
            iteration_pointers = page.iteration_pointers;
        }
    }
    assert_eq!(found.len(), 2_000);
    assert!(found.iter().all(|(key, value)| {
        let number = |payload: &[u8]| i32::from_be_bytes(payload.try_into().unwrap());
        number(key) == -number(value.payload())
    }));
    for (partition, pointers) in [(-1, vec![(i32::MAX, -1)]), (0, Vec::new()), (0, vec![(-1, 0)])] {
        let fetch = map::FetchKeys { name: "m".into(), iteration_pointers: pointers, batch: 3 };
        let refused = client.call_on(partition, &fetch).unwrap_err();
        assert_eq!(refused.errors[0].code, ErrorCode::IllegalArgument as i32);
    }
}

#[test]
fn a_replicated_map_answers_as_a_map_does() {
    let member = Member::start();
    let mut client = member.client();
    let put = replicated_map::Put { name: "m".into(), key: int(1), value: int(2), ttl_ms: 0 };
    assert_eq!(client.call(&put).unwrap().value, None);
    assert_eq!(client.call(&put).unwrap().value, Some(int(2)));
    assert_eq!(
        client.call(&replicated_map::EntrySet { name: "m".into() }).unwrap().entries,
        [(int(1), int(2))]
    );
    assert_eq!(member.grid.replicated_map("m").size().wait(), Ok(1));
    assert_eq!(member.grid.map("m").size().wait(), Ok(0));
}
