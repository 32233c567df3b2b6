//! SIGHUP: a service reads its settings again, a member in a terminal ends in order.

use crate::line::{Client, DEADLINE, authentication};
use crate::service::START;
use crate::{command, signal, text};
use filbert_wire::frame::PREAMBLE;
use filbert_wire::messages::client::{Authentication, Ping};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};

type TlsClient = Client<StreamOwned<ClientConnection, TcpStream>>;

/// A member without a terminal, as a service is.
struct Service {
    child: Child,
    folder: tempfile::TempDir,
    hazelcast: String,
    said: mpsc::Receiver<String>,
    log: mpsc::Receiver<String>,
}

/// A command that gets SIGHUP: whoever runs the tests under `nohup` ignores the signal, and so would a member.
fn with_hang_up(program: &str) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", program]);
    command
}

/// Says that a test needs that program and skips it; where all tests must run, it fails.
fn is_missing(program: &str) -> bool {
    let runs = |command: &mut Command| {
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let missing = if !runs(&mut with_hang_up("true")) {
        "env --default-signal, of coreutils 8.31"
    } else if !runs(Command::new(program).arg("--version")) {
        program
    } else {
        return false;
    };
    assert!(std::env::var_os("CI").is_none(), "the tests need {missing}");
    println!("skipped: there is no {missing}");
    true
}

/// A member in a session without a terminal, whoever runs the tests.
fn without_terminal() -> Command {
    let mut command = with_hang_up("setsid");
    command.arg(env!("CARGO_BIN_EXE_filbert")).args(START);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The lines of a stream as they come.
fn lines(stream: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn find(lines: &mpsc::Receiver<String>, words: &str) -> String {
    loop {
        let line =
            lines.recv_timeout(DEADLINE).unwrap_or_else(|error| panic!("{words:?} never came: {error}"));
        if line.contains(words) {
            return line;
        }
    }
}

/// A folder with certificates of an authority of their own.
fn certificates() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let made = command(&["config", "certificates", folder.path().to_str().unwrap()]).output().unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
    folder
}

fn copy_certificates(from: &Path, to: &Path) {
    for file in ["member.pem", "member.key"] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
}

const DOORS: &str = "
    [hazelcast]\ntls = { cert_pem_path = 'member.pem', key_pem_path = 'member.key' }
    [postgres]\ntls = { cert_pem_path = 'member.pem', key_pem_path = 'member.key' }
    [http]\ntls = { cert_pem_path = 'member.pem', key_pem_path = 'member.key' }\n";

fn user(name: &str) -> String {
    format!("[[hazelcast.users]]\nname = '{name}'\npassword = 'of {name}'\nmay = ['*']\n")
}

impl Service {
    fn start(settings: &str, certificates: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy_certificates(certificates, folder.path());
        let file = folder.path().join("filbert.toml");
        std::fs::write(&file, settings).unwrap();
        let mut child = without_terminal().arg("--config").arg(&file).spawn().unwrap();
        let (said, log) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        let hazelcast = find(&said, "Hazelcast clients on").rsplit(' ').next().unwrap().to_owned();
        find(&said, "SIGHUP reads the settings again");
        find(&said, "the cluster is called");
        Self { child, folder, hazelcast, said, log }
    }

    fn settings(&self) -> PathBuf {
        self.folder.path().join("filbert.toml")
    }

    fn hang_up(&self) {
        signal(self.child.id(), "HUP");
    }

    /// A client that trusts the authority in that folder; the error of its handshake.
    fn connect(&self, trusts: &Path) -> std::io::Result<TlsClient> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(trusts.join("ca.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = TcpStream::connect(&self.hazelcast).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        stream.write_all(&PREAMBLE)?;
        stream.flush()?;
        Ok(Client::over(stream))
    }

    /// How a login of that user ends: 0 is well.
    fn log_in(&self, trusts: &Path, name: &str) -> (TlsClient, i8) {
        let mut client = self.connect(trusts).unwrap();
        let password = format!("of {name}");
        let login = Authentication {
            username: Some(name.into()),
            password: Some(password.into()),
            ..authentication()
        };
        let status = client.log_in(&login).status;
        (client, status)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_service_takes_new_certificates_users_and_log_level_over() {
    if is_missing("setsid") {
        return;
    }
    let (old, new) = (certificates(), certificates());
    let (old, new) = (old.path(), new.path());
    let before = format!("{DOORS}{}{}", user("ann"), user("bob"));
    let service = Service::start(&before, old);
    let ((mut ann, _), (mut bob, _)) = (service.log_in(old, "ann"), service.log_in(old, "bob"));
    ann.call(&Ping {}).unwrap();
    bob.call(&Ping {}).unwrap();
    copy_certificates(new, service.folder.path());
    let after = format!("{DOORS}{}{}[log]\nlevel = 'info'\n[sql]\nrows = 5\n", user("ann"), user("eve"));
    std::fs::write(service.settings(), after).unwrap();
    service.hang_up();
    assert_eq!(
        find(&service.said, "SIGHUP"),
        "filbert: SIGHUP, the settings were read again with the certificates of hazelcast, http, postgres; \
         1 connection of changed users closed"
    );
    let restart = find(&service.log, "needs a restart");
    assert!(restart.contains("sql.rows"), "{restart}");
    find(&service.log, "the settings were read again");
    ann.call(&Ping {}).unwrap();
    assert!(bob.is_closed(), "he was removed");
    assert!(service.connect(old).is_err(), "the certificate is of another authority");
    assert_eq!(service.log_in(new, "eve").1, 0);
    assert_ne!(service.log_in(new, "bob").1, 0);
    // The users were changed in the file, but it has a mistake: nothing changes.
    let mistaken = format!("{DOORS}{}[sql]\nrows = 'many'\n", user("bob"));
    std::fs::write(service.settings(), mistaken).unwrap();
    service.hang_up();
    let why = find(&service.log, "nothing has changed");
    assert!(why.contains("sql.rows") && why.contains("filbert.toml"), "{why}");
    assert_eq!(service.log_in(new, "eve").1, 0);
    // A certificate that is not there is such a mistake, too.
    std::fs::remove_file(service.folder.path().join("member.pem")).unwrap();
    std::fs::write(service.settings(), format!("{DOORS}{}", user("bob"))).unwrap();
    service.hang_up();
    let why = find(&service.log, "nothing has changed");
    assert!(why.contains("member.pem"), "{why}");
    assert_eq!(service.log_in(new, "eve").1, 0);
    ann.call(&Ping {}).unwrap();
    signal(service.child.id(), "TERM");
    find(&service.said, "SIGTERM, draining");
}

/// The level that somebody types is meant to stay.
#[test]
fn a_service_without_settings_has_none_to_read_again() {
    if is_missing("setsid") {
        return;
    }
    let mut child = without_terminal().spawn().unwrap();
    let (said, log) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
    find(&said, "the cluster is called");
    signal(child.id(), "HUP");
    find(&log, "started without --config");
    signal(child.id(), "TERM");
    find(&said, "SIGTERM, draining");
    find(&said, "filbert: ended");
    assert!(child.wait().unwrap().success());
}

/// A reload that somebody asked for while maps came back from disk killed the member.
#[test]
fn a_reload_is_remembered_that_is_asked_for_before_the_member_serves() {
    if is_missing("setsid") || is_missing("mkfifo") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (settings, next) = (folder.path().join("filbert.toml"), folder.path().join("next"));
    assert!(Command::new("mkfifo").arg(&settings).status().unwrap().success());
    // The member reads the settings until this is closed.
    let mut held = std::fs::File::options().read(true).write(true).open(&settings).unwrap();
    let mut child = without_terminal().arg("--config").arg(&settings).spawn().unwrap();
    let (said, log) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
    let status = format!("/proc/{}/status", child.id());
    let holds = || {
        let status = std::fs::read_to_string(&status).unwrap();
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
        u64::from_str_radix(blocked.trim(), 16).unwrap() & 1 == 1
    };
    crate::line::eventually("it never holds SIGHUP", holds);
    signal(child.id(), "HUP");
    let text = "[log]\nlevel = 'info'\n";
    std::fs::write(&next, text).unwrap();
    std::fs::rename(&next, &settings).unwrap();
    held.write_all(text.as_bytes()).unwrap();
    drop(held);
    find(&said, "SIGHUP, the settings were read again");
    signal(child.id(), "TERM");
    find(&said, "filbert: ended");
    assert!(child.wait().unwrap().success());
    drop(log);
}

/// Whoever closes a terminal does not mean to kill what runs in it.
#[test]
fn a_terminal_that_is_closed_drains_the_member() {
    if is_missing("script") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let member = format!(
        "exec '{}' start --port 0 --postgres-port 0 --http-port 0 --log info --pid-file '{}' >'{}' 2>&1",
        env!("CARGO_BIN_EXE_filbert"),
        path("pid"),
        path("said"),
    );
    // It holds the other end of the terminal.
    let mut terminal = with_hang_up("script")
        .args(["-qec", &member, "/dev/null"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let said = || std::fs::read_to_string(path("said")).unwrap_or_default();
    crate::line::eventually("it never serves", || said().contains("the cluster is called"));
    assert!(said().contains("SIGHUP ends this member: it was started from a terminal"), "{}", said());
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    crate::line::eventually("it never ends in order", || {
        said().contains("SIGHUP, draining") && said().contains("filbert: ended")
    });
}
