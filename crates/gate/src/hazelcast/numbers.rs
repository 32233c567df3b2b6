//! Generators of ids, and counters.

use super::answers::handlers;
use super::call::Call;
use super::failure::{Failure, Handled};
use filbert_grid::{Counted, FlakeIdGenerator, IdBatch, PnCounter};
use filbert_wire::message::Request;
use filbert_wire::messages::answers::Count;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::flake_id as f;
use filbert_wire::messages::pn_counter as p;
use std::sync::Arc;
use uuid::Uuid;

pub(super) fn new_id_batch(
    ids: &Arc<FlakeIdGenerator>,
    call: Call<'_, f::NewIdBatch>,
    request: f::NewIdBatch,
) -> Handled {
    // A negative size is as wrong as none.
    let size = u32::try_from(request.batch_size).unwrap_or(0);
    call.answering().invoke(id_batch, |reply| ids.new_batch_to(size, || reply.make()))
}

fn id_batch(batch: IdBatch) -> f::IdBatch {
    f::IdBatch { base: batch.base, increment: batch.increment, batch_size: batch.size as i32 }
}

handlers! {
    Arc<PnCounter>;
    configured_replica_count(p::GetConfiguredReplicaCount) |counter, _request| counter.get(None) => every_member;
}

/// Every member has a replica, however many there are.
fn every_member(_: Counted) -> Count {
    Count { value: i32::MAX }
}

pub(super) fn get(counter: &Arc<PnCounter>, call: Call<'_, p::Get>, request: p::Get) -> Handled {
    let seen = seen(&call, request.target_replica, &request.replica_timestamps)?;
    call.answering().follow(counter.get(seen), counted)
}

pub(super) fn add(counter: &Arc<PnCounter>, call: Call<'_, p::Add>, request: p::Add) -> Handled {
    let seen = seen(&call, request.target_replica, &request.replica_timestamps)?;
    let before = if request.get_before_update { request.delta } else { 0 };
    call.answering()
        .follow(counter.add(request.delta, seen), move |now| counted_as(now, now.value.wrapping_sub(before)))
}

fn counted(counted: Counted) -> p::Counted {
    counted_as(counted, counted.value)
}

fn counted_as(counted: Counted, value: i64) -> p::Counted {
    p::Counted { value, replica_timestamps: vec![(counted.replica, counted.version)], replica_count: 1 }
}

/// How much of this member's part the client has seen. Parts of other members, or of this one's last life, are not known any more.
fn seen<R: Request>(
    call: &Call<'_, R>,
    target: Uuid,
    timestamps: &[(Uuid, i64)],
) -> Result<Option<i64>, Failure> {
    let member = call.desk.host.grid.member();
    if target != member {
        let text = format!("member {target} has no replica of the counter; ask {member}");
        return Err(Failure::new(ErrorCode::TargetNotReplica, text));
    }
    let known = |(replica, version): &(Uuid, i64)| match (*replica == member, *version) {
        (true, version) => version,
        (false, 0) => 0,
        (false, _) => i64::MAX,
    };
    Ok(timestamps.iter().map(known).max())
}
