//! Sets.

use super::answers::{count, done, empty, flag, handlers, items};
use super::call::Call;
use super::failure::Handled;
use super::items::{Listened, listen};
use filbert_grid::{ItemEvent, Set};
use filbert_wire::messages::answers::Flag;
use filbert_wire::messages::set as s;
use std::sync::Arc;
use uuid::Uuid;

handlers! {
    Arc<Set>;
    size(s::Size) |set, _request| set.size() => count;
    is_empty(s::IsEmpty) |set, _request| set.size() => empty;
    contains(s::Contains) |set, request| set.contains(&request.value) => flag;
    contains_all(s::ContainsAll) |set, request| set.contains_all(request.items.clone()) => flag;
    add(s::Add) |set, request| set.add(&request.value) => flag;
    remove(s::Remove) |set, request| set.remove(&request.value) => flag;
    add_all(s::AddAll) |set, request| set.add_all(request.value_list.clone()) => flag;
    compare_and_remove_all(s::CompareAndRemoveAll) |set, request| set.remove_all(request.values.clone()) => flag;
    compare_and_retain_all(s::CompareAndRetainAll) |set, request| set.retain_all(request.values.clone()) => flag;
    clear(s::Clear) |set, _request| set.clear() => done;
    get_all(s::GetAll) |set, _request| set.get_all() => items;
}

impl Listened for Set {
    fn add(&self, include_value: bool, listener: impl Fn(&ItemEvent) + Send + Sync + 'static) -> Uuid {
        self.add_listener(include_value, listener)
    }

    fn remove(&self, id: Uuid) -> bool {
        self.remove_listener(id)
    }
}

pub(super) fn add_listener(
    set: &Arc<Set>,
    call: Call<'_, s::AddListener>,
    request: s::AddListener,
) -> Handled {
    listen(set, call, &request.name, request.include_value)
}

pub(super) fn remove_listener(
    _set: &Arc<Set>,
    call: Call<'_, s::RemoveListener>,
    request: s::RemoveListener,
) -> Handled {
    let value = call.desk.registrations.remove(request.registration_id);
    call.now(Flag { value })
}
