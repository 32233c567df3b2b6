//! Interceptors: code that is registered with the member, which clients put between a map and all who use it.

use super::processors::code;
use crate::hazelcast::call::Call;
use crate::hazelcast::failure::Handled;
use filbert_grid::{InterceptorId, Map};
use filbert_wire::messages::answers::Flag;
use filbert_wire::messages::map as m;

pub(in crate::hazelcast) fn add_interceptor(
    map: &Map,
    call: Call<'_, m::AddInterceptor>,
    request: m::AddInterceptor,
) -> Handled {
    let adding = map.add_interceptor(&code(&request.interceptor)?);
    call.answering().follow_long(adding, |id| m::InterceptorAdded { id: id.as_str().into() })
}

pub(in crate::hazelcast) fn remove_interceptor(
    map: &Map,
    call: Call<'_, m::RemoveInterceptor>,
    request: m::RemoveInterceptor,
) -> Handled {
    let value = map.remove_interceptor(&InterceptorId::new(&request.id));
    call.now(Flag { value })
}
