//! A worker that waits for its half helps others meanwhile, and loses nothing by it.

use super::*;

#[test]
fn a_waiting_worker_that_is_woken_for_a_fork_has_all_its_processors() {
    let all = std::thread::available_parallelism().unwrap();
    let pool = WorkStealing::standalone(3);
    let (taken, release) = (Arc::new(Latch::new()), Arc::new(Latch::new()));
    // One worker joins, a second one takes its half and stays in it, so the first one sleeps and waits.
    let (inside, took, stay) = (pool.clone(), Arc::clone(&taken), Arc::clone(&release));
    let (sender, receiver) = std::sync::mpsc::channel();
    let owner = pool.submit("owner", move || {
        inside.join(
            || {
                taken.wait();
                let me = slot::current().unwrap().index;
                sender.send((me, inside.core.metrics.worker(me).parked())).unwrap();
            },
            || {
                took.open();
                stay.wait();
            },
        );
    });
    let (waiter, before) = receiver.recv().unwrap();
    eventually("the owner to lie down", || pool.core.metrics.worker(waiter).parked() > before);
    // The third one publishes a fork: nobody sleeps idle, so the waiter comes.
    let inside = pool.clone();
    let publisher = pool.submit("publisher", move || {
        let seen = AtomicUsize::new(0);
        inside.join(
            || eventually("the fork to be taken", || seen.load(Ordering::SeqCst) != 0),
            || add(&seen, std::thread::available_parallelism().unwrap().get()),
        );
        seen.into_inner()
    });
    assert_eq!(publisher.unwrap().wait(), Ok(all.get()));
    release.open();
    owner.unwrap().wait().unwrap();
}
