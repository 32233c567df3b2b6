//! Encrypted connections, with and without certificates of clients.

use crate::line::{Client, Seen, eventually, lines, open};
use bytes::BytesMut;
use filbert_net::{
    ClientTlsSettings, Close, CloseReason, ConnectError, Connector, Door, ListenError, Listener, NetSettings,
    Outbound, Protocol, TlsSettings,
};
use filbert_pool::Stages;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

/// A folder of certificates: `ca`, `server`, `client` of that CA, and `stranger` of none.
struct Pki {
    folder: PathBuf,
}

impl Pki {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let unique = format!("filbert-net-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let pki = Self { folder: std::env::temp_dir().join(unique) };
        std::fs::create_dir_all(&pki.folder).unwrap();
        let mut ca = CertificateParams::new(Vec::new()).unwrap();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap();
        std::fs::write(pki.path("ca.pem"), ca.pem()).unwrap();
        for name in ["server", "client"] {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            let signed = params.signed_by(&key, &ca).unwrap();
            std::fs::write(pki.path(&format!("{name}.pem")), signed.pem()).unwrap();
            std::fs::write(pki.path(&format!("{name}.key")), key.serialize_pem()).unwrap();
        }
        let stranger = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(pki.path("stranger.pem"), stranger.cert.pem()).unwrap();
        std::fs::write(pki.path("stranger.key"), stranger.signing_key.serialize_pem()).unwrap();
        pki
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn server(&self, mutual: bool) -> TlsSettings {
        TlsSettings {
            cert_pem_path: self.path("server.pem"),
            key_pem_path: self.path("server.key"),
            client_ca_pem_path: mutual.then(|| self.path("ca.pem")),
        }
    }

    fn client(&self, identity: Option<&str>) -> ClientTlsSettings {
        let pair = |name: &str| (self.path(&format!("{name}.pem")), self.path(&format!("{name}.key")));
        ClientTlsSettings {
            ca_pem_path: self.path("ca.pem"),
            server_name: "localhost".to_owned(),
            identity: identity.map(pair),
        }
    }
}

impl Drop for Pki {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Hands over the lines it gets, and says when it is closed.
struct Lines(mpsc::Sender<Option<String>>);

impl Protocol for Lines {
    fn received(&mut self, input: &mut BytesMut, _out: &mut Outbound) -> Result<(), Close> {
        while let Some(end) = input.iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&input.split_to(end + 1)).trim().to_owned();
            let _ = self.0.send(Some(line));
        }
        Ok(())
    }

    fn receive_limit(&self) -> usize {
        16 << 20
    }

    fn closed(&mut self, _reason: CloseReason) {
        let _ = self.0.send(None);
    }
}

fn listen(stages: &Stages, tls: TlsSettings) -> Result<Door, ListenError> {
    listen_for(stages, tls, 60_000)
}

/// Whoever takes longer for the handshake is closed.
fn listen_for(stages: &Stages, tls: TlsSettings, handshake_timeout_ms: u64) -> Result<Door, ListenError> {
    let settings = NetSettings { handshake_timeout_ms, ..NetSettings::default() };
    let listener = Listener::new("127.0.0.1:0".parse().unwrap()).settings(settings).tls(tls);
    listener.listen(stages, lines(stages, &Arc::new(Seen::default())))
}

#[test]
fn bytes_travel_encrypted_both_ways() {
    let (pki, stages) = (Pki::new(), Stages::start().unwrap());
    for mutual in [false, true] {
        let door = listen(&stages, pki.server(mutual)).unwrap();
        let tls = pki.client(mutual.then_some("client"));
        let connector = Connector::new(NetSettings::default(), Some(&tls)).unwrap();
        let (got, lines) = mpsc::channel();
        let connected = connector.connect(&stages, door.local_addr(), |_, _| Lines(got)).unwrap();
        let outlet = connected.wait().unwrap().unwrap();
        assert!(outlet.info().tls);
        let questions: String = (0..2_000).map(|number| format!("echo {number}\n")).collect();
        outlet.send(questions).unwrap();
        for number in 0..2_000 {
            assert_eq!(lines.recv().unwrap(), Some(number.to_string()));
        }
        outlet.send_slice(b"big 5000000\nlater z\n").unwrap();
        let lengths = [lines.recv().unwrap().unwrap().len(), lines.recv().unwrap().unwrap().len()];
        assert_eq!(lengths.iter().sum::<usize>(), 5_000_000);
        outlet.send_slice(b"quit\n").unwrap();
        assert_eq!(lines.recv().unwrap(), Some("bye".to_owned()));
        assert_eq!(lines.recv().unwrap(), None);
        eventually("it is counted", || door.stats().closed_by(CloseReason::Protocol) == 1);
    }
}

