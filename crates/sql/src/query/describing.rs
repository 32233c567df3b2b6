//! A statement that is planned and not run.

use super::{Query, QueryCanceller};
use crate::description::Description;
use crate::error::SqlError;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What a statement is, soon: a future, made by [`Session::describe`](crate::Session::describe). Dropped, it is cancelled.
///
/// ```
/// let stages = filbert_pool::Stages::start()?;
/// let sql = filbert_sql::Sql::start(&stages, Default::default())?;
/// let describing = sql.session().describe("SELECT 1 AS one");
/// // For whoever may lose patience.
/// let _canceller = describing.canceller();
/// let description = futures::executor::block_on(describing)?;
/// assert_eq!(description.columns.field(0).name(), "one");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a description that is not awaited is cancelled"]
pub struct Describing {
    query: Result<Query, SqlError>,
}

impl Describing {
    pub(crate) fn new(query: Result<Query, SqlError>) -> Self {
        Self { query }
    }

    /// Cancels it from elsewhere; `None` when it was refused, which its future says.
    pub fn canceller(&self) -> Option<QueryCanceller> {
        self.query.as_ref().ok().map(Query::canceller)
    }
}

impl Future for Describing {
    type Output = Result<Description, SqlError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.query {
            Ok(query) => query.poll_description(context),
            Err(refused) => Poll::Ready(Err(refused.clone())),
        }
    }
}

impl std::fmt::Debug for Describing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Describing")
    }
}
