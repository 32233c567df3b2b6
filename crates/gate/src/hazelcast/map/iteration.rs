//! Iteration over the entries of a partition, page by page. Where it stands is kept by the client, in the pointers that Hazelcast made for
//! its own tables: a number that goes down from the largest, and is negative at the end.

use super::queries::predicate;
use crate::hazelcast::call::Call;
use crate::hazelcast::failure::{Failure, Handled};
use filbert_grid::Map;
use filbert_grid::map::operations as op;
use filbert_grid::query::Projection;
use filbert_grid::query::operations::{ProjectPage, Shared};
use filbert_wire::PartitionId;
use filbert_wire::message::Request;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::map as m;

/// The pointer of an iteration that is over.
const OVER: i32 = -1;

/// What a client asks for: the partition, the slot from which it goes on, and how many entries.
fn page<R: Request>(
    call: &Call<'_, R>,
    pointers: &[(i32, i32)],
    batch: i32,
) -> Result<(PartitionId, u32, u32), Failure> {
    let wrong = |problem: &str| Failure::new(ErrorCode::IllegalArgument, problem);
    let partition = call.chosen_partition();
    let partition = partition.ok_or_else(|| wrong("the message says no partition to iterate over"))?;
    let &(at, _) = pointers.last().ok_or_else(|| wrong("there is no pointer that says where to begin"))?;
    if at < 0 {
        return Err(wrong("this iteration is over"));
    }
    Ok((partition, i32::MAX.abs_diff(at), u32::try_from(batch).unwrap_or(1)))
}

/// What the client is told of where its iteration stands.
fn pointers(next: Option<u32>) -> Vec<(i32, i32)> {
    let at = next.and_then(|next| i32::MAX.checked_sub_unsigned(next)).filter(|at| *at >= 0);
    vec![(at.unwrap_or(OVER), i32::MAX)]
}

pub(in crate::hazelcast) fn fetch_keys(
    map: &Map,
    call: Call<'_, m::FetchKeys>,
    request: m::FetchKeys,
) -> Handled {
    let (partition, cursor, batch) = page(&call, &request.iteration_pointers, request.batch)?;
    let fetch = op::FetchEntries { cursor, batch };
    call.answering().run(map.strands(), partition, fetch, |page| m::FetchedKeys {
        iteration_pointers: pointers(page.next),
        keys: page.entries.into_iter().map(|(key, _)| key).collect(),
    })
}

pub(in crate::hazelcast) fn fetch_entries(
    map: &Map,
    call: Call<'_, m::FetchEntries>,
    request: m::FetchEntries,
) -> Handled {
    let (partition, cursor, batch) = page(&call, &request.iteration_pointers, request.batch)?;
    let fetch = op::FetchEntries { cursor, batch };
    call.answering().run(map.strands(), partition, fetch, |page| m::FetchedEntries {
        iteration_pointers: pointers(page.next),
        entries: page.entries,
    })
}

pub(in crate::hazelcast) fn fetch_with_query(
    map: &Map,
    call: Call<'_, m::FetchWithQuery>,
    request: m::FetchWithQuery,
) -> Handled {
    let (partition, cursor, batch) = page(&call, &request.iteration_pointers, request.batch)?;
    let projection = Projection::from_data(&request.projection, call.desk.host.grid.catalog())?;
    let predicate = Shared::new(predicate(call.desk, &request.predicate)?);
    let fetch = ProjectPage::new(projection, predicate, cursor, batch);
    call.answering().run(map.strands(), partition, fetch, |page| m::FetchedResults {
        results: page.values.into_iter().map(Some).collect(),
        iteration_pointers: pointers(page.next),
    })
}
