//! The same jobs, written for the peers as their manuals would, and in the other ways that might be faster.

pub(super) mod rayon;
pub(super) mod renoir;
pub(super) mod timely;
