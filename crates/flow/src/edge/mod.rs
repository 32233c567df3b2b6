//! Edges: how items get from the processors of one vertex to those of another.
//!
//! | File | What |
//! |---|---|
//! | `builder` | [`Edge`]: what a user says of an edge |
//! | `link`, `unicast`, `router`, `events` | the producer's side: slices into queues, by forwarding pattern |
//! | `codec`, `encoded` | items as bytes |
//! | `spool` | what stands in the middle of a buffered edge |
//! | `wiring` | the queues of one edge of one job, made for all its processors at once |

mod builder;
mod codec;
mod encoded;
mod events;
pub(crate) mod link;
pub(crate) mod router;
pub(crate) mod spool;
pub(crate) mod unicast;
pub(crate) mod wiring;

pub use builder::{BUFFER_ITEMS, Edge, Forwarding};
pub(crate) use builder::{CodecCode, EdgeParts, ForwardingCode, PortId, StreamCodec};
pub use codec::{DataCodec, ItemCodec};
