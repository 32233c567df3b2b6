//! `filbert start` as a child, so that its memory is its own.

use crate::line::{Client, authentication};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// A member that runs until this is dropped.
pub(crate) struct Process {
    child: Mutex<Child>,
    id: u32,
    address: SocketAddr,
    config: PathBuf,
}

impl Process {
    /// Starts a member with these lines in the section of its door.
    pub(crate) fn start(hazelcast: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("member-{}-{}.toml", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let config = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&config, format!("[hazelcast]\n{hazelcast}\n")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_filbert"))
            .args([
                "start",
                "--log",
                "off",
                "--port",
                "0",
                "--postgres-port",
                "0",
                "--http-port",
                "0",
                "--config",
            ])
            .arg(&config)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().parse();
        let address = address.unwrap_or_else(|_| panic!("the member said {line:?}"));
        Self { id: child.id(), child: Mutex::new(child), address, config }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// A client that is logged in.
    pub(crate) fn client(&self) -> Client {
        let mut client = Client::connect(self.address);
        assert_eq!(client.log_in(&authentication()).status, 0);
        client
    }

    pub(crate) fn is_alive(&self) -> bool {
        matches!(self.child.lock().unwrap().try_wait(), Ok(None))
    }

    /// What it holds of the memory of this machine, in bytes.
    pub(crate) fn resident(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/statm", self.id)).unwrap();
        status.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(|broken| broken.into_inner());
        let _ = child.kill();
        let _ = child.wait();
        let _ = std::fs::remove_file(&self.config);
    }
}
