//! No thread is detached: the C library can end the process by that when the thread is just ending (see `thread.rs`). Alone in its file: it
//! stands in for a function of the C library, in the whole process, and counts its threads.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use filbert_pool::{Shutdown, Stages};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many threads were detached by others.
static DETACHED: AtomicUsize = AtomicUsize::new(0);

/// Counts, then does what the C library's own does.
#[unsafe(no_mangle)]
extern "C" fn pthread_detach(thread: libc::pthread_t) -> libc::c_int {
    type Detach = extern "C" fn(libc::pthread_t) -> libc::c_int;
    // SAFETY: no arguments, no effect.
    if thread != unsafe { libc::pthread_self() } {
        DETACHED.fetch_add(1, Ordering::SeqCst);
    }
    // SAFETY: the name ends with a zero.
    let theirs = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_detach".as_ptr()) };
    assert!(!theirs.is_null(), "the C library has this function");
    // SAFETY: it is the function of that name, which is of this type.
    let theirs = unsafe { std::mem::transmute::<*mut libc::c_void, Detach>(theirs) };
    theirs(thread)
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Waits until there are as many threads as before.
fn settle(before: usize) {
    for _ in 0..60_000 {
        if threads() <= before {
            return;
        }
        // sleeps because the end of a thread that nobody joins tells no one.
        #[expect(clippy::disallowed_methods, reason = "see above")]
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("{} threads go on, {before} were there before", threads());
}

/// Stages with threads of every kind.
fn stages() -> Stages {
    let stages = Stages::builder().executor("reports").start().unwrap();
    stages.mixed().submit("blocking", || ()).unwrap().wait().unwrap();
    stages.mixed_pool("disk").submit("write", || ()).unwrap().wait().unwrap();
    stages.maintenance().submit("tidy", || ()).unwrap().wait().unwrap();
    stages
        .io()
        .spawn("look up", async { tokio::task::spawn_blocking(|| ()).await })
        .unwrap()
        .wait()
        .unwrap()
        .unwrap();
    let reactor = stages.dedicated().reactor("reactor", 2, || ()).unwrap();
    let read = reactor.submit("read", || 7);
    assert_eq!(stages.mixed().spawn("await", read).unwrap().wait().unwrap(), Ok(7));
    stages.dedicated().submit("short", |_| ()).unwrap().wait().unwrap();
    stages
}

#[test]
fn stages_that_end_detach_none_of_their_threads() {
    // The first set calibrates clocks and the like.
    stages().shutdown(Shutdown::Drain).unwrap();
    settle(2);
    let before = (threads(), DETACHED.load(Ordering::SeqCst));
    for round in 0..6 {
        let stages = stages();
        match round % 3 {
            0 => drop(stages.shutdown(Shutdown::Drain).unwrap()),
            1 => drop(stages),
            // The last handle is let go of by a thread of the stages themselves.
            _ => {
                let (last, (go_on, waits)) = (stages.clone(), std::sync::mpsc::channel::<()>());
                let let_go = move || drop((waits.recv(), last));
                stages.executor("reports").unwrap().submit("last", let_go).unwrap().detach();
                drop(stages);
                drop(go_on);
            }
        }
        settle(before.0);
    }
    assert_eq!(DETACHED.load(Ordering::SeqCst) - before.1, 0, "threads that were detached");
}
