//! The future that leads a query: plan, pass over the table, tasks, result.
//!
//! It runs on `mixed` and never blocks. Plans are made on `cpu`. What groups and computes is a closure on a thread of `mixed` that may wait
//! for `cpu`. The next batches are read while the last ones are grouped, so at most twice as many are in memory as are grouped at a time.
//! However it ends, the stream is closed and no closure is left running.

use crate::aggregate::SpillSpace;
use crate::cache::{Kept, LeafKey};
use crate::composite::{Answer, Ask, ask_cubes, asks, take_answers};
use crate::cube::{CubeSettings, Within};
use crate::cuboid::{Cuboid, KeySpace};
use crate::error::CubeError;
use crate::execute::{CancelToken, Results, Run, Scan, StepTrace, Trace, run_tasks};
use crate::explain::Explanation;
use crate::filter::Filter;
use crate::forest::Forest;
use crate::memory::MemoryAccount;
use crate::plan::{CubeColumns, StepId, plan, shard};
use crate::query::Query;
use crate::query_handle::QueryProgress;
use crate::result::{CubeResult, build};
use crate::table::{BatchStream, Table, TableGroups};
use crate::turns::Turns;
use arrow::array::{Array, ArrayRef, RecordBatch};
use filbert_pool::{Clock, Stages, SubmitError, WeakStages, WorkStealing};
use futures::future::{BoxFuture, Either, join, select};
use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

/// Rows that are grouped at a time: enough for all workers. A table's batches may be smaller, or larger.
const ROWS_AT_ONCE: usize = 256 * 1024;

/// The same in bytes.
const BYTES_AT_ONCE: usize = 32 << 20;

/// A query with all that it needs.
pub(crate) struct Question {
    pub(crate) query: Query,
    pub(crate) forest: Forest,
    pub(crate) table: Arc<dyn Table>,
    pub(crate) columns: CubeColumns,
    pub(crate) settings: CubeSettings,
    pub(crate) rights: Filter,
    pub(crate) memory: MemoryAccount,
    pub(crate) kept: Arc<Kept>,
    pub(crate) turns: Arc<Turns>,
    pub(crate) cancel: Arc<CancelToken>,
    pub(crate) progress: QueryProgress,
    pub(crate) cpu: WorkStealing,
    pub(crate) clock: Clock,
    pub(crate) stages: WeakStages,
}

impl Question {
    /// What a cube that is asked for a part of it is told.
    pub(crate) fn within(&self, rights: Filter) -> Within {
        Within { memory: self.memory.clone(), progress: self.progress.clone(), rights }
    }
}

/// What is made of a question before the table is read.
struct Prepared {
    run: Run,
    results: Results,
    scan: Option<Scan>,
    /// What the cubes of a composite are asked for.
    asks: Vec<Ask>,
    trace: Trace,
    /// The table's version when the query began; none when nothing is kept.
    version: Option<u64>,
}

/// Answers a question.
pub(crate) async fn lead(question: Question) -> Result<CubeResult, CubeError> {
    let question = Arc::new(question);
    question.cancel.check()?;
    let version = unless_cancelled(&question, question.table.version()).await?;
    let planned = Arc::clone(&question);
    let planning = question.cpu.submit("plan cube query", move || prepare(&planned, version))?;
    let mut prepared = planning.await.map_err(|error| CubeError::of_task("plan", error))??;
    if prepared.scan.is_some() {
        prepared = read(&question, prepared).await?;
        // What was read while the table changed is of no version.
        if prepared.version.is_some()
            && unless_cancelled(&question, question.table.version()).await? != prepared.version
        {
            prepared.version = None;
        }
    }
    let answers = match prepared.asks.is_empty() {
        true => Vec::new(),
        false => ask_cubes(&question, &prepared.asks).await?,
    };
    let asked = Arc::clone(&question);
    let closure = move || finish(&asked, prepared, answers);
    blocking(&question, "compute cube query", closure).await?
}

