use super::*;
use crate::context::{self, StageId};
use crate::engine::Ending;
use crate::env::Env;
use crate::error::{SubmitError, TaskError};
use crate::eventually::eventually;
use crate::rules::StageKind;
use filbert_sync::Latch;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

#[test]
fn mixed_runs_futures_and_blocking_closures() {
    let env = Env::real();
    let host = mixed::start(&env, StageId::of(StageKind::Mixed), 2, 4);
    let mixed = Mixed::new(&host);
    let inner = mixed.submit("read", || context::current().kind).unwrap();
    let outer = mixed.spawn("await", async move { (inner.await, context::current().kind) }).unwrap();
    assert_eq!(outer.wait(), Ok((Ok(StageKind::Mixed), StageKind::Mixed)));
    let failed = mixed.spawn("bad", async { panic!("broken pipe") }).unwrap();
    assert_eq!(failed.wait().unwrap_err().to_string(), "task bad on stage mixed panicked: broken pipe");
    eventually("both panics and values are counted", || {
        let snapshot = host.snapshot();
        snapshot.executed == 3 && snapshot.panicked == 1
    });
}

#[test]
fn many_futures_wait_without_a_thread_each() {
    let env = Env::real();
    let host = mixed::start(&env, StageId::of(StageKind::Mixed), 1, 1);
    let latch = Arc::new(tokio::sync::Semaphore::new(0));
    let all: Vec<_> = (0..1_000)
        .map(|i| {
            let latch = Arc::clone(&latch);
            let body = async move { latch.acquire().await.map(|_| i).unwrap() };
            Mixed::new(&host).spawn("wait", body).unwrap()
        })
        .collect();
    latch.add_permits(1_000);
    for (i, future) in all.into_iter().enumerate() {
        assert_eq!(future.wait(), Ok(i));
    }
}

#[test]
fn cancelling_drops_a_future_that_sleeps() {
    let env = Env::real();
    let host = mixed::start(&env, StageId::of(StageKind::Mixed), 1, 1);
    let (held, dropped) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let body = async move {
        let _held = held;
        begun.send(()).unwrap();
        std::future::pending::<()>().await;
    };
    let future = Mixed::new(&host).spawn("sleep", body).unwrap();
    begins.recv().unwrap();
    assert!(!future.cancel());
    assert!(dropped.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Disconnected));
}

#[test]
fn a_cancelled_shutdown_ends_though_a_closure_blocks() {
    let env = Env::real();
    let host = mixed::start(&env, StageId::of(StageKind::Mixed), 1, 2);
    let latch = Arc::new(Latch::new());
    let blocks = Arc::clone(&latch);
    let stuck = Mixed::new(&host).submit("stuck", move || blocks.wait()).unwrap();
    let asleep = Mixed::new(&host).spawn("asleep", std::future::pending::<()>()).unwrap();
    host.close(Ending::Cancel);
    assert!(matches!(asleep.wait(), Err(TaskError::Cancelled { .. })));
    assert!(matches!(Mixed::new(&host).submit("late", || ()), Err(SubmitError::ShutDown { .. })));
    latch.open();
    drop(stuck);
}

#[test]
fn a_connection_stays_on_its_loop() {
    let env = Env::real();
    let host = io::start(&env, 3, 100, None);
    let io = Io::new(Arc::clone(&host), 3);
    let name = || std::thread::current().name().map(str::to_owned);
    for number in 0..6 {
        let body = async move {
            let before = name();
            tokio::task::yield_now().await;
            assert_eq!(before, name());
            before
        };
        let expected = format!("io-{}", number % 3);
        assert_eq!(io.spawn_on(number, "connection", body).unwrap().wait().unwrap(), Some(expected));
    }
    host.close(Ending::Drain);
    assert!(env.threads().join(Duration::from_secs(60)).is_empty());
}

#[test]
fn io_is_bounded() {
    let env = Env::real();
    let host = io::start(&env, 1, 1, None);
    let io = Io::new(Arc::clone(&host), 1);
    let first = io.spawn("connection", std::future::pending::<()>()).unwrap();
    let refused = io.spawn("one too many", async {}).unwrap_err();
    assert_eq!(refused.to_string().split(':').next(), Some("stage io is overloaded"));
    first.cancel();
    eventually("the place is free again", || io.spawn("connection", async {}).is_ok());
    host.close(Ending::Cancel);
}

#[test]
fn dedicated_threads_have_names_and_hear_the_signal() {
    let env = Env::real();
    let dedicated = Dedicated::start(&env, 1);
    let (sender, receiver) = mpsc::channel();
    let body = move |stop: &StopSignal| {
        sender.send(std::thread::current().name().map(str::to_owned)).unwrap();
        while !stop.wait_timeout(Duration::from_secs(60)) {}
        "ended"
    };
    let future = dedicated.submit("kafka-reader", body).unwrap();
    assert_eq!(receiver.recv().unwrap().as_deref(), Some("kafka-reader"));
    assert!(matches!(dedicated.submit("another", |_| ()), Err(SubmitError::Overloaded { capacity: 1, .. })));
    dedicated.engine().close(Ending::Drain);
    assert_eq!(future.wait(), Ok("ended"));
    assert!(env.threads().join(Duration::from_secs(60)).is_empty());
    assert!(dedicated.engine().is_drained());
}

