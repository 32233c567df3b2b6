//! Ringbuffers, which reliable topics are made of too. A read that waits is given up when its connection goes.

use super::answers::{found_one, handlers, number, number_or};
use super::call::{Call, present};
use super::executor::code;
use super::failure::{Failure, Handled};
use filbert_grid::{ManyRead, Overflow, Ringbuffer, RingbufferSizes};
use filbert_wire::messages::answers::Number;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::ringbuffer as r;
use std::sync::Arc;

handlers! {
    Arc<Ringbuffer>;
    size(r::Size) |ringbuffer, _request| ringbuffer.sizes() => size_of;
    capacity(r::Capacity) |ringbuffer, _request| ringbuffer.sizes() => capacity_of;
    remaining_capacity(r::RemainingCapacity) |ringbuffer, _request| ringbuffer.sizes() => remaining_of;
    head_sequence(r::HeadSequence) |ringbuffer, _request| ringbuffer.sizes() => head_of;
    tail_sequence(r::TailSequence) |ringbuffer, _request| ringbuffer.sizes() => tail_of;
}

fn size_of(sizes: RingbufferSizes) -> Number {
    number(sizes.size as i64)
}

fn capacity_of(sizes: RingbufferSizes) -> Number {
    number(sizes.capacity as i64)
}

fn remaining_of(sizes: RingbufferSizes) -> Number {
    number(sizes.remaining as i64)
}

fn head_of(sizes: RingbufferSizes) -> Number {
    number(sizes.head)
}

fn tail_of(sizes: RingbufferSizes) -> Number {
    number(sizes.tail)
}

fn overflow(policy: i32) -> Result<Overflow, Failure> {
    match policy {
        0 => Ok(Overflow::Overwrite),
        1 => Ok(Overflow::Fail),
        other => {
            let text = format!("{other} is no policy for a full ringbuffer: 0 overwrites, 1 fails");
            Err(Failure::new(ErrorCode::IllegalArgument, text))
        }
    }
}

pub(super) fn add(ringbuffer: &Arc<Ringbuffer>, call: Call<'_, r::Add>, request: r::Add) -> Handled {
    let added = ringbuffer.add(&request.value, overflow(request.overflow_policy)?);
    call.answering().follow(added, number_or::<-1>)
}

pub(super) fn add_all(
    ringbuffer: &Arc<Ringbuffer>,
    call: Call<'_, r::AddAll>,
    request: r::AddAll,
) -> Handled {
    let added = ringbuffer.add_all(request.value_list, overflow(request.overflow_policy)?);
    call.answering().follow(added, number_or::<-1>)
}

pub(super) fn read_one(
    ringbuffer: &Arc<Ringbuffer>,
    call: Call<'_, r::ReadOne>,
    request: r::ReadOne,
) -> Handled {
    call.answering().invoke(found_one, |reply| ringbuffer.read_one_to(request.sequence, || reply.make()))
}

pub(super) fn read_many(
    ringbuffer: &Arc<Ringbuffer>,
    call: Call<'_, r::ReadMany>,
    request: r::ReadMany,
) -> Handled {
    let filter = present(request.filter.as_ref()).map(code).transpose()?;
    let (from, max_bytes) = (request.start_sequence, call.desk.host.settings.answer_bytes);
    let [min, max] = [request.min_count, request.max_count].map(|count| {
        let text = format!("{count} items cannot be read");
        usize::try_from(count).map_err(|_| Failure::new(ErrorCode::IllegalArgument, text))
    });
    let (min, max) = (min?, max?);
    call.answering().invoke_counted(many_read, |reply| {
        ringbuffer.read_many_to(from, min, max, max_bytes, filter, || reply.make())
    })
}

fn many_read(many: ManyRead) -> r::ManyRead {
    let (sequences, items): (Vec<i64>, Vec<_>) = many.items.into_iter().unzip();
    r::ManyRead {
        read_count: i32::try_from(many.read).unwrap_or(i32::MAX),
        items,
        item_sequences: Some(sequences),
        next_sequence: many.next_sequence,
    }
}
