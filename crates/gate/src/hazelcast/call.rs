//! One request while its handler runs.

use super::answering::{Answering, Counting};
use super::clients::{Locked, LockedByName};
use super::cp::structure_name;
use super::failure::{Failure, Handled};
use super::host::Host;
use super::login::Identity;
use super::registrations::Registrations;
use super::rights::{self, Actions};
use super::sql::Statements;
use super::waiters::Waiters;
use filbert_grid::{Action, Allowance, Map, Service};
use filbert_net::{ConnectionInfo, Outbound, Outlet};
use filbert_wire::frame::{Flags, FrameWriter};
use filbert_wire::message::{MessageReader, Request, Version};
use filbert_wire::messages::answers::Found;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::structures::RaftGroupId;
use filbert_wire::{Data, PartitionId};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;
use uuid::Uuid;

/// Listeners that one connection may have.
const MOST_LISTENERS: usize = 65_536;

/// What a session keeps beside its handles.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) host: Arc<Host>,
    pub(super) info: ConnectionInfo,
    pub(super) identity: Identity,
    pub(super) registrations: Registrations,
    pub(super) waiters: Arc<Waiters>,
    /// The statements of SQL that are open.
    pub(super) statements: Arc<Statements>,
    /// As whom they run; made with the first.
    pub(super) sql_session: Option<filbert_sql::Session>,
    /// What the client has locked keys of, perhaps.
    locked: LockedByName,
}

/// A request of type `R` while its handler runs.
pub(super) struct Call<'c, R: Request> {
    pub(super) desk: &'c mut Desk,
    out: &'c mut Outbound,
    correlation: i64,
    partition: i32,
    request_bytes: usize,
    counting: Counting,
    request: PhantomData<fn() -> R>,
}

impl Desk {
    pub(super) fn new(host: &Arc<Host>, info: &ConnectionInfo, identity: Identity) -> Self {
        Self {
            host: Arc::clone(host),
            info: info.clone(),
            identity,
            registrations: Registrations::default(),
            waiters: Arc::new(Waiters::new(
                host.settings.waiting_invocations,
                host.settings.waiting_bytes,
                &host.parked,
            )),
            statements: Statements::new(host.settings.sql_statements),
            sql_session: None,
            locked: HashMap::new(),
        }
    }

    /// The client may hold locks there from now on.
    pub(super) fn locks(&mut self, structure: &Locked) {
        let key = structure.key();
        if self.locked.get(&key).is_none_or(Locked::is_destroyed) {
            // Now and then, so that a client that uses ever new ones does not keep those alive that are gone.
            if self.locked.len().is_power_of_two() {
                self.locked.retain(|_, locked| !locked.is_destroyed());
            }
            self.locked.insert(key, structure.clone());
        }
    }

    /// The connection is gone: what it had goes too.
    pub(super) fn leave(&mut self) {
        self.waiters.end();
        self.statements.clear();
        self.registrations.clear();
        let client = self.identity.client;
        let locked = self.host.clients.leave(client, std::mem::take(&mut self.locked));
        for locked in locked.into_iter().flat_map(HashMap::into_values) {
            locked.release(client);
        }
    }

    /// What the user may do with that structure.
    pub(super) fn actions(&self, service: Service, name: &str) -> Actions {
        self.identity.rights.of(service, name)
    }

    /// Decodes a request; one that cannot be is counted.
    #[inline]
    pub(super) fn decode<R: Request>(&self, reader: &MessageReader) -> Result<R, Failure> {
        R::decode(reader).map_err(|error| {
            self.host.counters.malformed.add();
            error.into()
        })
    }

    /// Refuses a large request that the user has no right to before it is decoded, by the name that it begins with. One that is short is
    /// decoded sooner than its rights are looked up, and refused then.
    #[inline]
    pub(super) fn check_large(&self, reader: &MessageReader, action: Action, service: Service) -> Handled {
        match reader.bytes().len() {
            0..LARGE => Ok(()),
            _ => match reader.first_text() {
                Some(name) => self.check(self.actions(service, name), action, service, name),
                // Decoding it says what is wrong.
                None => Ok(()),
            },
        }
    }

    /// As [`Desk::check_large`], for a structure of the CP subsystem: its request begins with a group and a name.
    #[inline]
    pub(super) fn check_large_in_group(
        &self,
        reader: &MessageReader,
        action: Action,
        service: Service,
    ) -> Handled {
        if reader.bytes().len() < LARGE {
            return Ok(());
        }
        let Some((group, name)) = reader.first_structure_and_text::<RaftGroupId>() else { return Ok(()) };
        let name = structure_name(&group, name);
        self.check(self.actions(service, &name), action, service, &name)
    }

    /// Refuses what the user has no right to.
    #[inline]
    pub(super) fn check(&self, actions: Actions, action: Action, service: Service, name: &str) -> Handled {
        if actions.has(action) { Ok(()) } else { Err(self.denied(action, service, name)) }
    }

