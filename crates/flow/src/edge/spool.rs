//! A buffered edge: between the producers and one consumer stands a tasklet that takes whatever comes.
//!
//! ```text
//!   producers ──► conveyor ──► newest ──chunk──► disk ──chunk──► oldest ──► queue ──► consumer
//!                                └────────── nothing on disk ───────┘
//! ```
//!
//! So producers are never held up by a consumer that has other edges to consume first. Memory is bounded: `memory` items on each side;
//! beyond that the newest are written to a file, chunk by chunk, on the stage `mixed`, and read back in order. An edge whose items have
//! no codec can not be written: it fails its job at its limit, with a message that says what to do.
//!
//! A file has no name in its folder once it is open, where the system allows that: whatever ends the process, nothing is left. Files
//! are of a limited size, and each goes when the last of it is read: a buffer that is never quite empty takes the disk that it needs, not
//! the sum of all that ever went through it. An open file holds up the end of its job, also while `mixed` still writes to it.

use super::codec::{ItemCodec, decode_all, encode_all};
use super::link::Link;
use super::wiring::Buffer;
use crate::job::Live;
use crate::processor::Failure;
use crate::tasklet::{Conduct, TurnView};
use filbert_pool::{TaskFuture, Turn};
use filbert_sync::conveyor::{Closed, Conveyor};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// How many items are taken from the queues at a time.
const SLICE: usize = 1024;

/// How large the first file gets; each has twice the size of the one before, so that there are never many.
const FIRST_FILE: u64 = 1 << 20;

/// How large files get at most, but for the last chunk.
const LARGEST_FILE: u64 = 1 << 30;

/// How a buffer is made.
pub(crate) struct SpoolSettings<T> {
    pub(crate) codec: Option<Arc<dyn ItemCodec<T>>>,
    /// `memory` is for each side of the disk; it is the limit of a buffer without a codec.
    pub(crate) buffer: Buffer,
}

/// The buffer before one consumer.
pub(crate) struct Spool<T> {
    settings: SpoolSettings<T>,
    from: Option<Conveyor<T>>,
    to: Box<dyn Link<T>>,
    newest: Vec<T>,
    oldest: VecDeque<T>,
    /// Where the chunks on disk are, oldest first.
    chunks: VecDeque<Chunk>,
    /// The end of what is written to the file that is written to.
    end: u64,
    file: Option<Arc<SpillFile>>,
    /// How large it may get.
    most: u64,
    work: Work,
    /// The consumer knows whom to wake when it goes.
    watches_end: bool,
    /// How many items wait here, as its counters know it.
    counted: u64,
}

#[derive(Clone)]
struct Chunk {
    file: Arc<SpillFile>,
    at: u64,
    bytes: usize,
    items: u64,
}

/// What the stage `mixed` does for it now.
enum Work {
    None,
    Writes { written: TaskFuture<std::io::Result<Chunk>>, items: u64 },
    Reads(TaskFuture<std::io::Result<Vec<u8>>>),
}

/// The fields are dropped in their order: the job must not be over before the file is closed.
struct SpillFile {
    file: Mutex<File>,
    _live: Live,
}

