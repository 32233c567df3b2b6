//! Someone who uses the member as it is meant to be used, all the time, and looks at every answer.

use crate::line::{Client, int};
use crate::process::Process;
use filbert_wire::messages::map;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// The name of its map.
pub(crate) const MAP: &str = "the bystander's";

/// A thread that puts and gets.
pub(crate) struct Bystander {
    end: Arc<AtomicBool>,
    served: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Bystander {
    pub(crate) fn start(member: &Process) -> Self {
        let (mut client, end, served) = (member.client(), Arc::new(AtomicBool::new(false)), Arc::default());
        // Its map is there before others make so many that there is no room for one more.
        put_and_get(&mut client, 0, 0);
        let (until, count) = (Arc::clone(&end), Arc::<AtomicU64>::clone(&served));
        let thread = std::thread::spawn(move || {
            let mut number = 0;
            while !until.load(Ordering::Relaxed) {
                number += 1;
                put_and_get(&mut client, number % 1_000, number);
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { end, served, thread }
    }

    /// How often it was served so far.
    pub(crate) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// Ends it; how often it was served. Fails when an answer was wrong, or none came.
    pub(crate) fn end(self) -> u64 {
        self.end.store(true, Ordering::Relaxed);
        self.thread.join().expect("the bystander was not served");
        self.served.load(Ordering::Relaxed)
    }
}

/// Puts a value and finds it again.
pub(crate) fn put_and_get(client: &mut Client, key: i32, value: i32) {
    let set = map::Set { name: MAP.into(), key: int(key), value: int(value), thread_id: 1, ttl_ms: -1 };
    client.call(&set).unwrap();
    let found = client.call(&map::Get { name: MAP.into(), key: int(key), thread_id: 1 }).unwrap();
    assert_eq!(found.value, Some(int(value)));
}
