//! Which part of the values lies below: the parameter of quantiles.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A part between 0 and 1: 0.95 stands for the value that 95 % of all values do not exceed.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Quantile(pub f64);

impl Quantile {
    /// The middle.
    pub const MEDIAN: Self = Self(0.5);

    /// True between 0 and 1.
    pub(super) fn is_part(self) -> bool {
        (0.0..=1.0).contains(&self.0)
    }
}

impl PartialEq for Quantile {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Quantile {}

impl PartialOrd for Quantile {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantile {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Hash for Quantile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl fmt::Debug for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
