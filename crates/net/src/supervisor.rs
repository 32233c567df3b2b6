//! The notification socket of a supervisor such as systemd: a datagram for each state of the
//! service.
//!
//! The supervisor names its socket in `NOTIFY_SOCKET`, as a path or, behind an `@`, as an abstract
//! name of Linux. A state is a line of text: `READY=1`, `STOPPING=1`, `WATCHDOG=1`. The socket
//! never waits: a supervisor that takes nothing does not hold the service up.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// A supervisor that wants to know the states of this process.
#[derive(Debug)]
#[doc(alias = "sd_notify")]
pub struct Supervisor {
    socket: UnixDatagram,
}

impl Supervisor {
    /// Connects to the supervisor that the environment names; `None` without one.
    ///
    /// # Errors
    /// When `NOTIFY_SOCKET` is set and nothing listens there.
    pub fn from_environment() -> io::Result<Option<Self>> {
        match std::env::var_os("NOTIFY_SOCKET") {
            Some(name) if !name.is_empty() => Self::at(&name).map(Some),
            _ => Ok(None),
        }
    }

    /// Connects to the socket of this name: an absolute path, or `@` and an abstract name.
    ///
    /// # Errors
    /// When nothing listens there.
    pub fn at(name: &OsStr) -> io::Result<Self> {
        let address = match name.as_bytes() {
            [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest)?,
            [b'/', ..] => SocketAddr::from_pathname(name)?,
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is neither a path nor @name")),
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.connect_addr(&address)?;
        Ok(Self { socket })
    }

    /// Sends a state, such as `READY=1`; several stand on lines of their own.
    ///
    /// # Errors
    /// When the supervisor takes nothing.
    pub fn notify(&self, state: &str) -> io::Result<()> {
        self.socket.send(state.as_bytes()).map(drop)
    }

    /// Reads the time within which the supervisor expects a `WATCHDOG=1`; `None` when it expects
    /// none from this process.
    pub fn watchdog_from_environment() -> Option<Duration> {
        let (limit, process) = (std::env::var("WATCHDOG_USEC").ok()?, std::env::var("WATCHDOG_PID").ok());
        watchdog(&limit, process.as_deref(), std::process::id())
    }
}

/// Reads the time limit of a watchdog. A limit for another process, such as a parent that is a
/// shell, is none for this one.
fn watchdog(limit: &str, process: Option<&str>, this: u32) -> Option<Duration> {
    let is_ours = process.is_none_or(|process| process.parse() == Ok(this));
    let limit = limit.parse().ok().filter(|limit| *limit > 0 && is_ours)?;
    Some(Duration::from_micros(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_reach_a_supervisor_by_path_and_by_abstract_name() {
        let path = std::env::temp_dir().join(format!("filbert-supervisor-{}", std::process::id()));
        let abstract_name = format!("filbert-supervisor-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let listening = [
            (UnixDatagram::bind(&path).unwrap(), path.as_os_str().to_owned()),
            (UnixDatagram::bind_addr(&address).unwrap(), format!("@{abstract_name}").into()),
        ];
        for (socket, name) in listening {
            Supervisor::at(&name).unwrap().notify("READY=1\nSTATUS=serves").unwrap();
            let mut state = [0; 100];
            let length = socket.recv(&mut state).unwrap();
            assert_eq!(&state[..length], b"READY=1\nSTATUS=serves", "{name:?}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(Supervisor::at(path.as_os_str()).is_err(), "nothing listens there any more");
        assert!(Supervisor::at(OsStr::new("name")).is_err());
    }

    #[test]
    fn a_watchdog_of_another_process_is_none_of_ours() {
        let second = Some(Duration::from_secs(1));
        assert_eq!(watchdog("1000000", None, 7), second);
        assert_eq!(watchdog("1000000", Some("7"), 7), second);
        for (limit, process) in [("1000000", Some("8")), ("1000000", Some("")), ("0", None), ("soon", None)] {
            assert_eq!(watchdog(limit, process, 7), None, "{limit} {process:?}");
        }
    }
}
