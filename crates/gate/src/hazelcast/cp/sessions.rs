//! Sessions. Each belongs to the client that began it: another one cannot use it, keep it alive or end it, whatever number it says.

use super::owned::{NO_SESSION, no_such_session};
use crate::hazelcast::call::Call;
use crate::hazelcast::failure::{Failure, Handled};
use filbert_grid::{Action, Service, SessionId};
use filbert_wire::message::Request;
use filbert_wire::messages::answers::{Done, Flag, Number};
use filbert_wire::messages::cp::session as s;
use std::time::Duration;

/// The client's session of that number.
pub(super) fn session<R: Request>(call: &Call<'_, R>, id: i64) -> Result<SessionId, Failure> {
    let session = SessionId(id);
    let owner = call.desk.host.grid.sessions().owner(session);
    if owner == Some(call.client()) { Ok(session) } else { Err(no_such_session(id)) }
}

/// The same where there may be none.
pub(super) fn session_or_none<R: Request>(call: &Call<'_, R>, id: i64) -> Result<Option<SessionId>, Failure> {
    if id == NO_SESSION { Ok(None) } else { session(call, id).map(Some) }
}

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

pub(in crate::hazelcast) fn create_session(
    call: Call<'_, s::CreateSession>,
    _request: s::CreateSession,
) -> Handled {
    // It takes memory, and is of use to nobody else.
    let rights = &call.desk.identity.rights;
    if ![Service::FencedLock, Service::Semaphore].into_iter().any(|service| rights.any_of(service)) {
        return Err(call.desk.denied(Action::Lock, Service::FencedLock, "any"));
    }
    let session = call.desk.host.grid.sessions().create_for(call.client())?;
    call.now(s::SessionCreated {
        session_id: session.id.0,
        ttl_ms: ms(session.ttl),
        heartbeat_ms: ms(session.heartbeat),
    })
}

pub(in crate::hazelcast) fn close_session(
    call: Call<'_, s::CloseSession>,
    request: s::CloseSession,
) -> Handled {
    // One that has ended is as good as closed.
    let value =
        session(&call, request.session_id).is_ok_and(|session| call.desk.host.grid.sessions().close(session));
    call.now(Flag { value })
}

pub(in crate::hazelcast) fn heartbeat_session(
    call: Call<'_, s::HeartbeatSession>,
    request: s::HeartbeatSession,
) -> Handled {
    let session = session(&call, request.session_id)?;
    call.desk.host.grid.sessions().heartbeat(session)?;
    call.now(Done {})
}

pub(in crate::hazelcast) fn generate_thread_id(
    call: Call<'_, s::GenerateThreadId>,
    _request: s::GenerateThreadId,
) -> Handled {
    let value = call.desk.host.grid.sessions().new_thread();
    call.now(Number { value })
}
