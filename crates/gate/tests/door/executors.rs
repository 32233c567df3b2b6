//! Executors, seen from a socket: tasks for later, results that are kept, and tasks that are cancelled.

use crate::line::{Client, Member, eventually, int};
use filbert_grid::{Entry, EntryProcessor, ExecutorTask, TaskContext};
use filbert_wire::Data;
use filbert_wire::messages::client::Ping;
use filbert_wire::messages::error::{ErrorCode, ErrorResponse};
use filbert_wire::messages::{durable_executor as d, executor as e, map, scheduled_executor as s};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use uuid::Uuid;

/// Gives its argument; fails with the one that is 13.
struct Same(Data);

impl ExecutorTask for Same {
    fn run(&self, _: &TaskContext<'_>) -> Result<Option<Data>, String> {
        if self.0 == int(13) { Err("thirteen".to_owned()) } else { Ok(Some(self.0.clone())) }
    }
}

/// Runs until it is told to end, and tells whether it was cancelled.
#[derive(Clone, Default)]
struct Long {
    begun: Arc<AtomicUsize>,
    cancelled: Arc<AtomicBool>,
    end: Arc<(Mutex<bool>, Condvar)>,
}

impl ExecutorTask for Long {
    fn run(&self, context: &TaskContext<'_>) -> Result<Option<Data>, String> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let (ends, told) = &*self.end;
        drop(told.wait_while(ends.lock().unwrap(), |ends| !*ends).unwrap());
        self.cancelled.store(context.is_cancelled(), Ordering::SeqCst);
        Ok(None)
    }
}

impl Long {
    fn end(&self) {
        *self.end.0.lock().unwrap() = true;
        self.end.1.notify_all();
    }
}

fn member() -> (Member, Long) {
    let (member, long) = (Member::start(), Long::default());
    let registry = member.grid.registry();
    registry.add_task("same", |argument| Ok(Same(argument.clone())));
    let made = long.clone();
    registry.add_task("long", move |_| Ok(made.clone()));
    (member, long)
}

/// An object with ids and fields.
fn identified(factory: i32, class: i32, fields: &[u8]) -> Data {
    let payload = [&[1], &factory.to_be_bytes()[..], &class.to_be_bytes(), fields].concat();
    Data::new(-2, &payload)
}

/// A call by name.
fn named(name: &str, argument: &Data) -> Data {
    let fields = [&(name.len() as i32).to_be_bytes(), name.as_bytes(), argument.identity()].concat();
    identified(filbert_grid::NAMED_FACTORY, filbert_grid::NAMED_CLASS, &fields)
}

fn once(task_name: &str, task: Data, delay_ms: i64) -> s::SubmitToPartition {
    s::SubmitToPartition {
        name: "later".into(),
        kind: 0,
        task_name: task_name.into(),
        task,
        initial_delay_ms: delay_ms,
        period_ms: 0,
        auto_disposable: false,
    }
}

fn code_of(error: &ErrorResponse) -> ErrorCode {
    ErrorCode::from_code(error.errors[0].code).unwrap()
}

fn result(client: &mut Client, partition: i32, task_name: &str) -> Result<Option<Data>, ErrorCode> {
    let get = s::GetResultFromPartition { name: "later".into(), task_name: task_name.into() };
    client.call_on(partition, &get).map(|found| found.value).map_err(|error| code_of(&error))
}

