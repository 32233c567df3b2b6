//! Lets work in until it is closed, and tells when the last of it has left.
//!
//! This is how a stage ends: `submit` takes a [`Pass`] and holds it while it enqueues; `shutdown` closes the gate and
//! waits until every pass is gone. After that no submit can still be between its check and its enqueue, so a final
//! drain of the queues misses nothing. One word carries both facts (bit 0 closed, the rest passes), so a submit can
//! never slip in between "closed" and "nobody inside".
//!
//! The orderings: `enter` is an Acquire read-modify-write, `leave` a Release one, and [`Gate::is_drained`] an Acquire
//! load: whoever sees the count at zero sees everything done under the passes.

use crate::primitives::{AtomicUsize, Ordering};

const CLOSED: usize = 1;
const ONE: usize = 2;

/// A door with a count of those inside.
#[derive(Debug)]
pub struct Gate {
    word: AtomicUsize,
}

/// The right to be inside an open [`Gate`]; leaves when dropped.
#[derive(Debug)]
#[must_use = "a pass that is dropped at once protects nothing"]
pub struct Pass<'a> {
    gate: &'a Gate,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// An open gate with nobody inside.
    pub fn new() -> Self {
        Self { word: AtomicUsize::new(0) }
    }

    /// Goes in, unless the gate is closed. A closed gate is not counted on, even for a moment: once drained, always drained.
    #[inline]
    pub fn enter(&self) -> Option<Pass<'_>> {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & CLOSED == 0 {
            match self.word.compare_exchange_weak(word, word + ONE, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(Pass { gate: self }),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Nobody comes in from now on. True for the caller who closed it.
    pub fn close(&self) -> bool {
        self.word.fetch_or(CLOSED, Ordering::AcqRel) & CLOSED == 0
    }

    /// True after [`Gate::close`].
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.word.load(Ordering::Acquire) & CLOSED != 0
    }

    /// True when the gate is closed and nobody is inside any more.
    pub fn is_drained(&self) -> bool {
        self.word.load(Ordering::Acquire) == CLOSED
    }

    /// Spins and yields until the gate is drained; passes are held for the length of an enqueue only.
    pub fn wait_drained(&self) {
        while !self.is_drained() {
            crate::primitives::thread::yield_now();
        }
    }
}

impl Drop for Pass<'_> {
    #[inline]
    fn drop(&mut self) {
        self.gate.word.fetch_sub(ONE, Ordering::Release);
    }
}
