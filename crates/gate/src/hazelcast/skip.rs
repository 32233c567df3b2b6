//! A message that is longer than allowed: its sender is told so, and its bytes are thrown away as they come.
//!
//! Closed at once, the connection would be reset under the sender, who is in the middle of its message and would hear nothing. The bytes are
//! never held: frame by frame they are counted off and dropped. A message in fragments, one whose first frame is too long already, and one
//! that announces more than is worth reading, end the connection.

use bytes::{Buf, BytesMut};
use filbert_wire::frame::{FRAME_HEADER, Flags};

/// The most that is thrown away of one message.
const MOST: usize = 1 << 30;

/// The first frame of a request: header, type, correlation.
const CORRELATION_END: usize = FRAME_HEADER + 4 + 8;

/// A message that is being thrown away.
#[derive(Debug, Default)]
pub(super) struct Skip {
    /// Bytes of the frame at hand that are still to come.
    frame_left: usize,
    /// The frame at hand is the last of the message.
    is_last: bool,
    skipped: usize,
}

/// What came of throwing a message away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skipped {
    /// All of it is gone: what is left in the buffer is the next message.
    All,
    /// More is to come.
    Part,
    /// It cannot be followed, or is too much.
    Hopeless,
}

/// Whom a message at the front of a buffer expects an answer for, if it is a whole message whose first frame is there.
pub(super) fn correlation(buffer: &[u8]) -> Option<i64> {
    let (length, flags) = header(buffer)?;
    let is_request =
        flags.contains(Flags::UNFRAGMENTED) && length >= CORRELATION_END && length <= buffer.len();
    let bytes = buffer.get(CORRELATION_END - 8..CORRELATION_END).filter(|_| is_request)?;
    Some(i64::from_le_bytes(bytes.try_into().ok()?))
}

fn header(buffer: &[u8]) -> Option<(usize, Flags)> {
    let length = u32::from_le_bytes(buffer.get(..4)?.try_into().ok()?);
    let flags = u16::from_le_bytes(buffer.get(4..FRAME_HEADER)?.try_into().ok()?);
    Some((length as usize, Flags(flags)))
}

impl Skip {
    /// Throws away what has come of the message.
    pub(super) fn go_on(&mut self, buffer: &mut BytesMut) -> Skipped {
        loop {
            let here = self.frame_left.min(buffer.len());
            buffer.advance(here);
            self.frame_left -= here;
            if self.frame_left > 0 {
                return Skipped::Part;
            }
            if self.is_last {
                return Skipped::All;
            }
            let Some((length, flags)) = header(buffer) else { return Skipped::Part };
            self.skipped = self.skipped.saturating_add(length);
            if length < FRAME_HEADER || self.skipped > MOST {
                return Skipped::Hopeless;
            }
            (self.frame_left, self.is_last) = (length, flags.contains(Flags::FINAL));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert_wire::Data;
    use filbert_wire::message::Request;
    use filbert_wire::messages::client::Ping;
    use filbert_wire::messages::map;

    #[test]
    fn a_message_is_gone_however_it_comes_and_the_next_one_stays() {
        let mut sent = BytesMut::new();
        let (key, value) = (Data::new(-7, &[0, 0, 0, 1]), Data::new(-12, &[7; 1_000]));
        map::Set { name: "m".into(), key, value, thread_id: 1, ttl_ms: -1 }.encode(77, -1, &mut sent);
        assert_eq!(correlation(&sent), Some(77));
        let length = sent.len();
        Ping {}.encode(78, -1, &mut sent);
        for step in [1, 5, 6, 7, 100, 10_000] {
            let (mut skip, mut buffer) = (Skip::default(), BytesMut::new());
            let mut came = sent.chunks(step);
            let skipped = loop {
                match skip.go_on(&mut buffer) {
                    Skipped::Part => buffer.extend_from_slice(came.next().unwrap()),
                    other => break other,
                }
            };
            assert_eq!(skipped, Skipped::All, "{step}");
            came.for_each(|rest| buffer.extend_from_slice(rest));
            assert_eq!(buffer, sent[length..], "{step}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_hopeless() {
        let frame = |length: i32| BytesMut::from(&[&length.to_le_bytes()[..], &[0, 0]].concat()[..]);
        for length in [0, 5, -1, i32::MAX] {
            assert_eq!(Skip::default().go_on(&mut frame(length)), Skipped::Hopeless, "{length}");
            assert_eq!(correlation(&frame(length)), None);
        }
    }
}
