//! Maps: keys and values over all partitions, with locks, lifetimes, bounds, listeners, and code that runs where the entry is.
//!
//! ```text
//! Map (handle) -- operation --> Strands -- the key's partition --> MapPartition -- entries --> Store
//!                                                                     |-- interceptors, locks, lifetimes, bound
//!                                                                     |-- listeners -> stage event
//!                                                                     |-- journal -> readers
//! ```
//!
//! | Where | What |
//! |---|---|
//! | `handle/` | [`Map`]: what a program calls |
//! | `operations/` | what can be done with a partition, one small value each |
//! | `partition/` | the verbs that operations are made of |
//! | `store/` | entries in little memory |
//! | `journal.rs`, `journal_reader.rs` | the last changes, for readers that come later |
//! | `interceptors.rs`, `locks.rs`, `expiry.rs`, `events.rs`, `settings.rs` | what they say |

mod context;
mod events;
mod expiry;
mod handle;
mod interceptors;
mod journal;
mod journal_reader;
mod locks;
pub mod operations;
mod partition;
mod settings;
mod store;
mod typed;

pub use events::{EventCondition, Interest, MapEvent, MapEventKind};
pub use expiry::Lifetime;
pub use handle::Map;
pub(crate) use handle::MapStructure;
pub use interceptors::InterceptorId;
pub use journal::{JournalEvent, JournalPage, JournalSpan};
pub use journal_reader::JournalReader;
pub use locks::Owner;
pub use partition::{EntryView, EntryWatch, LocalMapStats, MapPartition, MapSignal};
pub use settings::{EvictionPolicy, JournalSettings, MapSettings, MaxSize};
pub(crate) use store::copied;
pub use store::{Slot, Store};
pub use typed::{ReadingPairs, TypedMap, TypedMapEvent};

use crate::operation::Operation;
use crate::strands::Strands;
use filbert_pool::Clock;
use filbert_wire::PartitionId;
use std::sync::Weak;
use std::time::Duration;

/// Mails an operation of the member's own; when the mailbox is full, tries again after `pause`, until it is taken or the map is gone.
pub(crate) fn mail_until_taken<O>(
    home: &Weak<Strands<MapPartition>>,
    partition: PartitionId,
    clock: &Clock,
    operation: O,
    pause: Duration,
) where
    O: Operation<Target = MapPartition> + Clone,
{
    let Some(strands) = home.upgrade() else { return };
    let mailed = strands.mail(partition, operation.clone());
    if mailed.is_err_and(|refused| refused.is_retryable()) {
        let (home, again) = (home.clone(), clock.clone());
        clock.after(pause, move || mail_until_taken(&home, partition, &again, operation, pause));
    }
}
