//! Polled tasks: state machines that workers give turns, woken by data, stolen when their worker is busy.
//!
//! The page `docs/design/002-polled-task.md` has the protocol and its reasons. From the inside out:
//!
//! | File | What it holds |
//! |---|---|
//! | `tasklet` | what a user writes: [`Tasklet`], [`Turn`] |
//! | `turn` | the turn under way: its budget, [`TurnContext`], [`checkpoint`] |
//! | `task` | [`Task`]: state word, body, group; one turn; who enqueues it |
//! | `body` | what a task runs: a tasklet or a future, with the resolver of its result |
//! | `handle` | [`TaskWaker`], [`TaskHandle`] |
//! | `spawn` | makes tasks |
//! | `group` | [`Group`], and the table of a pool's groups: who was served how much |
//! | `grouped_queue` | the tasks in one queue, by group |
//! | `run_queues` | all queues of a pool: pop, steal, the priority lane |
//!
//! Nothing here creates a thread or sleeps: a pool implements [`Schedule`], and its workers call [`RunQueues::pop`],
//! [`RunQueues::steal`] and [`Task::run`]. No `unsafe`: a body lives in a mutex that is never contended, because the state word
//! lets one worker in at a time; its 20 ns are nothing to a turn.

mod body;
mod group;
mod grouped_queue;
mod handle;
mod run_queues;
mod spawn;
mod task;
mod tasklet;
#[cfg(test)]
mod tests;
mod turn;

pub use group::Group;
pub use handle::{TaskHandle, TaskWaker};
pub use tasklet::{Tasklet, Turn};
pub use turn::{Checkpoint, TURN_BUDGET, TurnContext, checkpoint, turn_is_over};

pub(crate) use run_queues::RunQueues;
pub(crate) use spawn::{spawn_future, spawn_tasklet};
pub(crate) use task::{Position, Schedule, Task};
pub(crate) use turn::owe_news;
