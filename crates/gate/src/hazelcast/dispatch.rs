//! Which messages are served, what each needs, and who handles it: one table.
//!
//! A request for a structure reaches its handler only with that structure, opened under the right that its row names; so no handler
//! can forget the check. What has no row is answered with the protocol's "unsupported operation", and the connection lives on.

use super::call::{Call, Desk};
use super::connect;
use super::cp;
use super::durable_executor;
use super::executor;
use super::failure::{Failure, Handled};
use super::handles::Handles;
use super::list;
use super::map;
use super::multi_map;
use super::numbers;
use super::queue;
use super::replicated_map;
use super::ringbuffer;
use super::scheduled_executor;
use super::schemas;
use super::set;
use super::sql;
use super::topic;
use filbert_grid::{
    Action, AtomicLong, AtomicReference, CountDownLatch, DurableExecutor, ExecutorService, FencedLock,
    FlakeIdGenerator, Granted, List, Map, MultiMap, PnCounter, Queue, ReplicatedMap, Ringbuffer,
    ScheduledExecutor, Semaphore, Service, Set, Topic,
};
use filbert_net::Outbound;
use filbert_wire::message::{MessageReader, Request};
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::{
    MESSAGES, client, cp as c, durable_executor as d, executor as e, flake_id, list as l, map as m,
    multi_map as mm, pn_counter, queue as q, replicated_map as rm, ringbuffer as r, scheduled_executor as se,
    set as w, sql as s, topic as t,
};
use std::sync::Arc;

/// What a client needs so that a message is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// To be logged in; where structures are named in it, the handler looks at the rights for each.
    Login,
    /// The right to that action on the structure that the message names.
    Right(Service, Action),
}

/// A message that is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Served {
    /// Its type.
    pub id: u32,
    /// Service and method, such as `Map.put`.
    pub name: &'static str,
    /// What a client needs for it.
    pub need: Need,
}

macro_rules! served {
    (
        login { $($login:ty => $login_handler:path;)* }
        grouped { $($cp:ident in $cp_handles:ident: $cp_structure:ty {
            $($cp_action:ident $cp_request:ty => $cp_handler:path;)*
        })* }
        $($service:ident in $handles:ident: $structure:ty { $($action:ident $request:ty => $handler:path;)* })*
    ) => {
        /// Every message that is served, service by service.
        pub static SERVED: &[Served] = &[
            $(Served { id: <$login as Request>::ID, name: <$login as Request>::NAME, need: Need::Login },)*
            $($(Served {
                id: <$request as Request>::ID,
                name: <$request as Request>::NAME,
                need: Need::Right(Service::$service, Action::$action),
            },)*)*
            $($(Served {
                id: <$cp_request as Request>::ID,
                name: <$cp_request as Request>::NAME,
                need: Need::Right(Service::$cp, Action::$cp_action),
            },)*)*
        ];

        /// A client that is logged in, with what it uses.
        #[derive(Debug)]
        pub(super) struct Guest {
            pub(super) desk: Desk,
            /// How many structures had been destroyed when the last message came.
            destroyed: u64,
            $($handles: Handles<$structure>,)*
            $($cp_handles: Handles<$cp_structure>,)*
        }

        impl Guest {
            pub(super) fn new(desk: Desk) -> Self {
                Self { destroyed: desk.host.destroyed(), desk, $($handles: Handles::default(),)* $($cp_handles: Handles::default(),)* }
            }

            /// Forgets what may have been destroyed, so that it is not kept alive.
            #[cold]
            fn forget(&mut self, destroyed: u64) {
                self.destroyed = destroyed;
                $(self.$handles.forget();)*
                $(self.$cp_handles.forget();)*
            }

            /// Finds the handler of a message and runs it.
            #[inline]
            fn handle(&mut self, reader: &MessageReader, out: &mut Outbound) -> Handled {
                let destroyed = self.desk.host.destroyed();
                if destroyed != self.destroyed {
                    self.forget(destroyed);
                }
                match reader.id() {
                    $($(<$request as Request>::ID => {
                        self.desk.check_large(reader, Action::$action, Service::$service)?;
                        let request = self.desk.decode::<$request>(reader)?;
                        debug_assert_eq!(reader.first_text(), Some(&*request.name), "the name comes first");
                        let structure = self.$handles.open(&request.name, Action::$action, &self.desk)?;
                        let _granted = Granted::begin(Action::$action);
                        $handler(structure, Call::new(&mut self.desk, out, reader), request)
                    })*)*
                    $($(<$cp_request as Request>::ID => {
                        self.desk.check_large_in_group(reader, Action::$cp_action, Service::$cp)?;
                        let request = self.desk.decode::<$cp_request>(reader)?;
                        let name = cp::structure_name(&request.group, &request.name).into_owned();
                        let structure = self.$cp_handles.open(&name, Action::$cp_action, &self.desk)?;
                        let _granted = Granted::begin(Action::$cp_action);
                        $cp_handler(structure, Call::new(&mut self.desk, out, reader), request)
                    })*)*
                    $(<$login as Request>::ID => {
                        let request = self.desk.decode::<$login>(reader)?;
                        $login_handler(Call::new(&mut self.desk, out, reader), request)
                    })*
                    other => Err(self.unsupported(other)),
                }
            }
        }
    };
}

