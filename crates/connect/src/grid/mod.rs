//! The structures of the grid as sources and sinks.
//!
//! Operations run on the calling worker when their strand is idle (*caller-runs*), which is the rule; otherwise the answer wakes
//! the processor. Nothing here waits on a thread. Keys and values are written and read on the stage `flow`.
//!
//! A map is read and written by partitions: the processor that [owns](filbert_flow::Share::owns) a partition has it alone. An edge
//! `partitioned_with(|(key, _)| partition_of(key))` brings entries to the processor that owns their partition, so a job from map to map moves
//! an entry between processors only if its key changes.

mod asking;
mod batches;
mod journal;
mod list;
mod map_sink;
mod map_source;
mod queue;
mod topic;

pub use batches::{TakesBatches, WriteBatches};
pub use journal::{JournalSource, MapChange, ReadJournal, journal};
pub use list::{ListSource, ReadList, WriteList, list, write_list};
pub use map_sink::{MapSink, WriteMap, partition_of, write_map};
pub use map_source::{MapSource, ReadMap, map};
pub use queue::{ReadQueue, WriteQueue, queue, write_queue};
pub use topic::{ReadTopic, TopicSource, WriteTopic, topic, write_topic};

use filbert_flow::{Failure, Share};
use filbert_wire::{Data, FromData, ToData};

/// Writes a value for a structure, or says which structure it could not be written for.
fn write<T: ToData>(structure: &str, value: &T) -> Result<Data, Failure> {
    value.to_data().map_err(|error| format!("a value for {structure} cannot be written: {error}").into())
}

/// Reads a value of a structure, or says of which.
fn read<T: FromData>(structure: &str, data: &Data) -> Result<T, Failure> {
    T::from_data(data)
        .map_err(|error| format!("a value of {structure} is not of the wanted type: {error}").into())
}

/// Refuses a second reader of what has one order.
fn only_reader(share: Share, title: impl FnOnce() -> String) -> Result<(), Failure> {
    match share.global_count() {
        0 | 1 => Ok(()),
        _ => Err(format!("{} is read by one processor; leave the parallelism at 1", title()).into()),
    }
}
