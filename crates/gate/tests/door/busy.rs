//! One long entry processor over a whole map: gets on that map and on others are answered while it runs.

use crate::line::{Member, eventually, int};
use filbert_grid::{Entry, EntryProcessor};
use filbert_wire::Data;
use filbert_wire::messages::map as m;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Entries of the map that it runs on.
const ENTRIES: i32 = 20_000;

/// How long it stays with one entry, until it may hurry: minutes for all of them, far more than the gets take on a busy machine.
const LINGERS: Duration = Duration::from_millis(20);

const GETS: i32 = 100;

/// Keeps its thread busy with every entry.
struct Slow {
    processed: Arc<AtomicUsize>,
    hurry: Arc<AtomicBool>,
}

impl EntryProcessor for Slow {
    fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
        let begin = Instant::now();
        while !self.hurry.load(Ordering::Relaxed) && begin.elapsed() < LINGERS {
            std::hint::spin_loop();
        }
        self.processed.fetch_add(1, Ordering::Relaxed);
        entry.set_value(int(7));
        Ok(None)
    }
}

#[test]
fn gets_are_answered_while_a_long_processor_runs() {
    let member = Member::start();
    let (processed, hurry) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, may_hurry) = (Arc::clone(&processed), Arc::clone(&hurry));
    member.grid.registry().add_processor_class(66, 9, move |_| {
        Ok(Slow { processed: Arc::clone(&count), hurry: Arc::clone(&may_hurry) })
    });
    let mut reader = member.client();
    for name in ["same", "other"] {
        let entries = (0..ENTRIES).map(|key| (int(key), int(key))).collect();
        reader.call(&m::PutAll { name: name.into(), entries, trigger_map_loader: false }).unwrap();
    }
    let mut runner = member.client();
    let fields = [&[1], &66_i32.to_be_bytes()[..], &9_i32.to_be_bytes()].concat();
    let entry_processor = Data::new(-2, &fields);
    let running = runner.send(&m::ExecuteOnAllKeys { name: "same".into(), entry_processor });
    eventually("it runs", || processed.load(Ordering::Relaxed) > 0);
    for name in ["other", "same"] {
        for key in 0..GETS {
            let found = reader.call(&m::Get { name: name.into(), key: int(key), thread_id: 1 }).unwrap();
            let seen = [Some(int(key)), Some(int(7))];
            assert!(found.value == seen[0] || (name == "same" && found.value == seen[1]));
        }
        let done = processed.load(Ordering::Relaxed);
        assert!(done < ENTRIES as usize, "it was over before all gets of {name:?} were answered");
    }
    hurry.store(true, Ordering::Relaxed);
    runner.answer::<m::ExecuteOnAllKeys>(running).unwrap();
    assert_eq!(processed.load(Ordering::Relaxed), ENTRIES as usize);
    let found = reader.call(&m::Get { name: "same".into(), key: int(1), thread_id: 1 }).unwrap();
    assert_eq!(found.value, Some(int(7)));
}
