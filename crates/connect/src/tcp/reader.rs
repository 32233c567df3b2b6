//! One connection that sends lines: cuts, checks and hands them over. On its io loop.

use crate::channel::Sender;
use bytes::BytesMut;
use filbert_net::{Close, CloseReason, Outbound, Owed, Protocol};
use std::sync::{Arc, Mutex};

/// The longest line.
pub(super) const MAX_LINE_BYTES: usize = 1 << 20;

/// Bytes that are taken at once.
const RECEIVE_BYTES: usize = 256 << 10;

/// Whole lines that came. As long as it lives its connection is owed an answer, which is what bounds how much of it there is.
pub(super) struct Arrived {
    pub(super) text: String,
    _owed: Option<Owed>,
}

/// How a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) reason: CloseReason,
    /// What was wrong with what it sent.
    pub(super) problem: Option<String>,
}

/// The protocol of a connection that sends lines.
pub(super) struct LineReader {
    lines: Sender<Arrived>,
    /// What has no end yet.
    rest: Vec<u8>,
    count: u64,
    problem: Option<String>,
    ended: Arc<Mutex<Option<Ended>>>,
}

impl LineReader {
    /// Hands lines to `lines` and says in `ended` how it ended, before it drops `lines`.
    pub(super) fn new(lines: Sender<Arrived>, ended: Arc<Mutex<Option<Ended>>>) -> Self {
        Self { lines, rest: Vec::new(), count: 0, problem: None, ended }
    }

    /// Hands over the first `cut` bytes, as far as they are text.
    fn hand_over(&mut self, cut: usize, owed: Option<Owed>) -> Result<(), Close> {
        let rest = self.rest.split_off(cut);
        let whole = std::mem::replace(&mut self.rest, rest);
        let text = match String::from_utf8(whole) {
            Ok(text) => text,
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let mut bytes = error.into_bytes();
                bytes.truncate(memchr::memrchr(b'\n', &bytes[..valid]).map_or(0, |end| end + 1));
                let good = String::from_utf8(bytes).unwrap_or_default();
                let line = self.count + good.lines().count() as u64 + 1;
                self.problem = Some(format!("line {line} is not UTF-8"));
                good
            }
        };
        self.count += memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
        if !text.is_empty() {
            let sent = self.lines.try_send(Arrived { text, _owed: owed });
            sent.map_err(|_| Close::because("the job that read these lines is over"))?;
        }
        match &self.problem {
            Some(problem) => Err(Close::because(problem.clone())),
            None => Ok(()),
        }
    }
}

impl Protocol for LineReader {
    fn received(&mut self, input: &mut BytesMut, out: &mut Outbound) -> Result<(), Close> {
        let searched = self.rest.len();
        self.rest.extend_from_slice(input);
        input.clear();
        if let Some(end) = memchr::memrchr(b'\n', &self.rest[searched..]) {
            let cut = searched + end + 1;
            self.hand_over(cut, Some(out.owe_for(cut)))?;
        }
        // Asked, so that the loop knows that it should not read on for now.
        out.is_congested();
        if self.rest.len() > MAX_LINE_BYTES {
            let problem = format!("line {} is longer than {MAX_LINE_BYTES} bytes", self.count + 1);
            self.problem = Some(problem.clone());
            return Err(Close::because(problem));
        }
        Ok(())
    }

    fn receive_limit(&self) -> usize {
        RECEIVE_BYTES
    }

    fn reads_to_the_end(&self) -> bool {
        true
    }

    fn idle(&mut self, _: &mut Outbound) -> Result<(), Close> {
        // Silence is fine.
        Ok(())
    }

    fn closed(&mut self, reason: CloseReason) {
        if reason == CloseReason::PeerClosed && !self.rest.is_empty() {
            // The last line has no end; what is wrong with it is noted.
            let _ = self.hand_over(self.rest.len(), None);
        }
        let ended = Ended { reason, problem: self.problem.take() };
        *self.ended.lock().unwrap_or_else(|broken| broken.into_inner()) = Some(ended);
    }
}
