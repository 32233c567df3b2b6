#![allow(warnings, clippy::all)]
use filbert_pool::*;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

struct Bomb;
impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("bomb")
        }
    }
}

#[test]
fn t3_executor_thread_survives_a_result_that_panics_when_dropped() {
    let stages = Stages::builder().executor("a").set("executor.a.threads", 1).start().unwrap();
    let a = stages.executor("a").unwrap();
    let go = Arc::new(filbert_sync::Latch::new());
    let wait = go.clone();
    a.submit("bomb", move || {
        wait.wait();
        Bomb
    })
    .unwrap()
    .detach();
    go.open();
    let mut second = a.submit("second", || 7).unwrap();
    let r = second.wait_timeout(Duration::from_secs(3));
    std::mem::forget(stages);
    assert_eq!(r, Ok(7));
}

struct Tell(usize, Arc<Mutex<Vec<usize>>>);
impl Drop for Tell {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0)
    }
}

fn cancelled_order(seed: u64) -> Vec<usize> {
    let stages = Stages::simulated(seed);
    let order = Arc::new(Mutex::new(Vec::new()));
    let group = stages.flow().group("job");
    let handles: Vec<_> = (0..20)
        .map(|i| {
            let tell = Tell(i, order.clone());
            stages
                .flow()
                .spawn_tasklet_in(&group, "t", move |_: &mut TurnContext<'_>| {
                    let _ = &tell;
                    Turn::Idle
                })
                .unwrap()
        })
        .collect();
    stages.simulation().unwrap().settle();
    group.cancel();
    stages.simulation().unwrap().settle();
    let o = order.lock().unwrap().clone();
    o
}

#[test]
fn t9_a_cancelled_group_is_replayable() {
    for seed in 0..5 {
        assert_eq!(cancelled_order(seed), cancelled_order(seed));
    }
}

#[test]
fn t11_shutdown_from_a_callback_of_a_cancelled_task() {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let stages = Stages::builder().threads(StageKind::Cpu, 1).start().unwrap();
        let latch = Arc::new(filbert_sync::Latch::new());
        let w = latch.clone();
        let begun = Arc::new(filbert_sync::Latch::new());
        let b = begun.clone();
        stages
            .cpu()
            .submit("busy", move || {
                b.open();
                w.wait()
            })
            .unwrap()
            .detach();
        begun.wait();
        let again = stages.clone();
        stages.cpu().submit("queued", || ()).unwrap().on_complete(move |_| {
            let _ = again.shutdown(Shutdown::Cancel);
        });
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            latch.open()
        });
        let _ = stages.shutdown(Shutdown::Cancel);
        sender.send(()).unwrap();
    });
    assert!(receiver.recv_timeout(Duration::from_secs(12)).is_ok(), "shutdown waits for itself");
}

fn threads_named(prefix: &str) -> usize {
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter(|t| {
            std::fs::read_to_string(t.as_ref().unwrap().path().join("comm"))
                .is_ok_and(|n| n.starts_with(prefix))
        })
        .count()
}

#[test]
fn t13_a_drained_shutdown_ends_the_threads_of_mixed() {
    let stages = Stages::builder().set("mixed.threads", 2).start().unwrap();
    let (go, wait) = (Arc::new(filbert_sync::Latch::new()), Arc::new(filbert_sync::Latch::new()));
    stages.mixed().submit("x", || ()).unwrap().wait().unwrap();
    let report = stages.shutdown(Shutdown::Drain).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!((threads_named("mixed"), report.left_behind.len()), (0, 0));
}

#[test]
fn t14_a_dedicated_loop_under_simulation_ends() {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let stages = Stages::simulated(1);
        let d = stages
            .dedicated()
            .submit("loop", |stop| while !stop.wait_timeout(Duration::from_millis(10)) {})
            .unwrap();
        stages.simulation().unwrap().settle();
        stages.shutdown(Shutdown::Drain).unwrap();
        sender.send(()).unwrap();
    });
    assert!(receiver.recv_timeout(Duration::from_secs(5)).is_ok());
}

#[test]
fn t17_crossing_is_refused_in_simulation_too() {
    for stages in [Stages::start().unwrap(), Stages::simulated(1)] {
        let s = stages.clone();
        let r = stages.cpu().run(move || s.mixed().submit("x", || ()).map(|f| f.detach()));
        assert!(matches!(r, Err(SubmitError::Crossing { .. })), "{r:?}");
    }
}
