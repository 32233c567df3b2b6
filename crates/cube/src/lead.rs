//! The future that leads a query: plan, pass over the table, tasks, result.
//!
//! It runs on `mixed` and never blocks. Plans are made on `cpu`. What groups and computes is a closure on a thread of `mixed` that may wait
//! for `cpu`; for a refresh, on one of `maintenance`. The next batches are read while the last ones are grouped, so at most twice as many are in memory as are grouped at a time.
//! However it ends, the stream is closed and no closure is left running but a plan, which looks between its steps whether it is wanted.

use crate::aggregate::SpillSpace;
use crate::composite::{Answer, Ask, ask_cubes, asks, take_answers};
use crate::cube::{CubeSettings, Within};
use crate::cuboid::KeySpace;
use crate::error::CubeError;
use crate::execute::{CancelToken, Results, Run, Scan, StepTrace, Trace, run_tasks};
use crate::explain::Explanation;
use crate::filter::Filter;
use crate::forest::Forest;
use crate::kept::{Kept, Recalled, Renewal, Stamp};
use crate::memory::{MemoryAccount, bytes_of};
use crate::observed::Observed;
use crate::plan::{CubeColumns, plan, shard};
use crate::query::Query;
use crate::query_handle::QueryProgress;
use crate::refresh::begin_refresh;
use crate::result::{CubeResult, build};
use crate::table::{BatchStream, Table, TableGroups};
use crate::turns::Turns;
use arrow::array::RecordBatch;
use filbert_pool::{Clock, Stages, SubmitError, TaskFuture, WeakStages, WorkStealing};
use futures::future::{BoxFuture, Either, select};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows that are grouped at a time: enough for all workers. A table's batches may be smaller, or larger.
const ROWS_AT_ONCE: usize = 256 * 1024;

/// The same in bytes.
const BYTES_AT_ONCE: usize = 32 << 20;

/// A query with all that it needs.
#[derive(Clone)]
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
    /// Nobody waits for an answer: its leaves are read anew for others. What computes stands on `maintenance` then.
    pub(crate) is_refresh: bool,
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
    /// The last batches of the table. Whoever makes the leaves groups them first: nobody is woken in between.
    last: Vec<RecordBatch>,
    /// What the cubes of a composite are asked for.
    asks: Vec<Ask>,
    trace: Trace,
    /// How leaves that are read are kept; none when they are not.
    stamp: Option<Stamp>,
    /// Leaves from the cache that are to be read anew.
    renewal: Option<Renewal>,
}

/// Answers a question.
pub(crate) async fn lead(question: Question) -> Result<CubeResult, CubeError> {
    let question = Arc::new(question);
    let mut prepared = begin(&question).await?;
    if let Some(renewal) = prepared.renewal.take() {
        begin_refresh(&question, renewal);
    }
    let prepared = read(&question, prepared).await?;
    let answers = match prepared.asks.is_empty() {
        true => Vec::new(),
        false => ask_cubes(&question, &prepared.asks).await?,
    };
    let asked = Arc::clone(&question);
    let closure = move || finish(&asked, prepared, answers);
    blocking(&question, "compute cube query", closure).await?
}

/// Reads the leaves of a question anew, for others.
pub(crate) async fn lead_refresh(question: Question) -> Result<(), CubeError> {
    let question = Arc::new(question);
    let prepared = begin(&question).await?;
    let mut prepared = read(&question, prepared).await?;
    let asked = Arc::clone(&question);
    let closure = move || {
        let _vigil = prepared.run.vigil(prepared.trace.rows);
        make_leaves(&asked, &mut prepared)
    };
    blocking(&question, "make leaves of cube", closure).await?
}

/// Everything before the table.
async fn begin(question: &Arc<Question>) -> Result<Prepared, CubeError> {
    question.cancel.check()?;
    let version = unless_cancelled(question, question.table.version()).await?;
    let planned = Arc::clone(question);
    let planning = question.cpu.submit("plan cube query", move || prepare(&planned, version))?;
    unless_unwanted(question, "plan", planning).await?
}

