//! Queues. What waits for an item or for room is given up when its connection goes: no item is taken for nobody.
//!
//! One race remains, as it does for every client that goes without a word: an operation that is done before the member learns that the
//! connection is gone has taken its item (or its lock, which goes with the last connection of its client), and the answer finds nobody.
//! From the moment that the member knows, nothing more is taken. To give an item back was rejected: others may have taken later ones.

use super::answers::{count, done, flag, found, found_one, handlers, items};
use super::call::Call;
use super::failure::Handled;
use super::items::{Listened, listen};
use filbert_grid::{ItemEvent, Queue};
use filbert_wire::message::Request;
use filbert_wire::messages::answers::{Flag, Items};
use filbert_wire::messages::queue as q;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

handlers! {
    Arc<Queue>;
    size(q::Size) |queue, _request| queue.size() => count;
    is_empty(q::IsEmpty) |queue, _request| queue.is_empty() => flag;
    remaining_capacity(q::RemainingCapacity) |queue, _request| queue.remaining_capacity() => count;
    remove(q::Remove) |queue, request| queue.remove(&request.value) => flag;
    peek(q::Peek) |queue, _request| queue.peek() => found;
    iterator(q::Iterator) |queue, _request| queue.get_all() => items;
    contains(q::Contains) |queue, request| queue.contains(&request.value) => flag;
    contains_all(q::ContainsAll) |queue, request| queue.contains_all(request.data_list.clone()) => flag;
    compare_and_remove_all(q::CompareAndRemoveAll) |queue, request| queue.remove_all(request.data_list.clone()) => flag;
    compare_and_retain_all(q::CompareAndRetainAll) |queue, request| queue.retain_all(request.data_list.clone()) => flag;
    clear(q::Clear) |queue, _request| queue.clear() => done;
    add_all(q::AddAll) |queue, request| queue.add_all(request.data_list.clone()) => flag;
}

/// Takes as many as one answer may hold: the others stay, since an answer that is refused would lose them.
fn drain<R>(queue: &Arc<Queue>, call: Call<'_, R>, max: Option<usize>) -> Handled
where
    R: Request<Response = Items> + 'static,
{
    let drained = queue.drain_within(max, call.desk.host.settings.answer_bytes);
    call.taking().answering().follow(drained, items)
}

pub(super) fn drain_to(queue: &Arc<Queue>, call: Call<'_, q::DrainTo>, _request: q::DrainTo) -> Handled {
    drain(queue, call, None)
}

pub(super) fn drain_to_max_size(
    queue: &Arc<Queue>,
    call: Call<'_, q::DrainToMaxSize>,
    request: q::DrainToMaxSize,
) -> Handled {
    drain(queue, call, at_most(request.max_size))
}

/// How many to take; a negative number stands for all.
fn at_most(max_size: i32) -> Option<usize> {
    usize::try_from(max_size).ok()
}

/// Negative is none at all.
fn timeout(timeout_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0))
}

pub(super) fn offer(queue: &Arc<Queue>, call: Call<'_, q::Offer>, request: q::Offer) -> Handled {
    let timeout = timeout(request.timeout_ms);
    call.answering().invoke(flag, |reply| queue.offer_to(&request.value, timeout, || reply.make()))
}

pub(super) fn put(queue: &Arc<Queue>, call: Call<'_, q::Put>, request: q::Put) -> Handled {
    call.answering().invoke(done, |reply| queue.put_to(&request.value, || reply.make()))
}

pub(super) fn poll(queue: &Arc<Queue>, call: Call<'_, q::Poll>, request: q::Poll) -> Handled {
    call.answering().invoke(found, |reply| queue.poll_to(timeout(request.timeout_ms), || reply.make()))
}

pub(super) fn take(queue: &Arc<Queue>, call: Call<'_, q::Take>, _request: q::Take) -> Handled {
    call.answering().invoke(found_one, |reply| queue.take_to(|| reply.make()))
}

impl Listened for Queue {
    fn add(&self, include_value: bool, listener: impl Fn(&ItemEvent) + Send + Sync + 'static) -> Uuid {
        self.add_listener(include_value, listener)
    }

    fn remove(&self, id: Uuid) -> bool {
        self.remove_listener(id)
    }
}

pub(super) fn add_listener(
    queue: &Arc<Queue>,
    call: Call<'_, q::AddListener>,
    request: q::AddListener,
) -> Handled {
    listen(queue, call, &request.name, request.include_value)
}

pub(super) fn remove_listener(
    _queue: &Arc<Queue>,
    call: Call<'_, q::RemoveListener>,
    request: q::RemoveListener,
) -> Handled {
    let value = call.desk.registrations.remove(request.registration_id);
    call.now(Flag { value })
}
