//! Maps: each handler makes one operation of a request, and one answer of its result.

mod entries;
mod interceptors;
mod iteration;
mod journal;
mod listeners;
mod locks;
mod many;
mod near_cache;
mod processors;
mod queries;

pub(super) use entries::*;
pub(super) use interceptors::*;
pub(super) use iteration::*;
pub(super) use journal::*;
pub(super) use listeners::*;
pub(super) use locks::*;
pub(super) use many::*;
pub(super) use near_cache::*;
pub(super) use processors::*;
pub(super) use queries::*;

use super::call::Call;
use filbert_grid::Owner;
use filbert_grid::map::operations::Place;
use filbert_wire::Data;
use filbert_wire::message::Request;

/// Who a request acts for: a thread of the client that the connection belongs to, whatever the request says of other clients.
#[inline]
pub(super) fn owner<R: Request>(call: &Call<'_, R>, thread: i64) -> Owner {
    Owner { id: call.client(), thread }
}

/// The key that a request changes.
#[inline]
fn place<R: Request>(call: &Call<'_, R>, key: Data, thread: i64) -> Place {
    Place::new(key, owner(call, thread))
}

/// A time-out as clients say it: negative is none at all.
pub(super) fn timeout_ms(timeout_ms: i64) -> u64 {
    u64::try_from(timeout_ms).unwrap_or(0)
}
