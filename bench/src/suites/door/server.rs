//! The servers under load, each a process of its own on loopback: started, watched (memory, CPU time), ended.

use clap::ValueEnum;
use filbert_gate::hazelcast::{Door, HazelcastSettings};
use filbert_grid::{Fsync, Grid, GridSettings, MapSettings, PersistenceSettings, Registry};
use filbert_pool::Stages;
use std::io::{Error, Result};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where a server keeps its data, and when that is flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Flush {
    /// Before an answer.
    Always,
    /// Every second.
    Second,
    /// When the system likes.
    Never,
}

/// A member with its door open on that port of loopback, until the process is ended; its maps on disk when that is said.
pub(crate) fn serve(port: u16, disk: Option<(&Path, Flush)>) {
    let stages = Stages::start().expect("the default settings fit");
    let mut grid = GridSettings::default();
    if let Some((folder, flush)) = disk {
        let fsync = match flush {
            Flush::Always => Fsync::Always,
            Flush::Second => Fsync::Interval,
            Flush::Never => Fsync::Never,
        };
        let persistence = Some(PersistenceSettings { fsync, ..Default::default() });
        grid.data_directory = folder.display().to_string();
        grid.maps.set("*", MapSettings { persistence, ..Default::default() });
    }
    let grid = Grid::open(&stages, grid, Registry::new(), &|_| ()).expect("a folder of its own");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let settings = HazelcastSettings { address, ..HazelcastSettings::default() };
    match Door::new(&grid, settings).open() {
        Ok(_open) => loop {
            std::thread::park();
        },
        Err(error) => {
            eprintln!("serve: {error}");
            std::process::exit(1);
        }
    }
}

/// A server process; ended when dropped.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: &'static str,
    pub(super) address: SocketAddr,
    child: Child,
}

impl Server {
    /// This program again, as a member with its door open.
    pub(super) fn filbert() -> Result<Self> {
        let program = std::env::current_exe()?;
        Self::start("filbert", |port| {
            let mut command = Command::new(&program);
            command.args(["serve", "--port", &port.to_string()]);
            command
        })
    }

    /// The same with its maps in a folder.
    pub(super) fn filbert_on_disk(folder: &Path, flush: Flush) -> Result<Self> {
        let (program, folder) = (std::env::current_exe()?, folder.join("filbert"));
        let word = flush.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        Self::start("filbert", |port| {
            let mut command = Command::new(&program);
            command.args(["serve", "--port", &port.to_string(), "--flush", &word, "--data"]).arg(folder);
            command
        })
    }

    /// redis-server with an append-only file.
    pub(super) fn redis_on_disk(folder: &Path, flush: Flush) -> Result<Self> {
        let folder = folder.join("redis");
        std::fs::create_dir_all(&folder)?;
        let flush = match flush {
            Flush::Always => "always",
            Flush::Second => "everysec",
            Flush::Never => "no",
        };
        Self::start("redis", |port| {
            let mut command = Command::new("redis-server");
            command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
            command.args(["--appendonly", "yes", "--appendfsync", flush, "--dir"]).arg(&folder);
            command
        })
    }

    /// redis-server without persistence.
    pub(super) fn redis() -> Result<Self> {
        Self::start("redis", |port| {
            let mut command = Command::new("redis-server");
            command.args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
            ]);
            command
        })
    }

    /// A Hazelcast member from its jar, without joining others.
    pub(super) fn hazelcast(jar: &Path) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("filbert-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Self::start("hazelcast", |port| {
            let config = folder.join("hazelcast.yaml");
            let text = format!(
                "hazelcast:\n  cluster-name: dev\n  network:\n    port:\n      port: {port}\n      auto-increment: false\n    \
                 interfaces:\n      enabled: true\n      interfaces: [127.0.0.1]\n    join:\n      auto-detection:\n        \
                 enabled: false\n      multicast:\n        enabled: false\n  properties:\n    hazelcast.phone.home.enabled: false\n"
            );
            let _ = std::fs::write(&config, text);
            let mut command = Command::new("java");
            command.arg("-Xmx4g").arg(format!("-Dhazelcast.config={}", config.display()));
            command.arg("-cp").arg(jar).arg("com.hazelcast.core.server.HazelcastMemberStarter");
            command
        })
    }

    fn start(name: &'static str, command: impl FnOnce(u16) -> Command) -> Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut command = command(port);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child =
            child.map_err(|error| Error::new(error.kind(), format!("{name} does not start: {error}")))?;
        let mut server = Self { name, address, child };
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(address).is_err() {
            if let Some(status) = server.child.try_wait()? {
                return Err(Error::other(format!("{name} ended before it listened: {status}")));
            }
            if Instant::now() > deadline {
                return Err(Error::other(format!("{name} does not listen on {address} after 60 s")));
            }
            // sleeps because another process tells nobody when it listens
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Memory in use, in MB.
    pub(super) fn resident_mb(&self) -> f64 {
        let status = self.proc("status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
        let kb: f64 = line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0.0);
        kb / 1024.0
    }

    /// CPU time used so far, in seconds.
    pub(super) fn cpu_seconds(&self) -> f64 {
        const TICKS_A_SECOND: f64 = 100.0;
        let stat = self.proc("stat");
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks: f64 =
            after_name.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<f64>().ok()).sum();
        ticks / TICKS_A_SECOND
    }

    fn proc(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
