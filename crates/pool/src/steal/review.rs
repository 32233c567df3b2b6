use super::*;
use crate::eventually::eventually;
use crate::polled::{Turn, TurnContext};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn t1_a_panicking_callback_does_not_kill_the_worker() {
    let pool = WorkStealing::standalone(1);
    let (go, gate) = (Arc::new(Latch::new()), Arc::new(Latch::new()));
    let wait = Arc::clone(&go);
    let first = pool.submit("first", move || wait.wait()).unwrap();
    let _ = gate;
    first.on_complete(|_| panic!("a callback"));
    go.open();
    let mut second = pool.submit("second", || 7).unwrap();
    assert_eq!(second.wait_timeout(Duration::from_secs(5)), Ok(7));
}

struct Bomb;
impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("bomb");
        }
    }
}

#[test]
fn t1b_a_result_that_panics_when_dropped_does_not_kill_the_worker() {
    let pool = WorkStealing::standalone(1);
    pool.submit("bomb", || Bomb).unwrap().detach();
    let mut second = pool.submit("second", || 7).unwrap();
    assert_eq!(second.wait_timeout(Duration::from_secs(5)), Ok(7));
}

struct Two {
    child: bool,
    child_begun: Arc<AtomicBool>,
}
impl Completer for Two {
    type Output = ();
    fn compute(&mut self, forks: &mut Forks<'_, Self>) {
        if self.child {
            self.child_begun.store(true, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(200));
        } else {
            forks.fork(Two { child: true, child_begun: Arc::clone(&self.child_begun) });
            let begun = &self.child_begun;
            eventually("child", || begun.load(Ordering::SeqCst));
        }
    }
    fn on_completion(self, _: Vec<()>) {}
}

#[test]
fn t2_a_join_never_ends_before_its_stolen_half() {
    let pool = WorkStealing::standalone(2);
    let begun = Arc::new(AtomicBool::new(false));
    let release = Arc::new(AtomicBool::new(false));
    let ended = Arc::new(AtomicBool::new(false));
    let child_begun = Arc::new(AtomicBool::new(false));
    let (b1, r1, e1) = (begun.clone(), release.clone(), ended.clone());
    let p2 = pool.clone();
    let cb = child_begun.clone();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        pool.join(
            || {
                eventually("b is stolen", || begun.load(Ordering::SeqCst));
                p2.complete("two", Two { child: false, child_begun: cb })
                    .unwrap()
                    .on_complete(|_| panic!("callback"));
            },
            move || {
                b1.store(true, Ordering::SeqCst);
                let t = std::time::Instant::now();
                while !r1.load(Ordering::SeqCst) && t.elapsed() < Duration::from_secs(2) {}
                e1.store(true, Ordering::SeqCst);
            },
        )
    }));
    let was = ended.load(Ordering::SeqCst);
    release.store(true, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(100));
    std::mem::forget(pool);
    assert!(
        was,
        "join unwound ({}) while its half ran on another thread: its frame is gone",
        outcome.is_err()
    );
}