/// Plans, and finds out what is to be read. On `cpu`.
fn prepare(question: &Question, version: Option<u64>) -> Result<Prepared, CubeError> {
    let Question { query, settings, .. } = question;
    let plan = plan(query, &question.forest, &question.columns, &question.rights, &question.cancel)?;
    let keys = KeySpace::new(question.kept.dictionaries(version), &plan.types, &question.memory)?;
    let declared = question.table.shard_columns();
    let shard = shard(query, &question.forest, &question.columns, &declared, &plan)?;
    let mut results = Results::new(plan.readers.clone());
    let mut run = Run {
        plan: Arc::new(plan),
        forest: question.forest.clone(),
        keys,
        cpu: question.cpu.clone(),
        clock: question.clock.clone(),
        memory: question.memory.clone(),
        spill: settings.spill.as_ref().map(|(folder, bytes)| Arc::new(SpillSpace::new(folder, *bytes))),
        parallelism: query.options.parallelism.unwrap_or(question.cpu.threads()),
        partitions: query.options.partitions.unwrap_or(settings.partitions),
        parallel_from_rows: settings.parallel_from_rows,
        shard,
        errors_are_values: query.options.errors_are_values,
        debug: query.options.debug,
        cancel: Arc::clone(&question.cancel),
        observed: Observed::default(),
    };
    let nothing = match (run.partitions, query.options.parallelism) {
        (0, _) => Some("it wants 0 partitions; slices need at least 1"),
        (_, Some(0)) => Some("it wants a parallelism of 0; 1 is all in sequence"),
        _ => None,
    };
    if let Some(problem) = nothing {
        return Err(CubeError::InvalidQuery { problem: problem.to_owned() });
    }
    let mut trace = Trace::default();
    let Recalled { leaves, age, stamp, renewal } = recall(question, &mut run, version);
    for (leaf, cuboid) in leaves {
        trace.steps.push(StepTrace::cached(&run, leaf, &cuboid, age));
        results.put(leaf, Ok(cuboid));
    }
    let (scan, asks) = match question.table.cubes() {
        None => (Scan::new(&run, &question.columns, &results), Vec::new()),
        Some(composite) => (None, asks(composite, &run.plan, &question.rights)?),
    };
    Ok(Prepared { run, results, scan, last: Vec::new(), asks, trace, stamp, renewal })
}

/// What the cache has for a question that may use it.
fn recall(question: &Question, run: &mut Run, version: Option<u64>) -> Recalled {
    let is_kept = !question.query.options.no_cache && question.settings.cache_bytes > 0;
    // The cubes of a composite have caches of their own.
    if !is_kept || question.table.cubes().is_some() {
        return Recalled::default();
    }
    match question.is_refresh {
        true => question.kept.recall_nothing(run, version),
        false => question.kept.recall(run, version),
    }
}

/// Takes batches, grouped while the next ones are read, but for the last; nothing when all leaves are there.
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
    let observed = prepared.run.observed.clone();
    let mut next = take_next(question, &mut stream, &observed).await?;
    loop {
        let (batches, rows) = (next.batches, next.rows);
        prepared.trace.batches += batches.len();
        prepared.trace.rows += rows;
        if next.is_last {
            prepared.last = batches;
            break;
        }
        let grouped = blocking(question, "group batches", move || {
            let Prepared { run, scan, .. } = &mut prepared;
            let _vigil = run.vigil(rows);
            let taken = scan.as_mut().map_or(Ok(()), |scan| scan.take(run, &batches));
            taken.map(|()| prepared)
        });
        // What failed to be grouped waits for no table; what is being grouped is waited for, whatever the table says.
        (prepared, next) =
            match select(pin!(grouped), pin!(take_next(question, &mut stream, &observed))).await {
                Either::Left((grouped, reading)) => (grouped??, reading.await?),
                Either::Right((read, grouped)) => (grouped.await??, read?),
            };
    }
    observed.add(stream.observed());
    stream.close();
    prepared.trace.scan = question.clock.now().saturating_sub(begin);
    // What was read while the table changed is of no version.
    if let Some(Stamp::Version(version)) = prepared.stamp
        && unless_cancelled(question, question.table.version()).await? != Some(version)
    {
        prepared.stamp = None;
    }
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
        prepared.stamp = None;
    }
    Some(opening)
}

/// Batches that are grouped at a time.
#[derive(Default)]
struct Next {
    batches: Vec<RecordBatch>,
    rows: usize,
    /// The table has no more.
    is_last: bool,
}

