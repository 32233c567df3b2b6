//! Entry processors: code that is registered with the member, which clients name.

use super::{owner, place};
use crate::hazelcast::answers::done;
use crate::hazelcast::call::Call;
pub(super) use crate::hazelcast::executor::code;
use crate::hazelcast::failure::Handled;
use filbert_grid::Map;
use filbert_grid::map::operations as op;
use filbert_wire::messages::answers::{Found, Pairs};
use filbert_wire::messages::map as m;

pub(in crate::hazelcast) fn execute_on_key(
    map: &Map,
    call: Call<'_, m::ExecuteOnKey>,
    request: m::ExecuteOnKey,
) -> Handled {
    let (partition, code) = (request.key.partition(), code(&request.entry_processor)?);
    let operation = op::ExecuteOnKey::new(place(&call, request.key.detached(), request.thread_id), code);
    call.answering().run(map.strands(), partition, operation, |value| Found { value })
}

/// The client does not wait, or not at once; for the member it is the same.
pub(in crate::hazelcast) fn submit_to_key(
    map: &Map,
    call: Call<'_, m::SubmitToKey>,
    request: m::SubmitToKey,
) -> Handled {
    let (partition, code) = (request.key.partition(), code(&request.entry_processor)?);
    let operation = op::ExecuteOnKey::new(place(&call, request.key.detached(), request.thread_id), code);
    call.answering().run(map.strands(), partition, operation, |value| Found { value })
}

pub(in crate::hazelcast) fn execute_on_all_keys(
    map: &Map,
    call: Call<'_, m::ExecuteOnAllKeys>,
    request: m::ExecuteOnAllKeys,
) -> Handled {
    let code = code(&request.entry_processor)?;
    let map = map.as_owner(owner(&call, 0));
    call.answering().follow_long(map.execute_on_entries(&code), |entries| Pairs { entries })
}

pub(in crate::hazelcast) fn execute_on_keys(
    map: &Map,
    call: Call<'_, m::ExecuteOnKeys>,
    request: m::ExecuteOnKeys,
) -> Handled {
    let code = code(&request.entry_processor)?;
    let map = map.as_owner(owner(&call, 0));
    call.answering().follow_long(map.execute_on_keys(request.keys, &code), |entries| Pairs { entries })
}

/// The function is an entry processor here: it gives each entry its new value.
pub(in crate::hazelcast) fn replace_all(
    map: &Map,
    call: Call<'_, m::ReplaceAll>,
    request: m::ReplaceAll,
) -> Handled {
    let code = code(&request.function)?;
    let map = map.as_owner(owner(&call, 0));
    call.answering().follow_long(map.replace_all(&code), done)
}
