//! Maps: keys and values over all partitions, with locks, lifetimes, bounds, listeners, and code that runs where the entry is.
//!
//! ```text
//! Map (handle) -- operation --> Strands -- the key's partition --> MapPartition -- entries --> Store
//!                                                                     |-- interceptors, locks, lifetimes, bound
//!                                                                     |-- listeners, near caches -> stage event
//!                                                                     |-- journal -> readers
//! ```
//!
//! | Where | What |
//! |---|---|
//! | `handle/` | [`Map`]: what a program calls |
//! | `operations/` | what can be done with a partition, one small value each |
//! | `partition/` | the verbs that operations are made of |
//! | `store/` | entries in little memory |
//! | `behind/` | the store behind a map, which is user code: what waits to be written to it, what is asked of it |
//! | `journal.rs`, `journal_reader.rs`, `journal_item.rs` | the last changes, for readers that come later, and as clients know them |
//! | `near_cache.rs` | numbers of changes, and who is told of them, for copies that clients keep |
//! | `interceptors.rs`, `locks.rs`, `expiry.rs`, `events.rs`, `settings.rs` | what they say |

mod behind;
mod context;
mod events;
mod expiry;
mod handle;
mod interceptors;
mod journal;
mod journal_item;
mod journal_reader;
mod locks;
mod near_cache;
pub mod operations;
mod partition;
mod settings;
mod store;
mod typed;

pub(crate) use events::MapListeners;
pub use events::{EventCondition, Interest, MapEvent, MapEventKind};
pub use expiry::Lifetime;
pub use handle::Map;
pub(crate) use handle::{MapStructure, MapSurroundings};
pub use interceptors::InterceptorId;
pub use journal::{JournalEvent, JournalPage, JournalSpan};
pub use journal_item::{JournalFilter, JournalProjection};
pub use journal_reader::JournalReader;
pub use locks::Owner;
pub(crate) use locks::{Locks, Unlocked};
pub use near_cache::Invalidation;
pub(crate) use near_cache::NearCaches;
pub use partition::{EntryView, EntryWatch, LocalMapStats, MapPartition, MapSignal};
pub use settings::{
    EvictionPolicy, IndexDeclaration, JournalSettings, MapSettings, MapStoreSettings, MaxSize,
};
pub(crate) use store::copied;
pub use store::{Slot, Store};
pub use typed::{ReadingPairs, TypedMap, TypedMapEvent};