/// The next batches. How many these are depends on their sizes alone.
async fn take_next(
    question: &Question,
    stream: &mut BatchStream,
    observed: &Observed,
) -> Result<Next, CubeError> {
    let (mut taken, mut bytes) = (Next::default(), 0);
    observed.note_stage();
    while !taken.is_last && taken.rows < ROWS_AT_ONCE && bytes < BYTES_AT_ONCE {
        let next = unless_cancelled(question, stream.next()).await?;
        match next.transpose().map_err(|error| table_failed(question, error))? {
            None => taken.is_last = true,
            Some(batch) => {
                taken.rows += batch.num_rows();
                question.progress.add_rows(batch.num_rows());
                bytes += batch.columns().iter().map(bytes_of).sum::<usize>();
                taken.batches.push(batch);
            }
        }
    }
    Ok(taken)
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

/// What a task makes that nobody needs to wait for, or why the query is not wanted any more: the task then never begins, or looks itself.
pub(crate) async fn unless_unwanted<T: Send + 'static>(
    question: &Question,
    place: &str,
    task: TaskFuture<T>,
) -> Result<T, CubeError> {
    match select(task, pin!(question.cancel.cancelled())).await {
        Either::Left((made, _)) => made.map_err(|error| CubeError::of_task(place, error)),
        Either::Right((reason, task)) => {
            task.cancel();
            Err(reason)
        }
    }
}

/// Runs a closure on a thread of `mixed` that may wait, when it is this query's turn. One that has begun is waited for; a query that is not
/// wanted any more waits for neither a turn nor a thread. What nobody waits for takes neither from queries: it has the threads of
/// `maintenance`.
async fn blocking<T: Send + 'static>(
    question: &Question,
    task: &'static str,
    closure: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CubeError> {
    let _turn = match question.is_refresh {
        true => None,
        false => Some(unless_cancelled(question, question.turns.take()).await?),
    };
    // Whoever is first sets it: the thread that begins, or the query that does not want it any more.
    let is_settled = Arc::<AtomicBool>::default();
    let settled = Arc::clone(&is_settled);
    let begins = move || (!settled.swap(true, Ordering::AcqRel)).then(closure);
    let submitted = match question.stages.upgrade() {
        Some(stages) if question.is_refresh => stages.maintenance().submit(task, begins)?,
        Some(stages) => stages.mixed().submit(task, begins)?,
        None => return Err(CubeError::Closed { what: "the set of stages".to_owned() }),
    };
    let made = match select(submitted, pin!(question.cancel.cancelled())).await {
        Either::Left((made, _)) => made,
        Either::Right((reason, _)) if !is_settled.swap(true, Ordering::AcqRel) => return Err(reason),
        Either::Right((_, submitted)) => submitted.await,
    };
    made.map_err(|error| CubeError::of_task(task, error))?.ok_or(CubeError::Cancelled)
}

/// Computes something on `cpu`. A stage that has no room for more ends nothing that is under way: a thread of `mixed` that may wait then takes
/// it there, or does it itself, when it is this query's turn.
pub(crate) async fn on_cpu<T: Send + 'static>(
    question: &Question,
    task: &'static str,
    closure: impl FnOnce() -> T + Clone + Send + 'static,
) -> Result<T, CubeError> {
    match question.cpu.submit(task, closure.clone()) {
        Ok(submitted) => unless_unwanted(question, task, submitted).await,
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
    mut prepared: Prepared,
    answers: Vec<Option<Answer>>,
) -> Result<CubeResult, CubeError> {
    let Prepared { run, results, asks, trace, .. } = &mut prepared;
    take_answers(question, run, asks, answers, (results, trace))?;
    let _vigil = run.vigil(trace.rows.max(results.most_rows()));
    make_leaves(question, &mut prepared)?;
    let Prepared { run, mut results, mut trace, .. } = prepared;
    run_tasks(&run, &mut results, &mut trace)?;
    let mut result = build(&question.query, &run, &results)?;
    if question.query.options.explain {
        result.explanation = Some(Explanation::new(&question.query, &run, &trace));
    }
    Ok(result)
}

/// Groups the last batches, makes the leaves that were read, and keeps them for others where that may be.
fn make_leaves(question: &Question, prepared: &mut Prepared) -> Result<(), CubeError> {
    let Prepared { run, results, scan, last, trace, stamp, .. } = prepared;
    let Some(mut scan) = scan.take() else { return Ok(()) };
    let begin = question.clock.now();
    scan.take(run, &std::mem::take(last))?;
    trace.scan += question.clock.now().saturating_sub(begin);
    (trace.scan_stages, _) = run.observed.take();
    let made = scan.finish(run, results, trace)?;
    let Some(stamp) = *stamp else { return Ok(()) };
    question.kept.keep(run, results, stamp, &made);
    if let Some(stages) = question.stages.upgrade() {
        let cache = question.kept.cache.clone();
        // Refused at the end of the stages, when nobody needs it any more.
        if let Ok(tidied) = stages.maintenance().submit("tidy cache of cubes", move || cache.tidy()) {
            tidied.detach();
        }
    }
    Ok(())
}