#[test]
fn periodic_work_goes_on_after_a_panic_and_stops_when_dropped() {
    let env = Env::real();
    let maintenance = Maintenance::new(maintenance::start(&env, 2));
    let rounds = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&rounds);
    let work = move || {
        if counts.fetch_add(1, Ordering::SeqCst) == 1 {
            panic!("the second round fails");
        }
    };
    let periodic = maintenance.every("tick", Duration::from_millis(1), work);
    eventually("five rounds", || rounds.load(Ordering::SeqCst) >= 5);
    drop(periodic);
    eventually("its closure is dropped", || Arc::strong_count(&rounds) == 1);
    env.timers().close();
}

#[test]
fn readers_of_a_refreshed_value_never_wait() {
    let env = Env::real();
    let maintenance = Maintenance::new(maintenance::start(&env, 2));
    let latch = Arc::new(Latch::new());
    let (waits, loads) = (Arc::clone(&latch), AtomicUsize::new(0));
    let load = move || {
        waits.wait();
        match loads.fetch_add(1, Ordering::SeqCst) {
            0 => Err("not now"),
            n => Ok(n),
        }
    };
    let value = maintenance.refreshed("rates", Duration::ZERO, 0, load);
    assert_eq!(*value.get(), 0, "the old value while the new one is being loaded");
    assert_eq!(*value.get(), 0);
    latch.open();
    eventually("the failure is kept", || value.last_error().as_deref() == Some("not now"));
    eventually("the next read tries again", || *value.get() > 0);
    assert_eq!(value.last_error(), None);
}

#[test]
fn the_stop_signal_wakes_threads_that_sleep_elsewhere_and_forgets_those_that_are_gone() {
    use filbert_sync::Parker;
    use std::task::Waker;

    let env = Env::real();
    let dedicated = Dedicated::start(&env, 2);
    let gone = Arc::new(Parker::new());
    let seen = Arc::clone(&gone);
    let first = dedicated.submit("gone", move |stop| drop(stop.wakes(Waker::from(seen)))).unwrap();
    first.wait().unwrap();
    assert_eq!(Arc::strong_count(&gone), 1, "its waker is forgotten");
    let (told, sleeps) = mpsc::channel();
    let asleep = dedicated
        .submit("asleep", move |stop| {
            let parker = Arc::new(Parker::new());
            let _woken = stop.wakes(Waker::from(Arc::clone(&parker)));
            told.send(()).unwrap();
            while !stop.is_set() {
                parker.park();
            }
        })
        .unwrap();
    sleeps.recv().unwrap();
    dedicated.engine().close(Ending::Drain);
    asleep.wait().unwrap();
    // One that comes late is woken at once.
    let late = dedicated.signal();
    let parker = Arc::new(Parker::new());
    let _woken = late.wakes(Waker::from(Arc::clone(&parker)));
    parker.park();
}

#[test]
fn a_reactor_runs_blocking_calls_on_its_threads_and_says_when_it_ends() {
    let stages = crate::Stages::start().unwrap();
    let (tell, told) = mpsc::channel();
    let end = move || tell.send("over").unwrap();
    let reactor = stages.dedicated().reactor("files", 1, end).unwrap();
    let awaited = |future| stages.mixed().spawn("await", future).unwrap().wait().unwrap();
    let here = std::thread::current().id();
    let call = reactor.submit("read", move || std::thread::current().id() == here);
    assert_eq!(awaited(Box::pin(call) as std::pin::Pin<Box<dyn Future<Output = _> + Send>>), Ok(false));
    let call = reactor.submit("read", || -> bool { panic!("bad sector") });
    let failed = awaited(Box::pin(call)).unwrap_err().to_string();
    assert!(failed.contains("read") && failed.contains("bad sector"), "{failed}");
    stages.shutdown(crate::Shutdown::Cancel).unwrap();
    assert_eq!(told.recv_timeout(Duration::from_secs(60)), Ok("over"));
    // On a busy machine the shutdown leaves the thread behind, and it ends a little later.
    eventually("the reactor to take no more", || {
        let mut late = Box::pin(reactor.submit("late", || ()));
        let polled = late.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
        matches!(polled, std::task::Poll::Ready(Err(TaskError::Cancelled { .. })))
    });
}

/// A task that is drained may need what a pool does for it.
#[test]
fn a_pool_beside_mixed_ends_after_it() {
    let stages = crate::Stages::builder().set("mixed.blocking_threads", 1).start().unwrap();
    let (go, told) = mpsc::channel::<()>();
    let pool = stages.mixed_pool("disk");
    let last = stages.mixed().submit("last", move || {
        told.recv().unwrap();
        let (tell, written) = mpsc::channel();
        pool.submit("write", move || tell.send(context::current().name))?.detach();
        Ok::<_, SubmitError>(written.recv().unwrap())
    });
    let ending = stages.clone();
    let end = std::thread::spawn(move || ending.shutdown(crate::Shutdown::Drain));
    eventually("mixed to take no more", || stages.mixed().submit("late", || ()).is_err());
    go.send(()).unwrap();
    assert_eq!(end.join().unwrap().unwrap().cut_short, Vec::<&str>::new());
    assert_eq!(last.unwrap().wait().unwrap(), Ok("mixed/disk"));
    assert!(stages.mixed_pool("disk").submit("late", || ()).is_err());
    assert!(stages.mixed_pool("another").submit("late", || ()).is_err(), "nothing begins after the end");
}