/// Plans, and finds out what is to be read. On `cpu`.
fn prepare(question: &Question, version: Option<u64>) -> Result<Prepared, CubeError> {
    let Question { query, settings, .. } = question;
    let plan = plan(query, &question.forest, &question.columns, &question.rights)?;
    let keys = KeySpace::new(question.kept.dictionaries(version), &plan.types)?;
    let declared = question.table.shard_columns();
    let shard = shard(query, &question.forest, &question.columns, &declared, &plan)?;
    let mut results = Results::new(plan.readers.clone());
    let mut run = Run {
        plan,
        forest: question.forest.clone(),
        keys,
        cpu: question.cpu.clone(),
        clock: question.clock.clone(),
        memory: question.memory.clone(),
        spill: settings.spill.as_ref().map(|(folder, bytes)| Arc::new(SpillSpace::new(folder, *bytes))),
        parallelism: query.options.parallelism.unwrap_or(question.cpu.threads()).max(1),
        partitions: query.options.partitions.unwrap_or(settings.partitions),
        parallel_from_rows: settings.parallel_from_rows,
        shard,
        errors_are_values: query.options.errors_are_values,
        debug: query.options.debug,
        cancel: Arc::clone(&question.cancel),
    };
    if run.partitions == 0 {
        return Err(CubeError::InvalidQuery {
            problem: "it wants 0 partitions; slices need at least 1".to_owned(),
        });
    }
    let mut trace = Trace::default();
    let version = version.filter(|_| !query.options.no_cache && settings.cache_bytes > 0);
    if version.is_some() {
        for (leaf, cuboid) in known(&question.kept, &mut run, version) {
            trace.steps.push(StepTrace::cached(&run, leaf, &cuboid));
            results.put(leaf, Ok(cuboid));
        }
    }
    let (scan, asks) = match question.table.cubes() {
        None => (Scan::new(&run, &question.columns, &results), Vec::new()),
        Some(composite) => (None, asks(composite, &run.plan, &question.rights)?),
    };
    Ok(Prepared { run, results, scan, asks, trace, version })
}