#[test]
fn without_the_right_certificate_nobody_comes_in() {
    let (pki, stages) = (Pki::new(), Stages::start().unwrap());
    let door = listen(&stages, pki.server(true)).unwrap();
    for (round, identity) in [None, Some("stranger")].into_iter().enumerate() {
        let tls = pki.client(identity);
        let connector = Connector::new(NetSettings::default(), Some(&tls)).unwrap();
        let (got, lines) = mpsc::channel();
        let connected = connector.connect(&stages, door.local_addr(), |_, _| Lines(got)).unwrap();
        // In TLS 1.3 a client learns of the refusal only after its own handshake is over.
        if let Ok(outlet) = connected.wait().unwrap() {
            let _ = outlet.send_slice(b"echo secret\n");
            assert_eq!(lines.recv().unwrap(), None);
        }
        let refused = round as u64 + 1;
        eventually("it is counted", || door.stats().closed_by(CloseReason::HandshakeFailed) == refused);
    }
}

#[test]
fn a_member_with_a_certificate_of_another_ca_is_not_trusted() {
    let (pki, stages) = (Pki::new(), Stages::start().unwrap());
    let door = listen(&stages, pki.server(false)).unwrap();
    let tls = ClientTlsSettings { ca_pem_path: pki.path("stranger.pem"), ..pki.client(None) };
    let connector = Connector::new(NetSettings::default(), Some(&tls)).unwrap();
    let connected = connector.connect(&stages, door.local_addr(), |_, _| Lines(mpsc::channel().0)).unwrap();
    let error = connected.wait().unwrap().unwrap_err();
    assert!(matches!(error, ConnectError::Handshake { .. }), "{error}");
}

#[test]
fn who_speaks_no_tls_or_nothing_is_closed() {
    let (pki, stages) = (Pki::new(), Stages::start().unwrap());
    let door = listen(&stages, pki.server(false)).unwrap();
    let mut plain = Client::connect(&door);
    plain.send("echo hello, is this encrypted?\n");
    eventually("plain text is refused", || door.stats().closed_by(CloseReason::HandshakeFailed) == 1);
    let door = listen_for(&stages, pki.server(false), 300).unwrap();
    let mut silent = Client::connect(&door);
    let mut nothing = Vec::new();
    let _ = std::io::Read::read_to_end(&mut silent.reader, &mut nothing);
    eventually("silence is refused", || door.stats().closed_by(CloseReason::HandshakeTimeout) == 1);
    drop(plain);
}

#[test]
fn a_door_closes_also_on_those_in_their_handshake() {
    let (pki, stages) = (Pki::new(), Stages::start().unwrap());
    let door = listen(&stages, pki.server(false)).unwrap();
    let mut silent = Client::connect(&door);
    eventually("it is there", || door.connections().len() == 1);
    let report = door.drain(std::time::Duration::from_secs(60)).unwrap().wait().unwrap();
    assert_eq!(report.cut_short, 0);
    assert_eq!(silent.rest(), "");
}

#[test]
fn files_that_do_not_work_are_named() {
    let (pki, stages) = (Pki::new(), Stages::start().unwrap());
    let (_other, _door, _seen) = open(NetSettings::default(), Seen::default());
    std::fs::write(pki.path("empty.pem"), "nothing here\n").unwrap();
    let good = pki.server(false);
    for (bad, words) in [
        (TlsSettings { cert_pem_path: pki.path("none.pem"), ..good.clone() }, ["none.pem", "readable"]),
        (TlsSettings { cert_pem_path: pki.path("empty.pem"), ..good.clone() }, ["empty.pem", "BEGIN CERT"]),
        (TlsSettings { key_pem_path: pki.path("empty.pem"), ..good.clone() }, ["empty.pem", "private key"]),
        (TlsSettings { key_pem_path: pki.path("client.key"), ..good }, ["server.pem", "a pair?"]),
    ] {
        let said = listen(&stages, bad).unwrap_err().to_string();
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    }
}
