//! The buffers that a loop lends to the connection whose turn it is: one to read into, one to write answers into.
//!
//! A turn runs from end to end without a pause, so one pair per loop is enough; a connection keeps a buffer of its own only while
//! it holds a part of a message or an answer that the peer has not taken. So ten thousand idle connections have no buffer at all.
//! A buffer per connection that shrinks was rejected: it allocates on every turn, or stays.

use bytes::BytesMut;
use std::cell::Cell;

/// What one read takes at most.
pub(crate) const READ_BYTES: usize = 64 << 10;

/// A buffer that grew beyond this is freed instead of kept for the next turn.
const KEPT_BYTES: usize = 256 << 10;

/// What is left of a message after a turn moves to a buffer of its own size when it is no longer than this.
const MOVED_BYTES: usize = 8 << 10;

thread_local! {
    static INPUT: Cell<BytesMut> = Cell::new(BytesMut::new());
    static OUTPUT: Cell<BytesMut> = Cell::new(BytesMut::new());
}

/// Makes `input` a buffer with room for a whole read, if it holds little or nothing.
pub(crate) fn lend_input(input: &mut BytesMut) {
    if input.len() <= MOVED_BYTES && input.capacity() < READ_BYTES {
        let held = std::mem::replace(input, INPUT.take());
        input.reserve(READ_BYTES);
        input.extend_from_slice(&held);
    }
}

/// Gives `input` back after a turn; what it still holds stays with the connection, in as little memory as it needs.
pub(crate) fn return_input(input: &mut BytesMut) {
    if input.is_empty() {
        keep(&INPUT, std::mem::take(input));
    } else if input.len() <= MOVED_BYTES && input.capacity() > 2 * MOVED_BYTES {
        let rest = BytesMut::from(&input[..]);
        keep(&INPUT, std::mem::replace(input, rest));
    }
}

/// An empty buffer for answers.
pub(crate) fn lend_output() -> BytesMut {
    OUTPUT.take()
}

/// Gives an empty buffer for answers back.
pub(crate) fn return_output(output: BytesMut) {
    keep(&OUTPUT, output);
}

fn keep(place: &'static std::thread::LocalKey<Cell<BytesMut>>, mut buffer: BytesMut) {
    if buffer.capacity() == 0 {
        return;
    }
    buffer.clear();
    // Takes back the front that messages were taken from; only then its size is known.
    buffer.reserve(READ_BYTES);
    if buffer.capacity() <= KEPT_BYTES {
        place.set(buffer);
    }
}