#[test]
fn a_task_is_scheduled_on_a_partition_and_known_there() {
    let (member, _) = member();
    let mut client = member.client();
    client.call_on(5, &once("a", named("same", &int(1)), 1)).unwrap();
    assert_eq!(result(&mut client, 5, "a"), Ok(Some(int(1))));
    assert_eq!(client.refused_on(5, &once("a", named("same", &int(1)), 1)), ErrorCode::DuplicateTask);
    assert_eq!(result(&mut client, 6, "a"), Err(ErrorCode::StaleTask));
    client.call_on(6, &once("a", named("same", &int(13)), -1)).unwrap();
    assert_eq!(result(&mut client, 6, "a"), Err(ErrorCode::Hazelcast), "it failed");
    let statistics = s::GetStatsFromPartition { name: "later".into(), task_name: "a".into() };
    let statistics = client.call_on(5, &statistics).unwrap();
    assert_eq!((statistics.total_runs, statistics.last_idle_nanos > 0), (1, true));
    let is_done = s::IsDoneFromPartition { name: "later".into(), task_name: "a".into() };
    assert!(client.call_on(5, &is_done).unwrap().value);
    client.call_on(7, &once("b", named("same", &int(1)), 3_600_000)).unwrap();
    let delay = s::GetDelayFromPartition { name: "later".into(), task_name: "b".into() };
    assert!(client.call_on(7, &delay).unwrap().value > 1_000_000_000);
    let waits = client.send_to(7, &s::GetResultFromPartition { name: "later".into(), task_name: "b".into() });
    let mut all: Vec<_> = client
        .call(&s::GetAllScheduledFutures { name: "later".into() })
        .unwrap()
        .handlers
        .into_iter()
        .map(|handler| {
            assert_eq!((handler.uuid, &*handler.scheduler_name), (Some(member.grid.member()), "later"));
            (handler.partition_id, handler.task_name.to_string())
        })
        .collect();
    all.sort();
    assert_eq!(all, [(5, "a".to_owned()), (6, "a".to_owned()), (7, "b".to_owned())]);
    // As the Java client asks for what it finds in that list.
    let listed = |task_name: &str| s::GetStatsFromMember {
        name: "later".into(),
        task_name: task_name.into(),
        member_uuid: member.grid.member(),
    };
    assert_eq!(client.call(&listed("b")).unwrap().total_runs, 0);
    assert_eq!(client.refused(&listed("c")), ErrorCode::StaleTask);
    let cancel = s::CancelFromPartition {
        name: "later".into(),
        task_name: "b".into(),
        may_interrupt_if_running: false,
    };
    assert!(client.call_on(7, &cancel).unwrap().value && !client.call_on(7, &cancel).unwrap().value);
    let told = client.answer::<s::GetResultFromPartition>(waits).unwrap_err();
    assert_eq!(code_of(&told), ErrorCode::Cancellation);
    let is_cancelled = s::IsCancelledFromPartition { name: "later".into(), task_name: "b".into() };
    assert!(client.call_on(7, &is_cancelled).unwrap().value);
    let dispose = s::DisposeFromPartition { name: "later".into(), task_name: "b".into() };
    client.call_on(7, &dispose).unwrap();
    assert_eq!(client.refused_on(7, &dispose), ErrorCode::StaleTask);
}

#[test]
fn a_task_of_the_member_has_its_own_names_and_members_that_are_not_are_told() {
    let (member, _) = member();
    let (mut client, here) = (member.client(), member.grid.member());
    // As the Java client sends `named("t", runnable)`.
    let name = [&1_i32.to_be_bytes()[..], b"t"].concat();
    let decorated = identified(-27, 5, &[named("same", &int(2)).identity(), &name].concat());
    let wrapped = identified(-27, 4, decorated.identity());
    let submit = |member_uuid, kind, period_ms| s::SubmitToMember {
        name: "later".into(),
        member_uuid,
        kind,
        task: wrapped.clone(),
        task_name: "t".into(),
        initial_delay_ms: 0,
        period_ms,
        auto_disposable: false,
    };
    let stranger = Uuid::from_u128(77);
    assert_eq!(client.refused(&submit(stranger, 0, 0)), ErrorCode::TargetNotMember);
    for (kind, period) in [(2, 1), (-1, 1), (1, 0), (1, -5)] {
        assert_eq!(client.refused(&submit(here, kind, period)), ErrorCode::IllegalArgument);
    }
    client.call(&submit(here, 1, 1)).unwrap();
    let of = |member_uuid| s::GetStatsFromMember { name: "later".into(), task_name: "t".into(), member_uuid };
    eventually("it runs more than once", || {
        member.client().call(&of(here)).is_ok_and(|statistics| statistics.total_runs > 1)
    });
    assert_eq!(client.refused(&of(stranger)), ErrorCode::TargetNotMember);
    let all = client.call(&s::GetAllScheduledFutures { name: "later".into() }).unwrap().handlers;
    assert_eq!((all.len(), all[0].partition_id, all[0].uuid), (1, -1, Some(here)));
    let is_done = s::IsDoneFromMember { name: "later".into(), task_name: "t".into(), member_uuid: here };
    assert!(!client.call(&is_done).unwrap().value);
    let cancel = s::CancelFromMember {
        name: "later".into(),
        task_name: "t".into(),
        member_uuid: here,
        may_interrupt_if_running: false,
    };
    assert!(client.call(&cancel).unwrap().value);
    let get = s::GetResultFromMember { name: "later".into(), task_name: "t".into(), member_uuid: here };
    assert_eq!(client.refused(&get), ErrorCode::Cancellation);
    assert_eq!(
        client.refused(&once("x", named("same", &int(1)), 0)),
        ErrorCode::IllegalArgument,
        "no partition"
    );
    assert_eq!(client.refused_on(1, &once("x", int(3), 0)), ErrorCode::Serialization, "no code");
    client.call(&s::Shutdown { name: "later".into(), member_uuid: here }).unwrap();
    assert_eq!(client.refused_on(1, &once("x", named("same", &int(1)), 0)), ErrorCode::RejectedExecution);
}

/// The default capacity is Hazelcast's.
#[test]
fn a_scheduler_that_is_full_rejects() {
    let (member, _) = member();
    let mut client = member.client();
    for number in 0..100 {
        let task = once(&number.to_string(), named("same", &int(1)), 3_600_000);
        client.call_on(number, &task).unwrap();
    }
    assert_eq!(client.refused_on(1, &once("x", named("same", &int(1)), 0)), ErrorCode::RejectedExecution);
}

