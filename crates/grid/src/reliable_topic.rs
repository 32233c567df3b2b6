//! A topic whose messages wait for whoever listens: they lie in a ringbuffer, and each listener reads at its own pace.
//!
//! ```text
//! publish -> ringbuffer "_hz_rb_<name>" <- read_many, parked while there is nothing new
//!                                             |
//!                                 event stage: the listener, a batch; then the next read
//! ```
//!
//! Clients publish to the ringbuffer and read from it themselves, so that is where a message is, in the form that they write. A listener has
//! one batch under way at a time: one that is slow holds up nobody, and misses messages only when the ringbuffer overwrites them.

use crate::error::{GridError, GridResult};
use crate::grid::{Grid, WeakGrid, new_id};
use crate::invocation::Invocation;
use crate::ringbuffer::{ManyRead, OF_TOPIC, Overflow, Ringbuffer};
use crate::structures::{Service, Structure};
use crate::topic::Message;
use filbert_pool::{Canceller, Offer, Offered, Stages, Topic, caught};
use filbert_wire::Data;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use uuid::Uuid;

/// Messages that a listener is given at once.
const BATCH: usize = 10;
/// A message is an `IdentifiedDataSerializable` of this type id, factory and class, as clients know it.
const IDENTIFIED: i32 = -2;
const FACTORY: i32 = -9;
const CLASS: i32 = 2;

/// Messages that wait for whoever listens.
///
/// ```
/// use filbert_grid::{Grid, Overflow};
/// use filbert_wire::Data;
/// use std::sync::mpsc;
///
/// let stages = filbert_pool::Stages::start()?;
/// let news = Grid::new(&stages).reliable_topic("news");
/// let (heard, hears) = mpsc::channel();
/// news.add_listener(move |message| heard.send(message.data.clone()).unwrap())?;
/// let item = Data::new(-3, b"1");
/// news.publish(&item, Overflow::Overwrite).wait()?;
/// assert_eq!(hears.recv()?, item);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ReliableTopic {
    name: Arc<str>,
    /// Where its messages are, unless a client has destroyed it meanwhile.
    ringbuffer: Arc<Ringbuffer>,
    stages: Stages,
    member: Uuid,
    /// Not the grid itself, which holds this topic.
    grid: WeakGrid,
    listeners: Mutex<HashMap<Uuid, Arc<Reader>>>,
}