    #[cold]
    pub(super) fn denied(&self, action: Action, service: Service, name: &str) -> Failure {
        self.host.counters.denied.add();
        let who = self.identity.user.as_deref().unwrap_or("this client");
        let text = format!("{who} has no right to {} on {} {name:?}", rights::word(action), service.as_str());
        Failure::new(ErrorCode::AccessControl, text)
    }
}

/// From so many bytes on the rights are checked before a request is decoded.
const LARGE: usize = 1_024;

/// The type of a value that is null.
const NULL: i32 = 0;

/// A value that may be null. The Node.js client says so within the value, the others leave it out.
pub(super) fn present(value: Option<&Data>) -> Option<&Data> {
    value.filter(|value| value.type_id() != NULL)
}

impl<'c, R: Request> Call<'c, R> {
    pub(super) fn new(desk: &'c mut Desk, out: &'c mut Outbound, reader: &MessageReader) -> Self {
        let (correlation, partition) = (reader.correlation(), reader.partition());
        let (request_bytes, counting) = (reader.bytes().len(), Counting::Whole);
        Self { desk, out, correlation, partition, request_bytes, counting, request: PhantomData }
    }

    /// The partition that the client asks for, where that is a matter of choice and not of a key.
    pub(super) fn chosen_partition(&self) -> Option<PartitionId> {
        u32::try_from(self.partition).ok().and_then(PartitionId::new)
    }

    /// The partition that the client asks for, where there must be one.
    pub(super) fn own_partition(&self) -> Result<PartitionId, Failure> {
        self.chosen_partition().ok_or_else(|| {
            let text = format!("{} needs a partition, and {} is none", R::NAME, self.partition);
            Failure::new(ErrorCode::IllegalArgument, text)
        })
    }

    /// The map for a request that may find any number of entries: they are counted while they are found, and too many are refused.
    pub(super) fn bounded(&mut self, map: &Map) -> Map {
        map.within(&self.allowance())
    }

    /// What the answer may take; counted by whoever finds what is in it.
    pub(super) fn allowance(&mut self) -> Allowance {
        let allowance = self.desk.host.allowance();
        self.counting = Counting::Inside(allowance.clone());
        allowance
    }

    /// The answer is all there is of what it holds: it cannot be refused when it is there.
    pub(super) fn taking(mut self) -> Self {
        self.counting = Counting::Taken;
        self
    }

    /// Takes the duty to answer out.
    #[inline]
    pub(super) fn answering(self) -> Answering<'c, R> {
        Answering {
            out: self.out,
            correlation: self.correlation,
            request_bytes: self.request_bytes,
            host: &self.desk.host,
            waiters: &self.desk.waiters,
            counting: self.counting,
            request: PhantomData,
        }
    }

    /// Answers at once.
    #[inline]
    pub(super) fn now(self, response: R::Response) -> Handled {
        self.answering().now(response)
    }

    /// Answers at once with a value that lies elsewhere: no copy but the one into the output. For requests that are answered with
    /// [`Found`].
    #[inline]
    pub(super) fn found(&mut self, value: Option<&[u8]>)
    where
        R: Request<Response = Found>,
    {
        let mut writer = FrameWriter::new(self.out.buffer(), Version::NEWEST);
        writer.begin(Flags::UNFRAGMENTED);
        writer.put(&R::RESPONSE_ID.to_le_bytes());
        writer.put(&self.correlation.to_le_bytes());
        writer.put(&[0]);
        writer.end();
        match value {
            Some(value) => writer.frame(Flags::NONE, value),
            None => writer.mark(Flags::NULL),
        }
        writer.finish();
    }

    /// The way to the connection, for events.
    pub(super) fn outlet(&self) -> &Outlet {
        self.out.outlet()
    }

    /// What joins answers and events to this request.
    pub(super) fn correlation(&self) -> i64 {
        self.correlation
    }

    /// Where an event that follows the answer may be written at once.
    pub(super) fn answer_then(
        self,
        response: R::Response,
        events: impl FnOnce(i64, &mut bytes::BytesMut),
    ) -> Handled {
        R::respond(&response, self.correlation, self.out.buffer());
        events(self.correlation, self.out.buffer());
        Ok(())
    }

    /// Refuses another listener when the connection has too many.
    pub(super) fn check_listeners(&self) -> Handled {
        if self.desk.registrations.len() >= MOST_LISTENERS {
            let text = format!("this connection has {MOST_LISTENERS} listeners already; remove some first");
            return Err(Failure::new(ErrorCode::Overload, text));
        }
        Ok(())
    }

    /// A new id for a listener, unless the connection has too many.
    pub(super) fn registration(&self) -> Result<Uuid, Failure> {
        self.check_listeners()?;
        Ok(self.desk.host.grid.new_id())
    }

    /// Who holds locks that this request takes: the client and one of its threads.
    pub(super) fn client(&self) -> Uuid {
        self.desk.identity.client
    }
}
