//! Scheduled executors. A task is on the partition that the message's header says, or on this member; both are a matter of the client's
//! choice. A name on a partition is found only there; one on the member wherever it is, since the Java client asks the member for all tasks
//! that it was told of in a list.

use super::answers::{done, done_anyway, flag, found, handlers, number};
use super::call::Call;
use super::executor::not_code;
use super::failure::{Failure, Handled};
use filbert_grid::{Code, GridError, ScheduledExecutor, ScheduledTask, TaskPlace, TaskPlan, TaskStatistics};
use filbert_wire::Data;
use filbert_wire::message::Request;
use filbert_wire::messages::answers::Number;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::scheduled_executor as s;
use filbert_wire::messages::structures::ScheduledTaskHandler;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// What a message says of a task that is to be scheduled.
struct Wanted<'a> {
    kind: i8,
    name: &'a str,
    task: &'a Data,
    delay_ms: i64,
    period_ms: i64,
    auto_dispose: bool,
}

impl Wanted<'_> {
    fn plan(&self) -> Result<TaskPlan, Failure> {
        let illegal = |text: String| Failure::new(ErrorCode::IllegalArgument, text);
        let code = Code::from_named_task(self.task, self.name).map_err(not_code)?;
        // A delay that is over is none, as Java has it.
        let delay = Duration::from_millis(u64::try_from(self.delay_ms).unwrap_or(0));
        let plan = match self.kind {
            0 => TaskPlan::once(code, delay),
            1 => {
                let period = u64::try_from(self.period_ms).ok().filter(|period| *period > 0);
                let period =
                    period.ok_or_else(|| illegal(format!("a period of {} ms cannot be", self.period_ms)))?;
                TaskPlan::at_fixed_rate(code, delay, Duration::from_millis(period))
            }
            other => {
                return Err(illegal(format!("{other} is no kind of schedule: 0 is once, 1 at a fixed rate")));
            }
        };
        let plan = plan.named(self.name);
        Ok(if self.auto_dispose { plan.auto_dispose() } else { plan })
    }
}

macro_rules! wanted {
    ($request:ident) => {
        Wanted {
            kind: $request.kind,
            name: &$request.task_name,
            task: &$request.task,
            delay_ms: $request.initial_delay_ms,
            period_ms: $request.period_ms,
            auto_dispose: $request.auto_disposable,
        }
        .plan()?
    };
}

pub(super) fn submit_to_partition(
    executor: &Arc<ScheduledExecutor>,
    call: Call<'_, s::SubmitToPartition>,
    request: s::SubmitToPartition,
) -> Handled {
    let (plan, partition) = (wanted!(request), call.own_partition()?);
    call.answering().follow(executor.schedule_on_partition(plan, partition), done_anyway)
}

pub(super) fn submit_to_member(
    executor: &Arc<ScheduledExecutor>,
    call: Call<'_, s::SubmitToMember>,
    request: s::SubmitToMember,
) -> Handled {
    let plan = wanted!(request);
    call.answering().follow(executor.schedule_on_member(plan, request.member_uuid), done_anyway)
}

/// The task of that name on the partition of the message.
fn on_partition<R: Request>(call: &Call<'_, R>, name: &str) -> Result<ScheduledTask, Failure> {
    Ok(ScheduledTask::on_partition(call.own_partition()?, name))
}

/// The task of that name on that member, or on one of its partitions.
fn on_member<R: Request>(
    executor: &ScheduledExecutor,
    call: &Call<'_, R>,
    name: &str,
    member: Uuid,
) -> Result<ScheduledTask, Failure> {
    check_member(call, member)?;
    Ok(executor.find(name).unwrap_or_else(|| ScheduledTask::on_member(name)))
}

fn check_member<R: Request>(call: &Call<'_, R>, member: Uuid) -> Handled {
    let here = call.desk.host.grid.member();
    if member == here { Ok(()) } else { Err(GridError::NoSuchMember { member, here }.into()) }
}

