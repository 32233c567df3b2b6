//! What a protocol writes its answers into while it handles its input.

use crate::backlog::Backlog;
use crate::buffers;
use crate::outlet::{Outlet, Owed};
use bytes::{Bytes, BytesMut};
use std::cell::Cell;

/// The answers of a connection, written by its loop at the end of the turn, all at once.
///
/// What is written here during one call comes before what was sent through an [`Outlet`] during that call.
#[derive(Debug)]
pub struct Outbound {
    outlet: Outlet,
    pub(crate) backlog: Backlog,
    /// True when the protocol was told to stop since the loop last looked.
    told_congested: Cell<bool>,
}

impl Outbound {
    pub(crate) fn new(outlet: Outlet) -> Self {
        Self { outlet, backlog: Backlog::default(), told_congested: Cell::new(false) }
    }

    /// Where to append an answer. What is in it already belongs to earlier answers: append only.
    pub fn buffer(&mut self) -> &mut BytesMut {
        self.backlog.tail()
    }

    /// Appends bytes that are shared and not copied when they are many.
    pub fn push(&mut self, bytes: impl Into<Bytes>) {
        self.backlog.push(bytes.into());
    }

    /// True when enough waits for the peer: return, and be called again when it has taken some.
    pub fn is_congested(&self) -> bool {
        let congested = self.outlet.link().is_congested(self.backlog.len());
        if congested {
            self.told_congested.set(true);
        }
        congested
    }

    pub(crate) fn take_told_congested(&self) -> bool {
        self.told_congested.take()
    }

    /// An answer that comes later, from any thread.
    pub fn owe(&self) -> Owed {
        self.owe_for(0)
    }

    /// The same for a request of that many bytes, which stay in memory until the answer is there: they count as bytes in flight.
    pub fn owe_for(&self, request_bytes: usize) -> Owed {
        Owed::new(self.outlet.clone(), request_bytes)
    }

    /// The way to this connection from any thread.
    pub fn outlet(&self) -> &Outlet {
        &self.outlet
    }

    /// Borrows the loop's buffer for this turn.
    pub(crate) fn begin_turn(&mut self) {
        if self.backlog.is_empty() {
            buffers::return_output(self.backlog.swap_tail(buffers::lend_output()));
        }
    }

    /// Gives the loop's buffer back, unless something in it waits.
    pub(crate) fn end_turn(&mut self) {
        if self.backlog.is_empty() {
            buffers::return_output(self.backlog.swap_tail(BytesMut::new()));
        }
    }
}