impl<T: Send + 'static> Spool<T> {
    pub(crate) fn new(settings: SpoolSettings<T>, from: Conveyor<T>, to: Box<dyn Link<T>>) -> Self {
        Self {
            settings,
            from: Some(from),
            to,
            newest: Vec::new(),
            oldest: VecDeque::new(),
            chunks: VecDeque::new(),
            end: 0,
            file: None,
            most: FIRST_FILE,
            work: Work::None,
            watches_end: false,
            counted: 0,
        }
    }

    /// Tells its counters how many items wait here.
    fn count(&mut self) {
        let writes = if let Work::Writes { items, .. } = &self.work { *items } else { 0 };
        let on_disk = self.chunks.iter().map(|chunk| chunk.items).sum::<u64>();
        let now = (self.newest.len() + self.oldest.len()) as u64 + on_disk + writes;
        self.settings.buffer.counters.set_waiting(self.counted, now);
        self.counted = now;
    }

    /// True when nothing lies between the newest and the oldest.
    fn disk_is_empty(&self) -> bool {
        self.chunks.is_empty() && matches!(self.work, Work::None)
    }

    /// How many more items it can take now.
    fn room(&self) -> usize {
        match self.settings.codec {
            // One more than its limit: to see that there is too much.
            None => {
                let most = self.settings.buffer.memory.saturating_add(1);
                most.saturating_sub(self.newest.len() + self.oldest.len())
            }
            Some(_) => self.settings.buffer.memory.saturating_sub(self.newest.len()),
        }
    }

    fn take(&mut self) -> Result<bool, Failure> {
        let room = self.room().min(SLICE);
        let Some(from) = &mut self.from else { return Ok(false) };
        if room == 0 {
            return Ok(false);
        }
        match from.receive_into(&mut self.newest, room) {
            Ok(count) => {
                if self.settings.codec.is_none() && self.room() == 0 {
                    return Err(self.overflow());
                }
                Ok(count > 0)
            }
            Err(Closed) => {
                self.from = None;
                Ok(true)
            }
        }
    }

    fn overflow(&self) -> Failure {
        format!(
            "the buffer of the edge {} has reached its limit of {} items in memory; say how its items \
             are written, so that they can spill to disk (`Edge::buffered`, in a pipeline `Stream::spilling` where the \
             stream is used twice), or give the edge a higher limit (`Edge::buffered_in_memory`)",
            self.settings.buffer.edge, self.settings.buffer.memory
        )
        .into()
    }

    /// With nothing on disk, the newest are the oldest as well.
    fn shortcut(&mut self) {
        if self.disk_is_empty() && self.oldest.is_empty() && !self.newest.is_empty() {
            self.oldest = VecDeque::from(std::mem::take(&mut self.newest));
        }
    }

    /// Moves a slice towards the consumer; one, since the turn has a budget.
    fn give(&mut self) -> Result<bool, Failure> {
        let mut slice: Vec<T> = self.oldest.drain(..self.oldest.len().min(SLICE)).collect();
        let count = slice.len();
        self.to.route(&mut slice)?;
        Ok(self.to.flush().held < count)
    }

    /// An error of the disk says whose disk.
    fn on_disk<V>(&self, done: std::io::Result<V>) -> Result<V, Failure> {
        let Buffer { edge, folder, .. } = &self.settings.buffer;
        done.map_err(|error| {
            format!("the buffer of the edge {edge} can not use its file in {}: {error}", folder.display())
                .into()
        })
    }

    /// Has the disk do what is due. True when something changed.
    fn spill(&mut self, waker: &Waker) -> Result<bool, Failure> {
        let mut context = Context::from_waker(waker);
        match std::mem::replace(&mut self.work, Work::None) {
            Work::None => {}
            Work::Writes { mut written, items } => match Pin::new(&mut written).poll(&mut context) {
                Poll::Pending => self.work = Work::Writes { written, items },
                Poll::Ready(written) => {
                    let chunk = self.on_disk(written?)?;
                    self.file = Some(Arc::clone(&chunk.file));
                    self.chunks.push_back(chunk);
                    return Ok(true);
                }
            },
            Work::Reads(mut future) => match Pin::new(&mut future).poll(&mut context) {
                Poll::Pending => self.work = Work::Reads(future),
                Poll::Ready(bytes) => {
                    let bytes = self.on_disk(bytes?)?;
                    if let Some(codec) = &self.settings.codec {
                        decode_all(&**codec, &bytes, &mut self.oldest)?;
                    }
                    self.chunks.pop_front();
                    if self.chunks.is_empty() {
                        self.end = 0;
                    }
                    return Ok(true);
                }
            },
        }
        if !matches!(self.work, Work::None) {
            return Ok(false);
        }
        // Reads first: the consumer waits for them, and they make room.
        if self.oldest.is_empty() && !self.chunks.is_empty() {
            self.work = self.read()?;
            return Ok(true);
        }
        match &self.settings.codec {
            // There are older ones, or the shortcut would have been taken.
            Some(codec) if self.newest.len() >= self.settings.buffer.memory => {
                let items = self.newest.len() as u64;
                let bytes = encode_all(&**codec, self.newest.drain(..))?;
                self.work = self.write(bytes, items)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn write(&mut self, bytes: Vec<u8>, items: u64) -> Result<Work, Failure> {
        let buffer = &self.settings.buffer;
        if self.end >= self.most {
            // It goes with the last chunk that is in it.
            self.file = None;
            self.end = 0;
            self.most = (self.most * 2).min(LARGEST_FILE);
        }
        let at = self.end;
        self.end += bytes.len() as u64;
        buffer.counters.spilled(bytes.len() as u64);
        let (file, folder, live) = (self.file.clone(), buffer.folder.clone(), buffer.job.hold());
        let stages = buffer.stages.upgrade().ok_or("the stages have ended")?;
        let written = stages.mixed().submit("spill", move || {
            let file = match file {
                Some(file) => file,
                None => Arc::new(SpillFile { file: Mutex::new(create_file(&folder)?), _live: live }),
            };
            let mut open = file.lock();
            open.seek(SeekFrom::Start(at))?;
            open.write_all(&bytes)?;
            drop(open);
            Ok(Chunk { file, at, bytes: bytes.len(), items })
        })?;
        Ok(Work::Writes { written, items })
    }

    fn read(&mut self) -> Result<Work, Failure> {
        let Some(chunk) = self.chunks.front().cloned() else { return Ok(Work::None) };
        let stages = self.settings.buffer.stages.upgrade().ok_or("the stages have ended")?;
        let bytes = stages.mixed().submit("unspill", move || {
            let mut bytes = vec![0; chunk.bytes];
            let mut open = chunk.file.lock();
            open.seek(SeekFrom::Start(chunk.at))?;
            open.read_exact(&mut bytes)?;
            Ok(bytes)
        })?;
        Ok(Work::Reads(bytes))
    }
}

impl SpillFile {
    fn lock(&self) -> MutexGuard<'_, File> {
        self.file.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// A file that is gone when it is closed.
fn create_file(folder: &std::path::Path) -> std::io::Result<File> {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("filbert-spill-{}-{number}", std::process::id()));
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt;
        const DELETE_ON_CLOSE: u32 = 0x0400_0000;
        return options.custom_flags(DELETE_ON_CLOSE).open(&path);
    }
    #[cfg(not(windows))]
    {
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(file)
    }
}

impl<T: Send + 'static> Conduct for Spool<T> {
    fn turn(&mut self, view: &dyn TurnView) -> Result<Turn, Failure> {
        let turn = self.take_turn(view);
        self.count();
        turn
    }
}

