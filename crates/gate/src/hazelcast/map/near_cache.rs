//! Near caches: clients keep copies of entries, and are told which to forget.
//!
//! The numbers of changes are those of the map, counted where the change is made. A client whose connection was cut, or whose events were
//! dropped, finds by them that it has missed some, and reads again what may be old. The partitions have the member's uuid, which is new
//! with every start, as all numbers are.

use crate::hazelcast::call::Call;
use crate::hazelcast::failure::Handled;
use bytes::BytesMut;
use filbert_grid::{Action, GridError, Map, Service};
use filbert_wire::PARTITION_COUNT;
use filbert_wire::message::{Raises, encode_event};
use filbert_wire::messages::answers::Registered;
use filbert_wire::messages::map as m;

pub(in crate::hazelcast) fn add_near_cache_invalidation_listener(
    map: &Map,
    call: Call<'_, m::AddNearCacheInvalidationListener>,
    _request: m::AddNearCacheInvalidationListener,
) -> Handled {
    let registration = call.registration()?;
    let (outlet, correlation, member) =
        (call.outlet().clone(), call.correlation(), call.desk.host.grid.member());
    map.add_invalidation_listener(registration, move |change| {
        let event = m::Invalidation {
            key: change.key.clone(),
            source_uuid: change.source,
            partition_uuid: member,
            sequence: change.number,
        };
        let mut out = BytesMut::new();
        let id = <m::AddNearCacheInvalidationListener as Raises<m::Invalidation>>::EVENT_ID;
        encode_event(&event, id, correlation, Some(change.partition), &mut out);
        // A connection that is gone listens no more.
        let _ = outlet.send(out);
    });
    call.desk.registrations.add(registration, map.invalidation_listener_remover(registration));
    call.now(Registered { registration })
}

/// What a partition and its number take in an answer.
const NUMBER_BYTES: usize = 16;

/// The last numbers of the maps that the client names.
pub(in crate::hazelcast) fn fetch_near_cache_invalidation_metadata(
    mut call: Call<'_, m::FetchNearCacheInvalidationMetadata>,
    request: m::FetchNearCacheInvalidationMetadata,
) -> Handled {
    let allowance = call.allowance();
    let mut sequences = Vec::with_capacity(request.names.len());
    for name in request.names {
        let actions = call.desk.actions(Service::Map, &name);
        call.desk.check(actions, Action::Listen, Service::Map, &name)?;
        let numbers = call.desk.host.grid.invalidation_numbers(&name).unwrap_or_default();
        allowance.charge(name.len() + numbers.len() * NUMBER_BYTES).map_err(GridError::from)?;
        sequences.push((name, (0..).zip(numbers).collect()));
    }
    let member = call.desk.host.grid.member();
    call.now(m::InvalidationMetadata {
        name_partition_sequence_list: sequences,
        partition_uuid_list: (0..PARTITION_COUNT as i32).map(|partition| (partition, member)).collect(),
    })
}
