//! What an operation can end with instead of a result.

use crate::allowance::TooMuch;
use crate::query::QueryError;
use filbert_pool::{SubmitError, TaskError};
use filbert_store::StoreError;

/// The result of an operation.
pub type GridResult<T> = Result<T, GridError>;

/// Why an operation has no result. [`GridError::is_retryable`] says whether trying again makes sense, [`GridError::is_indeterminate`]
/// whether it may have been done all the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// The member did not take the operation: nothing was done.
    #[error(transparent)]
    Refused(#[from] SubmitError),
    /// The operation was taken and gave no result: it panicked, was cancelled, or the wait for it ended.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The operation waited for a lock, an item or room, and did not get it in time. Nothing was done.
    #[error("{operation} waited for its time-out and nothing came; nothing was done")]
    TimedOut {
        /// What waited.
        operation: &'static str,
    },
    /// An operation on many keys waited for one of them, and did not get it in time. Others have what they were to get.
    #[error(
        "{operation} waited for a key until its time-out; other keys were done already, so look before you do it again"
    )]
    TimedOutInPart {
        /// What waited.
        operation: &'static str,
    },
    /// A lock was released by someone who does not hold it.
    #[error("{operation}: the caller does not hold the lock of this key; owner: {owner}")]
    NotLockOwner {
        /// What was tried.
        operation: &'static str,
        /// Who holds it.
        owner: String,
    },
    /// An argument that cannot be.
    #[error("{operation}: {problem}")]
    BadArgument {
        /// What was tried.
        operation: &'static str,
        /// What is wrong with which argument, and what would be right.
        problem: String,
    },
    /// A place where no item is.
    #[error("{operation}: index {index} is out of bounds; there are {size} items")]
    IndexOutOfBounds {
        /// What was tried.
        operation: &'static str,
        /// The place.
        index: i64,
        /// How many items there are.
        size: usize,
    },
    /// An executor that takes no more tasks.
    #[error("executor {executor} takes no more tasks: it was shut down")]
    RejectedExecution {
        /// Its name.
        executor: String,
    },
    /// An executor that holds as many tasks as it may.
    #[error("executor {executor} has {limit} tasks already and takes no more; {advice}")]
    TooManyTasks {
        /// Its name.
        executor: String,
        /// How many there may be.
        limit: usize,
        /// What to do.
        advice: &'static str,
    },
    /// A scheduled task whose name another one has.
    #[error(
        "there is a task {task:?} in scheduled executor {executor} already; give it another name, or dispose of that one"
    )]
    DuplicateTask {
        /// The executor's name.
        executor: String,
        /// The task's name.
        task: String,
    },
    /// A scheduled task that is not there: it was disposed of, or never was.
    #[error(
        "there is no task {task:?} in scheduled executor {executor}; it was disposed of, or never scheduled there"
    )]
    StaleTask {
        /// The executor's name.
        executor: String,
        /// The task's name.
        task: String,
    },
    /// A scheduled task that has no result because it was cancelled.
    #[error("task {task:?} of scheduled executor {executor} was cancelled")]
    TaskCancelled {
        /// The executor's name.
        executor: String,
        /// The task's name.
        task: String,
    },
    /// A task of a durable executor whose place a newer one has.
    #[error(
        "the result of task {sequence} of durable executor {executor} is gone: newer tasks of its partition have taken its place"
    )]
    StaleTaskId {
        /// The executor's name.
        executor: String,
        /// The task's number on its partition.
        sequence: i32,
    },
    /// A member that is not, or no longer, in the cluster.
    #[error("there is no member {member} in this cluster; its only member is {here}")]
    NoSuchMember {
        /// The member that was asked for.
        member: uuid::Uuid,
        /// This one.
        here: uuid::Uuid,
    },
    /// User code of that name or id is not registered with this member.
    #[error(
        "{what} {name} is not registered with this member; register it before the member starts to serve"
    )]
    NotRegistered {
        /// What kind of code: an entry processor, a task, an aggregator.
        what: &'static str,
        /// Its name, or factory and class id.
        name: String,
    },
    /// User code said no.
    #[error("{what} {name} failed: {message}")]
    UserCode {
        /// What kind of code.
        what: &'static str,
        /// Its name.
        name: String,
        /// What it said.
        message: String,
    },
    /// A value that could not be read.
    #[error("{operation}: a value could not be read: {problem}")]
    BadData {
        /// What was tried.
        operation: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A function was given a value, or gave one, of a type that is not the right one. Nothing was changed.
    #[error("{what} {name}: {message}")]
    OtherType {
        /// What kind of code.
        what: &'static str,
        /// Its name.
        name: String,
        /// What is wrong with which value.
        message: String,
    },
    /// What was asked for is not possible as things are. Nothing was done.
    #[error("{operation}: {problem}")]
    BadState {
        /// What was tried.
        operation: &'static str,
        /// Why not.
        problem: String,
    },
    /// A map whose changes nobody can read, because it does not keep them.
    #[error("the map {map:?} has no journal; give it one with the setting map.{map:?}.journal.capacity")]
    NoJournal {
        /// Its name.
        map: String,
    },
    /// An item of a ringbuffer that is gone.
    #[error("item {sequence} is gone; the first that is there is {head}")]
    StaleSequence {
        /// The item's number.
        sequence: i64,
        /// The number of the first that is there.
        head: i64,
    },
    /// A counter that has seen less than its reader: what the reader saw is lost.
    #[error(
        "the caller has seen change {seen} of this counter, and only {known} are known here; reset the proxy to begin anew"
    )]
    ConsistencyLost {
        /// How many changes the caller has seen.
        seen: i64,
        /// How many there are.
        known: i64,
    },
    /// A session that has ended: what it held was given back.
    #[error("session {session} has ended; what it held was given back, begin another")]
    SessionExpired {
        /// Which.
        session: i64,
    },
    /// There are as many as there may be.
    #[error("there are {limit} {what} already; end some first")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
    /// A query that cannot be answered.
    #[error(transparent)]
    Query(QueryError),
    /// A result that would take more memory than it may.
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
    /// A change that is not on disk, or data on disk that cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The data of this member takes all the memory that it may. Nothing was done, unless `in_part` says so.
    #[error(
        "{operation}: the data of this member takes {used} of {limit} bytes, and there is no room for more; remove something, or raise \
         the setting grid.memory_bytes (memory.limit_bytes for the whole member){}", done_in_part(*in_part)
    )]
    OutOfMemory {
        /// What was tried.
        operation: &'static str,
        /// What the data takes.
        used: u64,
        /// What it may take.
        limit: u64,
        /// Of several keys or items some were done already.
        in_part: bool,
    },
    /// The process takes more memory than it should, whoever holds it. Nothing was done, unless `in_part` says so.
    #[error(
        "{operation}: the process takes {used} bytes, and writes are refused above {limit}; try again when queries have ended, remove \
         something, or raise the setting memory.limit_bytes{}", done_in_part(*in_part)
    )]
    ProcessOutOfMemory {
        /// What was tried.
        operation: &'static str,
        /// What the process has allocated.
        used: u64,
        /// From where on writes are refused.
        limit: u64,
        /// Of several keys or items some were done already.
        in_part: bool,
    },
    /// A map has as much as it may, and nothing is evicted from it. Nothing was done, unless `in_part` says so.
    #[error(
        "map {map} is full: its setting max_size allows {limit} {unit}, and nothing is evicted; remove entries, raise max_size, or set \
         eviction = \"lru\"{}", done_in_part(*in_part)
    )]
    MapFull {
        /// Its name.
        map: String,
        /// How much it may have.
        limit: u64,
        /// Of what.
        unit: &'static str,
        /// Of several keys some were done already.
        in_part: bool,
    },
    /// Something that this version does not do.
    #[error("{what} is not supported by this version; see docs/compatibility.md")]
    Unsupported {
        /// What was asked for.
        what: String,
    },
    /// The structure was destroyed while the operation was under way.
    #[error("{structure} was destroyed; ask for it again to use a new one")]
    Destroyed {
        /// Its kind and name.
        structure: String,
    },
}

