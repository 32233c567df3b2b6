//! Edges: how items get from the processors of one vertex to those of another.
//!
//! | File | What |
//! |---|---|
//! | `builder` | [`Edge`]: what a user says of an edge |
//! | `link`, `unicast`, `router` | the producer's side: slices into queues, by forwarding pattern |
//! | `wiring` | the queues of one edge of one job, made for all its processors at once |

mod builder;
pub(crate) mod link;
pub(crate) mod router;
pub(crate) mod unicast;
pub(crate) mod wiring;

pub use builder::{Edge, Forwarding};
pub(crate) use builder::{EdgeParts, PortId};
