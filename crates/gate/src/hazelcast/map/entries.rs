//! One key.

use super::{place, timeout_ms};
use crate::hazelcast::call::Call;
use crate::hazelcast::failure::Handled;
use filbert_grid::map::operations as op;
use filbert_grid::{EntryView, Lifetime, Map};
use filbert_wire::messages::answers::{Done, Flag, Found};
use filbert_wire::messages::map as m;
use filbert_wire::messages::structures::SimpleEntryView;

/// The most frequent message: the bytes go from the partition straight into the connection's output.
#[inline]
pub(in crate::hazelcast) fn get(map: &Map, mut call: Call<'_, m::Get>, request: m::Get) -> Handled {
    let read = map.try_read(&request.key, |value| call.found(value));
    if read.is_some() {
        return Ok(());
    }
    let partition = request.key.partition();
    let operation = op::Get::new(request.key);
    call.answering().run(map.strands(), partition, operation, |value| Found { value })
}

#[inline]
pub(in crate::hazelcast) fn set(map: &Map, call: Call<'_, m::Set>, request: m::Set) -> Handled {
    let partition = request.key.partition();
    let place = place(&call, request.key, request.thread_id);
    let operation = op::Set { place, value: request.value, lifetime: Lifetime::ttl_ms(request.ttl_ms) };
    call.answering().run(map.strands(), partition, operation, |()| Done {})
}

#[inline]
pub(in crate::hazelcast) fn put(map: &Map, call: Call<'_, m::Put>, request: m::Put) -> Handled {
    let partition = request.key.partition();
    let place = place(&call, request.key, request.thread_id);
    let operation = op::Put { place, value: request.value, lifetime: Lifetime::ttl_ms(request.ttl_ms) };
    call.answering().run(map.strands(), partition, operation, |value| Found { value })
}

pub(in crate::hazelcast) fn put_with_max_idle(
    map: &Map,
    call: Call<'_, m::PutWithMaxIdle>,
    request: m::PutWithMaxIdle,
) -> Handled {
    let partition = request.key.partition();
    let place = place(&call, request.key, request.thread_id);
    let lifetime = Lifetime { ttl_ms: request.ttl_ms, max_idle_ms: request.max_idle_ms };
    let operation = op::Put { place, value: request.value, lifetime };
    call.answering().run(map.strands(), partition, operation, |value| Found { value })
}

pub(in crate::hazelcast) fn set_with_max_idle(
    map: &Map,
    call: Call<'_, m::SetWithMaxIdle>,
    request: m::SetWithMaxIdle,
) -> Handled {
    let partition = request.key.partition();
    let place = place(&call, request.key, request.thread_id);
    let lifetime = Lifetime { ttl_ms: request.ttl_ms, max_idle_ms: request.max_idle_ms };
    let operation = op::Set { place, value: request.value, lifetime };
    call.answering().run(map.strands(), partition, operation, |()| Found { value: None })
}

/// One that the store behind the map is not told of.
pub(in crate::hazelcast) fn put_transient(
    map: &Map,
    call: Call<'_, m::PutTransient>,
    request: m::PutTransient,
) -> Handled {
    let partition = request.key.partition();
    let place = place(&call, request.key, request.thread_id);
    let operation =
        op::PutTransient { place, value: request.value, lifetime: Lifetime::ttl_ms(request.ttl_ms) };
    call.answering().run(map.strands(), partition, operation, |_| Done {})
}

pub(in crate::hazelcast) fn put_transient_with_max_idle(
    map: &Map,
    call: Call<'_, m::PutTransientWithMaxIdle>,
    request: m::PutTransientWithMaxIdle,
) -> Handled {
    let partition = request.key.partition();
    let place = place(&call, request.key, request.thread_id);
    let lifetime = Lifetime { ttl_ms: request.ttl_ms, max_idle_ms: request.max_idle_ms };
    let operation = op::PutTransient { place, value: request.value, lifetime };
    call.answering().run(map.strands(), partition, operation, |value| Found { value })
}

pub(in crate::hazelcast) fn put_if_absent(
    map: &Map,
    call: Call<'_, m::PutIfAbsent>,
    request: m::PutIfAbsent,
) -> Handled {
    let partition = request.key.partition();
    let place = place(&call, request.key, request.thread_id);
    let lifetime = Lifetime::ttl_ms(request.ttl_ms);
    let operation = op::PutIfAbsent { place, value: request.value, lifetime };
    call.answering().run(map.strands(), partition, operation, |value| Found { value })
}

pub(in crate::hazelcast) fn put_if_absent_with_max_idle(
    map: &Map,
    call: Call<'_, m::PutIfAbsentWithMaxIdle>,
    request: m::PutIfAbsentWithMaxIdle,
) -> Handled {
    let partition = request.key.partition();
    let place = place(&call, request.key, request.thread_id);
    let lifetime = Lifetime { ttl_ms: request.ttl_ms, max_idle_ms: request.max_idle_ms };
    let operation = op::PutIfAbsent { place, value: request.value, lifetime };
    call.answering().run(map.strands(), partition, operation, |value| Found { value })
}

