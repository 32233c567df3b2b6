//! Durable executors: tasks are on the partition that the message's header says, and known by their number there.

use super::answers::{done, flag, found, handlers};
use super::call::Call;
use super::executor::code;
use super::failure::{Failure, Handled};
use filbert_grid::{DurableExecutor, DurableTask};
use filbert_wire::message::Request;
use filbert_wire::messages::answers::Count;
use filbert_wire::messages::durable_executor as d;
use std::sync::Arc;

handlers! {
    Arc<DurableExecutor>;
    shutdown(d::Shutdown) |executor, _request| executor.shutdown() => done;
    is_shutdown(d::IsShutdown) |executor, _request| executor.is_shutdown() => flag;
}

pub(super) fn submit_to_partition(
    executor: &Arc<DurableExecutor>,
    call: Call<'_, d::SubmitToPartition>,
    request: d::SubmitToPartition,
) -> Handled {
    let (task, partition) = (code(&request.task)?, call.own_partition()?);
    call.answering().follow(executor.submit_to_partition(task, partition), sequence)
}

fn sequence(task: DurableTask) -> Count {
    Count { value: task.sequence }
}

fn task<R: Request>(call: &Call<'_, R>, sequence: i32) -> Result<DurableTask, Failure> {
    Ok(DurableTask { partition: call.own_partition()?, sequence })
}

pub(super) fn retrieve_result(
    executor: &Arc<DurableExecutor>,
    call: Call<'_, d::RetrieveResult>,
    request: d::RetrieveResult,
) -> Handled {
    let task = task(&call, request.sequence)?;
    call.answering().invoke_counted(found, |reply| executor.result_to(task, || reply.make()))
}

pub(super) fn retrieve_and_dispose_result(
    executor: &Arc<DurableExecutor>,
    call: Call<'_, d::RetrieveAndDisposeResult>,
    request: d::RetrieveAndDisposeResult,
) -> Handled {
    let task = task(&call, request.sequence)?;
    call.taking().answering().invoke_counted(found, |reply| executor.take_result_to(task, || reply.make()))
}

pub(super) fn dispose_result(
    executor: &Arc<DurableExecutor>,
    call: Call<'_, d::DisposeResult>,
    request: d::DisposeResult,
) -> Handled {
    let task = task(&call, request.sequence)?;
    call.answering().follow(executor.dispose(task), done)
}
