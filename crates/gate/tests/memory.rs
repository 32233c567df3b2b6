//! What was destroyed takes no memory, whoever used it: clients can make and destroy maps without an end. Alone in its process, since it
//! looks at the memory of it.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]
#![cfg(target_os = "linux")]

#[path = "door/line.rs"]
#[allow(dead_code, reason = "shared with the tests of the door, which use more of it")]
mod line;

use filbert_wire::messages::client::{DestroyProxy, Ping};
use filbert_wire::messages::map;
use line::{Client, Member, int};
use uuid::Uuid;

const MAPS: usize = 300;
const ROUNDS: usize = 4;

/// Far less than a map takes whose partitions are used.
const BYTES: usize = 32 << 10;

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Uses maps as `used` does, and destroys each by another connection; looks at the memory from the second round on.
fn uses(what: &str, mut used: impl FnMut(&Member, &str)) {
    let member = Member::start();
    let mut destroyer = member.client();
    let mut before = 0;
    for round in 0..ROUNDS {
        if round == 1 {
            before = resident();
        }
        for number in 0..MAPS {
            let name = format!("{round}-{number}");
            // A partition takes memory from its first use on. Before anyone listens: events that a client does not read take some too.
            let entries = (1_000..1_400).map(|key| (int(key), int(key))).collect();
            let fill = map::PutAll { name: name.as_str().into(), entries, trigger_map_loader: false };
            destroyer.call(&fill).unwrap();
            used(&member, &name);
            let service_name = "hz:impl:mapService".into();
            destroyer.call(&DestroyProxy { name: name.as_str().into(), service_name }).unwrap();
        }
    }
    let (growth, maps) = (resident().saturating_sub(before), MAPS * (ROUNDS - 1));
    println!("{what}: {} KB more after {maps} maps", growth >> 10);
    assert!(growth < maps * BYTES, "{what}: {growth} bytes more after {maps} maps");
}

#[test]
fn destroyed_maps_take_no_memory() {
    let mut client = None;
    uses("a near cache", |member, name| {
        let name = name.into();
        let listener = map::AddNearCacheInvalidationListener { name, listener_flags: 256, local_only: true };
        client.get_or_insert_with(|| member.client()).call(&listener).unwrap();
    });
    let mut clients: Vec<Client> = Vec::new();
    let mut number = 0;
    uses("connections that were used once", |member, name| {
        if number % 50 == 0 {
            // All that they say from now on.
            clients.iter_mut().for_each(|client| assert!(client.call(&Ping {}).is_ok()));
            clients.push(member.client());
        }
        number += 1;
        let set = map::Set { name: name.into(), key: int(1), value: int(1), thread_id: 1, ttl_ms: -1 };
        clients.last_mut().unwrap().call(&set).unwrap();
    });
    let (mut stays, id) = (None, Some(Uuid::from_u128(1)));
    uses("locks of a client that stays", |member, name| {
        stays.get_or_insert_with(|| member.client_named(id));
        let lock = map::Lock { name: name.into(), key: int(1), thread_id: 1, ttl_ms: -1, reference_id: 1 };
        member.client_named(id).call(&lock).unwrap();
    });
}
