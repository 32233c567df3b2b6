//! Connections on the `io` stage: the only crate that opens sockets.
//!
//! A [`Listener`] says where to listen and with which limits; [`Listener::listen`] opens the [`Door`]. Each connection that comes in
//! lives on one loop of the `io` stage for all its life and is driven by a [`Protocol`]: a plain state machine that takes whole
//! messages out of its input and writes answers. What is answered later goes through an [`Outlet`], from any thread.
//!
//! ```text
//!            io loop, one per connection                          any thread
//!  socket -> input -> Protocol::received -> Outbound --+
//!                          |                           +-> one write
//!                          +-> Owed / Outlet  ...  -> queue, one wake-up per batch
//! ```
//!
//! A protocol that is a conversation drives itself instead: [`Listener::serve`] hands a [`Stream`] to a future, under the same limits.
//!
//! This crate knows no message of any protocol. What it guarantees to those who write one:
//!
//! - *Few system calls*: all that is readable is handled, then everything is written at once.
//! - *Bounds*: connections in all and per address, bytes received and not understood, bytes to send and not taken, answers under
//!   way, time for the handshake, the login, silence, and for a peer that takes nothing. See [`NetSettings`].
//! - *A peer that does not read is slowed, then closed*: no more messages are handled while it is congested.
//! - *[`Protocol::closed`] is called exactly once*, however the connection ends, and the reason is counted.
//!
//! ```
//! use bytes::BytesMut;
//! use filbert_net::{Close, Listener, Outbound, Protocol};
//! use filbert_pool::Stages;
//! use std::io::{Read, Write};
//!
//! struct Echo;
//!
//! impl Protocol for Echo {
//!     fn received(&mut self, input: &mut BytesMut, out: &mut Outbound) -> Result<(), Close> {
//!         out.buffer().extend_from_slice(input);
//!         input.clear();
//!         Ok(())
//!     }
//!
//!     fn receive_limit(&self) -> usize {
//!         1 << 20
//!     }
//! }
//!
//! let stages = Stages::start()?;
//! let door = Listener::new("127.0.0.1:0".parse()?).listen(&stages, |_info, _outlet| Echo)?;
//! let mut client = std::net::TcpStream::connect(door.local_addr())?;
//! client.write_all(b"hello")?;
//! let mut answer = [0; 5];
//! client.read_exact(&mut answer)?;
//! assert_eq!(&answer, b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod backlog;
mod buffers;
mod connect;
mod connection;
mod door;
mod ledger;
mod link;
mod listener;
mod log_budget;
mod outbound;
mod outlet;
mod protocol;
mod reason;
mod settings;
mod stream;
mod supervisor;
mod tls;
mod transport;

pub use connect::{ConnectError, Connector};
pub use door::{Door, DoorWatcher, DrainReport};
pub use ledger::{ConnectionStats, DoorStats};
pub use listener::{ListenError, Listener, is_loopback};
pub use outbound::Outbound;
pub use outlet::{Outlet, Owed, SendError};
pub use protocol::{Close, ConnectionId, ConnectionInfo, Protocol};
pub use reason::{CloseReason, RefuseReason};
pub use settings::{NetSettings, NetSettingsError};
pub use stream::Stream;
pub use supervisor::Supervisor;
pub use tls::{Certificates, ClientTlsSettings, TlsError, TlsSettings};
