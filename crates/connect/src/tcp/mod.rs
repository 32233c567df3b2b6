//! Lines over TCP: from a server, from whoever connects, and to a server. Sockets are opened by crate `net` and live on the stage `io`.
//!
//! ```text
//! io loop: bytes -> whole lines, checked -> channel, with an answer owed for them -> processor emits them, the debt is gone
//! ```
//!
//! *Back-pressure* of a source: a connection that is owed too much is not read, and TCP slows its peer. Of a sink: a portion is sent when
//! the system has taken the one before. Lines are UTF-8 and at most 1 MiB.

mod reader;
mod sink;
mod source;

pub use sink::{TcpSink, WriteTcp, write_lines};
pub use source::{ConnectSource, ListenSource, ReadTcp, lines_from, lines_of_peers};