/// What the message of an error says beside the error.
fn done_in_part(in_part: bool) -> &'static str {
    if in_part { "; some keys were done already, so look before you do it again" } else { "" }
}

impl From<QueryError> for GridError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::TooMuch(too_much) => GridError::TooMuch(too_much),
            other => GridError::Query(other),
        }
    }
}

impl GridError {
    /// True when nothing was done and the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            GridError::Refused(refused) => refused.is_retryable(),
            GridError::Store(error) => error.is_retryable(),
            GridError::TimedOut { .. } | GridError::Destroyed { .. } => true,
            GridError::TooMuch(TooMuch::ForAll { .. }) | GridError::TooMany { .. } => true,
            GridError::TooManyTasks { .. } => true,
            GridError::OutOfMemory { in_part, .. }
            | GridError::ProcessOutOfMemory { in_part, .. }
            | GridError::MapFull { in_part, .. } => !in_part,
            _ => false,
        }
    }

    /// The same error of an operation that has done some of its keys already: nobody may take it for undone.
    #[must_use]
    pub(crate) fn after_a_part(mut self) -> Self {
        if let GridError::OutOfMemory { in_part, .. }
        | GridError::ProcessOutOfMemory { in_part, .. }
        | GridError::MapFull { in_part, .. } = &mut self
        {
            *in_part = true;
        }
        self
    }

    /// True when the operation may have been done although there is no result.
    pub fn is_indeterminate(&self) -> bool {
        match self {
            GridError::Task(_) | GridError::TimedOutInPart { .. } => true,
            GridError::OutOfMemory { in_part, .. }
            | GridError::ProcessOutOfMemory { in_part, .. }
            | GridError::MapFull { in_part, .. } => *in_part,
            GridError::Store(error) => error.is_indeterminate(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert_pool::{StageId, StageKind};

    /// Whoever may not wait for a put must not take it for undone: it is under way.
    #[test]
    fn an_operation_that_was_taken_may_have_been_done() {
        let (stage, task) = (StageId::of(StageKind::Partition), "map.put");
        let refused = TaskError::WaitRefused { from: StageId::of(StageKind::Io), to: stage };
        for lost in [refused, TaskError::Cancelled { stage, task }] {
            let lost = GridError::Task(lost);
            assert!(lost.is_indeterminate() && !lost.is_retryable(), "{lost}");
        }
        let part = GridError::TimedOutInPart { operation: "map.put_all" };
        assert!(part.is_indeterminate() && !part.is_retryable());
        let nothing = GridError::TimedOut { operation: "map.put" };
        assert!(!nothing.is_indeterminate() && nothing.is_retryable());
        let full = GridError::OutOfMemory { operation: "map.put_all", used: 1, limit: 1, in_part: false };
        assert!(!full.is_indeterminate() && full.is_retryable());
        let part = full.after_a_part();
        assert!(part.is_indeterminate() && !part.is_retryable() && part.to_string().contains("look before"));
    }
}
