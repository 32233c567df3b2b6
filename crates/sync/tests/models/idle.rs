//! Announce, look again, sleep: no work stays behind while everyone sleeps.

use filbert_sync::Latch;
use filbert_sync::idle::{Idle, News, Sleep, Was};
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

    fn work(&self, me: usize, all: usize) {
        self.idle.enter_search();
        self.work_on(me, all, Was::Looking);
    }

    /// A worker that leaves once all the work is done; whoever does the last piece rings for the others.
    fn work_on(&self, me: usize, all: usize, mut was: Was) {
        loop {
            if self.done.load(Ordering::Acquire) == all {
                return;
            }
            if self.take() {
                if was == Was::Looking && self.idle.found() && self.visible() {
                    self.idle.notify(News::Root);
                }
                if self.done.fetch_add(1, Ordering::AcqRel) + 1 == all {
                    self.idle.ring_all();
                }
                was = self.idle.search(1);
                continue;
            }
            self.idle.announce(me, Sleep::Idle, was);
            if !self.visible() && self.done.load(Ordering::SeqCst) != all {
                self.idle.sleep(me);
            }
            self.idle.get_up(me, Sleep::Idle);
            was = Was::Looking;
        }
    }
}

fn check(bound: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(bound);
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

#[test]
fn a_helper_leaves_no_fork_behind() {
    check(3, || {
        // One thread helps (it waits for a result) while this one publishes a fork; the result may come first.
        let pool = Pool::new(2, 2);
        pool.idle.enter_active();
        pool.idle.enter_active();
        let worker = Arc::clone(&pool);
        let worker = thread::spawn(move || worker.work(0, 1));
        let helper = Arc::clone(&pool);
        let helper = thread::spawn(move || {
            helper.idle.help();
            helper.idle.stop_helping();
            if helper.visible() {
                helper.idle.notify(News::Fork);
            }
            helper.idle.leave_active();
            if helper.visible() {
                helper.idle.notify(News::Fork);
            }
        });
        pool.publish(News::Fork);
        pool.idle.leave_active();
        if pool.visible() {
            pool.idle.notify(News::Fork);
        }
        helper.join().unwrap();
        worker.join().unwrap();
    });
}

#[test]
fn a_waiter_asleep_is_woken_for_a_fork() {
    check(3, || {
        let pool = Pool::new(1, 2);
        pool.idle.enter_active();
        pool.idle.enter_active();
        let waiter = Arc::clone(&pool);
        let waiter = thread::spawn(move || {
            waiter.idle.help();
            while !waiter.take() {
                waiter.idle.announce(0, Sleep::Waiting, Was::Looking);
                if !waiter.visible() {
                    waiter.idle.sleep(0);
                }
                waiter.idle.get_up(0, Sleep::Waiting);
            }
            waiter.idle.stop_helping();
        });
        pool.publish(News::Fork);
        waiter.join().unwrap();
    });
}

#[test]
fn a_waker_that_came_too_early_looks_again() {
    check(3, || {
        // The worker lies down without having searched. The first waker may find it half in bed and count up and down in
        // vain; the second publisher trusts that count, after it took away the work that the worker would have seen.
        let pool = Pool::new(1, 1);
        pool.idle.enter_active();
        let worker = Arc::clone(&pool);
        let worker = thread::spawn(move || worker.work_on(0, 2, Was::Active));
        let second = Arc::clone(&pool);
        let second = thread::spawn(move || {
            if second.take() {
                second.done.fetch_add(1, Ordering::AcqRel);
            }
            second.publish(News::Root);
        });
        pool.publish(News::Root);
        second.join().unwrap();
        worker.join().unwrap();
    });
}

#[test]
fn a_transient_searcher_is_trusted_by_nobody() {
    check(2, || {
        // Worker 2 sleeps idle, B searches (it is the one searcher allowed), A is active and ends its task. Three roots come.
        let pool = Pool::new(3, 3);
        pool.idle.enter_search();
        pool.idle.enter_search();
        pool.idle.enter_active();
        pool.idle.announce(2, Sleep::Idle, Was::Looking);
        let b = Arc::clone(&pool);
        let b = thread::spawn(move || {
            if b.take() && b.idle.found() && b.visible() {
                b.idle.notify(News::Root);
            }
        });
        let a = Arc::clone(&pool);
        let a = thread::spawn(move || {
            let was = a.idle.search(1);
            if a.take() {
                if was == Was::Looking && a.idle.found() && a.visible() {
                    a.idle.notify(News::Root);
                }
                return true;
            }
            false
        });
        pool.queue.fetch_add(3, Ordering::Release);
        pool.idle.notify(News::Root);
        b.join().unwrap();
        let a_took = a.join().unwrap();
        // Both are busy for ever now and one root is left: worker 2 must have been rung.
        if a_took && pool.queue.load(Ordering::SeqCst) == 1 {
            pool.idle.sleep(2);
        }
    });
}

#[test]
fn a_root_that_trusted_a_waker_of_a_fork_is_not_lost() {
    check(3, || {
        // Bed 0 waits for a fork; worker 1 lies down; one thread publishes a fork, another one a root.
        let pool = Pool::new(2, 8);
        pool.idle.enter_active();
        pool.idle.help();
        pool.idle.announce(0, Sleep::Waiting, Was::Looking);
        // Worker 1 was told that enough search already: it looks once, still active, and lies down.
        pool.idle.enter_active();
        let root = Arc::clone(&pool);
        let root = thread::spawn(move || root.publish(News::Root));
        let sleeper = Arc::clone(&pool);
        let sleeper = thread::spawn(move || {
            let mut was = Was::Active;
            loop {
                sleeper.idle.announce(1, Sleep::Idle, was);
                was = Was::Looking;
                if sleeper.visible() {
                    return;
                }
                sleeper.idle.sleep(1);
                sleeper.idle.get_up(1, Sleep::Idle);
            }
        });
        pool.idle.notify(News::Fork);
        root.join().unwrap();
        sleeper.join().unwrap();
    });
}

#[test]
fn the_last_searcher_wakes_the_next_worker() {
    check(2, || {
        // Both pieces of work have to run at the same time: whoever begins one waits until both are begun.
        let shared = Arc::new((Pool::new(2, 2), Latch::new()));
        let workers: Vec<_> = (0..2)
            .map(|me| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (pool, both) = (&shared.0, &shared.1);
                    pool.idle.enter_search();
                    while !pool.take() {
                        pool.idle.announce(me, Sleep::Idle, Was::Looking);
                        if !pool.visible() {
                            pool.idle.sleep(me);
                        }
                        pool.idle.get_up(me, Sleep::Idle);
                    }
                    if pool.idle.found() && pool.visible() {
                        pool.idle.notify(News::Root);
                    }
                    if pool.done.fetch_add(1, Ordering::AcqRel) == 1 {
                        both.open();
                    }
                    both.wait();
                })
            })
            .collect();
        shared.0.publish(News::Root);
        shared.0.publish(News::Root);
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn a_helper_that_takes_one_of_two_forks_leaves_none_behind() {
    check(3, || {
        // Bed 0 sleeps idle. A helper takes one of two forks that were published at once and is busy with it.
        let pool = Pool::new(2, 3);
        pool.idle.enter_search();
        pool.idle.announce(0, Sleep::Idle, Was::Looking);
        pool.idle.enter_active();
        pool.idle.enter_active();
        pool.idle.help();
        let helper = Arc::clone(&pool);
        let helper = thread::spawn(move || {
            let _ = helper.take();
            helper.idle.stop_helping();
            if helper.visible() {
                helper.idle.notify(News::Fork);
            }
        });
        pool.publish(News::Fork);
        pool.publish(News::Fork);
        helper.join().unwrap();
        // The publisher goes on with its first half for ever; the helper too. Some fork is left: bed 0 was rung.
        pool.idle.sleep(0);
    });
}
