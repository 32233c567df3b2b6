//! The journal of a map: the last changes of a partition, which clients read at their own pace. A read that waits for changes holds no thread,
//! and is given up when its connection goes.

use crate::hazelcast::call::{Call, present};
use crate::hazelcast::executor::not_code;
use crate::hazelcast::failure::{Failure, Handled};
use filbert_grid::map::operations::{JournalItems, ReadJournalItems, SpanOfJournal};
use filbert_grid::map::{JournalFilter, JournalProjection};
use filbert_grid::{JournalSpan, Map};
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::map as m;

pub(in crate::hazelcast) fn event_journal_subscribe(
    map: &Map,
    call: Call<'_, m::EventJournalSubscribe>,
    _request: m::EventJournalSubscribe,
) -> Handled {
    let partition = call.own_partition()?;
    call.answering().run(map.strands(), partition, SpanOfJournal, subscribed)
}

/// The newest is one before the next: -1 when there was none yet.
fn subscribed(span: JournalSpan) -> m::JournalSubscribed {
    let [oldest_sequence, next] = [span.oldest, span.next].map(sequence);
    m::JournalSubscribed { oldest_sequence, newest_sequence: next - 1 }
}

pub(in crate::hazelcast) fn event_journal_read(
    map: &Map,
    mut call: Call<'_, m::EventJournalRead>,
    request: m::EventJournalRead,
) -> Handled {
    let partition = call.own_partition()?;
    let filter = present(request.predicate.as_ref()).map(JournalFilter::from_data);
    let projection = present(request.projection.as_ref()).map(JournalProjection::from_data);
    let [min, max] = [request.min_size, request.max_size].map(|size| {
        let text = format!("{size} changes cannot be read");
        usize::try_from(size).map_err(|_| Failure::new(ErrorCode::IllegalArgument, text))
    });
    // Before the first is from the oldest on.
    let read = ReadJournalItems::new(u64::try_from(request.start_sequence).unwrap_or(0), min?, max?)
        .filtered(filter.transpose().map_err(not_code)?)
        .projected(projection.transpose().map_err(not_code)?)
        .within(&call.allowance());
    call.answering()
        .invoke_counted(items_read, |reply| map.strands().invoke(partition, read, || reply.make()))
}

fn items_read(read: JournalItems) -> m::JournalRead {
    let (sequences, items): (Vec<u64>, Vec<_>) = read.items.into_iter().unzip();
    m::JournalRead {
        read_count: i32::try_from(read.read).unwrap_or(i32::MAX),
        items,
        item_seqs: Some(sequences.into_iter().map(sequence).collect()),
        next_seq: sequence(read.next),
    }
}

/// Clients count in 63 bits.
fn sequence(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