#[test]
fn results_are_kept_for_another_connection() {
    let (member, long) = member();
    let mut client = member.client();
    let submit =
        |task: &str, number| d::SubmitToPartition { name: "kept".into(), task: named(task, &int(number)) };
    let sequence = client.call_on(9, &submit("same", 4)).unwrap().value;
    let waits = client.call_on(9, &submit("long", 0)).unwrap().value;
    let retrieve = |sequence| d::RetrieveResult { name: "kept".into(), sequence };
    let result = client.send_to(9, &retrieve(waits));
    drop(client);
    let mut client = member.client();
    assert_eq!(client.call_on(9, &retrieve(sequence)).unwrap().value, Some(int(4)));
    assert_eq!(client.refused_on(8, &retrieve(sequence)), ErrorCode::StaleTaskId);
    assert_eq!(client.refused(&retrieve(sequence)), ErrorCode::IllegalArgument, "no partition");
    for hostile in [i32::MIN, -1, i32::MAX] {
        assert_eq!(client.refused_on(9, &retrieve(hostile)), ErrorCode::StaleTaskId, "{hostile} {result}");
    }
    let take = d::RetrieveAndDisposeResult { name: "kept".into(), sequence };
    assert_eq!(client.call_on(9, &take).unwrap().value, Some(int(4)));
    assert_eq!(client.call_on(9, &take).unwrap().value, None);
    let failed = client.call_on(9, &submit("same", 13)).unwrap().value;
    assert_eq!(client.refused_on(9, &retrieve(failed)), ErrorCode::Hazelcast);
    client.call_on(9, &d::DisposeResult { name: "kept".into(), sequence: failed }).unwrap();
    assert_eq!(client.call_on(9, &retrieve(failed)).unwrap().value, None);
    assert!(!client.call(&d::IsShutdown { name: "kept".into() }).unwrap().value);
    client.call(&d::Shutdown { name: "kept".into() }).unwrap();
    assert!(client.call(&d::IsShutdown { name: "kept".into() }).unwrap().value);
    assert_eq!(client.refused_on(9, &submit("same", 1)), ErrorCode::RejectedExecution);
    long.end();
    assert_eq!(client.call_on(9, &retrieve(waits)).unwrap().value, None);
}

#[test]
fn a_client_cancels_its_own_tasks_and_no_others() {
    let (member, long) = member();
    let (mut client, mut other) = (member.client(), member.client());
    let (uuid, quick) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let submit =
        |uuid, task: &str| e::SubmitToPartition { name: "x".into(), uuid, task: named(task, &int(1)) };
    let running = client.send_to(3, &submit(uuid, "long"));
    assert!(client.call(&Ping {}).is_ok());
    eventually("it runs", || long.begun.load(Ordering::SeqCst) == 1);
    let cancel = |uuid| e::CancelOnPartition { uuid, interrupt: true };
    assert!(!other.call_on(3, &cancel(uuid)).unwrap().value, "it is not its own");
    assert!(client.call_on(3, &cancel(uuid)).unwrap().value);
    let told = client.answer::<e::SubmitToPartition>(running).unwrap_err();
    assert_eq!(code_of(&told), ErrorCode::Cancellation);
    assert!(!client.call_on(3, &cancel(uuid)).unwrap().value, "it is over");
    long.end();
    eventually("it sees it", || long.cancelled.load(Ordering::SeqCst));
    assert_eq!(client.call_on(3, &submit(quick, "same")).unwrap().value, Some(int(1)));
    let member_uuid = member.grid.member();
    let cancel = e::CancelOnMember { uuid: quick, member_uuid, interrupt: false };
    assert!(!client.call(&cancel).unwrap().value);
}

struct Overwrite(Data);

impl EntryProcessor for Overwrite {
    fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
        entry.set_value(self.0.clone());
        Ok(None)
    }
}

#[test]
fn all_values_are_replaced_by_a_registered_processor() {
    let (member, _) = member();
    member.grid.registry().add_processor("overwrite", |argument| Ok(Overwrite(argument.clone())));
    let mut client = member.client();
    for key in 0..300 {
        let set = map::Set { name: "m".into(), key: int(key), value: int(1), thread_id: 1, ttl_ms: -1 };
        client.call(&set).unwrap();
    }
    let replace = |name: &str| map::ReplaceAll { name: "m".into(), function: named(name, &int(2)) };
    client.call(&replace("overwrite")).unwrap();
    let values = client.call(&map::Values { name: "m".into() }).unwrap().values;
    assert_eq!(values, vec![int(2); 300]);
    assert_eq!(client.refused(&replace("unknown")), ErrorCode::Serialization);
}