impl ReliableTopic {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>, ringbuffer: Arc<Ringbuffer>) -> Self {
        Self {
            name: Arc::clone(name),
            ringbuffer,
            stages: grid.stages().clone(),
            member: grid.member(),
            grid: grid.downgrade(),
            listeners: Mutex::default(),
        }
    }

    /// Where the messages of that topic are.
    pub(crate) fn ringbuffer_of(grid: &Grid, name: &str) -> Arc<Ringbuffer> {
        grid.ringbuffer(&format!("{OF_TOPIC}{name}"))
    }

    fn ringbuffer(&self) -> Arc<Ringbuffer> {
        match self.grid.upgrade() {
            Some(grid) => Self::ringbuffer_of(&grid, &self.name),
            None => Arc::clone(&self.ringbuffer),
        }
    }

    /// Publishes a message; its number, or none when it was to fail and there was no room.
    pub fn publish(&self, message: &Data, overflow: Overflow) -> Invocation<Option<i64>> {
        self.publish_all(std::slice::from_ref(message), overflow)
    }

    /// Publishes messages, in one step.
    pub fn publish_all(&self, messages: &[Data], overflow: Overflow) -> Invocation<Option<i64>> {
        let now_ms = self.stages.clock().unix_ms();
        let written = messages.iter().map(|message| write(message, now_ms)).collect();
        self.ringbuffer().add_all(written, overflow)
    }

    /// Calls `listener` on the `event` stage for each message that is published from now on, in their order.
    pub fn add_listener(&self, listener: impl Fn(&Message) + Send + Sync + 'static) -> GridResult<Uuid> {
        let id = new_id(&self.stages.clock());
        let (ringbuffer, member) = (self.ringbuffer(), self.member);
        let from = ringbuffer.sizes().wait()?.tail + 1;
        let source = format!("{}/{}", Service::ReliableTopic.as_str(), self.name);
        let reader = Arc::new(Reader {
            ringbuffer,
            topic: self.stages.event().topic(&source),
            listener: Box::new(listener),
            member,
            under_way: Mutex::new(UnderWay::Nothing),
        });
        self.listeners().insert(id, Arc::clone(&reader));
        reader.read(from);
        Ok(id)
    }

    /// Forgets a listener; false when there was none. Messages of a batch that is under way may still reach it.
    pub fn remove_listener(&self, id: Uuid) -> bool {
        let removed = self.listeners().remove(&id);
        removed.inspect(|reader| reader.stop()).is_some()
    }

    fn listeners(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<Reader>>> {
        self.listeners.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

impl Structure for ReliableTopic {
    fn service(&self) -> Service {
        Service::ReliableTopic
    }

    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn destroy(&self) {
        self.listeners().drain().for_each(|(_, reader)| reader.stop());
        if let Some(grid) = self.grid.upgrade() {
            grid.structures().destroy(Service::Ringbuffer, self.ringbuffer.name());
        }
    }
}

/// A listener with its way through the ringbuffer.
struct Reader {
    ringbuffer: Arc<Ringbuffer>,
    topic: Topic,
    listener: Box<dyn Fn(&Message) + Send + Sync>,
    member: Uuid,
    under_way: Mutex<UnderWay>,
}

enum UnderWay {
    Nothing,
    Read(Canceller),
    Stopped,
}

impl Reader {
    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn is_stopped(&self) -> bool {
        matches!(*self.under_way(), UnderWay::Stopped)
    }

    fn stop(&self) {
        let before = std::mem::replace(&mut *self.under_way(), UnderWay::Stopped);
        if let UnderWay::Read(canceller) = before {
            canceller.cancel();
        }
    }

    /// Reads the next batch; when there is none yet, no thread waits for it.
    fn read(self: &Arc<Self>, from: i64) {
        let reading = self.ringbuffer.read_many(from, 1, BATCH, usize::MAX, None);
        {
            let mut under_way = self.under_way();
            if matches!(*under_way, UnderWay::Stopped) {
                return;
            }
            *under_way = reading.canceller().map_or(UnderWay::Nothing, UnderWay::Read);
        }
        let reader = Arc::clone(self);
        // An error is the end: the ringbuffer was destroyed, the listener removed, or the member ends.
        reading.on_complete(move |read| {
            if let Ok(many) = read {
                reader.deliver(Arc::new(many));
            }
        });
    }

    /// Gives a batch to the listener on the event stage, then reads the next. Tried again when there is no room: nothing is dropped.
    fn deliver(self: Arc<Self>, many: Arc<ManyRead>) {
        while !self.is_stopped() {
            let (reader, batch) = (Arc::clone(&self), Arc::clone(&many));
            match self.topic.offer("reliable_topic.deliver", move || reader.hear(&batch)) {
                // It waited already.
                Ok(Offer::Dropped) => {}
                Ok(Offer::Pending(later)) => {
                    return later.on_complete(move |offered| {
                        if matches!(offered, Ok(Offered::Dropped)) {
                            self.deliver(many);
                        }
                    });
                }
                // Refused only when the member ends.
                Ok(Offer::Accepted) | Err(_) => return,
            }
        }
    }

    fn hear(self: &Arc<Self>, batch: &ManyRead) {
        for (number, item) in &batch.items {
            if self.is_stopped() {
                return;
            }
            match read(item, self.member) {
                Ok(message) => {
                    if let Err(message) = caught(|| (self.listener)(&message)) {
                        tracing::warn!(message, "a listener panicked");
                    }
                }
                Err(error) => tracing::warn!(%error, number, "what was published is no message"),
            }
        }
        self.read(batch.next_sequence);
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("topic", &self.topic.name()).finish_non_exhaustive()
    }
}

/// A message as clients write it: ids, the time, no address, and the message itself with its length.
fn write(message: &Data, publish_time_ms: u64) -> Data {
    let (bytes, no_address) = (message.as_bytes(), 0_i32.to_be_bytes());
    let length = (bytes.len() as u32).to_be_bytes();
    let parts: [&[u8]; 7] = [
        &[1],
        &FACTORY.to_be_bytes(),
        &CLASS.to_be_bytes(),
        &publish_time_ms.to_be_bytes(),
        &no_address,
        &length,
        bytes,
    ];
    Data::new(IDENTIFIED, &parts.concat())
}

/// Reads a message that this member or a client published.
fn read(data: &Data, member: Uuid) -> GridResult<Message> {
    let bad =
        |problem: &str| GridError::BadData { operation: "reliable_topic.read", problem: problem.to_owned() };
    let short = || bad("it ends too early");
    let header = [&[1], &FACTORY.to_be_bytes()[..], &CLASS.to_be_bytes()].concat();
    let rest = data.payload().strip_prefix(&*header).filter(|_| data.type_id() == IDENTIFIED);
    let rest = rest.ok_or_else(|| bad("it is not of the type that reliable topics are made of"))?;
    let (time, rest) = rest.split_first_chunk().ok_or_else(short)?;
    let (address, rest) = rest.split_first_chunk().ok_or_else(short)?;
    let rest =
        if i32::from_be_bytes(*address) == 0 { rest } else { after_address(rest).ok_or_else(short)? };
    let (length, rest) = rest.split_first_chunk().ok_or_else(short)?;
    let message = usize::try_from(i32::from_be_bytes(*length)).ok().and_then(|length| rest.get(..length));
    let data =
        Data::from_bytes(message.ok_or_else(short)?.to_vec()).map_err(|error| bad(&error.to_string()))?;
    Ok(Message { data, publish_time_ms: u64::from_be_bytes(*time), member })
}

/// What follows an address: flag, factory, class, port, kind, and the host as a string.
fn after_address(rest: &[u8]) -> Option<&[u8]> {
    let rest = rest.get(1 + 4 + 4 + 4 + 1..)?;
    let (length, rest) = rest.split_first_chunk()?;
    rest.get(usize::try_from(i32::from_be_bytes(*length)).ok()?..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_message_is_read_as_it_was_written(payload in prop::collection::vec(any::<u8>(), 0..40), time in any::<u64>()) {
            let message = Data::new(-12, &payload);
            let read = read(&write(&message, time), Uuid::nil()).unwrap();
            prop_assert_eq!((read.data, read.publish_time_ms), (message, time));
        }

        #[test]
        fn no_bytes_break_it(payload in prop::collection::vec(any::<u8>(), 0..60), cut in 0..60_usize) {
            let _ = read(&Data::new(IDENTIFIED, &payload), Uuid::nil());
            let whole = write(&Data::new(-12, &payload), 1);
            let part = &whole.payload()[..cut.min(whole.payload().len() - 1)];
            prop_assert!(read(&Data::new(IDENTIFIED, part), Uuid::nil()).is_err());
        }
    }
}
