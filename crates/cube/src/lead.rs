//! The future that leads a query: plan, pass over the table, tasks, result.
//!
//! It runs on `mixed` and never blocks. Plans are made on `cpu`. What groups and computes is a closure on a thread of `mixed` that may wait
//! for `cpu`. The next batch is read while the last one is grouped, so at most two are in memory. However it ends, the stream is
//! closed and no closure is left running.

use crate::cache::{LeafCache, LeafKey};
use crate::cube::CubeSettings;
use crate::cuboid::{Cuboid, Dictionaries, KeySpace};
use crate::error::CubeError;
use crate::execute::{CancelToken, Results, Run, Scan, StepTrace, Trace, run_tasks};
use crate::explain::Explanation;
use crate::filter::Filter;
use crate::forest::Forest;
use crate::memory::MemoryAccount;
use crate::plan::{CubeColumns, StepId, plan};
use crate::query::Query;
use crate::result::{CubeResult, build};
use crate::table::{BatchStream, Table};
use crate::turns::Turns;
use filbert_pool::{Clock, WeakStages, WorkStealing};
use futures::future::{Either, join, select};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

/// A query with all that it needs.
pub(crate) struct Question {
    pub(crate) query: Query,
    pub(crate) forest: Forest,
    pub(crate) table: Arc<dyn Table>,
    pub(crate) columns: CubeColumns,
    pub(crate) settings: CubeSettings,
    pub(crate) dictionaries: Arc<Dictionaries>,
    pub(crate) rights: Filter,
    /// The table's version when the query began.
    pub(crate) version: Option<u64>,
    pub(crate) cache: LeafCache,
    pub(crate) turns: Arc<Turns>,
    pub(crate) cancel: Arc<CancelToken>,
    pub(crate) cpu: WorkStealing,
    pub(crate) clock: Clock,
    pub(crate) stages: WeakStages,
}

/// What is made of a question before the table is read.
struct Prepared {
    run: Run,
    results: Results,
    scan: Option<Scan>,
    trace: Trace,
}

/// Answers a question.
pub(crate) async fn lead(question: Question) -> Result<CubeResult, CubeError> {
    let question = Arc::new(question);
    question.cancel.check()?;
    let planned = Arc::clone(&question);
    let planning = question.cpu.submit("plan cube query", move || prepare(&planned))?;
    let mut prepared = planning.await.map_err(|error| CubeError::of_task("plan", error))??;
    if prepared.scan.is_some() {
        prepared = read(&question, prepared).await?;
    }
    let asked = Arc::clone(&question);
    let closure = move || finish(&asked, prepared);
    blocking(&question, "compute cube query", closure).await?
}

/// Plans, and finds out what is to be read. On `cpu`.
fn prepare(question: &Question) -> Result<Prepared, CubeError> {
    let Question { query, settings, .. } = question;
    let plan = plan(query, &question.forest, &question.columns, &question.rights)?;
    let keys = KeySpace::new(Arc::clone(&question.dictionaries), &plan.types)?;
    let declared = question.table.shard_columns();
    let shard = if declared.is_empty() {
        plan.shard.clone()
    } else {
        declared.iter().map(|column| Arc::from(column.as_str())).collect()
    };
    let mut results = Results::new(plan.readers.clone());
    let mut run = Run {
        plan,
        forest: question.forest.clone(),
        keys,
        cpu: question.cpu.clone(),
        clock: question.clock.clone(),
        memory: MemoryAccount::new(query.options.memory_limit.unwrap_or(settings.memory_limit)),
        parallelism: query.options.parallelism.unwrap_or(question.cpu.threads()).max(1),
        partitions: query.options.partitions.unwrap_or(settings.partitions),
        parallel_from_rows: settings.parallel_from_rows,
        shard,
        errors_are_values: query.options.errors_are_values,
        cancel: Arc::clone(&question.cancel),
    };
    if run.partitions == 0 {
        return Err(CubeError::InvalidQuery {
            problem: "it wants 0 partitions; slices need at least 1".to_owned(),
        });
    }
    let mut trace = Trace::default();
    if !query.options.no_cache {
        for (leaf, cuboid) in known(question, &mut run) {
            trace.steps.push(StepTrace::cached(leaf, &cuboid));
            results.put(leaf, Ok(cuboid));
        }
    }
    let scan = Scan::new(&run, &question.columns, &results);
    Ok(Prepared { run, results, scan, trace })
}

