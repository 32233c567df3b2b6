//! Maps that every member has as a whole.

use super::answers::{done, flag, found, handlers};
use super::call::Call;
use super::failure::Handled;
use super::map::{condition, listen_to_entries};
use filbert_grid::map::EventCondition;
use filbert_grid::{Interest, MapEvent, MapEventKind, ReplicatedMap};
use filbert_wire::Data;
use filbert_wire::message::{Raises, Request};
use filbert_wire::messages::answers::{Count, Flag, Items, Pairs, Registered};
use filbert_wire::messages::map::EntryEvent;
use filbert_wire::messages::replicated_map as m;
use std::time::Duration;

handlers! {
    ReplicatedMap;
    put(m::Put) |map, request| map.put(request.key.detached(), request.value.detached(), ttl(request.ttl_ms)) => found;
    get(m::Get) |map, request| map.get(request.key.clone()) => found;
    remove(m::Remove) |map, request| map.remove(request.key.clone()) => found;
    contains_key(m::ContainsKey) |map, request| map.contains_key(request.key.clone()) => flag;
}

/// A lifetime as clients say it: none when it is not positive.
fn ttl(ttl_ms: i64) -> Option<Duration> {
    u64::try_from(ttl_ms).ok().filter(|ttl| *ttl > 0).map(Duration::from_millis)
}

pub(super) fn put_all(map: &ReplicatedMap, call: Call<'_, m::PutAll>, request: m::PutAll) -> Handled {
    call.answering().follow_all(map.put_all(request.entries), done)
}

pub(super) fn size(map: &ReplicatedMap, call: Call<'_, m::Size>, _request: m::Size) -> Handled {
    call.answering().follow_all(map.size(), |size| Count { value: i32::try_from(size).unwrap_or(i32::MAX) })
}

pub(super) fn is_empty(map: &ReplicatedMap, call: Call<'_, m::IsEmpty>, _request: m::IsEmpty) -> Handled {
    call.answering().follow_all(map.is_empty(), flag)
}

pub(super) fn contains_value(
    map: &ReplicatedMap,
    call: Call<'_, m::ContainsValue>,
    request: m::ContainsValue,
) -> Handled {
    call.answering().follow_all(map.contains_value(&request.value), flag)
}

pub(super) fn clear(map: &ReplicatedMap, call: Call<'_, m::Clear>, _request: m::Clear) -> Handled {
    call.answering().follow_all(map.clear(), done)
}

pub(super) fn key_set(map: &ReplicatedMap, mut call: Call<'_, m::KeySet>, _request: m::KeySet) -> Handled {
    let map = map.within(&call.allowance());
    call.answering().follow_all(map.key_set(), |values| Items { values })
}

pub(super) fn values(map: &ReplicatedMap, mut call: Call<'_, m::Values>, _request: m::Values) -> Handled {
    let map = map.within(&call.allowance());
    call.answering().follow_all(map.values(), |values| Items { values })
}

pub(super) fn entry_set(
    map: &ReplicatedMap,
    mut call: Call<'_, m::EntrySet>,
    _request: m::EntrySet,
) -> Handled {
    let map = map.within(&call.allowance());
    call.answering().follow_all(map.entry_set(), |entries| Pairs { entries })
}

/// What listeners of a replicated map hear. An entry whose time is over is evicted here; to maps it is another word.
const HEARD: i32 = MapEventKind::Added.flag()
    | MapEventKind::Removed.flag()
    | MapEventKind::Updated.flag()
    | MapEventKind::Evicted.flag()
    | MapEventKind::Expired.flag()
    | MapEventKind::ClearAll.flag();

fn listen<R>(
    map: &ReplicatedMap,
    call: Call<'_, R>,
    key: Option<Data>,
    condition: Option<EventCondition>,
    include_value: bool,
) -> Handled
where
    R: Request<Response = Registered> + Raises<EntryEvent>,
{
    let interest = Interest { flags: HEARD, key, condition, include_value };
    listen_to_entries(call, |id, listener| {
        map.add_listener(id, interest, move |event| {
            if event.kind == MapEventKind::Expired {
                listener(&MapEvent { kind: MapEventKind::Evicted, ..event.clone() });
            } else {
                listener(event);
            }
        });
        map.listener_remover(id)
    })
}

pub(super) fn add_entry_listener(
    map: &ReplicatedMap,
    call: Call<'_, m::AddEntryListener>,
    _request: m::AddEntryListener,
) -> Handled {
    listen(map, call, None, None, true)
}

pub(super) fn add_entry_listener_to_key(
    map: &ReplicatedMap,
    call: Call<'_, m::AddEntryListenerToKey>,
    request: m::AddEntryListenerToKey,
) -> Handled {
    listen(map, call, Some(request.key.detached()), None, true)
}

pub(super) fn add_entry_listener_with_predicate(
    map: &ReplicatedMap,
    call: Call<'_, m::AddEntryListenerWithPredicate>,
    request: m::AddEntryListenerWithPredicate,
) -> Handled {
    let condition = Some(condition(call.desk, &request.predicate)?);
    listen(map, call, None, condition, true)
}

pub(super) fn add_entry_listener_to_key_with_predicate(
    map: &ReplicatedMap,
    call: Call<'_, m::AddEntryListenerToKeyWithPredicate>,
    request: m::AddEntryListenerToKeyWithPredicate,
) -> Handled {
    let condition = Some(condition(call.desk, &request.predicate)?);
    listen(map, call, Some(request.key.detached()), condition, true)
}

pub(super) fn add_near_cache_entry_listener(
    map: &ReplicatedMap,
    call: Call<'_, m::AddNearCacheEntryListener>,
    request: m::AddNearCacheEntryListener,
) -> Handled {
    listen(map, call, None, None, request.include_value)
}

pub(super) fn remove_entry_listener(
    _map: &ReplicatedMap,
    call: Call<'_, m::RemoveEntryListener>,
    request: m::RemoveEntryListener,
) -> Handled {
    let value = call.desk.registrations.remove(request.registration_id);
    call.now(Flag { value })
}
