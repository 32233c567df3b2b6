//! What a worker says it runs: a reader gets a whole statement or none.

use filbert_sync::Running;
use loom::sync::Arc;
use loom::thread;

#[test]
fn a_reader_never_mixes_two_statements() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(|| {
        let slot = Arc::new(Running::new());
        let writer = Arc::clone(&slot);
        let thread = thread::spawn(move || {
            writer.begin("a", 1);
            writer.begin("longer", 2);
        });
        if let Some(task) = slot.read() {
            let whole = (task.name == "a" && task.since == 1) || (task.name == "longer" && task.since == 2);
            assert!(whole, "{task:?}");
        }
        thread.join().unwrap();
    });
}
