//! Bad settings: a clear error, and nothing started.

use filbert_pool::{ExecutorSettings, Stages};

/// The threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

#[test]
fn bad_settings_start_nothing() {
    let before = threads();
    let bad = [
        ("[cpu]\nthreads = 0", "cpu.threads = 0: must be 1 to 1024"),
        ("[event]\ncapacity = 4000000000000", "event.capacity = 4000000000000: must be 1 to 100000000"),
        ("[partition]\nthread = 4", "did you mean partition.threads?"),
        ("[generic]\nwhen_full = \"explode\"", "must be one of \"wait\" or \"refuse\""),
        ("[executor.\"two words\"]\nthreads = 1", "a name has 1 to 64 letters"),
        ("threads = ", "the text is not TOML"),
    ];
    for (text, expected) in bad {
        let error = Stages::builder().toml(text).start().unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
        assert!(error.contains("nothing was started"), "{error}");
    }
    let twice = Stages::builder().executor("reports").executor("reports").start().unwrap_err();
    assert!(twice.to_string().contains("two executors of that name"), "{twice}");
    // sleeps because the end of a thread that nobody joins tells no one.
    #[expect(clippy::disallowed_methods, reason = "see above")]
    let rests = || std::thread::sleep(std::time::Duration::from_millis(1));
    assert!(
        (0..60_000).any(|_| {
            let is_over = threads() <= before;
            if !is_over {
                rests();
            }
            is_over
        }),
        "a refused start leaves threads"
    );

    let stages = Stages::builder().executor("reports").start().unwrap();
    let again = stages.add_executor("reports", &ExecutorSettings::default()).unwrap_err();
    assert!(again.to_string().contains("two executors of that name"), "{again}");
    let none = ExecutorSettings { threads: 0, ..ExecutorSettings::default() };
    assert!(
        stages.add_executor("other", &none).unwrap_err().to_string().contains("executor.other.threads = 0")
    );
    let unknown = stages.executor("mail").unwrap_err();
    assert_eq!(unknown.to_string(), "there is no executor \"mail\"; declared are: reports");
}