#[test]
fn t4_a_task_freed_elsewhere_after_the_close_ends_the_pool() {
    let env = Env::real();
    let s = StealSettings { threads: 2, injector_capacity: 100, slow_limit: None, min_leaf: 1 };
    let pool = WorkStealing::start(&env, StageId::of(StageKind::Cpu), s);
    let handle = pool.spawn_tasklet("idle", |_: &mut TurnContext<'_>| Turn::Idle).unwrap();
    eventually("idle", || pool.engine().snapshot().parked >= 2 && pool.engine().snapshot().executed == 1);
    pool.engine().close(Ending::Drain);
    std::thread::sleep(Duration::from_millis(100));
    drop(handle);
    assert!(pool.engine().is_drained());
    assert_eq!(env.threads().join(Duration::from_secs(3)), Vec::<String>::new());
}

#[test]
fn t10_a_waiting_worker_gets_its_processors_back() {
    let all = std::thread::available_parallelism().unwrap();
    let pool = WorkStealing::standalone(3);
    let (stolen, release, seen) =
        (Arc::new(AtomicBool::new(false)), Arc::new(Latch::new()), Arc::new(AtomicUsize::new(0)));
    let (s1, r1) = (stolen.clone(), release.clone());
    // W1 joins; W2 steals its half and blocks; W1 sleeps waiting.
    let p = pool.clone();
    let owner = pool
        .submit("owner", move || {
            p.join(
                || eventually("stolen", || s1.load(Ordering::SeqCst)),
                || {
                    stolen.store(true, Ordering::SeqCst);
                    r1.wait();
                },
            );
        })
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    // W3 publishes a fork: nobody sleeps idle, so the waiter comes.
    let (p, s2) = (pool.clone(), seen.clone());
    let publisher = pool
        .submit("publisher", move || {
            let s3 = s2.clone();
            p.join(
                move || eventually("fork stolen", || s2.load(Ordering::SeqCst) != 0),
                move || s3.store(std::thread::available_parallelism().unwrap().get(), Ordering::SeqCst),
            );
        })
        .unwrap();
    publisher.wait().unwrap();
    release.open();
    owner.wait().unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), all.get());
}

#[test]
fn t12_a_group_of_another_pool() {
    let (a, b) = (WorkStealing::standalone(1), WorkStealing::standalone(1));
    let group = a.group("of a");
    let busy = Arc::new(Latch::new());
    let w = busy.clone();
    b.submit("busy", move || w.wait()).unwrap().detach();
    let mut task = b.spawn_in(&group, "in b", async { 7 }).unwrap();
    assert_eq!(group.tasks(), 1);
    eprintln!("live in a {}, in b {}", a.core.polled.groups().live(), b.core.polled.groups().live());
    assert_eq!(b.core.polled.groups().live(), 1);
    busy.open();
    assert_eq!(task.wait_timeout(Duration::from_secs(5)), Ok(7));
}

#[test]
fn t15_executed_counts_tasks() {
    let pool = WorkStealing::standalone(1);
    let mut left = 5;
    pool.spawn_tasklet("five", move |_: &mut TurnContext<'_>| {
        left -= 1;
        if left == 0 { Turn::Done } else { Turn::Again }
    })
    .unwrap()
    .wait()
    .unwrap();
    eventually("counted", || pool.engine().snapshot().executed >= 1);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(pool.engine().snapshot().executed, 1);
}

#[test]
fn t15b_on_complete_after_try_take() {
    let pool = WorkStealing::standalone(1);
    let mut f = pool.submit("x", || 1).unwrap();
    eventually("done", || f.is_done());
    assert_eq!(f.try_take(), Some(Ok(1)));
    let called = Arc::new(AtomicBool::new(false));
    let c = called.clone();
    f.on_complete(move |_| c.store(true, Ordering::SeqCst));
    assert!(called.load(Ordering::SeqCst));
}

#[test]
fn t15c_wait_for_ever() {
    let pool = WorkStealing::standalone(1);
    assert_eq!(pool.submit("x", || 1).unwrap().wait_timeout(Duration::MAX), Ok(1));
}

#[test]
fn t15d_a_future_on_a_standalone_pool_awaits() {
    let pool = WorkStealing::standalone(1);
    let inner = pool.submit("x", || 1).unwrap();
    let outer = pool.spawn("y", async move { inner.await }).unwrap();
    assert_eq!(outer.wait(), Ok(Ok(1)));
}

#[test]
fn t16_signed_sums_do_not_depend_on_the_number_of_workers() {
    // Every prefix fits, but not every part does.
    let values: Vec<i32> = (0..40_000)
        .map(|i| match i {
            0 => i32::MIN,
            20_000 | 39_999 => i32::MAX / 2 + 1,
            _ => 0,
        })
        .collect();
    let one = values.iter().copied().reduce(|a, b| a + b).unwrap();
    assert_eq!(WorkStealing::standalone(1).slice(&values).min_leaf(1_000_000).map(|v| *v).sum(), one);
    assert_eq!(WorkStealing::standalone(2).slice(&values).min_leaf(20_000).map(|v| *v).sum(), one);
}
