//! `filbert config check`.

use crate::{filbert, text};
use std::path::PathBuf;

#[test]
fn certificates_that_are_not_there_are_found_before_the_start() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let signed = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(path("member.pem"), signed.cert.pem()).unwrap();
    let (cert, key) = (path("member.pem"), path("member.key"));
    let settings = format!("[hazelcast]\ntls = {{ cert_pem_path = {cert:?}, key_pem_path = {key:?} }}\n");
    std::fs::write(path("member.toml"), settings).unwrap();
    let checked = filbert(&["config", "check", &path("member.toml")]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(text(&checked.stderr).contains("member.key"), "{}", text(&checked.stderr));
    std::fs::write(&key, signed.signing_key.serialize_pem()).unwrap();
    let checked = filbert(&["config", "check", &path("member.toml")]);
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    std::fs::remove_dir_all(&folder).unwrap();
}
