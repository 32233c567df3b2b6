//! Many keys, or all of them. Each answers when all partitions have; the answer is put together on the `generic` stage.

use super::entries::known_view;
use super::owner;
use crate::hazelcast::call::Call;
use crate::hazelcast::failure::Handled;
use filbert_grid::Map;
use filbert_wire::messages::answers::{Count, Done, Flag, Items, Pairs};
use filbert_wire::messages::map as m;

pub(in crate::hazelcast) fn contains_value(
    map: &Map,
    call: Call<'_, m::ContainsValue>,
    request: m::ContainsValue,
) -> Handled {
    call.answering().follow_all(map.contains_value(&request.value), |value| Flag { value })
}

pub(in crate::hazelcast) fn size(map: &Map, call: Call<'_, m::Size>, _request: m::Size) -> Handled {
    call.answering().follow_all(map.size(), |size| Count { value: i32::try_from(size).unwrap_or(i32::MAX) })
}

pub(in crate::hazelcast) fn is_empty(map: &Map, call: Call<'_, m::IsEmpty>, _request: m::IsEmpty) -> Handled {
    call.answering().follow_all(map.is_empty(), |value| Flag { value })
}

pub(in crate::hazelcast) fn get_all(map: &Map, mut call: Call<'_, m::GetAll>, request: m::GetAll) -> Handled {
    let map = call.bounded(map);
    call.answering().follow_all(map.get_all(request.keys), |entries| Pairs { entries })
}

pub(in crate::hazelcast) fn put_all(map: &Map, call: Call<'_, m::PutAll>, request: m::PutAll) -> Handled {
    let map = map.as_owner(owner(&call, 0));
    call.answering().follow_all(map.put_all(request.entries), |()| Done {})
}

pub(in crate::hazelcast) fn put_all_with_metadata(
    map: &Map,
    call: Call<'_, m::PutAllWithMetadata>,
    request: m::PutAllWithMetadata,
) -> Handled {
    let map = map.as_owner(owner(&call, 0));
    let entries = request.entries.into_iter().map(known_view);
    call.answering().follow_all(map.put_all_views(entries), |()| Done {})
}

pub(in crate::hazelcast) fn key_set(
    map: &Map,
    mut call: Call<'_, m::KeySet>,
    _request: m::KeySet,
) -> Handled {
    let map = call.bounded(map);
    call.answering().follow_all(map.key_set(), |values| Items { values })
}

pub(in crate::hazelcast) fn values(map: &Map, mut call: Call<'_, m::Values>, _request: m::Values) -> Handled {
    let map = call.bounded(map);
    call.answering().follow_all(map.values(), |values| Items { values })
}

pub(in crate::hazelcast) fn entry_set(
    map: &Map,
    mut call: Call<'_, m::EntrySet>,
    _request: m::EntrySet,
) -> Handled {
    let map = call.bounded(map);
    call.answering().follow_all(map.entry_set(), |entries| Pairs { entries })
}

pub(in crate::hazelcast) fn clear(map: &Map, call: Call<'_, m::Clear>, _request: m::Clear) -> Handled {
    let map = map.as_owner(owner(&call, 0));
    call.answering().follow_all(map.clear(), |()| Done {})
}

pub(in crate::hazelcast) fn evict_all(
    map: &Map,
    call: Call<'_, m::EvictAll>,
    _request: m::EvictAll,
) -> Handled {
    let map = map.as_owner(owner(&call, 0));
    call.answering().follow_all(map.evict_all(), |()| Done {})
}

pub(in crate::hazelcast) fn flush(map: &Map, call: Call<'_, m::Flush>, _request: m::Flush) -> Handled {
    call.answering().follow_long(map.flush(), |()| Done {})
}

pub(in crate::hazelcast) fn load_all(map: &Map, call: Call<'_, m::LoadAll>, request: m::LoadAll) -> Handled {
    call.answering().follow_long(map.load_all(request.replace_existing_values), |()| Done {})
}

pub(in crate::hazelcast) fn load_given_keys(
    map: &Map,
    call: Call<'_, m::LoadGivenKeys>,
    request: m::LoadGivenKeys,
) -> Handled {
    let loaded = map.load_keys(request.keys, request.replace_existing_values);
    call.answering().follow_long(loaded, |()| Done {})
}