impl<T: Send + 'static> Spool<T> {
    fn take_turn(&mut self, view: &dyn TurnView) -> Result<Turn, Failure> {
        loop {
            let waker = view.waker();
            let outlet = self.to.flush();
            if outlet.closed {
                // The consumer wants no more; the producers learn it when this is dropped.
                return Ok(Turn::Done);
            }
            self.shortcut();
            let mut moved = false;
            if outlet.held == 0 {
                moved |= self.give()?;
            }
            moved |= self.spill(&waker)?;
            moved |= self.take()?;
            let is_over = self.from.is_none()
                && self.newest.is_empty()
                && self.oldest.is_empty()
                && self.disk_is_empty()
                && self.to.flush().held == 0;
            if is_over {
                return Ok(Turn::Done);
            }
            if !moved {
                // The disk knows the waker since it was polled. All others are told, whatever the first says.
                let mut ready = self.to.ready_or_wake(&waker);
                if self.room() > 0
                    && let Some(from) = &mut self.from
                {
                    ready |= from.ready_or_wake(&waker);
                }
                if !ready && !self.watches_end {
                    self.watches_end = true;
                    ready = self.to.closed_or_wake(&view.weak_waker());
                }
                if !ready {
                    return Ok(Turn::Idle);
                }
            }
            if view.should_yield() {
                return Ok(Turn::Again);
            }
        }
    }
}
