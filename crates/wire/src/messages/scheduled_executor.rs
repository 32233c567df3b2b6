//! Scheduled executors. A task is on a partition (that of the message's header) or on a member.

use super::answers::{Done, Flag, Found, Number};
use super::service;
use super::structures::ScheduledTaskHandler;
use crate::Data;
use crate::field::Text;
use crate::message::record;
use uuid::Uuid;

record! {
    /// What is known of the runs of a task.
    TaskStatistics {
        /// How long it waited before the last run.
        last_idle_nanos: i64,
        /// How long it waited in all.
        total_idle_nanos: i64,
        /// How often it ran.
        total_runs: i64,
        /// How long all runs took.
        total_run_nanos: i64,
        /// How long the last run took.
        last_run_nanos: i64,
    }
}

service! {
    "ScheduledExecutor" = 0x1a;
    0x01 "shutdown" Shutdown { name: Text, member_uuid: Uuid } => Done;
    0x02 "submitToPartition" SubmitToPartition {
        name: Text,
        /// 0 once, 1 at a fixed rate.
        kind: i8,
        task_name: Text, task: Data, initial_delay_ms: i64, period_ms: i64,
        auto_disposable: bool [since V2_1, else false],
    } => Done;
    0x03 "submitToMember" SubmitToMember {
        name: Text, member_uuid: Uuid,
        /// 0 once, 1 at a fixed rate.
        kind: i8,
        task_name: Text, task: Data, initial_delay_ms: i64, period_ms: i64,
        auto_disposable: bool [since V2_1, else false],
    } => Done;
    0x04 "getAllScheduledFutures" GetAllScheduledFutures { name: Text } => ScheduledFutures {
        /// All tasks of the cluster.
        handlers: Vec<ScheduledTaskHandler>,
    };
    0x05 "getStatsFromPartition" GetStatsFromPartition { name: Text, task_name: Text } => TaskStatistics;
    0x06 "getStatsFromMember" GetStatsFromMember { name: Text, task_name: Text, member_uuid: Uuid } => TaskStatistics;
    0x07 "getDelayFromPartition" GetDelayFromPartition { name: Text, task_name: Text } => Number;
    0x08 "getDelayFromMember" GetDelayFromMember { name: Text, task_name: Text, member_uuid: Uuid } => Number;
    0x09 "cancelFromPartition" CancelFromPartition {
        name: Text, task_name: Text, may_interrupt_if_running: bool,
    } => Flag;
    0x0a "cancelFromMember" CancelFromMember {
        name: Text, task_name: Text, member_uuid: Uuid, may_interrupt_if_running: bool,
    } => Flag;
    0x0b "isCancelledFromPartition" IsCancelledFromPartition { name: Text, task_name: Text } => Flag;
    0x0c "isCancelledFromMember" IsCancelledFromMember { name: Text, task_name: Text, member_uuid: Uuid } => Flag;
    0x0d "isDoneFromPartition" IsDoneFromPartition { name: Text, task_name: Text } => Flag;
    0x0e "isDoneFromMember" IsDoneFromMember { name: Text, task_name: Text, member_uuid: Uuid } => Flag;
    0x0f "getResultFromPartition" GetResultFromPartition { name: Text, task_name: Text } => Found;
    0x10 "getResultFromMember" GetResultFromMember { name: Text, task_name: Text, member_uuid: Uuid } => Found;
    0x11 "disposeFromPartition" DisposeFromPartition { name: Text, task_name: Text } => Done;
    0x12 "disposeFromMember" DisposeFromMember { name: Text, task_name: Text, member_uuid: Uuid } => Done;
}
