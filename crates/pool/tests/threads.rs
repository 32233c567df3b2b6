//! After a shutdown no thread is left, those of tokio included. Alone in its file: it counts the process's threads.

use filbert_pool::{Shutdown, Stages};

/// The names of this process's threads.
fn names() -> Vec<String> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
    tasks.flatten().filter_map(name).map(|name| name.trim().to_owned()).collect()
}

#[test]
fn a_drained_shutdown_leaves_no_thread() {
    let before = names().len();
    let patient = Stages::builder().set("shutdown.within_ms", 300_000).set("shutdown.leave_ms", 300_000);
    let stages = patient.executor("reports").start().unwrap();
    stages.mixed().submit("blocking", || ()).unwrap().wait().unwrap();
    stages.io().spawn("connection", async {}).unwrap().wait().unwrap();
    let report = stages.shutdown(Shutdown::Drain).unwrap();
    assert_eq!(report.left_behind, Vec::<String>::new());
    // The one thread of maintenance is not waited for: it ends by itself, soon.
    let deadline = 60_000;
    for _ in 0..deadline {
        if names().len() <= before {
            return;
        }
        // sleeps because the end of a thread that nobody joins tells no one.
        #[expect(clippy::disallowed_methods, reason = "see above")]
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("threads that go on: {:?}", names());
}
