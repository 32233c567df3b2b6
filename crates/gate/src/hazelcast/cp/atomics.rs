//! Numbers and values that are changed in one step.

use crate::hazelcast::answers::{flag, found, handlers, number};
use crate::hazelcast::call::{Call, present};
use crate::hazelcast::executor::code;
use crate::hazelcast::failure::{Failure, Handled};
use filbert_grid::{AtomicLong, AtomicReference};
use filbert_wire::Data;
use filbert_wire::messages::answers::Found;
use filbert_wire::messages::cp::atomic_long as l;
use filbert_wire::messages::cp::atomic_ref as r;
use filbert_wire::messages::error::ErrorCode;
use std::sync::Arc;

/// Handlers of two structures have names of their own.
pub(in crate::hazelcast) mod long {
    use super::*;

    handlers! {
        Arc<AtomicLong>;
        get(l::Get) |long, _request| long.get() => number;
        get_and_add(l::GetAndAdd) |long, request| long.get_and_add(request.delta) => number;
        add_and_get(l::AddAndGet) |long, request| long.add_and_get(request.delta) => number;
        get_and_set(l::GetAndSet) |long, request| long.get_and_set(request.new_value) => number;
        compare_and_set(l::CompareAndSet) |long, request| long.compare_and_set(request.expected, request.updated) => flag;
    }

    pub(in crate::hazelcast) fn apply(
        long: &Arc<AtomicLong>,
        call: Call<'_, l::Apply>,
        request: l::Apply,
    ) -> Handled {
        let applied = long.apply(&code(&request.function)?);
        call.answering().follow(applied, found)
    }

    pub(in crate::hazelcast) fn alter(
        long: &Arc<AtomicLong>,
        call: Call<'_, l::Alter>,
        request: l::Alter,
    ) -> Handled {
        let function = code(&request.function)?;
        let altered = match request.return_value_type {
            0 => long.get_and_alter(&function),
            1 => long.alter_and_get(&function),
            other => return Err(no_such_return(other)),
        };
        call.answering().follow(altered, number)
    }
}

fn no_such_return(kind: i32) -> Failure {
    let text = format!("{kind} says no value that could be given back");
    Failure::new(ErrorCode::IllegalArgument, text)
}

/// The same.
pub(in crate::hazelcast) mod reference {
    use super::*;

    handlers! {
        Arc<AtomicReference>;
        get(r::Get) |reference, _request| reference.get() => found;
        contains(r::Contains) |reference, request| reference.contains(present(request.value.as_ref())) => flag;
        compare_and_set(r::CompareAndSet) |reference, request|
            reference.compare_and_set(present(request.old_value.as_ref()), present(request.new_value.as_ref())) => flag;
    }

    pub(in crate::hazelcast) fn set(
        reference: &Arc<AtomicReference>,
        call: Call<'_, r::Set>,
        request: r::Set,
    ) -> Handled {
        let returns = request.return_old_value;
        let set = reference.get_and_set(present(request.new_value.as_ref()));
        call.answering().follow(set, move |old| Found { value: old.filter(|_| returns) })
    }

    /// Nothing, what it was, or what it is then; and with or without changing it.
    pub(in crate::hazelcast) fn apply(
        reference: &Arc<AtomicReference>,
        call: Call<'_, r::Apply>,
        request: r::Apply,
    ) -> Handled {
        let function = code(&request.function)?;
        let pick: fn((Option<Data>, Option<Data>)) -> Found = match request.return_value_type {
            0 => |_| Found { value: None },
            1 => |(old, _)| Found { value: old },
            2 => |(_, new)| Found { value: new },
            other => return Err(no_such_return(other)),
        };
        if request.alter {
            call.answering().follow(reference.alter(&function), pick)
        } else {
            call.answering().follow(reference.apply(&function), move |applied| pick((None, applied)))
        }
    }
}
