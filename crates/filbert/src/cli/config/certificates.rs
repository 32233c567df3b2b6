//! `filbert config certificates`: a signing authority of one's own, with certificates for members and clients.
//!
//! The first recipe that a search finds for OpenSSL makes a certificate that is its own authority, which some clients take and others
//! refuse. This command makes the three that are needed, and says which setting each belongs to.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use std::error::Error;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The options of `filbert config certificates`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Where the files go; made if it is not there. Files that are there stay as they are.
    folder: PathBuf,
    /// A name or an IP address under which clients reach the member; may be given several times. Besides localhost, 127.0.0.1 and ::1.
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
}

/// The names that a certificate of a member on this machine is for.
const HERE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

pub(super) fn run(arguments: &Arguments, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let names: Vec<String> =
        HERE.iter().map(|name| (*name).to_owned()).chain(arguments.hosts.iter().cloned()).collect();
    let set = Set::new(names)?;
    let files = set.files();
    // All or nothing: a new authority beside old certificates would help nobody.
    if let Some((name, _)) = files.iter().find(|(name, _)| folder.join(name).exists()) {
        let path = folder.join(name);
        return Err(
            format!("{} is there already; name another folder, or remove it first", path.display()).into()
        );
    }
    for (name, text) in &files {
        let path = folder.join(name);
        write_new(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let folder = std::path::absolute(folder)?;
    write!(out, "{}", settings(&folder))?;
    Ok(())
}

/// An authority, and what it signed, in PEM.
struct Set {
    authority: String,
    authority_key: String,
    member: (String, String),
    client: (String, String),
}

impl Set {
    fn new(names: Vec<String>) -> Result<Self, Box<dyn Error>> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "Filbert authority");
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let signed =
            |names: Vec<String>, common: &str, purpose| -> Result<(String, String), Box<dyn Error>> {
                let key = KeyPair::generate()?;
                let mut params = CertificateParams::new(names)?;
                params.distinguished_name.push(DnType::CommonName, common);
                params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
                params.extended_key_usages = purpose;
                params.use_authority_key_identifier_extension = true;
                Ok((params.signed_by(&key, &authority)?.pem(), key.serialize_pem()))
            };
        // Members also connect to each other, so theirs is for both sides.
        let both = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let member = signed(names, "Filbert member", both)?;
        let client = signed(Vec::new(), "Filbert client", vec![ExtendedKeyUsagePurpose::ClientAuth])?;
        Ok(Self {
            authority: authority.pem(),
            authority_key: authority.key().serialize_pem(),
            member,
            client,
        })
    }

    fn files(&self) -> [(&'static str, &str); 6] {
        [
            ("ca.pem", &self.authority),
            ("ca.key", &self.authority_key),
            ("member.pem", &self.member.0),
            ("member.key", &self.member.1),
            ("client.pem", &self.client.0),
            ("client.key", &self.client.1),
        ]
    }
}

/// Writes a file that only its owner may read, and that was not there before.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// What to put into a settings file, and what clients need.
fn settings(folder: &Path) -> String {
    let path = |name: &str| toml::Value::from(folder.join(name).display().to_string());
    format!(
        "\
# Keep ca.key away from the members: whoever has it can make certificates that your clients trust.
[hazelcast.tls]
cert_pem_path = {member}
key_pem_path = {key}
# Clients that show a certificate of this authority only; leave it out, and they need none:
#client_ca_pem_path = {ca}

# The same under [postgres.tls] and [http.tls]. Clients trust ca.pem:
#   filbert map entries cities --ca {ca_path}
#   psql \"host=localhost port=5433 sslmode=verify-full sslrootcert={ca_path}\"
#   HazelcastClient(ssl_enabled=True, ssl_cafile={ca}, ssl_check_hostname=True)
",
        member = path("member.pem"),
        key = path("member.key"),
        ca = path("ca.pem"),
        ca_path = folder.join("ca.pem").display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert::MemberConfig;

    #[test]
    fn certificates_work_as_the_settings_that_are_printed_say() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("new");
        let arguments = Arguments { folder: place.clone(), hosts: vec!["filbert.example.org".to_owned()] };
        let mut said = Vec::new();
        run(&arguments, &mut said).unwrap();
        let said = String::from_utf8(said).unwrap().replace("\n#client_ca", "\nclient_ca");
        let config = MemberConfig::from_toml(&said).unwrap_or_else(|error| panic!("{error}\n{said}"));
        let tls = config.hazelcast.tls.unwrap();
        assert!(tls.client_ca_pem_path.is_some(), "{said}");
        tls.check().unwrap();
        #[cfg(unix)]
        for file in ["ca.key", "member.key", "client.key"] {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(place.join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{file}");
        }
    }

    #[test]
    fn no_file_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("client.key"), "mine").unwrap();
        let arguments = Arguments { folder: folder.path().to_owned(), hosts: Vec::new() };
        let refused = run(&arguments, &mut Vec::new()).unwrap_err().to_string();
        assert!(refused.contains("client.key is there already"), "{refused}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(std::fs::read_to_string(folder.path().join("client.key")).unwrap(), "mine");
    }
}
