//! What can be set about a map on disk.

use filbert_pool::settings_fields::Shape;
use serde::{Deserialize, Serialize};

/// When what was written is flushed to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fsync {
    /// Before a change is answered. Many changes share one flush.
    #[default]
    Always,
    /// Every so many milliseconds; a change is answered at once.
    Interval,
    /// When the system likes; a change is answered at once.
    Never,
}

filbert_pool::settings_struct! {
    /// How a map is kept on disk.
    #[derive(Copy)]
    pub struct PersistenceSettings {
        /// When changes are flushed to the disk: before they are answered (always), every interval_ms (interval), or when the system likes
        /// (never).
        pub fsync: Fsync = Fsync::Always => Shape::Words(&["always", "interval", "never"]),
        /// How often with fsync = interval.
        pub interval_ms: u64 = 1_000 => Shape::Number(1, 3_600_000),
        /// The log is folded into the snapshot each time it has grown by so much.
        pub fold_bytes: u64 = 64 << 20 => Shape::Number(1 << 12, 1 << 40),
    }
}