/// Handlers in pairs: of a task on a partition, and of one on a member.
macro_rules! of_tasks {
    ($($method:ident: $partition:ident($on_partition:ty), $member:ident($on_member:ty) => $answer:path;)*) => {$(
        pub(super) fn $partition(
            executor: &Arc<ScheduledExecutor>,
            call: Call<'_, $on_partition>,
            request: $on_partition,
        ) -> Handled {
            let task = on_partition(&call, &request.task_name)?;
            call.answering().follow(executor.$method(&task), $answer)
        }

        pub(super) fn $member(
            executor: &Arc<ScheduledExecutor>,
            call: Call<'_, $on_member>,
            request: $on_member,
        ) -> Handled {
            let task = on_member(executor, &call, &request.task_name, request.member_uuid)?;
            call.answering().follow(executor.$method(&task), $answer)
        }
    )*};
}

of_tasks! {
    statistics: stats_from_partition(s::GetStatsFromPartition), stats_from_member(s::GetStatsFromMember) => statistics;
    delay: delay_from_partition(s::GetDelayFromPartition), delay_from_member(s::GetDelayFromMember) => delay;
    cancel: cancel_from_partition(s::CancelFromPartition), cancel_from_member(s::CancelFromMember) => flag;
    is_cancelled: is_cancelled_from_partition(s::IsCancelledFromPartition),
        is_cancelled_from_member(s::IsCancelledFromMember) => flag;
    is_done: is_done_from_partition(s::IsDoneFromPartition), is_done_from_member(s::IsDoneFromMember) => flag;
    dispose: dispose_from_partition(s::DisposeFromPartition), dispose_from_member(s::DisposeFromMember) => done;
}

pub(super) fn result_from_partition(
    executor: &Arc<ScheduledExecutor>,
    call: Call<'_, s::GetResultFromPartition>,
    request: s::GetResultFromPartition,
) -> Handled {
    let task = on_partition(&call, &request.task_name)?;
    call.answering().invoke_counted(found, |reply| executor.result_to(&task, || reply.make()))
}

pub(super) fn result_from_member(
    executor: &Arc<ScheduledExecutor>,
    call: Call<'_, s::GetResultFromMember>,
    request: s::GetResultFromMember,
) -> Handled {
    let task = on_member(executor, &call, &request.task_name, request.member_uuid)?;
    call.answering().invoke_counted(found, |reply| executor.result_to(&task, || reply.make()))
}

handlers! {
    Arc<ScheduledExecutor>;
    shutdown_here(s::Shutdown) |executor, _request| executor.shutdown() => done;
}

pub(super) fn shutdown(
    executor: &Arc<ScheduledExecutor>,
    call: Call<'_, s::Shutdown>,
    request: s::Shutdown,
) -> Handled {
    check_member(&call, request.member_uuid)?;
    shutdown_here(executor, call, request)
}

pub(super) fn all_scheduled_futures(
    executor: &Arc<ScheduledExecutor>,
    call: Call<'_, s::GetAllScheduledFutures>,
    request: s::GetAllScheduledFutures,
) -> Handled {
    let (member, scheduler_name) = (call.desk.host.grid.member(), request.name);
    call.answering().follow_all(executor.task_list(), move |list| {
        let handler = |task: ScheduledTask| ScheduledTaskHandler {
            uuid: Some(member),
            partition_id: match task.place {
                TaskPlace::Partition(partition) => partition.number() as i32,
                TaskPlace::Member => -1,
            },
            scheduler_name: scheduler_name.clone(),
            task_name: task.name.into(),
        };
        s::ScheduledFutures { handlers: list.tasks.into_iter().map(handler).collect() }
    })
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

fn delay(delay: Duration) -> Number {
    number(nanos(delay))
}

fn statistics(of: TaskStatistics) -> s::TaskStatistics {
    s::TaskStatistics {
        last_idle_nanos: nanos(of.last_idle),
        total_idle_nanos: nanos(of.total_idle),
        total_runs: i64::try_from(of.runs).unwrap_or(i64::MAX),
        total_run_nanos: nanos(of.total_run),
        last_run_nanos: nanos(of.last_run),
    }
}
