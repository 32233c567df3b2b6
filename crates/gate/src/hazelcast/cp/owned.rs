//! Latches, semaphores and locks. What waits is given up when its connection goes: nothing is taken for nobody.

use super::sessions::{session, session_or_none};
use super::timeout;
use crate::hazelcast::answers::{done, flag, handlers, number_or};
use crate::hazelcast::call::Call;
use crate::hazelcast::failure::{Failure, Handled};
use filbert_grid::{Acquirer, CountDownLatch, FencedLock, LockOwnership, Semaphore};
use filbert_wire::message::Request;
use filbert_wire::messages::answers::{Count, Flag};
use filbert_wire::messages::cp::fenced_lock as l;
use filbert_wire::messages::cp::latch as c;
use filbert_wire::messages::cp::semaphore as s;
use filbert_wire::messages::error::ErrorCode;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// A number that is not negative, in 31 bits.
fn small(number: u32) -> Count {
    Count { value: i32::try_from(number).unwrap_or(i32::MAX) }
}

fn int(value: i32) -> Count {
    Count { value }
}

fn yes((): ()) -> Flag {
    Flag { value: true }
}

pub(in crate::hazelcast) mod latch {
    use super::*;

    handlers! {
        Arc<CountDownLatch>;
        try_set_count(c::TrySetCount) |latch, request| latch.try_set_count(u32::try_from(request.count).unwrap_or(0)) => flag;
        // Rounds are counted in 32 bits, and compared.
        count_down(c::CountDown) |latch, request| latch.count_down(request.expected_round as u32, request.invocation) => done;
        get_count(c::GetCount) |latch, _request| latch.count() => small;
        get_round(c::GetRound) |latch, _request| latch.round() => round;
    }

    fn round(round: u32) -> Count {
        int(round as i32)
    }

    /// Negative is no time at all.
    pub(in crate::hazelcast) fn wait(
        latch: &Arc<CountDownLatch>,
        call: Call<'_, c::Await>,
        request: c::Await,
    ) -> Handled {
        let timeout = Some(timeout(request.timeout_ms).unwrap_or(Duration::ZERO));
        call.answering().invoke(flag, |reply| latch.wait_for_to(timeout, || reply.make()))
    }
}

pub(in crate::hazelcast) mod semaphore {
    use super::*;

    handlers! {
        Arc<Semaphore>;
        init(s::Init) |semaphore, request| semaphore.init(request.permits) => flag;
        available_permits(s::AvailablePermits) |semaphore, _request| semaphore.available() => int;
    }

    fn by<R: Request>(call: &Call<'_, R>, session: i64, thread: i64, id: Uuid) -> Result<Acquirer, Failure> {
        Ok(Acquirer { session: session_or_none(call, session)?, thread, call: id })
    }

    pub(in crate::hazelcast) fn acquire(
        semaphore: &Arc<Semaphore>,
        call: Call<'_, s::Acquire>,
        request: s::Acquire,
    ) -> Handled {
        let by = by(&call, request.session_id, request.thread_id, request.invocation)?;
        let timeout = timeout(request.timeout_ms);
        call.answering()
            .invoke(flag, |reply| semaphore.acquire_to(by, request.permits, timeout, || reply.make()))
    }

    pub(in crate::hazelcast) fn release(
        semaphore: &Arc<Semaphore>,
        call: Call<'_, s::Release>,
        request: s::Release,
    ) -> Handled {
        let by = by(&call, request.session_id, request.thread_id, request.invocation)?;
        call.answering().follow(semaphore.release(by, request.permits), yes)
    }

    pub(in crate::hazelcast) fn drain(
        semaphore: &Arc<Semaphore>,
        call: Call<'_, s::Drain>,
        request: s::Drain,
    ) -> Handled {
        let by = by(&call, request.session_id, request.thread_id, request.invocation)?;
        call.answering().follow(semaphore.drain(by), int)
    }

    pub(in crate::hazelcast) fn change(
        semaphore: &Arc<Semaphore>,
        call: Call<'_, s::Change>,
        request: s::Change,
    ) -> Handled {
        let by = by(&call, request.session_id, request.thread_id, request.invocation)?;
        call.answering().follow(semaphore.change(by, request.permits), yes)
    }

    /// Whether permits belong to nobody: clients choose their proxy by it.
    pub(in crate::hazelcast) fn get_semaphore_type(
        call: Call<'_, s::GetSemaphoreType>,
        request: s::GetSemaphoreType,
    ) -> Handled {
        let value = call.desk.host.grid.settings().semaphores.of(&request.proxy_name).sessionless;
        call.now(Flag { value })
    }
}

pub(in crate::hazelcast) mod lock {
    use super::*;

    pub(in crate::hazelcast) fn lock(
        lock: &Arc<FencedLock>,
        call: Call<'_, l::Lock>,
        request: l::Lock,
    ) -> Handled {
        let session = session(&call, request.session_id)?;
        let (thread, id) = (request.thread_id, request.invocation);
        call.answering()
            .invoke(number_or::<0>, |reply| lock.lock_to(session, thread, id, None, || reply.make()))
    }

    pub(in crate::hazelcast) fn try_lock(
        lock: &Arc<FencedLock>,
        call: Call<'_, l::TryLock>,
        request: l::TryLock,
    ) -> Handled {
        let session = session(&call, request.session_id)?;
        let (thread, id) = (request.thread_id, request.invocation);
        let timeout = Some(timeout(request.timeout_ms).unwrap_or(Duration::ZERO));
        call.answering()
            .invoke(number_or::<0>, |reply| lock.lock_to(session, thread, id, timeout, || reply.make()))
    }

    pub(in crate::hazelcast) fn unlock(
        lock: &Arc<FencedLock>,
        call: Call<'_, l::Unlock>,
        request: l::Unlock,
    ) -> Handled {
        let session = session(&call, request.session_id)?;
        call.answering().follow(lock.unlock(session, request.thread_id, request.invocation), flag)
    }

    handlers! {
        Arc<FencedLock>;
        get_lock_ownership(l::GetLockOwnership) |lock, _request| lock.ownership() => ownership;
    }

    fn ownership(owner: Option<LockOwnership>) -> l::LockOwnership {
        match owner {
            None => l::LockOwnership { fence: 0, lock_count: 0, session_id: -1, thread_id: -1 },
            Some(owner) => l::LockOwnership {
                fence: owner.fence,
                lock_count: i32::try_from(owner.count).unwrap_or(i32::MAX),
                session_id: owner.session.0,
                thread_id: owner.thread,
            },
        }
    }
}

/// What clients say where there is no session.
pub(super) const NO_SESSION: i64 = -1;

/// A session that is not this client's: whose it is, is nobody's business.
pub(super) fn no_such_session(id: i64) -> Failure {
    let text = format!("this client has no session {id}; it has ended, or is another's");
    Failure::new(ErrorCode::SessionExpired, text)
}
