//! Writing on the stage `mixed`: one buffer is written while the processor fills the other.

use crate::offload::Offload;
use filbert_flow::Failure;
use filbert_pool::TaskFuture;
use std::io;
use std::task::Poll;

/// Bytes that are written at once.
const FULL: usize = 256 << 10;

/// Where bytes go; its calls block.
pub(crate) trait Drain: Send + 'static {
    /// Writes all of them.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
}

impl Drain for std::fs::File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        io::Write::write_all(self, bytes)
    }
}

/// The drain, its empty buffer, and how the write went.
type Wrote<D> = (D, Vec<u8>, io::Result<()>);

/// Writes to `D`, one buffer behind.
pub(crate) struct WriteBehind<D> {
    /// Away while a write is under way.
    idle: Option<(D, Vec<u8>)>,
    writing: Option<TaskFuture<Wrote<D>>>,
    buffer: Vec<u8>,
}

impl<D: Drain> WriteBehind<D> {
    pub(crate) fn new(drain: D) -> Self {
        Self { idle: Some((drain, Vec::new())), writing: None, buffer: Vec::new() }
    }

    /// Where to append.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Writes what is full. Pending when the buffer is full too and no more should be appended: then the processor is woken.
    pub(crate) fn poll_room(&mut self, offload: &Offload) -> Poll<Result<(), Failure>> {
        if self.buffer.len() < FULL {
            return Poll::Ready(Ok(()));
        }
        self.poll_start(offload)
    }

    /// Writes what there is. Pending when it is not written yet.
    pub(crate) fn poll_written(&mut self, offload: &Offload) -> Poll<Result<(), Failure>> {
        while !self.buffer.is_empty() {
            match self.poll_start(offload)? {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) => {}
            }
        }
        self.poll_idle(offload)
    }

    /// Begins to write the buffer, as soon as the write before is done.
    pub(crate) fn poll_start(&mut self, offload: &Offload) -> Poll<Result<(), Failure>> {
        if self.poll_idle(offload)?.is_pending() {
            return Poll::Pending;
        }
        if self.buffer.is_empty() {
            return Poll::Ready(Ok(()));
        }
        if let Some((mut drain, spare)) = self.idle.take() {
            let mut full = std::mem::replace(&mut self.buffer, spare);
            let write = move || {
                let written = drain.write(&full);
                full.clear();
                (drain, full, written)
            };
            self.writing = Some(offload.submit("write", write)?);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_idle(&mut self, offload: &Offload) -> Poll<Result<(), Failure>> {
        let Some(writing) = &mut self.writing else { return Poll::Ready(Ok(())) };
        let Poll::Ready(wrote) = offload.poll(writing) else { return Poll::Pending };
        self.writing = None;
        let (drain, spare, written) = wrote?;
        written?;
        self.idle = Some((drain, spare));
        Poll::Ready(Ok(()))
    }
}