/// The leaves that the cache has. If an earlier query found the shard key skewed, they are spread by all of their columns, and so is this one.
fn known(kept: &Kept, run: &mut Run, version: Option<u64>) -> Vec<(StepId, Cuboid)> {
    let find = |run: &Run| -> Vec<(StepId, Cuboid)> {
        let cached = |leaf: &StepId| {
            let key = LeafKey::of(run, version, *leaf)?;
            Some((*leaf, kept.cache.get(&key)?))
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

/// Takes batches, grouped while the next ones are read.
async fn read(question: &Arc<Question>, mut prepared: Prepared) -> Result<Prepared, CubeError> {
    let begin = question.clock.now();
    let Some(request) = prepared.scan.as_ref().map(Scan::request) else { return Ok(prepared) };
    let opening = match question.stages.upgrade() {
        Some(stages) => match groups_of_table(question, &mut prepared, &stages) {
            Some(opening) => opening,
            None => question.table.open(&stages, request),
        },
        None => return Err(CubeError::Closed { what: "the set of stages".to_owned() }),
    };
    let failed = |error| table_failed(question, error);
    let mut stream = unless_cancelled(question, opening).await?.map_err(failed)?;
    prepared.trace.how = stream.how().map(str::to_owned);
    let mut next = take_next(question, &mut stream).await?;
    while !next.is_empty() {
        prepared.trace.batches += next.len();
        prepared.trace.rows += next.iter().map(RecordBatch::num_rows).sum::<usize>();
        let grouped = blocking(question, "group batches", move || {
            let Prepared { run, scan, .. } = &mut prepared;
            let taken = scan.as_mut().map_or(Ok(()), |scan| scan.take(run, &next));
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

/// Begins to read groups that the table makes itself, where it may and can.
fn groups_of_table(
    question: &Question,
    prepared: &mut Prepared,
    stages: &Stages,
) -> Option<BoxFuture<'static, Result<BatchStream, CubeError>>> {
    let asked = question.query.options.table_groups;
    let is_asked = match asked {
        TableGroups::WhereExact => question.table.prefers_groups(),
        TableGroups::Always => true,
        TableGroups::Never => false,
    };
    let scan = prepared.scan.as_mut().filter(|_| is_asked)?;
    let request = scan.groups(&prepared.run, asked == TableGroups::Always)?;
    let opening = question.table.open_groups(stages, &request)?;
    scan.expect_groups(request);
    prepared.trace.are_groups = true;
    if asked == TableGroups::Always {
        // The next query may want sums of floats as the cube makes them.
        prepared.version = None;
    }
    Some(opening)
}

/// The next batches, as many as are grouped at a time; none at the end. How many these are depends on their sizes alone.
async fn take_next(question: &Question, stream: &mut BatchStream) -> Result<Vec<RecordBatch>, CubeError> {
    let (mut batches, mut rows, mut bytes) = (Vec::new(), 0, 0);
    while rows < ROWS_AT_ONCE && bytes < BYTES_AT_ONCE {
        let next = unless_cancelled(question, stream.next()).await?;
        let Some(batch) = next.transpose().map_err(|error| table_failed(question, error))? else { break };
        rows += batch.num_rows();
        question.progress.add_rows(batch.num_rows());
        bytes += batch.columns().iter().map(bytes_of).sum::<usize>();
        batches.push(batch);
    }
    Ok(batches)
}

/// What the rows of an array hold, which may be a part of a larger one.
pub(crate) fn bytes_of(array: &ArrayRef) -> usize {
    array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
}

/// What the table said, with its name.
pub(crate) fn table_failed(question: &Question, error: CubeError) -> CubeError {
    match error {
        CubeError::TableFailed { .. } | CubeError::Cancelled | CubeError::Overloaded { .. } => error,
        other => {
            CubeError::TableFailed { table: question.table.name().to_owned(), message: other.to_string() }
        }
    }
}

/// The future's value, or why the query is not wanted any more.
pub(crate) async fn unless_cancelled<T>(
    question: &Question,
    future: impl Future<Output = T>,
) -> Result<T, CubeError> {
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

/// Computes something on `cpu`. A stage that has no room for more ends nothing that is under way: a thread of `mixed` that may wait then takes
/// it there, or does it itself, when it is this query's turn.
pub(crate) async fn on_cpu<T: Send + 'static>(
    question: &Question,
    task: &'static str,
    closure: impl FnOnce() -> T + Clone + Send + 'static,
) -> Result<T, CubeError> {
    match question.cpu.submit(task, closure.clone()) {
        Ok(submitted) => submitted.await.map_err(|error| CubeError::of_task(task, error)),
        Err(SubmitError::Overloaded { .. }) => {
            let cpu = question.cpu.clone();
            blocking(question, task, move || cpu.run(closure)).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Everything after the table.
fn finish(
    question: &Question,
    prepared: Prepared,
    answers: Vec<Option<Answer>>,
) -> Result<CubeResult, CubeError> {
    let Prepared { run, mut results, scan, asks, mut trace, version } = prepared;
    take_answers(question, &run, &asks, answers, (&mut results, &mut trace))?;
    if let Some(scan) = scan {
        let made = scan.finish(&run, &mut results, &mut trace)?;
        if version.is_some() {
            keep(question, &run, &results, version, &made);
        }
    }
    run_tasks(&run, &mut results, &mut trace)?;
    let mut result = build(&question.query, &run, &results)?;
    if question.query.options.explain {
        result.explanation = Some(Explanation::new(&question.query, &run, &trace));
    }
    Ok(result)
}

/// Keeps what was aggregated for the next query of this version of the table.
fn keep(question: &Question, run: &Run, results: &Results, version: Option<u64>, made: &[StepId]) {
    let mut known = HashMap::new();
    for leaf in made {
        if let (Some(key), Ok(Ok(cuboid))) = (LeafKey::of(run, version, *leaf), results.get(*leaf)) {
            question.kept.cache.put(key, cuboid.uncounted(&mut known));
        }
    }
    if let Some(stages) = question.stages.upgrade() {
        let cache = question.kept.cache.clone();
        // Refused at the end of the stages, when nobody needs it any more.
        if let Ok(tidied) = stages.maintenance().submit("tidy cache of cubes", move || cache.tidy()) {
            tidied.detach();
        }
    }
}
