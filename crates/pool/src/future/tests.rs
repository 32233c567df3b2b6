//! A future's two ends, without a stage.

use super::*;
use crate::eventually::eventually;
use crate::rules::StageKind;
use std::sync::{OnceLock, mpsc};
use std::task::Wake;

fn pair<T: Send + 'static>() -> (Resolver<T>, TaskFuture<T>) {
    task_future(&Env::real(), StageId::of(StageKind::Cpu), "task")
}

#[test]
fn the_longest_time_out_is_none() {
    let (resolver, mut future) = pair();
    let resolves = std::thread::spawn(move || resolver.resolve(Ok(1)));
    assert_eq!(future.wait_timeout(Duration::MAX), Ok(1));
    resolves.join().unwrap();
    let (resolver, mut future) = task_future(&Env::simulated(1), StageId::of(StageKind::Cpu), "task");
    resolver.resolve(Ok(1));
    assert_eq!(future.wait_timeout(Duration::MAX), Ok(1));
}

#[test]
fn a_callback_that_comes_after_the_result_was_taken_is_called() {
    let (resolver, mut future) = pair();
    resolver.resolve(Ok(1));
    assert_eq!(future.try_take(), Some(Ok(1)));
    let (sender, receiver) = mpsc::channel();
    future.on_complete(move |result| sender.send(result).unwrap());
    assert!(matches!(receiver.try_recv(), Ok(Err(TaskError::Cancelled { .. }))));
}

/// Asks the future itself when it is dropped.
struct Asks(Arc<OnceLock<Arc<Shared<u32>>>>);

impl Wake for Asks {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Asks {
    fn drop(&mut self) {
        let _ = self.0.get().map(|shared| shared.lock().phase == Phase::Done);
    }
}

#[test]
fn wakers_are_dropped_outside_the_lock() {
    let ended = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&ended);
    std::thread::spawn(move || {
        let (resolver, mut future) = pair::<u32>();
        let shared = Arc::new(OnceLock::from(Arc::clone(&future.shared)));
        let waker = || Waker::from(Arc::new(Asks(Arc::clone(&shared))));
        for _ in 0..2 {
            assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker())).is_pending());
            assert!(resolver.watch(&waker()));
        }
        resolver.resolve(Ok(1));
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker())).is_ready());
        ends.store(true, Ordering::Release);
    });
    eventually("the end of all polls", || ended.load(Ordering::Acquire));
}

#[test]
fn a_task_whose_result_goes_to_a_callback_is_cancelled_from_elsewhere() {
    let (resolver, future) = pair::<u32>();
    let canceller = future.canceller();
    let (sender, receiver) = mpsc::channel();
    future.on_complete(move |result| sender.send(result).unwrap());
    assert!(resolver.begin() && !resolver.is_done());
    canceller.cancel();
    assert!(resolver.is_done());
    assert!(matches!(receiver.try_recv(), Ok(Err(TaskError::Cancelled { .. }))));
    resolver.resolve(Ok(1));
    assert!(receiver.try_recv().is_err(), "it is told once");
    let (resolver, future) = pair();
    let canceller = future.canceller();
    resolver.resolve(Ok(2));
    canceller.cancel();
    assert_eq!(future.wait(), Ok(2), "what is done stays done");
    canceller.cancel();
}
