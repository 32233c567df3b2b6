//! Interceptors by message: added, met by everyone, removed; and never run where connections are served.

use crate::line::{Member, eventually, int};
use filbert_grid::Interceptor;
use filbert_pool::StageKind;
use filbert_wire::Data;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::map as m;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// An interceptor as clients send it.
fn sent(class: i32) -> Data {
    Data::new(-2, &[&[1], &66_i32.to_be_bytes()[..], &class.to_be_bytes()].concat())
}

fn add(name: &str, class: i32) -> m::AddInterceptor {
    m::AddInterceptor { name: name.into(), interceptor: sent(class) }
}

fn get(name: &str, key: i32) -> m::Get {
    m::Get { name: name.into(), key: int(key), thread_id: 1 }
}

fn set(name: &str, key: i32, value: i32) -> m::Set {
    m::Set { name: name.into(), key: int(key), value: int(value), thread_id: 1, ttl_ms: -1 }
}

/// Stores 7 whatever comes, and is removed as 8.
struct Seven;

impl Interceptor for Seven {
    fn intercept_put(&self, _: Option<&Data>, _: &Data) -> Result<Option<Data>, String> {
        Ok(Some(int(7)))
    }

    fn intercept_remove(&self, _: &Data) -> Result<Option<Data>, String> {
        Ok(Some(int(8)))
    }
}

#[test]
fn a_client_adds_and_removes_what_everyone_meets() {
    let member = Member::start();
    member.grid.registry().add_interceptor_class(66, 1, |_| Ok(Seven));
    let (mut one, mut other) = (member.client(), member.client());
    let id = one.call(&add("m", 1)).unwrap().id;
    assert_eq!(other.call(&add("m", 1)).unwrap().id, id);
    other.call(&set("m", 1, 5)).unwrap();
    assert_eq!(one.call(&get("m", 1)).unwrap().value, Some(int(7)));
    let removed = other.call(&m::Remove { name: "m".into(), key: int(1), thread_id: 1 }).unwrap();
    assert_eq!(removed.value, Some(int(8)));
    let remove = m::RemoveInterceptor { name: "m".into(), id };
    assert!(other.call(&remove).unwrap().value && !one.call(&remove).unwrap().value);
    other.call(&set("m", 1, 5)).unwrap();
    assert_eq!(one.call(&get("m", 1)).unwrap().value, Some(int(5)));
    assert_eq!(one.refused(&add("m", 99)), ErrorCode::Serialization);
}

/// Stays in each read until it may go, and notes whether it was ever run by an io loop.
struct Stays {
    inside: Arc<AtomicUsize>,
    on_io: Arc<AtomicBool>,
    go: Arc<AtomicBool>,
}

impl Interceptor for Stays {
    fn intercept_get(&self, _: Option<&Data>) -> Result<Option<Data>, String> {
        if filbert_pool::current().kind == StageKind::Io {
            self.on_io.store(true, Ordering::Relaxed);
        }
        self.inside.fetch_add(1, Ordering::Relaxed);
        while !self.go.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        Ok(Some(int(9)))
    }
}

#[test]
fn a_long_interceptor_holds_up_no_io_loop() {
    let member = Member::start();
    let inside = Arc::new(AtomicUsize::new(0));
    let (on_io, go) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let stays = (Arc::clone(&inside), Arc::clone(&on_io), Arc::clone(&go));
    member.grid.registry().add_interceptor_class(66, 2, move |_| {
        let (inside, on_io, go) = stays.clone();
        Ok(Stays { inside, on_io, go })
    });
    let mut client = member.client();
    client.call(&add("slow", 2)).unwrap();
    client.call(&set("other", 1, 1)).unwrap();
    let waiting = client.send(&get("slow", 1));
    eventually("it is inside", || inside.load(Ordering::Relaxed) > 0);
    // The same connection, and so the same loop, goes on meanwhile.
    for _ in 0..100 {
        assert_eq!(client.call(&get("other", 1)).unwrap().value, Some(int(1)));
    }
    go.store(true, Ordering::Relaxed);
    assert_eq!(client.answer::<m::Get>(waiting).unwrap().value, Some(int(9)));
    assert!(!on_io.load(Ordering::Relaxed), "an io loop ran user code");
}