/// The leaves that the cache has. If an earlier query found the shard key skewed, they are spread by all of their columns, and so is this one.
fn known(question: &Question, run: &mut Run) -> Vec<(StepId, Cuboid)> {
    let find = |run: &Run| -> Vec<(StepId, Cuboid)> {
        let cached = |leaf: &StepId| {
            let key = LeafKey::of(run, question.version, *leaf)?;
            Some((*leaf, question.cache.get(&key)?))
        };
        run.plan.leaves.iter().filter_map(cached).collect()
    };
    let known = find(run);
    if !known.is_empty() || run.shard.is_empty() {
        return known;
    }
    let shard = std::mem::take(&mut run.shard);
    let known = find(run);
    if known.is_empty() {
        run.shard = shard;
    }
    known
}

/// Takes batch after batch, each grouped while the next one is read.
async fn read(question: &Arc<Question>, mut prepared: Prepared) -> Result<Prepared, CubeError> {
    let begin = question.clock.now();
    let Some(request) = prepared.scan.as_ref().map(Scan::request) else { return Ok(prepared) };
    let opening = match question.stages.upgrade() {
        Some(stages) => question.table.open(&stages, request),
        None => return Err(CubeError::Closed { what: "the set of stages".to_owned() }),
    };
    let failed = |error| table_failed(question, error);
    let mut stream = unless_cancelled(question, opening).await?.map_err(failed)?;
    let mut next = take_next(question, &mut stream).await?;
    while let Some(batch) = next {
        prepared.trace.batches += 1;
        prepared.trace.rows += batch.num_rows();
        let grouped = blocking(question, "group batch", move || {
            let Prepared { run, scan, .. } = &mut prepared;
            let taken = scan.as_mut().map_or(Ok(()), |scan| scan.take(run, &batch));
            taken.map(|()| prepared)
        });
        let (grouped, read) = join(grouped, take_next(question, &mut stream)).await;
        prepared = grouped??;
        next = read?;
    }
    stream.close();
    prepared.trace.scan = question.clock.now().saturating_sub(begin);
    Ok(prepared)
}

async fn take_next(
    question: &Question,
    stream: &mut BatchStream,
) -> Result<Option<arrow::array::RecordBatch>, CubeError> {
    let next = unless_cancelled(question, stream.next()).await?;
    next.transpose().map_err(|error| table_failed(question, error))
}

/// What the table said, with its name.
fn table_failed(question: &Question, error: CubeError) -> CubeError {
    match error {
        CubeError::TableFailed { .. } | CubeError::Cancelled | CubeError::Overloaded { .. } => error,
        other => {
            CubeError::TableFailed { table: question.table.name().to_owned(), message: other.to_string() }
        }
    }
}

/// The future's value, or why the query is not wanted any more.
async fn unless_cancelled<T>(question: &Question, future: impl Future<Output = T>) -> Result<T, CubeError> {
    match select(pin!(future), pin!(question.cancel.cancelled())).await {
        Either::Left((value, _)) => Ok(value),
        Either::Right((reason, _)) => Err(reason),
    }
}

/// Runs a closure on a thread of `mixed` that may wait, when it is this query's turn.
async fn blocking<T: Send + 'static>(
    question: &Question,
    task: &'static str,
    closure: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CubeError> {
    let _turn = question.turns.take().await;
    let submitted = match question.stages.upgrade() {
        Some(stages) => stages.mixed().submit(task, closure)?,
        None => return Err(CubeError::Closed { what: "the set of stages".to_owned() }),
    };
    submitted.await.map_err(|error| CubeError::of_task(task, error))
}

/// Everything after the table.
fn finish(question: &Question, prepared: Prepared) -> Result<CubeResult, CubeError> {
    let Prepared { run, mut results, scan, mut trace } = prepared;
    if let Some(scan) = scan {
        let made = scan.finish(&run, &mut results, &mut trace)?;
        if !question.query.options.no_cache && question.settings.cache_bytes > 0 && question.version.is_some()
        {
            keep(question, &run, &results, &made);
        }
    }
    run_tasks(&run, &mut results, &mut trace)?;
    let mut result = run.cpu.run(|| build(&question.query, &run, &results))?;
    if question.query.options.explain {
        result.explanation = Some(Explanation::new(&question.query, &run, &trace));
    }
    Ok(result)
}

/// Keeps what was aggregated for the next query, if the table is still the same.
fn keep(question: &Question, run: &Run, results: &Results, made: &[StepId]) {
    if question.table.version() != question.version {
        return;
    }
    for leaf in made {
        if let (Some(key), Ok(Ok(cuboid))) = (LeafKey::of(run, question.version, *leaf), results.get(*leaf)) {
            question.cache.put(key, cuboid);
        }
    }
    if let Some(stages) = question.stages.upgrade() {
        let cache = question.cache.clone();
        // Refused at the end of the stages, when nobody needs it any more.
        if let Ok(tidied) = stages.maintenance().submit("tidy cache of cubes", move || cache.tidy()) {
            tidied.detach();
        }
    }
}
