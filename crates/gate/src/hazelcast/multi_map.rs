//! Maps with any number of values for a key. Locks belong to a thread of the client, as those of maps do, and go with it.

use super::answers::{count, done, done_anyway, flag, handlers, items};
use super::call::Call;
use super::clients::Locked;
use super::failure::Handled;
use super::map::{lease_ms, listen_to_entries, owner, timeout_ms};
use filbert_grid::{Interest, MapEventKind, MultiMap};
use filbert_wire::Data;
use filbert_wire::message::{Raises, Request};
use filbert_wire::messages::answers::{Flag, Items, Pairs, Registered};
use filbert_wire::messages::map::EntryEvent;
use filbert_wire::messages::multi_map as m;
use std::sync::Arc;

handlers! {
    Arc<MultiMap>;
    get(m::Get) |map, request| map.get(&request.key) => items;
    contains_key(m::ContainsKey) |map, request| map.contains_key(&request.key) => flag;
    contains_entry(m::ContainsEntry) |map, request| map.contains_entry(&request.key, &request.value) => flag;
    value_count(m::ValueCount) |map, request| map.value_count(&request.key) => count;
    is_locked(m::IsLocked) |map, request| map.is_locked(&request.key) => flag;
    force_unlock(m::ForceUnlock) |map, request| map.force_unlock(&request.key) => done;
}

pub(super) fn put(map: &Arc<MultiMap>, call: Call<'_, m::Put>, request: m::Put) -> Handled {
    let owner = owner(&call, request.thread_id);
    call.answering().invoke(flag, |reply| map.put_to(&request.key, &request.value, owner, || reply.make()))
}

pub(super) fn put_all(map: &Arc<MultiMap>, call: Call<'_, m::PutAll>, request: m::PutAll) -> Handled {
    let owner = owner(&call, 0);
    call.answering().follow_all(map.put_all(request.entries, owner), done)
}

pub(super) fn remove(map: &Arc<MultiMap>, call: Call<'_, m::Remove>, request: m::Remove) -> Handled {
    let owner = owner(&call, request.thread_id);
    call.taking()
        .answering()
        .invoke_counted(items, |reply| map.remove_to(&request.key, owner, || reply.make()))
}

pub(super) fn delete(map: &Arc<MultiMap>, call: Call<'_, m::Delete>, request: m::Delete) -> Handled {
    let owner = owner(&call, request.thread_id);
    call.answering().invoke(done, |reply| map.delete_to(&request.key, owner, || reply.make()))
}

pub(super) fn remove_entry(
    map: &Arc<MultiMap>,
    call: Call<'_, m::RemoveEntry>,
    request: m::RemoveEntry,
) -> Handled {
    let owner = owner(&call, request.thread_id);
    let (key, value) = (&request.key, &request.value);
    call.answering().invoke(flag, |reply| map.remove_entry_to(key, value, owner, || reply.make()))
}

pub(super) fn key_set(map: &Arc<MultiMap>, call: Call<'_, m::KeySet>, _request: m::KeySet) -> Handled {
    call.answering().follow_all(map.key_set(), |values| Items { values })
}

pub(super) fn values(map: &Arc<MultiMap>, call: Call<'_, m::Values>, _request: m::Values) -> Handled {
    call.answering().follow_all(map.values(), |values| Items { values })
}

pub(super) fn entry_set(map: &Arc<MultiMap>, call: Call<'_, m::EntrySet>, _request: m::EntrySet) -> Handled {
    call.answering().follow_all(map.entry_set(), |entries| Pairs { entries })
}

pub(super) fn contains_value(
    map: &Arc<MultiMap>,
    call: Call<'_, m::ContainsValue>,
    request: m::ContainsValue,
) -> Handled {
    call.answering().follow_all(map.contains_value(&request.value), flag)
}

pub(super) fn size(map: &Arc<MultiMap>, call: Call<'_, m::Size>, _request: m::Size) -> Handled {
    call.answering().follow_all(map.size(), count)
}

pub(super) fn clear(map: &Arc<MultiMap>, call: Call<'_, m::Clear>, _request: m::Clear) -> Handled {
    call.answering().follow_all(map.clear(), done)
}

pub(super) fn lock(map: &Arc<MultiMap>, call: Call<'_, m::Lock>, request: m::Lock) -> Handled {
    let (owner, lease) = (owner(&call, request.thread_id), lease_ms(request.ttl_ms));
    call.desk.locks(&Locked::MultiMap(Arc::clone(map)));
    // It waits as long as it takes: that is longer than the clock can tell.
    call.answering()
        .invoke(done_anyway, |reply| map.lock_to(&request.key, owner, u64::MAX, lease, || reply.make()))
}

pub(super) fn try_lock(map: &Arc<MultiMap>, call: Call<'_, m::TryLock>, request: m::TryLock) -> Handled {
    let (owner, lease) = (owner(&call, request.thread_id), lease_ms(request.lease_ms));
    let timeout = timeout_ms(request.timeout_ms);
    call.desk.locks(&Locked::MultiMap(Arc::clone(map)));
    call.answering().invoke(flag, |reply| map.lock_to(&request.key, owner, timeout, lease, || reply.make()))
}

pub(super) fn unlock(map: &Arc<MultiMap>, call: Call<'_, m::Unlock>, request: m::Unlock) -> Handled {
    let owner = owner(&call, request.thread_id);
    call.answering().follow(map.unlock(&request.key, owner), done)
}

/// What listeners of a multimap hear.
const HEARD: i32 = MapEventKind::Added.flag() | MapEventKind::Removed.flag() | MapEventKind::ClearAll.flag();

fn listen<R>(map: &Arc<MultiMap>, call: Call<'_, R>, key: Option<Data>, include_value: bool) -> Handled
where
    R: Request<Response = Registered> + Raises<EntryEvent>,
{
    let interest = Interest { flags: HEARD, key, condition: None, include_value };
    listen_to_entries(call, |id, listener| {
        map.add_listener(id, interest, listener);
        map.listener_remover(id)
    })
}

pub(super) fn add_entry_listener(
    map: &Arc<MultiMap>,
    call: Call<'_, m::AddEntryListener>,
    request: m::AddEntryListener,
) -> Handled {
    listen(map, call, None, request.include_value)
}

pub(super) fn add_entry_listener_to_key(
    map: &Arc<MultiMap>,
    call: Call<'_, m::AddEntryListenerToKey>,
    request: m::AddEntryListenerToKey,
) -> Handled {
    listen(map, call, Some(request.key.detached()), request.include_value)
}

pub(super) fn remove_entry_listener(
    _map: &Arc<MultiMap>,
    call: Call<'_, m::RemoveEntryListener>,
    request: m::RemoveEntryListener,
) -> Handled {
    let value = call.desk.registrations.remove(request.registration_id);
    call.now(Flag { value })
}
