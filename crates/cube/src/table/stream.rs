//! Batches of a table, one after the other.
//!
//! One task takes them, batch by batch; none is made before it is asked for. There is no early splitting: a
//! batch is cut into pieces after it is there. Closing is explicit, happens once, and runs the handlers in reverse order, also when the
//! stream is dropped or a handler panics.

use crate::error::CubeError;
use crate::observed::Observed;
use arrow::array::RecordBatch;
use filbert_pool::{StageKind, Stages, caught};
use futures::StreamExt;
use futures::stream::BoxStream;

/// A sequence of batches that is read once and closed.
///
/// ```
/// use filbert_cube::BatchStream;
/// use std::sync::{Arc, Mutex};
///
/// let order = Arc::new(Mutex::new(Vec::new()));
/// let (first, second) = (Arc::clone(&order), Arc::clone(&order));
/// let mut stream = BatchStream::of_batches(Vec::new())
///     .on_close(move || first.lock().unwrap().push("connection"))
///     .on_close(move || second.lock().unwrap().push("statement"));
/// stream.close();
/// stream.close();
/// assert_eq!(*order.lock().unwrap(), ["statement", "connection"]);
/// ```
pub struct BatchStream {
    batches: Option<BoxStream<'static, Result<RecordBatch, CubeError>>>,
    handlers: Vec<Box<dyn FnOnce() + Send>>,
    how: Option<String>,
    /// Where batches were made.
    observed: Observed,
}

impl BatchStream {
    /// Batches that come asynchronously.
    pub fn new(
        batches: impl futures::Stream<Item = Result<RecordBatch, CubeError>> + Send + 'static,
    ) -> Self {
        let batches = Some(batches.fuse().boxed());
        Self { batches, handlers: Vec::new(), how: None, observed: Observed::default() }
    }

    /// Batches that are there.
    pub fn of_batches(batches: Vec<RecordBatch>) -> Self {
        Self::new(futures::stream::iter(batches.into_iter().map(Ok)))
    }

    /// Batches of an iterator that blocks: each is taken on a thread of `mixed` that may.
    pub fn blocking(
        stages: &Stages,
        batches: impl Iterator<Item = Result<RecordBatch, CubeError>> + Send + 'static,
    ) -> Self {
        let stages = stages.downgrade();
        let observed = Observed::default();
        let seen = observed.clone();
        let mut stream = Self::new(futures::stream::unfold(Some(batches), move |batches| {
            let (stages, seen) = (stages.clone(), seen.clone());
            async move {
                let mut batches = batches?;
                let taken = match stages.upgrade() {
                    Some(stages) => stages.mixed().submit("read batch", move || {
                        seen.note_stage();
                        let batch = batches.next();
                        (batch, batches)
                    }),
                    None => return Some((Err(CubeError::Closed { what: "stage mixed".to_owned() }), None)),
                };
                let taken = match taken {
                    Ok(taken) => taken.await,
                    Err(error) => return Some((Err(error.into()), None)),
                };
                match taken {
                    Ok((batch, batches)) => batch.map(|batch| (batch, Some(batches))),
                    Err(error) => Some((Err(CubeError::of_task("table", error)), None)),
                }
            }
        }));
        stream.observed = observed;
        stream
    }

    /// Runs `handler` when the stream is closed, before those that were added earlier.
    #[must_use]
    pub fn on_close(mut self, handler: impl FnOnce() + Send + 'static) -> Self {
        self.handlers.push(Box::new(handler));
        self
    }

    /// Says how the rows are read, such as the statement that was sent: for explanations.
    #[must_use]
    pub fn read_by(mut self, how: impl Into<String>) -> Self {
        self.how = Some(how.into());
        self
    }

    /// Says on which stage another engine makes the batches: for explanations. Those of the cube's own tasks are seen.
    #[must_use]
    pub fn made_on(self, stage: StageKind) -> Self {
        self.observed.note(stage);
        self
    }

    /// Where batches were made.
    pub(crate) fn observed(&self) -> &Observed {
        &self.observed
    }

    /// How the rows are read, if the table said so.
    pub fn how(&self) -> Option<&str> {
        self.how.as_deref()
    }

    /// The next batch; none at the end, and an error after the stream was closed.
    pub async fn next(&mut self) -> Option<Result<RecordBatch, CubeError>> {
        match &mut self.batches {
            Some(batches) => batches.next().await,
            None => Some(Err(CubeError::Closed { what: "the stream of batches".to_owned() })),
        }
    }

    /// Ends reading and runs the handlers. Does nothing the second time.
    pub fn close(&mut self) {
        // What reads goes first: a handler may give back what it reads from.
        let batches = self.batches.take();
        if let Err(message) = caught(move || drop(batches)) {
            tracing::warn!(message, "a stream of batches panicked when it was closed");
        }
        while let Some(handler) = self.handlers.pop() {
            if let Err(message) = caught(handler) {
                tracing::warn!(message, "a handler of a closed stream of batches panicked");
            }
        }
    }
}

impl Drop for BatchStream {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for BatchStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchStream")
            .field("is_closed", &self.batches.is_none())
            .field("handlers", &self.handlers.len())
            .finish()
    }
}