pub(in crate::hazelcast) fn try_put(map: &Map, call: Call<'_, m::TryPut>, request: m::TryPut) -> Handled {
    let partition = request.key.partition();
    let place = place(&call, request.key, request.thread_id).within_ms(timeout_ms(request.timeout_ms));
    let operation = op::TryPut { place, value: request.value };
    call.answering().run(map.strands(), partition, operation, |value| Flag { value })
}

pub(in crate::hazelcast) fn replace(map: &Map, call: Call<'_, m::Replace>, request: m::Replace) -> Handled {
    let partition = request.key.partition();
    let place = place(&call, request.key, request.thread_id);
    let operation = op::Replace { place, value: request.value };
    call.answering().run(map.strands(), partition, operation, |value| Found { value })
}

pub(in crate::hazelcast) fn replace_if_same(
    map: &Map,
    call: Call<'_, m::ReplaceIfSame>,
    request: m::ReplaceIfSame,
) -> Handled {
    let partition = request.key.partition();
    let place = place(&call, request.key, request.thread_id);
    let operation = op::ReplaceIfSame { place, expected: request.test_value, value: request.value };
    call.answering().run(map.strands(), partition, operation, |value| Flag { value })
}

pub(in crate::hazelcast) fn contains_key(
    map: &Map,
    call: Call<'_, m::ContainsKey>,
    request: m::ContainsKey,
) -> Handled {
    let partition = request.key.partition();
    let operation = op::ContainsKey::new(request.key);
    call.answering().run(map.strands(), partition, operation, |value| Flag { value })
}

pub(in crate::hazelcast) fn remove(map: &Map, call: Call<'_, m::Remove>, request: m::Remove) -> Handled {
    let partition = request.key.partition();
    let operation = op::Remove { place: place(&call, request.key, request.thread_id) };
    call.answering().run(map.strands(), partition, operation, |value| Found { value })
}

pub(in crate::hazelcast) fn remove_if_same(
    map: &Map,
    call: Call<'_, m::RemoveIfSame>,
    request: m::RemoveIfSame,
) -> Handled {
    let partition = request.key.partition();
    let place = place(&call, request.key, request.thread_id);
    let operation = op::RemoveIfSame { place, expected: request.value };
    call.answering().run(map.strands(), partition, operation, |value| Flag { value })
}

pub(in crate::hazelcast) fn delete(map: &Map, call: Call<'_, m::Delete>, request: m::Delete) -> Handled {
    let partition = request.key.partition();
    let operation = op::Delete { place: place(&call, request.key, request.thread_id) };
    call.answering().run(map.strands(), partition, operation, |value| m::Deleted { value })
}

pub(in crate::hazelcast) fn try_remove(
    map: &Map,
    call: Call<'_, m::TryRemove>,
    request: m::TryRemove,
) -> Handled {
    let partition = request.key.partition();
    let place = place(&call, request.key, request.thread_id).within_ms(timeout_ms(request.timeout_ms));
    let operation = op::TryRemove { place };
    call.answering().run(map.strands(), partition, operation, |value| Flag { value })
}

pub(in crate::hazelcast) fn evict(map: &Map, call: Call<'_, m::Evict>, request: m::Evict) -> Handled {
    let partition = request.key.partition();
    let operation = op::Evict { place: place(&call, request.key, request.thread_id) };
    call.answering().run(map.strands(), partition, operation, |value| Flag { value })
}

pub(in crate::hazelcast) fn set_ttl(map: &Map, call: Call<'_, m::SetTtl>, request: m::SetTtl) -> Handled {
    let partition = request.key.partition();
    // The message names no thread; a lock of any of the client's threads holds it up.
    let operation = op::SetTtl { place: place(&call, request.key, 0), ttl_ms: request.ttl_ms };
    call.answering().run(map.strands(), partition, operation, |value| Flag { value })
}

pub(in crate::hazelcast) fn get_entry_view(
    map: &Map,
    call: Call<'_, m::GetEntryView>,
    request: m::GetEntryView,
) -> Handled {
    let partition = request.key.partition();
    let operation = op::GetEntryView { key: request.key };
    call.answering().run(map.strands(), partition, operation, |view| m::EntryView {
        max_idle_ms: view.as_ref().map_or(0, |view| view.max_idle_ms),
        view: view.map(entry_view),
    })
}

/// What a client knows of an entry.
pub(super) fn known_view(view: SimpleEntryView) -> EntryView {
    EntryView {
        key: view.key,
        value: view.value,
        cost: view.cost,
        creation_time: view.creation_time_ms,
        expiration_time: view.expiration_time_ms,
        hits: view.hits,
        last_access_time: view.last_access_time_ms,
        last_stored_time: view.last_stored_time_ms,
        last_update_time: view.last_update_time_ms,
        version: view.version,
        ttl_ms: view.ttl_ms,
        max_idle_ms: view.max_idle_ms,
    }
}

fn entry_view(view: EntryView) -> SimpleEntryView {
    SimpleEntryView {
        key: view.key,
        value: view.value,
        cost: view.cost,
        creation_time_ms: view.creation_time,
        expiration_time_ms: view.expiration_time,
        hits: view.hits,
        last_access_time_ms: view.last_access_time,
        last_stored_time_ms: view.last_stored_time,
        last_update_time_ms: view.last_update_time,
        version: view.version,
        ttl_ms: view.ttl_ms,
        max_idle_ms: view.max_idle_ms,
    }
}
