//! To publish.

use super::{Message, Published, Shared};
use crate::allowance::Weighs;
use crate::error::GridError;
use crate::grid::Grid;
use crate::memory::MemoryAccount;
use crate::operation::{Action, Operation, Step, Target, Turn};
use crate::structures::Service;
use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use uuid::Uuid;

/// Gives messages to the event stage, in their order.
#[derive(Debug)]
pub(super) struct Publisher {
    shared: Arc<Shared>,
    memory: Arc<MemoryAccount>,
    member: Uuid,
    name: Arc<str>,
}

impl Target for Publisher {
    /// Nobody waits here: what is held back is the answer.
    type Event = Infallible;

    const REFUSES_WRITES: bool = true;
}

impl Publisher {
    pub(super) fn new(shared: Arc<Shared>, grid: &Grid, name: &Arc<str>) -> Self {
        let (memory, member) = (Arc::clone(grid.memory()), grid.member());
        Self { shared, memory, member, name: Arc::clone(name) }
    }

    fn publish<O: Operation<Target = Self, Output = ()>>(
        &mut self,
        turn: &mut Turn<'_, Self>,
        messages: impl Iterator<Item = Data>,
    ) -> Step<O> {
        if self.shared.closed.load(Ordering::Acquire) {
            let structure = format!("{} {}", Service::Topic.as_str(), self.name);
            return Step::failed(GridError::Destroyed { structure });
        }
        let (publish_time_ms, member) = (turn.unix_ms(), self.member);
        for data in messages {
            self.shared.published.fetch_add(1, Ordering::Relaxed);
            let memory = &self.memory;
            self.shared.listeners.publish(turn, || {
                let _memory = memory.take(data.weight());
                Published { message: Message { data, publish_time_ms, member }, _memory }
            });
        }
        Step::done(())
    }
}

/// Publishes a message.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Publish {
    pub(super) message: Data,
}

impl Operation for Publish {
    type Target = Publisher;
    type Output = ();
    const NAME: &'static str = "topic.publish";
    const ACTION: Action = Action::Put;

    fn run(&mut self, publisher: &mut Publisher, turn: &mut Turn<'_, Publisher>) -> Step<Self> {
        publisher.publish(turn, std::iter::once(self.message.clone()))
    }
}

/// Publishes messages, one after the other. Not in slices: the publisher's next message would come in between.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PublishAll {
    pub(super) messages: Vec<Data>,
}

impl Operation for PublishAll {
    type Target = Publisher;
    type Output = ();
    const NAME: &'static str = "topic.publish_all";
    const ACTION: Action = Action::Put;
    const SHORT: bool = false;

    fn run(&mut self, publisher: &mut Publisher, turn: &mut Turn<'_, Publisher>) -> Step<Self> {
        publisher.publish(turn, std::mem::take(&mut self.messages).into_iter())
    }
}
