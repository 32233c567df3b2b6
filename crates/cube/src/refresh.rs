//! Leaves of a table without a version, read anew before anybody has to wait for them.
//!
//! ```text
//!   query ── old leaves ──────────────► answer
//!              │
//!              └─► refresh: the same question, without the cache ──► pass over the table ──► leaves ──► cache
//! ```
//!
//! It is the query once more, for its leaves alone: one pass for all of them, no task, no result. So nothing of planning, reading and grouping
//! is here. A future on `mixed` leads it, since that is where tables are read; it waits without a thread, and for its turn: two read at a
//! time. What groups stands on `maintenance`, and takes no turn from queries; `cpu` computes for both. Nobody waits for it: if it fails, the
//! old leaves stay until they expire, and a query that finds them old after a [rest](crate::renewals) begins another.
//!
//! It ends with `maintenance`, which a shutdown ends first: a table that never answers then holds up nobody. A stage tells nobody that it ends,
//! so a periodic task of `maintenance` watches; when its next round is refused, it is dropped, and with it what ends the refresh. The same
//! task ends what takes longer than leaves live: they would be expired when they came.
//!
//! Rejected: a thread of `maintenance` that waits for the pass. A few tables that do not answer would hold them all.

use crate::error::CubeError;
use crate::execute::CancelToken;
use crate::kept::Renewal;
use crate::lead::{Question, lead_refresh, unless_cancelled};
use crate::query_handle::QueryProgress;
use crate::table::TableGroups;
use filbert_pool::{Periodic, Stages, TaskResult};
use std::sync::Arc;
use std::time::Duration;

/// How often it is looked whether a refresh may go on: so much later it ends.
const PAUSE: Duration = Duration::from_millis(50);

/// Begins to read the leaves of a question anew.
pub(crate) fn begin_refresh(question: &Question, mut renewal: Renewal) {
    let Some(stages) = question.stages.upgrade() else { return };
    renewal.begin();
    let table = question.table.name().to_owned();
    let anew = question.anew();
    let watch = watch(&stages, &anew);
    let reason = Arc::clone(&anew.cancel);
    let begun = stages.mixed().spawn("refresh cube", async move {
        let _until_over = watch;
        let _turn = unless_cancelled(&anew, anew.kept.refreshes.take()).await?;
        let refreshed = lead_refresh(anew).await.map_err(|error| reason.explain(error));
        refreshed.map(|()| renewal.done())
    });
    match begun {
        Ok(begun) => begun.on_complete(move |ended: TaskResult<Result<(), CubeError>>| {
            let ended = ended.unwrap_or_else(|error| Err(CubeError::of_task("refresh", error)));
            ended.unwrap_or_else(|error| tell(&table, &error));
        }),
        Err(error) => tell(&table, &error.into()),
    }
}

impl Question {
    /// The same question for its leaves alone, in an account of its own: whoever asked may be long gone.
    fn anew(&self) -> Self {
        let mut anew = Self {
            memory: self.settings.memory.account(self.settings.memory_limit),
            cancel: Arc::default(),
            progress: QueryProgress::default(),
            is_refresh: true,
            ..self.clone()
        };
        let options = &mut anew.query.options;
        (options.explain, options.debug) = (false, false);
        // One leaf that fails fails all: the others alone would be of another reading than the old one.
        options.errors_are_values = false;
        if options.table_groups == TableGroups::Always {
            // Those would not be kept.
            options.table_groups = TableGroups::WhereExact;
        }
        anew
    }
}

/// Ends a refresh when this is dropped.
struct EndOnDrop(Arc<CancelToken>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.cancel(CubeError::Closed { what: "stage maintenance".to_owned() });
    }
}

/// Ends a refresh when `maintenance` ends, or when what it reads would be of no use.
fn watch(stages: &Stages, anew: &Question) -> Option<Periodic> {
    let limit = anew.settings.ages?.expire_after;
    let (end, clock, begin) = (EndOnDrop(Arc::clone(&anew.cancel)), anew.clock.clone(), anew.clock.now());
    Some(stages.maintenance().every("watch refresh of cube", PAUSE, move || {
        if clock.now().saturating_sub(begin) >= limit {
            end.0.cancel(CubeError::TimedOut { limit });
        }
    }))
}

/// A refresh that failed is tried again; the end of the stages, which alone closes or cancels one, is no failure.
fn tell(table: &str, error: &CubeError) {
    if !matches!(error, CubeError::Closed { .. } | CubeError::Cancelled) {
        tracing::warn!(table, %error, "a refresh of kept aggregations failed; the old ones are used until they expire");
    }
}
