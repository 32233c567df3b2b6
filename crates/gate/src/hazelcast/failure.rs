//! What a client is told when there is no answer: the protocol's code with the class of Java's exception, and our words.

use bytes::BytesMut;
use filbert_grid::query::QueryError;
use filbert_grid::{GridError, TooMuch};
use filbert_pool::{SubmitError, TaskError};
use filbert_wire::message::MessageError;
use filbert_wire::messages::error::{ErrorCode, ErrorResponse};

/// Why a request is answered with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    code: ErrorCode,
    text: String,
}

/// What a handler ends with: the answer is given or under way, or there is none.
pub(super) type Handled = Result<(), Failure>;

impl Failure {
    pub(super) fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// Something that this version does not do.
    pub(super) fn unsupported(what: &str) -> Self {
        let text = format!("{what} is not served by this version; docs/compatibility.md lists what is");
        Self::new(ErrorCode::UnsupportedOperation, text)
    }

    /// The operation was taken and its result will never come.
    pub(super) fn lost() -> Self {
        let text = "the operation was given up before it was done: the member ends, or has too much to do; try again";
        Self::new(ErrorCode::RetryableHazelcast, text)
    }

    /// The request was longer than allowed and was not read.
    pub(super) fn too_long(limit: usize) -> Self {
        let text = format!(
            "the message has more than the {limit} bytes that one may have, and was not read; send less at once, or raise the setting \
             hazelcast.message_bytes"
        );
        Self::new(ErrorCode::MaxMessageSizeExceeded, text)
    }

    /// The operation would have to wait, and too many do already.
    pub(super) fn too_many_wait() -> Self {
        let text = "too many operations of this connection wait for locks, items or room already; \
                    wait for some of them first, or raise the settings waiting_invocations and waiting_bytes";
        Self::new(ErrorCode::Overload, text)
    }

    /// The operation would have to wait, and those of all connections that do take too much already.
    pub(super) fn too_much_waits(limit: usize) -> Self {
        let text = format!(
            "operations of all connections that wait for locks, items or room take the {limit} bytes that they may; try again when \
             fewer wait, or raise the setting hazelcast.total_waiting_bytes"
        );
        Self::new(ErrorCode::Overload, text)
    }

    pub(super) fn code(&self) -> ErrorCode {
        self.code
    }

    #[cold]
    pub(super) fn encode(self, correlation: i64, out: &mut BytesMut) {
        ErrorResponse::new(self.code, self.text).encode(correlation, out);
    }
}

impl From<GridError> for Failure {
    #[cold]
    fn from(error: GridError) -> Self {
        let text = match &error {
            GridError::TooMuch(TooMuch::ForOne { .. }) => format!("{error}; the setting is answer_bytes"),
            GridError::TooMuch(TooMuch::ForAll { .. }) => {
                format!("{error}; the setting is total_answer_bytes")
            }
            _ => error.to_string(),
        };
        Self::new(code_of(&error), text)
    }
}

/// A message that cannot be decoded is an argument that cannot be.
impl From<MessageError> for Failure {
    #[cold]
    fn from(error: MessageError) -> Self {
        Self::new(ErrorCode::IllegalArgument, error.to_string())
    }
}

fn code_of(error: &GridError) -> ErrorCode {
    match error {
        GridError::Refused(SubmitError::Overloaded { .. } | SubmitError::Late { .. }) => ErrorCode::Overload,
        GridError::Refused(SubmitError::ShutDown { .. }) => ErrorCode::InstanceNotActive,
        GridError::Task(TaskError::Cancelled { .. }) => ErrorCode::Cancellation,
        GridError::Task(TaskError::TimedOut { .. })
        | GridError::TimedOut { .. }
        | GridError::TimedOutInPart { .. } => ErrorCode::OperationTimeout,
        GridError::OtherType { .. } => ErrorCode::ClassCast,
        GridError::BadState { .. } => ErrorCode::IllegalState,
        GridError::StaleSequence { .. } => ErrorCode::StaleSequence,
        GridError::ConsistencyLost { .. } => ErrorCode::ConsistencyLost,
        GridError::SessionExpired { .. } => ErrorCode::SessionExpired,
        GridError::TooMany { .. } => ErrorCode::Overload,
        // Shown at once: the code of what may be retried would make clients wait in silence for two minutes.
        GridError::OutOfMemory { .. } | GridError::ProcessOutOfMemory { .. } => ErrorCode::Overload,
        GridError::MapFull { .. } => ErrorCode::ReachedMaxSize,
        GridError::NotLockOwner { .. } => ErrorCode::IllegalMonitorState,
        GridError::BadArgument { .. } => ErrorCode::IllegalArgument,
        GridError::NotRegistered { .. } | GridError::BadData { .. } => ErrorCode::Serialization,
        GridError::Unsupported { .. } | GridError::NoJournal { .. } => ErrorCode::UnsupportedOperation,
        GridError::IndexOutOfBounds { .. } => ErrorCode::IndexOutOfBounds,
        GridError::RejectedExecution { .. } | GridError::TooManyTasks { .. } => ErrorCode::RejectedExecution,
        GridError::DuplicateTask { .. } => ErrorCode::DuplicateTask,
        GridError::StaleTask { .. } => ErrorCode::StaleTask,
        GridError::StaleTaskId { .. } => ErrorCode::StaleTaskId,
        GridError::TaskCancelled { .. } => ErrorCode::Cancellation,
        GridError::NoSuchMember { .. } => ErrorCode::TargetNotMember,
        GridError::Query(error) => code_of_query(error),
        GridError::TooMuch(TooMuch::ForOne { .. }) => ErrorCode::QueryResultSizeExceeded,
        GridError::TooMuch(_) => ErrorCode::Overload,
        GridError::Destroyed { .. } => ErrorCode::DistributedObjectDestroyed,
        GridError::Store(error) if error.is_indeterminate() => ErrorCode::IndeterminateOperationState,
        // Not the code of what may be retried: clients would do that in silence for two minutes, and nobody would hear of the disk.
        GridError::Store(error) if error.is_retryable() => ErrorCode::Overload,
        _ => ErrorCode::Hazelcast,
    }
}

fn code_of_query(error: &QueryError) -> ErrorCode {
    match error {
        QueryError::Decode { .. } | QueryError::Encode(_) | QueryError::UnknownClass { .. } => {
            ErrorCode::Serialization
        }
        QueryError::BadArgument { .. } | QueryError::BadPath { .. } => ErrorCode::IllegalArgument,
        _ => ErrorCode::Query,
    }
}

impl From<QueryError> for Failure {
    #[cold]
    fn from(error: QueryError) -> Self {
        GridError::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert_pool::{StageId, StageKind};

    #[test]
    fn work_that_is_refused_because_others_wait_is_an_overload() {
        let refused = SubmitError::Late { stage: StageId::of(StageKind::Partition), bound_ms: 5_000 };
        let failure = Failure::from(GridError::Refused(refused));
        assert_eq!(failure.code(), ErrorCode::Overload);
        assert!(failure.text.contains("partition.overload_ms"), "{}", failure.text);
    }
}
