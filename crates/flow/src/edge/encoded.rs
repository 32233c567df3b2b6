//! A distributed edge whose items go through their codec although they stay here: what tests of codecs use.

use super::codec::{ItemCodec, decode_all, encode_all};
use super::link::{Flushed, Link};
use crate::processor::Failure;
use std::sync::Arc;
use std::task::Waker;

/// Writes every item as bytes, reads it back, and passes it on.
pub(crate) struct EncodedLink<T> {
    pub(crate) inner: Box<dyn Link<T>>,
    pub(crate) codec: Arc<dyn ItemCodec<T>>,
}

impl<T: Send + 'static> Link<T> for EncodedLink<T> {
    fn route(&mut self, items: &mut Vec<T>) -> Result<(), Failure> {
        let bytes = encode_all(&*self.codec, items.drain(..))?;
        decode_all(&*self.codec, &bytes, items)?;
        self.inner.route(items)
    }

    fn flush(&mut self) -> Flushed {
        self.inner.flush()
    }

    fn ready_or_wake(&mut self, waker: &Waker) -> bool {
        self.inner.ready_or_wake(waker)
    }

    fn closed_or_wake(&mut self, waker: &Waker) -> bool {
        self.inner.closed_or_wake(waker)
    }
}
