//! Near caches: clients keep copies of entries, and are told which to forget.
//!
//! Each listener counts its invalidations per partition without a gap, so that a client which counts along finds none missing.

use crate::hazelcast::call::Call;
use crate::hazelcast::failure::Handled;
use bytes::BytesMut;
use filbert_grid::{Action, Interest, Map, Service};
use filbert_wire::message::{Raises, encode_event};
use filbert_wire::messages::answers::Registered;
use filbert_wire::messages::map as m;
use filbert_wire::{Data, PARTITION_COUNT, PartitionId};
use std::sync::atomic::{AtomicI64, Ordering};

pub(in crate::hazelcast) fn add_near_cache_invalidation_listener(
    map: &Map,
    call: Call<'_, m::AddNearCacheInvalidationListener>,
    _request: m::AddNearCacheInvalidationListener,
) -> Handled {
    let registration = call.registration()?;
    let (outlet, correlation, member) =
        (call.outlet().clone(), call.correlation(), call.desk.host.grid.member());
    let sequences: Vec<AtomicI64> = (0..PARTITION_COUNT).map(|_| AtomicI64::new(0)).collect();
    let interest = Interest { include_value: false, ..Interest::ALL };
    map.add_listener(registration, interest, move |event| {
        let partition = event.key.as_ref().map(Data::partition);
        let event = m::Invalidation {
            key: event.key.clone(),
            source_uuid: member,
            partition_uuid: member,
            sequence: sequences[partition.map_or(0, PartitionId::index)].fetch_add(1, Ordering::Relaxed) + 1,
        };
        let mut out = BytesMut::new();
        let id = <m::AddNearCacheInvalidationListener as Raises<m::Invalidation>>::EVENT_ID;
        encode_event(&event, id, correlation, partition, &mut out);
        // A connection that is gone listens no more.
        let _ = outlet.send(out);
    });
    call.desk.registrations.add(registration, map.listener_remover(registration));
    call.now(Registered { registration })
}

/// The partitions begin anew with the member and with nothing else; a client that missed something learns it by the sequences.
pub(in crate::hazelcast) fn fetch_near_cache_invalidation_metadata(
    call: Call<'_, m::FetchNearCacheInvalidationMetadata>,
    request: m::FetchNearCacheInvalidationMetadata,
) -> Handled {
    for name in &request.names {
        let actions = call.desk.actions(Service::Map, name);
        call.desk.check(actions, Action::Listen, Service::Map, name)?;
    }
    let member = call.desk.host.grid.member();
    call.now(m::InvalidationMetadata {
        name_partition_sequence_list: request.names.into_iter().map(|name| (name, Vec::new())).collect(),
        partition_uuid_list: (0..PARTITION_COUNT as i32).map(|partition| (partition, member)).collect(),
    })
}
