//! Channels between the program and a job: bounded, with back-pressure both ways, woken by data and by room.
//!
//! ```text
//! program: Sender --send--> [ capacity items ] --> processors of the source        [`source`]
//! program: Receiver <-recv- [ capacity items ] <-- processors of the sink          [`sink`]
//! ```
//!
//! Closing goes both ways too: when the last [`Sender`] is gone the source ends; when the job is over a sender is told; when the
//! [`Receiver`] is gone the sink wants no more and the job can end early; when the sink's job is over the receiver sees the end.
//!
//! Both directions are one bounded queue under a lock that is held for a slice, not for an item. A conveyor was rejected: its lanes
//! have one producer each, and a program's threads come and go. Threads of the program sleep on a parker, processors on their waker;
//! to the queue both are wakers.

mod queue;
mod sink;
mod source;

pub use sink::{ChannelSink, Receiver, WriteChannel, sink};
pub use source::{ChannelSource, NotSent, ReadChannel, Sender, source};
