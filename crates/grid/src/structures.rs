//! All structures of a member by kind and name: made when they are first asked for, ended when they are destroyed.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

macro_rules! services {
    ($($(#[$doc:meta])* $service:ident $word:literal;)*) => {
        /// The kinds of structures.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Service {
            $($(#[$doc])* $service,)*
        }

        impl Service {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$service),*];

            /// Its word: `map`, `list`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$service => $word,)*
                }
            }
        }
    };
}

services! {
    /// Keys and values.
    Map "map";
    /// Items in order.
    List "list";
    /// Items in order, first in first out, bounded.
    Queue "queue";
    /// Messages to whoever listens.
    Topic "topic";
    /// Tasks.
    Executor "executor";
    /// Tasks for later.
    ScheduledExecutor "scheduled-executor";
    /// Tasks whose results are kept.
    DurableExecutor "durable-executor";
    /// Items, each once.
    Set "set";
    /// Keys, each with any number of values.
    MultiMap "multimap";
    /// Keys and values that every member has.
    ReplicatedMap "replicated-map";
    /// The last items, by their number.
    Ringbuffer "ringbuffer";
    /// Messages that wait for whoever listens.
    ReliableTopic "reliable-topic";
    /// Ids.
    FlakeIdGenerator "flake-id-generator";
    /// A counter that every member counts for itself.
    PnCounter "pn-counter";
    /// A number that is changed in one step.
    AtomicLong "atomic-long";
    /// A value that is changed in one step.
    AtomicReference "atomic-reference";
    /// Waits until something happened so many times.
    CountDownLatch "count-down-latch";
    /// Permits.
    Semaphore "semaphore";
    /// A lock with a fence.
    FencedLock "lock";
}

/// One structure, whatever it is.
pub trait Structure: Any + Send + Sync {
    /// What it is.
    fn service(&self) -> Service;
    /// What it is called.
    fn name(&self) -> &Arc<str>;
    /// From now on nothing that happens to it counts. Called before another of its kind and name can be made, so it must be short, and look for no
    /// structure.
    fn leave(&self) {}
    /// Gives up what it holds; nobody finds it any more. Operations that are parked in it end.
    fn destroy(&self);
}

/// What happened to a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It was asked for the first time.
    Created,
    /// It was destroyed.
    Destroyed,
}

type Watcher = Arc<dyn Fn(Change, Service, &Arc<str>) + Send + Sync>;

/// Says which watcher to forget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WatcherId(u64);

/// All structures of a member.
#[derive(Default)]
pub struct Structures {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    all: BTreeMap<(Service, Arc<str>), Arc<dyn Structure>>,
    watchers: BTreeMap<WatcherId, Watcher>,
    next: u64,
}

impl Structures {
    /// The structure of that kind and name; `make` makes it when there is none.
    pub fn get_or_make<S: Structure>(
        &self,
        service: Service,
        name: &str,
        make: impl FnOnce(&Arc<str>) -> S,
    ) -> Arc<S> {
        if let Some(known) = self.find(service, name) {
            return known;
        }
        let mut state = self.state.write().unwrap_or_else(|broken| broken.into_inner());
        let key = (service, Arc::from(name));
        if let Some(known) = state.all.get(&key) {
            return typed(Arc::clone(known));
        }
        let made = Arc::new(make(&key.1));
        let name = Arc::clone(&key.1);
        state.all.insert(key, Arc::clone(&made) as Arc<dyn Structure>);
        let watchers: Vec<_> = state.watchers.values().cloned().collect();
        drop(state);
        watchers.iter().for_each(|watcher| watcher(Change::Created, service, &name));
        made
    }

    /// The structure of that kind and name, if there is one.
    pub fn find<S: Structure>(&self, service: Service, name: &str) -> Option<Arc<S>> {
        let state = self.state.read().unwrap_or_else(|broken| broken.into_inner());
        state.all.get(&(service, Arc::from(name))).map(|known| typed(Arc::clone(known)))
    }

    /// True when there is a structure of that kind and name.
    pub fn contains(&self, service: Service, name: &str) -> bool {
        let state = self.state.read().unwrap_or_else(|broken| broken.into_inner());
        state.all.contains_key(&(service, Arc::from(name)))
    }

    /// Ends a structure; false when there was none.
    pub fn destroy(&self, service: Service, name: &str) -> bool {
        let mut state = self.state.write().unwrap_or_else(|broken| broken.into_inner());
        let Some(gone) = state.all.remove(&(service, Arc::from(name))) else { return false };
        gone.leave();
        let watchers: Vec<_> = state.watchers.values().cloned().collect();
        drop(state);
        gone.destroy();
        watchers.iter().for_each(|watcher| watcher(Change::Destroyed, service, gone.name()));
        true
    }

    /// Ends a structure for good: it stays under its name, and whoever uses it is told that it was destroyed. False when there is none.
    pub fn end(&self, service: Service, name: &str) -> bool {
        let state = self.state.read().unwrap_or_else(|broken| broken.into_inner());
        let ended = state.all.get(&(service, Arc::from(name))).map(Arc::clone);
        drop(state);
        ended
            .inspect(|ended| {
                ended.leave();
                ended.destroy();
            })
            .is_some()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.state.read().unwrap_or_else(|broken| broken.into_inner()).all.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Kind and name of every structure, in order.
    pub fn list(&self) -> Vec<(Service, Arc<str>)> {
        let state = self.state.read().unwrap_or_else(|broken| broken.into_inner());
        state.all.keys().cloned().collect()
    }

    /// Calls `watcher` whenever a structure is made or destroyed, on the thread that does it: it must be short.
    pub fn watch(&self, watcher: impl Fn(Change, Service, &Arc<str>) + Send + Sync + 'static) -> WatcherId {
        let mut state = self.state.write().unwrap_or_else(|broken| broken.into_inner());
        let id = WatcherId(state.next);
        state.next += 1;
        state.watchers.insert(id, Arc::new(watcher));
        id
    }

    /// Forgets a watcher; false when it was not there.
    pub fn unwatch(&self, id: WatcherId) -> bool {
        let mut state = self.state.write().unwrap_or_else(|broken| broken.into_inner());
        state.watchers.remove(&id).is_some()
    }
}

/// The kind decides the type: what `get_or_make` made for a service is what everyone asks for.
fn typed<S: Structure>(structure: Arc<dyn Structure>) -> Arc<S> {
    let service = structure.service();
    let any: Arc<dyn Any + Send + Sync> = structure;
    any.downcast().unwrap_or_else(|_| panic!("a {} is asked for as another type", service.as_str()))
}

impl std::fmt::Debug for Structures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.list()).finish()
    }
}