served! {
    login {
        client::Authentication => connect::logged_in_already;
        client::AuthenticationCustom => connect::logged_in_already;
        client::AddClusterViewListener => connect::add_cluster_view_listener;
        client::CreateProxy => connect::create_proxy;
        client::DestroyProxy => connect::destroy_proxy;
        client::GetDistributedObjects => connect::get_distributed_objects;
        client::AddDistributedObjectListener => connect::add_distributed_object_listener;
        client::RemoveDistributedObjectListener => connect::remove_distributed_object_listener;
        client::Ping => connect::ping;
        client::Statistics => connect::statistics;
        client::CreateProxies => connect::create_proxies;
        client::LocalBackupListener => connect::local_backup_listener;
        client::SendSchema => schemas::send_schema;
        client::FetchSchema => schemas::fetch_schema;
        client::SendAllSchemas => schemas::send_all_schemas;
        m::FetchNearCacheInvalidationMetadata => map::fetch_near_cache_invalidation_metadata;
        c::semaphore::GetSemaphoreType => cp::semaphore::get_semaphore_type;
        c::group::CreateCpGroup => cp::create_cp_group;
        c::group::DestroyCpObject => cp::destroy_cp_object;
        c::session::CreateSession => cp::create_session;
        c::session::CloseSession => cp::close_session;
        c::session::HeartbeatSession => cp::heartbeat_session;
        c::session::GenerateThreadId => cp::generate_thread_id;
        e::CancelOnPartition => executor::cancel_on_partition;
        e::CancelOnMember => executor::cancel_on_member;
        s::Close => sql::close;
        s::Execute => sql::execute;
        s::Fetch => sql::fetch;
    }
    grouped {
        AtomicLong in atomic_longs: Arc<AtomicLong> {
            Execute c::atomic_long::Apply => cp::long::apply;
            Execute c::atomic_long::Alter => cp::long::alter;
            Put c::atomic_long::AddAndGet => cp::long::add_and_get;
            Put c::atomic_long::CompareAndSet => cp::long::compare_and_set;
            Read c::atomic_long::Get => cp::long::get;
            Put c::atomic_long::GetAndAdd => cp::long::get_and_add;
            Put c::atomic_long::GetAndSet => cp::long::get_and_set;
        }
        AtomicReference in atomic_references: Arc<AtomicReference> {
            Execute c::atomic_ref::Apply => cp::reference::apply;
            Put c::atomic_ref::CompareAndSet => cp::reference::compare_and_set;
            Read c::atomic_ref::Contains => cp::reference::contains;
            Read c::atomic_ref::Get => cp::reference::get;
            Put c::atomic_ref::Set => cp::reference::set;
        }
        CountDownLatch in latches: Arc<CountDownLatch> {
            Put c::latch::TrySetCount => cp::latch::try_set_count;
            Read c::latch::Await => cp::latch::wait;
            Put c::latch::CountDown => cp::latch::count_down;
            Read c::latch::GetCount => cp::latch::get_count;
            Read c::latch::GetRound => cp::latch::get_round;
        }
        Semaphore in semaphores: Arc<Semaphore> {
            Put c::semaphore::Init => cp::semaphore::init;
            Lock c::semaphore::Acquire => cp::semaphore::acquire;
            Lock c::semaphore::Release => cp::semaphore::release;
            Lock c::semaphore::Drain => cp::semaphore::drain;
            Put c::semaphore::Change => cp::semaphore::change;
            Read c::semaphore::AvailablePermits => cp::semaphore::available_permits;
        }
        FencedLock in fenced_locks: Arc<FencedLock> {
            Lock c::fenced_lock::Lock => cp::lock::lock;
            Lock c::fenced_lock::TryLock => cp::lock::try_lock;
            Lock c::fenced_lock::Unlock => cp::lock::unlock;
            Read c::fenced_lock::GetLockOwnership => cp::lock::get_lock_ownership;
        }
    }
    Map in maps: Map {
        Put m::Put => map::put;
        Read m::Get => map::get;
        Remove m::Remove => map::remove;
        Put m::Replace => map::replace;
        Put m::ReplaceIfSame => map::replace_if_same;
        Read m::ContainsKey => map::contains_key;
        Read m::ContainsValue => map::contains_value;
        Remove m::RemoveIfSame => map::remove_if_same;
        Remove m::Delete => map::delete;
        Put m::Flush => map::flush;
        Remove m::TryRemove => map::try_remove;
        Put m::TryPut => map::try_put;
        Put m::PutTransient => map::put_transient;
        Put m::PutIfAbsent => map::put_if_absent;
        Put m::Set => map::set;
        Lock m::Lock => map::lock;
        Lock m::TryLock => map::try_lock;
        Lock m::IsLocked => map::is_locked;
        Lock m::Unlock => map::unlock;
        Intercept m::AddInterceptor => map::add_interceptor;
        Intercept m::RemoveInterceptor => map::remove_interceptor;
        Listen m::AddEntryListenerToKeyWithPredicate => map::add_entry_listener_to_key_with_predicate;
        Listen m::AddEntryListenerWithPredicate => map::add_entry_listener_with_predicate;
        Listen m::AddEntryListenerToKey => map::add_entry_listener_to_key;
        Listen m::AddEntryListener => map::add_entry_listener;
        Listen m::RemoveEntryListener => map::remove_entry_listener;
        Listen m::AddPartitionLostListener => map::add_partition_lost_listener;
        Listen m::RemovePartitionLostListener => map::remove_partition_lost_listener;
        Read m::GetEntryView => map::get_entry_view;
        Remove m::Evict => map::evict;
        Remove m::EvictAll => map::evict_all;
        Put m::LoadAll => map::load_all;
        Put m::LoadGivenKeys => map::load_given_keys;
        Read m::KeySet => map::key_set;
        Read m::GetAll => map::get_all;
        Read m::Values => map::values;
        Read m::EntrySet => map::entry_set;
        Read m::KeySetWithPredicate => map::key_set_with_predicate;
        Read m::ValuesWithPredicate => map::values_with_predicate;
        Read m::EntriesWithPredicate => map::entries_with_predicate;
        Index m::AddIndex => map::add_index;
        Read m::Size => map::size;
        Read m::IsEmpty => map::is_empty;
        Put m::PutAll => map::put_all;
        Remove m::Clear => map::clear;
        Execute m::ExecuteOnKey => map::execute_on_key;
        Execute m::SubmitToKey => map::submit_to_key;
        Execute m::ExecuteOnAllKeys => map::execute_on_all_keys;
        Execute m::ExecuteWithPredicate => map::execute_with_predicate;
        Execute m::ExecuteOnKeys => map::execute_on_keys;
        Lock m::ForceUnlock => map::force_unlock;
        Read m::KeySetWithPagingPredicate => map::key_set_with_paging_predicate;
        Read m::ValuesWithPagingPredicate => map::values_with_paging_predicate;
        Read m::EntriesWithPagingPredicate => map::entries_with_paging_predicate;
        Read m::FetchKeys => map::fetch_keys;
        Read m::FetchEntries => map::fetch_entries;
        Read m::Aggregate => map::aggregate;
        Read m::AggregateWithPredicate => map::aggregate_with_predicate;
        Read m::Project => map::project;
        Read m::ProjectWithPredicate => map::project_with_predicate;
        Remove m::RemoveAll => map::remove_all;
        Listen m::AddNearCacheInvalidationListener => map::add_near_cache_invalidation_listener;
        Read m::FetchWithQuery => map::fetch_with_query;
        Listen m::EventJournalSubscribe => map::event_journal_subscribe;
        Read m::EventJournalRead => map::event_journal_read;
        Put m::SetTtl => map::set_ttl;
        Put m::PutWithMaxIdle => map::put_with_max_idle;
        Put m::PutTransientWithMaxIdle => map::put_transient_with_max_idle;
        Put m::PutIfAbsentWithMaxIdle => map::put_if_absent_with_max_idle;
        Put m::SetWithMaxIdle => map::set_with_max_idle;
        Execute m::ReplaceAll => map::replace_all;
        Put m::PutAllWithMetadata => map::put_all_with_metadata;
    }
    Queue in queues: Arc<Queue> {
        Put q::Offer => queue::offer;
        Put q::Put => queue::put;
        Read q::Size => queue::size;
        Remove q::Remove => queue::remove;
        Remove q::Poll => queue::poll;
        Remove q::Take => queue::take;
        Read q::Peek => queue::peek;
        Read q::Iterator => queue::iterator;
        Remove q::DrainTo => queue::drain_to;
        Remove q::DrainToMaxSize => queue::drain_to_max_size;
        Read q::Contains => queue::contains;
        Read q::ContainsAll => queue::contains_all;
        Remove q::CompareAndRemoveAll => queue::compare_and_remove_all;
        Remove q::CompareAndRetainAll => queue::compare_and_retain_all;
        Remove q::Clear => queue::clear;
        Put q::AddAll => queue::add_all;
        Listen q::AddListener => queue::add_listener;
        Listen q::RemoveListener => queue::remove_listener;
        Read q::RemainingCapacity => queue::remaining_capacity;
        Read q::IsEmpty => queue::is_empty;
    }
    Topic in topics: Arc<Topic> {
        Put t::Publish => topic::publish;
        Listen t::AddMessageListener => topic::add_message_listener;
        Listen t::RemoveMessageListener => topic::remove_message_listener;
        Put t::PublishAll => topic::publish_all;
    }
    List in lists: Arc<List> {
        Read l::Size => list::size;
        Read l::Contains => list::contains;
        Read l::ContainsAll => list::contains_all;
        Put l::Add => list::add;
        Remove l::Remove => list::remove;
        Put l::AddAll => list::add_all;
        Remove l::CompareAndRemoveAll => list::compare_and_remove_all;
        Remove l::CompareAndRetainAll => list::compare_and_retain_all;
        Remove l::Clear => list::clear;
        Read l::GetAll => list::get_all;
        Listen l::AddListener => list::add_listener;
        Listen l::RemoveListener => list::remove_listener;
        Read l::IsEmpty => list::is_empty;
        Put l::AddAllWithIndex => list::add_all_with_index;
        Read l::Get => list::get;
        Put l::Set => list::set;
        Put l::AddWithIndex => list::add_with_index;
        Remove l::RemoveWithIndex => list::remove_with_index;
        Read l::LastIndexOf => list::last_index_of;
        Read l::IndexOf => list::index_of;
        Read l::Sub => list::sub;
        Read l::Iterator => list::iterator;
        Read l::ListIterator => list::list_iterator;
    }
    Set in sets: Arc<Set> {
        Read w::Size => set::size;
        Read w::Contains => set::contains;
        Read w::ContainsAll => set::contains_all;
        Put w::Add => set::add;
        Remove w::Remove => set::remove;
        Put w::AddAll => set::add_all;
        Remove w::CompareAndRemoveAll => set::compare_and_remove_all;
        Remove w::CompareAndRetainAll => set::compare_and_retain_all;
        Remove w::Clear => set::clear;
        Read w::GetAll => set::get_all;
        Listen w::AddListener => set::add_listener;
        Listen w::RemoveListener => set::remove_listener;
        Read w::IsEmpty => set::is_empty;
    }
    MultiMap in multi_maps: Arc<MultiMap> {
        Put mm::Put => multi_map::put;
        Read mm::Get => multi_map::get;
        Remove mm::Remove => multi_map::remove;
        Read mm::KeySet => multi_map::key_set;
        Read mm::Values => multi_map::values;
        Read mm::EntrySet => multi_map::entry_set;
        Read mm::ContainsKey => multi_map::contains_key;
        Read mm::ContainsValue => multi_map::contains_value;
        Read mm::ContainsEntry => multi_map::contains_entry;
        Read mm::Size => multi_map::size;
        Remove mm::Clear => multi_map::clear;
        Read mm::ValueCount => multi_map::value_count;
        Listen mm::AddEntryListenerToKey => multi_map::add_entry_listener_to_key;
        Listen mm::AddEntryListener => multi_map::add_entry_listener;
        Listen mm::RemoveEntryListener => multi_map::remove_entry_listener;
        Lock mm::Lock => multi_map::lock;
        Lock mm::TryLock => multi_map::try_lock;
        Lock mm::IsLocked => multi_map::is_locked;
        Lock mm::Unlock => multi_map::unlock;
        Lock mm::ForceUnlock => multi_map::force_unlock;
        Remove mm::RemoveEntry => multi_map::remove_entry;
        Remove mm::Delete => multi_map::delete;
        Put mm::PutAll => multi_map::put_all;
    }
    ReplicatedMap in replicated_maps: ReplicatedMap {
        Put rm::Put => replicated_map::put;
        Read rm::Size => replicated_map::size;
        Read rm::IsEmpty => replicated_map::is_empty;
        Read rm::ContainsKey => replicated_map::contains_key;
        Read rm::ContainsValue => replicated_map::contains_value;
        Read rm::Get => replicated_map::get;
        Remove rm::Remove => replicated_map::remove;
        Put rm::PutAll => replicated_map::put_all;
        Remove rm::Clear => replicated_map::clear;
        Listen rm::AddEntryListenerToKeyWithPredicate => replicated_map::add_entry_listener_to_key_with_predicate;
        Listen rm::AddEntryListenerWithPredicate => replicated_map::add_entry_listener_with_predicate;
        Listen rm::AddEntryListenerToKey => replicated_map::add_entry_listener_to_key;
        Listen rm::AddEntryListener => replicated_map::add_entry_listener;
        Listen rm::RemoveEntryListener => replicated_map::remove_entry_listener;
        Read rm::KeySet => replicated_map::key_set;
        Read rm::Values => replicated_map::values;
        Read rm::EntrySet => replicated_map::entry_set;
        Listen rm::AddNearCacheEntryListener => replicated_map::add_near_cache_entry_listener;
    }
    Ringbuffer in ringbuffers: Arc<Ringbuffer> {
        Read r::Size => ringbuffer::size;
        Read r::TailSequence => ringbuffer::tail_sequence;
        Read r::HeadSequence => ringbuffer::head_sequence;
        Read r::Capacity => ringbuffer::capacity;
        Read r::RemainingCapacity => ringbuffer::remaining_capacity;
        Put r::Add => ringbuffer::add;
        Read r::ReadOne => ringbuffer::read_one;
        Put r::AddAll => ringbuffer::add_all;
        Read r::ReadMany => ringbuffer::read_many;
    }
    FlakeIdGenerator in flake_id_generators: Arc<FlakeIdGenerator> {
        Put flake_id::NewIdBatch => numbers::new_id_batch;
    }
    PnCounter in pn_counters: Arc<PnCounter> {
        Read pn_counter::Get => numbers::get;
        Put pn_counter::Add => numbers::add;
        Read pn_counter::GetConfiguredReplicaCount => numbers::configured_replica_count;
    }
    Executor in executors: ExecutorService {
        Destroy e::Shutdown => executor::shutdown;
        Read e::IsShutdown => executor::is_shutdown;
        Execute e::SubmitToPartition => executor::submit_to_partition;
        Execute e::SubmitToMember => executor::submit_to_member;
    }
    DurableExecutor in durable_executors: Arc<DurableExecutor> {
        Destroy d::Shutdown => durable_executor::shutdown;
        Read d::IsShutdown => durable_executor::is_shutdown;
        Execute d::SubmitToPartition => durable_executor::submit_to_partition;
        Read d::RetrieveResult => durable_executor::retrieve_result;
        Remove d::DisposeResult => durable_executor::dispose_result;
        Remove d::RetrieveAndDisposeResult => durable_executor::retrieve_and_dispose_result;
    }
    ScheduledExecutor in scheduled_executors: Arc<ScheduledExecutor> {
        Destroy se::Shutdown => scheduled_executor::shutdown;
        Execute se::SubmitToPartition => scheduled_executor::submit_to_partition;
        Execute se::SubmitToMember => scheduled_executor::submit_to_member;
        Read se::GetAllScheduledFutures => scheduled_executor::all_scheduled_futures;
        Read se::GetStatsFromPartition => scheduled_executor::stats_from_partition;
        Read se::GetStatsFromMember => scheduled_executor::stats_from_member;
        Read se::GetDelayFromPartition => scheduled_executor::delay_from_partition;
        Read se::GetDelayFromMember => scheduled_executor::delay_from_member;
        Remove se::CancelFromPartition => scheduled_executor::cancel_from_partition;
        Remove se::CancelFromMember => scheduled_executor::cancel_from_member;
        Read se::IsCancelledFromPartition => scheduled_executor::is_cancelled_from_partition;
        Read se::IsCancelledFromMember => scheduled_executor::is_cancelled_from_member;
        Read se::IsDoneFromPartition => scheduled_executor::is_done_from_partition;
        Read se::IsDoneFromMember => scheduled_executor::is_done_from_member;
        Read se::GetResultFromPartition => scheduled_executor::result_from_partition;
        Read se::GetResultFromMember => scheduled_executor::result_from_member;
        Remove se::DisposeFromPartition => scheduled_executor::dispose_from_partition;
        Remove se::DisposeFromMember => scheduled_executor::dispose_from_member;
    }
}

impl Guest {
    #[cold]
    fn unsupported(&self, id: u32) -> Failure {
        self.desk.host.counters.unsupported.add();
        let known = MESSAGES.iter().find(|row| row.id == id).map(|row| row.name);
        Failure::unsupported(&format!(
            "message {id:#08x} ({})",
            known.unwrap_or("of no service that is known here")
        ))
    }
}

/// Handles one message; whatever comes of it, the client is answered.
#[inline]
pub(super) fn dispatch(guest: &mut Guest, reader: &MessageReader, out: &mut Outbound) {
    if let Err(failure) = guest.handle(reader, out) {
        if failure.code() == ErrorCode::Overload {
            guest.desk.host.counters.overloaded.add();
        }
        failure.encode(reader.correlation(), out.buffer());
    }
}
