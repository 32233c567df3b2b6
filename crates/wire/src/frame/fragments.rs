//! Messages that arrive in fragments, put together.
//!
//! Each fragment is a run of frames of its own: first a frame with the fragment's id, last one marked as the last. The id frame is
//! dropped and the mark taken off again, but for the very last, so that the result looks as if it had never been cut.

use super::{FRAME_HEADER, Flags, SplitError, header};
use bytes::{Bytes, BytesMut};

/// One fragment, whole.
#[derive(Debug)]
pub(super) struct Fragment {
    /// The flags of its first frame: whether the message begins, goes on or ends here.
    pub(super) flags: Flags,
    /// All its frames.
    pub(super) frames: BytesMut,
    /// Where the frame with the id ends.
    pub(super) id_end: usize,
}

/// The messages of a connection that have begun and not ended.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    /// Few: a list is searched faster than a map, and its bound is small.
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    id: i64,
    frames: BytesMut,
    /// Where the last frame so far begins: its mark is taken off when another fragment follows.
    last: usize,
}

impl Fragments {
    /// How many bytes wait for the rest of their message.
    pub(super) fn bytes(&self) -> usize {
        self.open.iter().map(|open| open.frames.len()).sum()
    }

    /// Takes a fragment; answers with the message if this was its last.
    pub(super) fn add(&mut self, mut fragment: Fragment, limit: usize) -> Result<Option<Bytes>, SplitError> {
        let id = &fragment.frames[FRAME_HEADER..fragment.id_end];
        let Some(id) = id.first_chunk::<8>().map(|id| i64::from_le_bytes(*id)) else {
            return Err(SplitError::FragmentWithoutId { length: id.len() });
        };
        let frames = fragment.frames.split_off(fragment.id_end);
        let place = self.open.iter().position(|open| open.id == id);
        if fragment.flags.contains(Flags::BEGIN_FRAGMENT) {
            if place.is_some() {
                return Err(SplitError::FragmentTwice { id });
            }
            if self.open.len() >= limit {
                return Err(SplitError::TooManyFragments { limit });
            }
            let last = last_frame(&frames);
            self.open.push(Open { id, frames, last });
            return Ok(None);
        }
        let place = place.ok_or(SplitError::UnknownFragment { id })?;
        self.open[place].append(&frames);
        if !fragment.flags.contains(Flags::END_FRAGMENT) {
            return Ok(None);
        }
        Ok(Some(self.open.swap_remove(place).frames.freeze()))
    }
}

impl Open {
    fn append(&mut self, frames: &BytesMut) {
        if frames.is_empty() {
            return;
        }
        if !self.frames.is_empty() {
            self.frames[self.last + 5] &= !((Flags::FINAL.0 >> 8) as u8);
        }
        self.last = self.frames.len() + last_frame(frames);
        self.frames.extend_from_slice(frames);
    }
}

/// Where the last frame begins. The lengths were checked when the fragment was walked.
fn last_frame(frames: &[u8]) -> usize {
    let mut last = 0;
    let mut at = 0;
    while let Some((length, _)) = header(&frames[at..]) {
        last = at;
        at += length as usize;
    }
    last
}
