//! A fragment at work: a polled task on stage `fragment` that pulls batches through the operators of one partition and hands them to an
//! exchange.
//!
//! One worker at a time runs it, another may steal it between turns. A turn ends when its budget is used, when there is no room (the
//! exchange wakes it) or nothing to read (an input exchange, a map or a file wakes it). Operators that would loop for ever inside one
//! poll are interrupted by [`YieldExec`](crate::plan::YieldExec).

use crate::bounded;
use crate::error::SqlError;
use crate::exchange::{Room, Router, Sender};
use crate::query::QueryContext;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream};
use filbert_pool::{Tasklet, Turn, TurnContext, caught};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What one instance of a fragment runs.
pub(crate) struct Work {
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    pub(crate) partition: usize,
    pub(crate) context: Arc<TaskContext>,
    pub(crate) router: Router,
}

/// One instance of a fragment.
pub(crate) struct Fragment {
    query: Arc<QueryContext>,
    state: State,
    figures: Figures,
    worker: Option<usize>,
}

enum State {
    /// What to run is still being planned; a root's own task plans it, so that a short query needs one turn, not two.
    Planning(BoxFuture<'static, Result<Work, SqlError>>, Sender),
    /// Before the first turn: opening an input may be work too.
    New(Work, Sender),
    Running(SendableRecordBatchStream, Router, Sender),
    Over,
}

/// What a fragment says of itself in `EXPLAIN ANALYZE`.
pub(crate) struct Figures {
    time: Time,
    turns: Count,
    steals: Count,
    waits_for_room: Count,
    waits_for_input: Count,
    sent_rows: Count,
    sent_batches: Count,
}

impl Figures {
    /// Under the metrics of the exchange that it feeds.
    pub(crate) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name: &'static str| MetricBuilder::new(metrics).counter(name, partition);
        Self {
            time: MetricBuilder::new(metrics).subset_time("fragment_time", partition),
            turns: count("turns"),
            steals: count("steals"),
            waits_for_room: count("waits_for_room"),
            waits_for_input: count("waits_for_input"),
            sent_rows: count("sent_rows"),
            sent_batches: count("sent_batches"),
        }
    }
}

impl Fragment {
    /// Gives the work a task of the query.
    pub(crate) fn start(
        query: &Arc<QueryContext>,
        work: Work,
        sender: Sender,
        figures: Figures,
    ) -> Result<(), SqlError> {
        let fragment =
            Self { query: Arc::clone(query), state: State::New(work, sender), figures, worker: None };
        query.spawn(fragment)
    }

    /// Plans first what it then runs.
    pub(crate) fn plan(
        query: &Arc<QueryContext>,
        planning: BoxFuture<'static, Result<Work, SqlError>>,
        sender: Sender,
        figures: Figures,
    ) -> Result<(), SqlError> {
        let state = State::Planning(planning, sender);
        query.spawn(Self { query: Arc::clone(query), state, figures, worker: None })
    }

    /// Runs until the turn is over, something is missing, or there is no more.
    fn advance(&mut self, cx: &TurnContext<'_>) -> Result<Turn, SqlError> {
        self.query.check_memory()?;
        let waker = Waker::from(cx.waker().clone());
        let mut context = Context::from_waker(&waker);
        if !self.begin(&mut context, cx)? {
            return Ok(Turn::Idle);
        }
        let State::Running(stream, router, sender) = &mut self.state else { return Ok(Turn::Done) };
        loop {
            match sender.poll_room(&context) {
                Poll::Pending => {
                    self.figures.waits_for_room.add(1);
                    return Ok(Turn::Idle);
                }
                Poll::Ready(Room::Nobody) => return Ok(Turn::Done),
                Poll::Ready(Room::Some) => {}
            }
            match stream.poll_next_unpin(&mut context) {
                Poll::Pending => {
                    self.figures.waits_for_input.add(1);
                    return Ok(Turn::Idle);
                }
                Poll::Ready(None) => {
                    router.finish(sender)?;
                    return Ok(Turn::Done);
                }
                Poll::Ready(Some(batch)) => {
                    let batch = batch?;
                    if batch.num_rows() > 0 {
                        self.figures.sent_rows.add(batch.num_rows());
                        self.figures.sent_batches.add(1);
                        router.send(batch, sender)?;
                    }
                }
            }
            if cx.should_yield() {
                return Ok(Turn::Again);
            }
        }
    }

    /// Plans and opens; false while a plan waits for something.
    fn begin(&mut self, context: &mut Context<'_>, cx: &TurnContext<'_>) -> Result<bool, SqlError> {
        if let State::Planning(planning, _) = &mut self.state {
            let planned = {
                let _plans = bounded::enter_planning();
                self.query.planning().begin();
                planning.poll_unpin(context)
            };
            self.query.planning().pause();
            let Poll::Ready(work) = planned else { return Ok(false) };
            let work = work?;
            self.state = match std::mem::replace(&mut self.state, State::Over) {
                State::Planning(_, sender) => State::New(work, sender),
                other => other,
            };
        }
        if let State::New(work, _) = &self.state {
            let stream = work.plan.execute(work.partition, Arc::clone(&work.context))?;
            self.state = match std::mem::replace(&mut self.state, State::Over) {
                State::New(work, mut sender) => {
                    sender.belongs_to(cx.waker().weak());
                    State::Running(stream, work.router, sender)
                }
                other => other,
            };
        }
        Ok(true)
    }

    /// The last turn: tells the readers how it ended.
    fn end(&mut self, failure: Option<SqlError>) {
        // The inputs go first: whoever feeds this fragment has no reason to go on.
        let mut sender = match std::mem::replace(&mut self.state, State::Over) {
            State::Planning(_, sender) | State::New(_, sender) | State::Running(_, _, sender) => sender,
            State::Over => return,
        };
        match failure {
            None => sender.finish(),
            Some(cause) => sender.fail(cause),
        }
    }
}

impl Tasklet for Fragment {
    fn turn(&mut self, cx: &mut TurnContext<'_>) -> Turn {
        let query = Arc::clone(&self.query);
        if !query.may_run(cx.waker()) {
            return Turn::Idle;
        }
        let _entered = query.enter_reactor();
        let _charged = bounded::enter(&query);
        let began = cx.used();
        if self.worker.replace(cx.worker()).is_some_and(|before| before != cx.worker()) {
            self.figures.steals.add(1);
        }
        let turn = caught(|| self.advance(cx));
        self.figures.turns.add(1);
        let worked = cx.used().saturating_sub(began);
        self.figures.time.add_duration(worked);
        query.worked(worked);
        match turn {
            Ok(Ok(Turn::Done)) => self.end(None),
            Ok(Ok(turn)) => return turn,
            Ok(Err(cause)) => self.end(Some(cause)),
            Err(message) => self.end(Some(SqlError::Panicked { message })),
        }
        Turn::Done
    }
}
