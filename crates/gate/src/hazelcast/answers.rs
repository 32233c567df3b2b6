//! Results of the grid as answers of the protocol, and handlers that do nothing but call and answer.

use filbert_wire::Data;
use filbert_wire::messages::answers::{Count, Done, Flag, Found, Items, Number};

pub(super) fn done((): ()) -> Done {
    Done {}
}

/// Done, whatever came of it.
pub(super) fn done_anyway<T>(_: T) -> Done {
    Done {}
}

pub(super) fn flag(value: bool) -> Flag {
    Flag { value }
}

pub(super) fn found(value: Option<Data>) -> Found {
    Found { value }
}

pub(super) fn found_one(value: Data) -> Found {
    Found { value: Some(value) }
}

/// Clients count in 31 bits.
pub(super) fn count(number: usize) -> Count {
    Count { value: i32::try_from(number).unwrap_or(i32::MAX) }
}

/// Whether a number of things is none.
pub(super) fn empty(number: usize) -> Flag {
    Flag { value: number == 0 }
}

pub(super) fn number(value: i64) -> Number {
    Number { value }
}

/// A number, or what stands for none.
pub(super) fn number_or<const NONE: i64>(value: Option<i64>) -> Number {
    Number { value: value.unwrap_or(NONE) }
}

/// A place, or -1 for none.
pub(super) fn place(index: Option<usize>) -> Count {
    Count { value: index.and_then(|index| i32::try_from(index).ok()).unwrap_or(-1) }
}

pub(super) fn items(values: Vec<Data>) -> Items {
    Items { values }
}

/// Handlers, one a line: the request, what is called for it, and what makes the answer of the result.
macro_rules! handlers {
    ($structure:ty; $($name:ident($request:ty) |$target:ident, $fields:ident| $call:expr => $answer:path;)*) => {$(
        pub(in crate::hazelcast) fn $name(
            $target: &$structure,
            call: $crate::hazelcast::call::Call<'_, $request>,
            $fields: $request,
        ) -> $crate::hazelcast::failure::Handled {
            let invocation = $call;
            drop($fields);
            call.answering().follow(invocation, $answer)
        }
    )*};
}

pub(super) use handlers;
