//! Executor services: tasks that are registered with the member, which clients name.

use super::answers::{done, flag, found, handlers};
use super::call::Call;
use super::failure::{Failure, Handled};
use filbert_grid::{Code, ExecutorService, NotCode};
use filbert_wire::Data;
use filbert_wire::messages::answers::Flag;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::executor as e;

handlers! {
    ExecutorService;
    shutdown(e::Shutdown) |executor, _request| executor.shutdown() => done;
    is_shutdown(e::IsShutdown) |executor, _request| executor.is_shutdown() => flag;
}

/// The code that a client names.
pub(super) fn code(data: &Data) -> Result<Code, Failure> {
    Code::from_data(data).map_err(not_code)
}

pub(super) fn not_code(error: NotCode) -> Failure {
    Failure::new(ErrorCode::Serialization, error.to_string())
}

pub(super) fn submit_to_partition(
    executor: &ExecutorService,
    call: Call<'_, e::SubmitToPartition>,
    request: e::SubmitToPartition,
) -> Handled {
    let task = code(&request.task)?;
    let running = match call.chosen_partition() {
        Some(partition) => executor.submit_to_partition(task, partition),
        None => executor.submit(task),
    };
    call.answering().follow_task(request.uuid, running, found)
}

pub(super) fn submit_to_member(
    executor: &ExecutorService,
    call: Call<'_, e::SubmitToMember>,
    request: e::SubmitToMember,
) -> Handled {
    let running = executor.submit_to_member(code(&request.task)?, request.member_uuid);
    call.answering().follow_task(request.uuid, running, found)
}

// The messages that cancel name no executor: a connection cancels what it submitted itself, which it had the right to.

pub(super) fn cancel_on_partition(
    call: Call<'_, e::CancelOnPartition>,
    request: e::CancelOnPartition,
) -> Handled {
    let value = call.desk.waiters.cancel_task(request.uuid);
    call.now(Flag { value })
}

pub(super) fn cancel_on_member(call: Call<'_, e::CancelOnMember>, request: e::CancelOnMember) -> Handled {
    let value = call.desk.waiters.cancel_task(request.uuid);
    call.now(Flag { value })
}
