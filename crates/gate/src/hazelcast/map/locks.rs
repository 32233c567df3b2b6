//! Locks of keys. They belong to a thread of the client that the connection belongs to, and go with it.

use super::{owner, place, timeout_ms};
use crate::hazelcast::call::Call;
use crate::hazelcast::clients::Locked;
use crate::hazelcast::failure::Handled;
use filbert_grid::Map;
use filbert_grid::map::operations as op;
use filbert_wire::messages::answers::{Done, Flag};
use filbert_wire::messages::map as m;

/// A lease as clients say it: none when it is not positive, or as good as for ever.
pub(in crate::hazelcast) fn lease_ms(lease_ms: i64) -> Option<u64> {
    u64::try_from(lease_ms).ok().filter(|lease| *lease > 0 && *lease != i64::MAX as u64)
}

pub(in crate::hazelcast) fn lock(map: &Map, call: Call<'_, m::Lock>, request: m::Lock) -> Handled {
    let partition = request.key.partition();
    // It may be parked for long: then it must not keep the buffer alive that its message came in.
    let place = place(&call, request.key.detached(), request.thread_id).within_ms(u64::MAX);
    let operation = op::Lock { place, lease_ms: lease_ms(request.ttl_ms) };
    call.desk.locks(&Locked::Map(map.clone()));
    call.answering().run(map.strands(), partition, operation, |()| Done {})
}

pub(in crate::hazelcast) fn try_lock(map: &Map, call: Call<'_, m::TryLock>, request: m::TryLock) -> Handled {
    let partition = request.key.partition();
    let place = place(&call, request.key.detached(), request.thread_id);
    let place = place.within_ms(timeout_ms(request.timeout_ms));
    let operation = op::TryLock { place, lease_ms: lease_ms(request.lease_ms) };
    call.desk.locks(&Locked::Map(map.clone()));
    call.answering().run(map.strands(), partition, operation, |value| Flag { value })
}

pub(in crate::hazelcast) fn is_locked(
    map: &Map,
    call: Call<'_, m::IsLocked>,
    request: m::IsLocked,
) -> Handled {
    let partition = request.key.partition();
    let operation = op::IsLocked { key: request.key };
    call.answering().run(map.strands(), partition, operation, |value| Flag { value })
}

pub(in crate::hazelcast) fn unlock(map: &Map, call: Call<'_, m::Unlock>, request: m::Unlock) -> Handled {
    let partition = request.key.partition();
    let operation = op::Unlock { key: request.key, owner: owner(&call, request.thread_id) };
    call.answering().run(map.strands(), partition, operation, |()| Done {})
}

pub(in crate::hazelcast) fn force_unlock(
    map: &Map,
    call: Call<'_, m::ForceUnlock>,
    request: m::ForceUnlock,
) -> Handled {
    let partition = request.key.partition();
    let operation = op::ForceUnlock { key: request.key };
    call.answering().run(map.strands(), partition, operation, |()| Done {})
}
