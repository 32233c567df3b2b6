//! Announce, look again, sleep: no work stays behind while everyone sleeps.

use filbert_sync::idle::{Idle, News, Sleep};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

struct Pool {
    idle: Idle,
    queue: AtomicUsize,
    done: AtomicUsize,
}

impl Pool {
    fn new(slots: usize, limit: usize) -> Arc<Self> {
        Arc::new(Self {
            idle: Idle::new(slots, limit),
            queue: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
        })
    }

    fn visible(&self) -> bool {
        self.queue.load(Ordering::Relaxed) > 0
    }

    fn take(&self) -> bool {
        self.queue.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |queued| queued.checked_sub(1)).is_ok()
    }

    fn publish(&self, news: News) {
        self.queue.fetch_add(1, Ordering::Release);
        self.idle.notify(news);
    }

    /// A worker that leaves once all the work is done; whoever does the last piece rings for the others.
    fn work(&self, me: usize, all: usize) {
        let mut searching = self.idle.enter_search(1);
        loop {
            if self.done.load(Ordering::Acquire) == all {
                return;
            }
            if self.take() {
                if searching {
                    if self.idle.found() && self.visible() {
                        self.idle.notify(News::Root);
                    }
                } else {
                    self.idle.enter_active();
                }
                if self.done.fetch_add(1, Ordering::AcqRel) + 1 == all {
                    self.idle.ring_all();
                }
                self.idle.leave_active();
                searching = self.idle.enter_search(1);
                continue;
            }
            self.idle.announce(me, Sleep::Idle, searching);
            if !self.visible() && self.done.load(Ordering::SeqCst) != all {
                self.idle.sleep(me);
            }
            self.idle.get_up(me, Sleep::Idle);
            searching = true;
        }
    }
}

fn check(bound: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(model);
}

#[test]
fn one_sleeper_finds_what_two_publish() {
    check(3, || {
        let pool = Pool::new(1, 1);
        let worker = Arc::clone(&pool);
        let worker = thread::spawn(move || worker.work(0, 2));
        let other = Arc::clone(&pool);
        let other = thread::spawn(move || other.publish(News::Root));
        pool.publish(News::Root);
        other.join().unwrap();
        worker.join().unwrap();
    });
}

#[test]
fn two_sleepers_and_one_publisher() {
    check(2, || {
        let pool = Pool::new(2, 2);
        let workers: Vec<_> = (0..2)
            .map(|me| {
                let pool = Arc::clone(&pool);
                thread::spawn(move || pool.work(me, 2))
            })
            .collect();
        pool.publish(News::Root);
        pool.publish(News::Root);
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn a_fork_held_back_by_the_limit_is_found_when_a_thread_leaves() {
    check(3, || {
        // The pool has one worker and this thread is active, so its fork wakes nobody until it leaves.
        let pool = Pool::new(1, 1);
        pool.idle.enter_active();
        let worker = Arc::clone(&pool);
        let worker = thread::spawn(move || worker.work(0, 1));
        pool.publish(News::Fork);
        pool.idle.leave_active();
        if pool.visible() {
            pool.idle.notify(News::Fork);
        }
        worker.join().unwrap();
    });
}
