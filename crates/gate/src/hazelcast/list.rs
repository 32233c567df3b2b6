//! Lists.

use super::answers::{count, done, done_anyway, flag, found_one, handlers, items, place};
use super::call::Call;
use super::failure::Handled;
use super::items::{Listened, listen};
use filbert_grid::List;
use filbert_wire::messages::answers::Flag;
use filbert_wire::messages::list as l;
use std::sync::Arc;

handlers! {
    Arc<List>;
    size(l::Size) |list, _request| list.size() => count;
    is_empty(l::IsEmpty) |list, _request| list.is_empty() => flag;
    contains(l::Contains) |list, request| list.contains(&request.value) => flag;
    contains_all(l::ContainsAll) |list, request| list.contains_all(request.values.clone()) => flag;
    add(l::Add) |list, request| list.add(&request.value) => flag;
    remove(l::Remove) |list, request| list.remove(&request.value) => flag;
    add_all(l::AddAll) |list, request| list.add_all(request.value_list.clone()) => flag;
    compare_and_remove_all(l::CompareAndRemoveAll) |list, request| list.remove_all(request.values.clone()) => flag;
    compare_and_retain_all(l::CompareAndRetainAll) |list, request| list.retain_all(request.values.clone()) => flag;
    clear(l::Clear) |list, _request| list.clear() => done;
    get_all(l::GetAll) |list, _request| list.get_all() => items;
    add_all_with_index(l::AddAllWithIndex) |list, request|
        list.add_all_at(request.index.into(), request.value_list.clone()) => flag;
    get(l::Get) |list, request| list.get(request.index.into()) => found_one;
    set(l::Set) |list, request| list.set(request.index.into(), &request.value) => found_one;
    add_with_index(l::AddWithIndex) |list, request| list.add_at(request.index.into(), &request.value) => done_anyway;
    remove_with_index(l::RemoveWithIndex) |list, request| list.remove_at(request.index.into()) => found_one;
    last_index_of(l::LastIndexOf) |list, request| list.last_index_of(&request.value) => place;
    index_of(l::IndexOf) |list, request| list.index_of(&request.value) => place;
    sub(l::Sub) |list, request| list.sub(request.from.into(), request.to.into()) => items;
    iterator(l::Iterator) |list, _request| list.get_all() => items;
    list_iterator(l::ListIterator) |list, request| list.get_from(request.index.into()) => items;
}

impl Listened for List {
    fn add(
        &self,
        include_value: bool,
        listener: impl Fn(&filbert_grid::ItemEvent) + Send + Sync + 'static,
    ) -> uuid::Uuid {
        self.add_listener(include_value, listener)
    }

    fn remove(&self, id: uuid::Uuid) -> bool {
        self.remove_listener(id)
    }
}

pub(super) fn add_listener(
    list: &Arc<List>,
    call: Call<'_, l::AddListener>,
    request: l::AddListener,
) -> Handled {
    listen(list, call, &request.name, request.include_value)
}

pub(super) fn remove_listener(
    _list: &Arc<List>,
    call: Call<'_, l::RemoveListener>,
    request: l::RemoveListener,
) -> Handled {
    let value = call.desk.registrations.remove(request.registration_id);
    call.now(Flag { value })
}
