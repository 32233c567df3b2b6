//! Completer counting: exactly one part continues the node, and it sees what every part wrote.

use filbert_sync::pending::Pending;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

struct Node {
    pending: Pending,
    parts: [UnsafeCell<u32>; 3],
    continued: AtomicUsize,
}

// SAFETY: each part has its own cell; all are read by the one thread that continues: what the model checks.
unsafe impl Sync for Node {}
// SAFETY: as above.
unsafe impl Send for Node {}

fn part(node: &Node, index: usize) {
    // SAFETY: one thread per part.
    node.parts[index].with_mut(|part| unsafe { *part = 1 });
    if node.pending.finish() {
        node.continued.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the last part owns the node.
        let sum: u32 = node.parts.iter().map(|part| part.with(|part| unsafe { *part })).sum();
        assert_eq!(sum, 3, "the continuation sees every part");
    }
}

#[test]
fn the_last_part_continues_and_sees_all() {
    loom::model(|| {
        let parts = || UnsafeCell::new(0);
        let node = Arc::new(Node {
            pending: Pending::new(2),
            parts: [parts(), parts(), parts()],
            continued: AtomicUsize::new(0),
        });
        let first = Arc::clone(&node);
        let first = thread::spawn(move || part(&first, 1));
        // A child forked late: its share is added while our own is still held.
        node.pending.add(1);
        let late = Arc::clone(&node);
        let late = thread::spawn(move || part(&late, 2));
        part(&node, 0);
        first.join().unwrap();
        late.join().unwrap();
        assert_eq!(node.continued.load(Ordering::Relaxed), 1);
    });
}
