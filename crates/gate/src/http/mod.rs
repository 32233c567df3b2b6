//! The door for those who watch a member: HTTP/1.1, for programs that read figures and ask whether it is well.
//!
//! It has pages and nothing else: `GET` and `HEAD` of a path. What they say is not known here: whoever opens the door gives the [`Pages`]. A
//! page is made on stage `mixed`, so that a member with many maps holds up no connection; a browser's next request waits for its turn.
//!
//! Requests are judged before they are read: a head of a few kilobytes, no body. Pages that are not [public](Pages::is_public) need a user with
//! all rights, by password (`Basic`) or token (`Bearer`), when the door has users.
//!
//! ```
//! use filbert_gate::http::{Door, HttpSettings, Page, Pages};
//! use futures::future::BoxFuture;
//! use std::io::{Read, Write};
//!
//! struct Hello;
//!
//! impl Pages for Hello {
//!     fn page(&self, path: &str) -> Option<BoxFuture<'static, Page>> {
//!         (path == "/hello").then(|| Box::pin(async { Page::text("good morning\n") }) as _)
//!     }
//!
//!     fn is_public(&self, _: &str) -> bool {
//!         false
//!     }
//! }
//!
//! let stages = filbert_pool::Stages::start()?;
//! let settings = HttpSettings { address: "127.0.0.1:0".parse()?, ..HttpSettings::default() };
//! let door = Door::new(&stages, Hello, settings).open()?;
//! let mut client = std::net::TcpStream::connect(door.local_addr())?;
//! client.write_all(b"GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer)?;
//! assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\ngood morning\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod door;
mod request;
mod session;
mod settings;

pub use answer::Page;
pub use door::{Door, DoorError, OpenDoor, Pages};
pub use settings::HttpSettings;
