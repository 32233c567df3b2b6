//! The data grid: operations on partitions, and the structures made of them.
//!
//! Every structure is a set of *targets*, each on a strand of stage `partition`: one per partition for a map, one in all for a list
//! or a queue. What can be done with a target is an [`Operation`]: a value, so that it can travel. [`Strands::invoke`] runs it, on
//! the calling thread when the strand is idle.
//!
//! ```text
//! caller -- operation --> strand idle?  yes: runs here, result at once
//!                                       no:  mailbox -> stripe -> answer where it arises
//!                         must wait?    parked in the target's waiting room, holds no thread
//!                         long scan?    does a slice, goes to the end of the mailbox
//! ```
#![forbid(unsafe_code)]

mod allowance;
mod code;
mod cp;
mod durable;
mod error;
mod executor;
mod flake_id;
mod granted;
mod grid;
mod invocation;
mod items;
mod keeper;
mod list;
mod listeners;
pub mod map;
mod memory;
mod multi_map;
mod operation;
mod pn_counter;
pub mod query;
mod queue;
mod reading;
mod recovery;
mod reliable_topic;
mod replicated_map;
mod ringbuffer;
mod scheduled;
mod set;
mod settings;
mod strands;
mod structures;
mod topic;

pub use allowance::{Allowance, ResultSpace, TooMuch, Weighs};
pub use code::{
    Code, Entry, EntryChange, EntryProcessor, ExecutorTask, Function, FunctionError, Interceptor, MapStore,
    NAMED_CLASS, NAMED_FACTORY, NotCode, Registry, TaskContext,
};
pub use cp::{
    Acquirer, AtomicLong, AtomicReference, CountDownLatch, FencedLock, LockOwnership, Semaphore, Session,
    SessionId, Sessions,
};
pub use durable::{DurableExecutor, DurableTask};
pub use error::{GridError, GridResult};
pub use executor::ExecutorService;
pub use filbert_store::{Damage, Fsync, PersistenceSettings, Store, StoreError};
pub use flake_id::{FlakeIdGenerator, IdBatch};
pub use granted::{Granted, GrantedOperation};
pub use grid::Grid;
pub use invocation::Invocation;
pub use items::{ItemChange, ItemEvent};
pub use list::List;
pub use listeners::Listeners;
pub use map::{
    EntryView, EvictionPolicy, IndexDeclaration, InterceptorId, Interest, Invalidation, JournalEvent,
    JournalPage, JournalReader, JournalSettings, JournalSpan, Lifetime, LocalMapStats, Map, MapEvent,
    MapEventKind, MapSettings, MapStoreSettings, MaxSize, Owner, ReadingPairs, TypedMap, TypedMapEvent,
};
pub use memory::{MachineMemory, MemoryAccount, default_grid_bytes};
pub use multi_map::{MultiMap, ValueCollection};
pub use operation::{Action, Operation, Step, Target, Turn};
pub use pn_counter::{Counted, PnCounter};
pub use queue::Queue;
pub use reading::Reading;
pub use recovery::{RecoveredMap, RecoveryProgress};
pub use reliable_topic::ReliableTopic;
pub use replicated_map::ReplicatedMap;
pub use ringbuffer::{ManyRead, Overflow, Ringbuffer, RingbufferSizes};
pub use scheduled::{ScheduledExecutor, ScheduledTask, TaskList, TaskPlace, TaskPlan, TaskStatistics};
pub use set::Set;
pub use settings::{
    DurableExecutorSettings, ExecutorServiceSettings, GridSettings, GridSettingsError, ListSettings,
    MultiMapSettings, Patterns, QueueSettings, RingbufferSettings, ScheduledExecutorSettings,
    SemaphoreSettings, SessionSettings, SetSettings,
};
pub use strands::{Answer, Invoked, Leaving, Spread, Strands};
pub use structures::{Change, Service, Structure, Structures, WatcherId};
pub use topic::{Message, Topic, TopicStats};
