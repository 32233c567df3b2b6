//! A PostgreSQL server of the tests' own: in a temporary folder, on a free port of this machine, gone with the last test that uses it.
//!
//! Its programs are looked for in the folder that `FILBERT_POSTGRES_BIN` names, where Debian has them, and on the path. Where there are none,
//! tests say that they do nothing; in CI they fail.

use crate::asking::{eventually, skipped};
use postgres::{Client, NoTls};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};

const PASSWORD: &str = "kept@secret/100%";
const ESCAPED: &str = "kept%40secret%2F100%25";

/// Nobody: servers refuse to run as root.
const NOBODY: u32 = 65_534;

pub(crate) struct Server {
    process: Child,
    port: u16,
    folder: tempfile::TempDir,
}

static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

impl Server {
    /// The server that tests share while one of them runs; none when its programs are not there.
    pub(crate) fn shared() -> Option<Arc<Server>> {
        let mut shared = SHARED.lock().unwrap_or_else(|broken| broken.into_inner());
        if let Some(server) = shared.upgrade() {
            return Some(server);
        }
        let Some(programs) = programs() else {
            skipped("there is no PostgreSQL server here; install `postgresql` or set FILBERT_POSTGRES_BIN");
            return None;
        };
        let server = Arc::new(Self::start(&programs));
        *shared = Arc::downgrade(&server);
        Some(server)
    }

    fn start(programs: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (data, password) = (folder.path().join("data"), folder.path().join("password"));
        std::fs::write(&password, PASSWORD).unwrap();
        // Not of an authority: it vouches for itself, and a client that is told to trust it does.
        let request = "[req]\ndistinguished_name = name\nx509_extensions = extensions\n[name]\n[extensions]\n\
                       basicConstraints = critical, CA:FALSE\nsubjectAltName = DNS:localhost\n";
        std::fs::write(folder.path().join("request"), request).unwrap();
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-config", "request", "-days", "2"])
            .args(["-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.crt"])
            .current_dir(folder.path())
            .stderr(Stdio::null())
            .status();
        let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
        if is_root {
            for name in ["", "password", "server.key", "server.crt"] {
                let _ = std::os::unix::fs::chown(folder.path().join(name), Some(NOBODY), Some(NOBODY));
            }
        }
        let program = |name: &str| {
            let path = programs.join(name);
            let mut command = if is_root { Command::new("setpriv") } else { Command::new(&path) };
            if is_root {
                let (user, group) = (format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"));
                command.args([&*user, &*group, "--clear-groups"]).arg(&path);
            }
            command.current_dir(folder.path()).stdout(Stdio::null());
            command
        };
        let initialised = program("initdb")
            .args([
                "--username=me",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--no-sync",
            ])
            .arg(format!("--pwfile={}", password.display()))
            .arg(&data)
            .status();
        assert!(initialised.unwrap().success(), "initdb failed");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut settings = vec![
            format!("port={port}"),
            "listen_addresses=127.0.0.1".to_owned(),
            "unix_socket_directories=".to_owned(),
            "fsync=off".to_owned(),
            "logging_collector=off".to_owned(),
        ];
        if made.is_ok_and(|status| status.success()) {
            settings.push("ssl=on".to_owned());
            for (name, file) in [("ssl_cert_file", "server.crt"), ("ssl_key_file", "server.key")] {
                settings.push(format!("{name}={}", folder.path().join(file).display()));
            }
        }
        let mut server = program("postgres");
        server.arg("-D").arg(&data).stderr(Stdio::null());
        for setting in &settings {
            server.arg("-c").arg(setting);
        }
        let server = Self { process: server.spawn().unwrap(), port, folder };
        eventually("the server answers", || Client::connect(&server.url("postgres"), NoTls).is_ok());
        server
    }

    /// Where a database is.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://me:{ESCAPED}@localhost:{}/{database}", self.port)
    }

    /// The certificate that it shows, if it has one.
    pub(crate) fn certificate(&self) -> Option<PathBuf> {
        Some(self.folder.path().join("server.crt")).filter(|path| path.exists())
    }

    /// Makes a database and runs statements in it.
    pub(crate) fn database(&self, name: &str, statements: &str) -> Client {
        let mut root = Client::connect(&self.url("postgres"), NoTls).unwrap();
        root.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        let mut client = Client::connect(&self.url(name), NoTls).unwrap();
        client.batch_execute(statements).unwrap();
        client
    }

    /// How many connections of cubes a database has, and how many of them compute.
    pub(crate) fn connections(client: &mut Client) -> (i64, i64) {
        let counted = "SELECT count(*), count(*) FILTER (WHERE state = 'active') FROM pg_stat_activity
                       WHERE datname = current_database() AND application_name = 'filbert'";
        let row = client.query_one(counted, &[]).unwrap();
        (row.get(0), row.get(1))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ends sessions as well; a killed server would leave shared memory behind.
        let ended = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        if !ended.is_ok_and(|status| status.success()) {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

fn programs() -> Option<PathBuf> {
    let named = std::env::var_os("FILBERT_POSTGRES_BIN").map(PathBuf::from);
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = debian.map(|version| version.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut folders = named.into_iter().chain(debian).chain(path);
    folders.find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
}
