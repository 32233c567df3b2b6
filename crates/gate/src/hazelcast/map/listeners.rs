//! Listeners: each event is written for the connection that asked for it, on the `event` stage, and sent through its outlet.
//!
//! A client is sent only the kinds that it asked for; Hazelcast's Python client drops a connection that brings another one.

use super::queries::predicate;
use crate::hazelcast::call::{Call, Desk};
use crate::hazelcast::failure::{Failure, Handled};
use bytes::BytesMut;
use filbert_grid::map::EventCondition;
use filbert_grid::query::Entry;
use filbert_grid::{Interest, Map, MapEvent};
use filbert_wire::Data;
use filbert_wire::message::{Raises, Request, encode_event};
use filbert_wire::messages::answers::{Flag, Registered};
use filbert_wire::messages::map as m;
use std::sync::Arc;
use uuid::Uuid;

pub(in crate::hazelcast) fn add_entry_listener(
    map: &Map,
    call: Call<'_, m::AddEntryListener>,
    request: m::AddEntryListener,
) -> Handled {
    let include_value = request.include_value;
    listen(map, call, Interest { flags: request.listener_flags, key: None, condition: None, include_value })
}

pub(in crate::hazelcast) fn add_entry_listener_to_key(
    map: &Map,
    call: Call<'_, m::AddEntryListenerToKey>,
    request: m::AddEntryListenerToKey,
) -> Handled {
    let key = Some(request.key.detached());
    let include_value = request.include_value;
    listen(map, call, Interest { flags: request.listener_flags, key, condition: None, include_value })
}

pub(in crate::hazelcast) fn add_entry_listener_with_predicate(
    map: &Map,
    call: Call<'_, m::AddEntryListenerWithPredicate>,
    request: m::AddEntryListenerWithPredicate,
) -> Handled {
    let condition = Some(condition(call.desk, &request.predicate)?);
    let include_value = request.include_value;
    listen(map, call, Interest { flags: request.listener_flags, key: None, condition, include_value })
}

pub(in crate::hazelcast) fn add_entry_listener_to_key_with_predicate(
    map: &Map,
    call: Call<'_, m::AddEntryListenerToKeyWithPredicate>,
    request: m::AddEntryListenerToKeyWithPredicate,
) -> Handled {
    let condition = Some(condition(call.desk, &request.predicate)?);
    let key = Some(request.key.detached());
    let include_value = request.include_value;
    listen(map, call, Interest { flags: request.listener_flags, key, condition, include_value })
}

/// The condition that a client's predicate is. What cannot be read does not match.
pub(in crate::hazelcast) fn condition(desk: &Desk, data: &Data) -> Result<EventCondition, Failure> {
    let (predicate, catalog) = (predicate(desk, data)?, desk.host.grid.catalog().clone());
    Ok(Arc::new(move |key: &Data, value: &Data| {
        predicate.matches(&Entry::new(key, value, &catalog)).unwrap_or(false)
    }))
}

/// Registers a listener for the connection.
pub(super) fn listen<R>(map: &Map, call: Call<'_, R>, interest: Interest) -> Handled
where
    R: Request<Response = Registered> + Raises<m::EntryEvent>,
{
    listen_to_entries(call, |id, listener| {
        map.add_listener(id, interest, listener);
        map.listener_remover(id)
    })
}

/// A listener that sends what it hears to a connection.
type Sends = Box<dyn Fn(&MapEvent) + Send + Sync>;

/// Registers a listener for the connection by `add`, which is given an id and the listener and says how it is removed.
pub(in crate::hazelcast) fn listen_to_entries<R, U>(
    call: Call<'_, R>,
    add: impl FnOnce(Uuid, Sends) -> U,
) -> Handled
where
    R: Request<Response = Registered> + Raises<m::EntryEvent>,
    U: FnOnce() -> bool + Send + 'static,
{
    let registration = call.registration()?;
    let (outlet, correlation, member) =
        (call.outlet().clone(), call.correlation(), call.desk.host.grid.member());
    let undo = add(
        registration,
        Box::new(move |event| {
            let mut out = BytesMut::new();
            let partition = event.key.as_ref().map(Data::partition);
            encode_event(&entry_event(event, member), R::EVENT_ID, correlation, partition, &mut out);
            // A connection that is gone listens no more.
            let _ = outlet.send(out);
        }),
    );
    call.desk.registrations.add(registration, undo);
    call.now(Registered { registration })
}

fn entry_event(event: &MapEvent, member: Uuid) -> m::EntryEvent {
    m::EntryEvent {
        key: event.key.clone(),
        value: event.value.clone(),
        old_value: event.old_value.clone(),
        merging_value: None,
        event_type: event.kind.flag(),
        uuid: member,
        number_of_affected_entries: i32::try_from(event.affected).unwrap_or(i32::MAX),
    }
}

pub(in crate::hazelcast) fn remove_entry_listener(
    _map: &Map,
    call: Call<'_, m::RemoveEntryListener>,
    request: m::RemoveEntryListener,
) -> Handled {
    let value = call.desk.registrations.remove(request.registration_id);
    call.now(Flag { value })
}

/// One member loses no partition while it lives, so nothing will be raised.
pub(in crate::hazelcast) fn add_partition_lost_listener(
    _map: &Map,
    call: Call<'_, m::AddPartitionLostListener>,
    _request: m::AddPartitionLostListener,
) -> Handled {
    let registration = call.registration()?;
    call.desk.registrations.add(registration, || true);
    call.now(Registered { registration })
}

pub(in crate::hazelcast) fn remove_partition_lost_listener(
    _map: &Map,
    call: Call<'_, m::RemovePartitionLostListener>,
    request: m::RemovePartitionLostListener,
) -> Handled {
    let value = call.desk.registrations.remove(request.registration_id);
    call.now(Flag { value })
}
