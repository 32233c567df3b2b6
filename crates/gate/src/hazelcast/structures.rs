//! The kinds of structures by the names that clients have for them, and how each is opened.

use super::call::Desk;
use super::failure::{Failure, Handled};
use super::handles::Handles;
use super::host::Host;
use filbert_grid::{
    Action, AtomicLong, AtomicReference, CountDownLatch, DurableExecutor, ExecutorService, FencedLock,
    FlakeIdGenerator, Grid, List, Map, MultiMap, PnCounter, Queue, ReliableTopic, ReplicatedMap, Ringbuffer,
    ScheduledExecutor, Semaphore, Service, Set, Topic,
};
use filbert_wire::messages::error::ErrorCode;
use std::sync::Arc;

/// What the services of the CP subsystem are called: their structures are no distributed objects to clients, and end for good.
const CP: &str = "hz:raft:";

/// What clients call that kind.
pub(super) fn name_of(service: Service) -> &'static str {
    NAMES.iter().find(|(known, _)| *known == service).map_or("", |(_, name)| name)
}

/// The kind that clients call so.
pub(super) fn service_of(name: &str) -> Result<Service, Failure> {
    let known = NAMES.iter().find(|(_, known)| *known == name).map(|(service, _)| *service);
    known.ok_or_else(|| Failure::unsupported(&format!("service {name:?}")))
}

/// True when clients list structures of that kind, and hear of them.
pub(super) fn is_listed(service: Service) -> bool {
    !name_of(service).starts_with(CP)
}

/// Ends a structure. One of the CP subsystem cannot be made again, also when it was not there yet.
pub(super) fn destroy(host: &Host, service: Service, name: &str) -> Handled {
    let structures = host.grid.structures();
    if is_listed(service) {
        structures.destroy(service, name);
    } else {
        make(host, service, name)?;
        structures.end(service, name);
    }
    Ok(())
}

/// A kind of structure that sessions open by name.
pub(super) trait Opens: Sized {
    const SERVICE: Service;

    /// The structure of that name, made if need be.
    fn open(grid: &Grid, name: &str) -> Self;
}

macro_rules! opens {
    ($($service:ident $name:literal $structure:ty = $open:ident;)*) => {
        /// What clients call each kind.
        const NAMES: &[(Service, &str)] = &[$((Service::$service, $name)),*];

        $(impl Opens for $structure {
            const SERVICE: Service = Service::$service;

            fn open(grid: &Grid, name: &str) -> Self {
                grid.$open(name)
            }
        })*

        /// Makes the structure of that kind and name, if there is none.
        pub(super) fn make(host: &Host, service: Service, name: &str) -> Handled {
            check_name(name)?;
            check_room(host, service, name)?;
            match service {
                $(Service::$service => drop(host.grid.$open(name)),)*
                _ => return Err(Failure::unsupported(&format!("a {}", service.as_str()))),
            }
            Ok(())
        }
    };
}

opens! {
    Map "hz:impl:mapService" Map = map;
    List "hz:impl:listService" Arc<List> = list;
    Queue "hz:impl:queueService" Arc<Queue> = queue;
    Topic "hz:impl:topicService" Arc<Topic> = topic;
    Executor "hz:impl:executorService" ExecutorService = executor;
    ScheduledExecutor "hz:impl:scheduledExecutorService" Arc<ScheduledExecutor> = scheduled_executor;
    DurableExecutor "hz:impl:durableExecutorService" Arc<DurableExecutor> = durable_executor;
    Set "hz:impl:setService" Arc<Set> = set;
    MultiMap "hz:impl:multiMapService" Arc<MultiMap> = multi_map;
    ReplicatedMap "hz:impl:replicatedMapService" ReplicatedMap = replicated_map;
    Ringbuffer "hz:impl:ringbufferService" Arc<Ringbuffer> = ringbuffer;
    ReliableTopic "hz:impl:reliableTopicService" Arc<ReliableTopic> = reliable_topic;
    FlakeIdGenerator "hz:impl:flakeIdGeneratorService" Arc<FlakeIdGenerator> = flake_id_generator;
    PnCounter "hz:impl:PNCounterService" Arc<PnCounter> = pn_counter;
    AtomicLong "hz:raft:atomicLongService" Arc<AtomicLong> = atomic_long;
    AtomicReference "hz:raft:atomicRefService" Arc<AtomicReference> = atomic_reference;
    CountDownLatch "hz:raft:countDownLatchService" Arc<CountDownLatch> = count_down_latch;
    Semaphore "hz:raft:semaphoreService" Arc<Semaphore> = semaphore;
    FencedLock "hz:raft:lockService" Arc<FencedLock> = fenced_lock;
}

impl<H: Opens> Handles<H> {
    /// The structure of that name, if the user has the right to `action` on it; and to make it, if there is none.
    #[inline]
    pub(super) fn open(&mut self, name: &str, action: Action, desk: &Desk) -> Result<&H, Failure> {
        let handle = self.get(name, || {
            let actions = desk.actions(H::SERVICE, name);
            desk.check(actions, action, H::SERVICE, name)?;
            check_name(name)?;
            if !desk.host.grid.structures().contains(H::SERVICE, name) {
                if !actions.may_make() {
                    return Err(desk.denied(Action::Create, H::SERVICE, name));
                }
                check_room(&desk.host, H::SERVICE, name)?;
            }
            Ok::<_, Failure>((H::open(&desk.host.grid, name), actions))
        })?;
        desk.check(handle.actions, action, H::SERVICE, name)?;
        Ok(&handle.structure)
    }
}

/// Names are kept for as long as their structure lives. An empty one is a name like any other, as in Hazelcast.
const LONGEST_NAME: usize = 4 << 10;

fn check_name(name: &str) -> Handled {
    if name.len() > LONGEST_NAME {
        let text =
            format!("a structure's name has at most {LONGEST_NAME} bytes; this one has {}", name.len());
        return Err(Failure::new(ErrorCode::IllegalArgument, text));
    }
    Ok(())
}

/// Refuses another structure when there are too many. Several connections at once may go a few over it.
fn check_room(host: &Host, service: Service, name: &str) -> Handled {
    let (structures, most) = (host.grid.structures(), host.settings.structures);
    let there = structures.len();
    if there >= most && !structures.contains(service, name) {
        let text = format!(
            "there are {there} structures already, so {} {name:?} is not made; destroy some, or raise the setting structures",
            service.as_str()
        );
        return Err(Failure::new(ErrorCode::Overload, text));
    }
    Ok(())
}
