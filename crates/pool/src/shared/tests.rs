use super::*;
use crate::engine::Ending;
use crate::error::TaskError;
use crate::rules::StageKind;
use filbert_sync::Latch;
use std::sync::Mutex;

fn settings(threads: usize, capacity: usize, when_full: WhenFull) -> SharedSettings {
    SharedSettings { threads, capacity, when_full, slow_limit: None }
}

fn executor(env: &Arc<Env>, name: &str, settings: &SharedSettings) -> Executor {
    Executor::start(env, StageId::named(StageKind::Executor, name), settings)
}

/// Keeps every thread of the stage busy until the latch opens.
fn occupy(stage: &Executor, threads: usize) -> Arc<Latch> {
    let latch = Arc::new(Latch::new());
    let begun = Arc::new(std::sync::Barrier::new(threads + 1));
    for _ in 0..threads {
        let (latch, begun) = (Arc::clone(&latch), Arc::clone(&begun));
        let body = move || {
            begun.wait();
            latch.wait();
        };
        stage.submit("occupy", body).unwrap().detach();
    }
    begun.wait();
    latch
}

#[test]
fn returns_values_and_panics() {
    let env = Env::real();
    let stage = executor(&env, "values", &settings(2, 10, WhenFull::Refuse));
    assert_eq!(stage.submit("answer", || 42).unwrap().wait(), Ok(42));
    let failed = stage.submit("bad", || -> i32 { panic!("no luck") }).unwrap().wait();
    let message = failed.unwrap_err().to_string();
    assert_eq!(message, "task bad on stage executor/values panicked: no luck");
    assert_eq!(stage.submit("after", || 1).unwrap().wait(), Ok(1), "the stage lives on");
}

#[test]
fn priority_comes_first() {
    let env = Env::real();
    let stage = executor(&env, "priority", &settings(1, 10, WhenFull::Refuse));
    let latch = occupy(&stage, 1);
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |text: &'static str| {
        let order = Arc::clone(&order);
        move || order.lock().unwrap().push(text)
    };
    let normal = stage.submit("normal", note("normal")).unwrap();
    let urgent = stage.submit_priority("urgent", note("urgent")).unwrap();
    latch.open();
    normal.wait().unwrap();
    urgent.wait().unwrap();
    assert_eq!(*order.lock().unwrap(), ["urgent", "normal"]);
}

#[test]
fn a_full_stage_refuses_and_says_so() {
    let env = Env::real();
    let stage = executor(&env, "full", &settings(1, 1, WhenFull::Refuse));
    let latch = occupy(&stage, 1);
    let queued = stage.submit("queued", || ()).unwrap();
    let refused = stage.submit("refused", || ()).unwrap_err();
    assert!(refused.is_retryable());
    assert_eq!(refused, SubmitError::Overloaded { stage: stage.id(), capacity: 1 });
    latch.open();
    queued.wait().unwrap();
    assert_eq!(stage.engine().snapshot().refused, 1);
}

#[test]
fn a_full_stage_makes_its_submitter_wait() {
    let env = Env::real();
    let stage = executor(&env, "patient", &settings(1, 1, WhenFull::Wait));
    let latch = occupy(&stage, 1);
    stage.submit("queued", || ()).unwrap().detach();
    let submitter = {
        let stage = stage.clone();
        std::thread::spawn(move || stage.submit("late", || 7).unwrap().wait())
    };
    latch.open();
    assert_eq!(submitter.join().unwrap(), Ok(7));
}

#[test]
fn a_task_never_waits_for_its_own_executor() {
    let env = Env::real();
    let stage = executor(&env, "own", &settings(1, 10, WhenFull::Wait));
    let inner = stage.clone();
    let outcome =
        stage.submit("outer", move || inner.submit("inner", || 1).unwrap().wait()).unwrap().wait().unwrap();
    assert_eq!(outcome, Err(TaskError::WaitRefused { from: stage.id(), to: stage.id() }));
}

#[test]
fn a_queued_task_can_be_cancelled_and_one_that_runs_goes_on() {
    let env = Env::real();
    let stage = executor(&env, "cancel", &settings(1, 10, WhenFull::Refuse));
    let latch = occupy(&stage, 1);
    let ran = Arc::new(Latch::new());
    let opens = Arc::clone(&ran);
    let queued = stage.submit("queued", move || opens.open()).unwrap();
    assert!(queued.cancel());
    latch.open();
    stage.submit("last", || ()).unwrap().wait().unwrap();
    assert!(!ran.is_open());
}

#[test]
fn closing_drains_or_cancels() {
    for (ending, expected) in [(Ending::Drain, true), (Ending::Cancel, false)] {
        let env = Env::real();
        let stage = executor(&env, "closing", &settings(1, 10, WhenFull::Refuse));
        let latch = occupy(&stage, 1);
        let queued = stage.submit("queued", || ()).unwrap();
        stage.engine().close(ending);
        assert_eq!(stage.submit("late", || ()).unwrap_err(), SubmitError::ShutDown { stage: stage.id() });
        latch.open();
        assert_eq!(queued.wait().is_ok(), expected);
        assert!(env.threads().join(Duration::from_secs(30)).is_empty());
        assert!(stage.engine().is_drained());
    }
}

#[test]
fn callbacks_run_on_the_generic_stage() {
    let env = Env::real();
    let generic = Executor::start(&env, StageId::of(StageKind::Generic), &settings(1, 10, WhenFull::Refuse));
    env.set_callbacks(Arc::downgrade(&generic.callbacks()));
    let stage = executor(&env, "callbacks", &settings(1, 10, WhenFull::Refuse));
    let (sender, receiver) = std::sync::mpsc::channel();
    let body = move |result| sender.send((result, context::current())).unwrap();
    stage.submit("answer", || 42).unwrap().on_complete(body);
    assert_eq!(receiver.recv().unwrap(), (Ok(42), generic.id()));
}

#[test]
fn a_simulated_stage_runs_on_the_calling_thread() {
    let env = Env::simulated(7);
    let stage = executor(&env, "simulated", &settings(3, 2, WhenFull::Wait));
    let engine = stage.engine();
    env.simulator().unwrap().add(Arc::downgrade(&engine));
    let here = std::thread::current().id();
    let all: Vec<_> =
        (0..10).map(|i| stage.submit("task", move || (i, std::thread::current().id())).unwrap()).collect();
    for (i, future) in all.into_iter().enumerate() {
        assert_eq!(future.wait(), Ok((i, here)));
    }
}
