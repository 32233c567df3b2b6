//! `filbert config check`.

use crate::{filbert, text};
use std::path::PathBuf;

/// A store is code, and this program has none: a map that names one would fail at its first use.
#[test]
fn a_store_that_nobody_registered_is_a_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("filbert.toml");
    std::fs::write(&file, "[map.orders]\nstore = { name = 'orders-db' }\n").unwrap();
    let file = file.to_str().unwrap();
    for words in [&["config", "check", file][..], &["start", "--port", "0", "--config", file]] {
        let refused = filbert(words);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains("map.orders.store.name") && said.contains("orders-db"), "{said}");
    }
}

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

#[test]
fn every_mistake_is_named_under_a_heading_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filbert.toml").to_string_lossy().into_owned();
    std::fs::write(&path, "[map.\"cache-*\"]\nttl_second = 5\neviction = 'lrv'\n[queue.q]\nmax = 1").unwrap();
    for words in [&["config", "check", &path][..], &["config", "print", &path], &["start", "--config", &path]]
    {
        let refused = filbert(words);
        assert_eq!(refused.status.code(), Some(1));
        let said = text(&refused.stderr);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[0], format!("filbert: 3 mistakes in the settings file {path}:"));
        assert_eq!(lines[1], "  map.\"cache-*\".ttl_second: no such setting; did you mean ttl_seconds?");
        assert_eq!(lines.len(), 4, "{said}");
        assert!(!said.contains("filbert stages") && !said.contains("[grid]"), "{said}");
    }
    std::fs::write(&path, "[map.\"cache-*\"]\nttl_seconds = 5").unwrap();
    let printed = filbert(&["config", "print", &path]);
    assert!(text(&printed.stdout).contains("\nttl_seconds = 5\n"), "{}", text(&printed.stderr));
}

/// Secrets are left out; with them put back, what is printed is a settings file that says the same, odd names and all.
#[test]
fn what_is_printed_can_be_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filbert.toml").to_string_lossy().into_owned();
    let settings = "[map.\"it's \\u200b\\n\\\"\"]\nttl_seconds = 5\n\
        [[hazelcast.users]]\nname = 'ann'\npassword = 'sesame'";
    std::fs::write(&path, settings).unwrap();
    let printed = filbert(&["config", "print", &path]);
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    let said = text(&printed.stdout);
    let left_out = "# password is set, and not shown";
    assert!(said.contains(left_out) && !said.contains("sesame"), "{said}");
    std::fs::write(&path, said.replace(left_out, "password = 'sesame'")).unwrap();
    let again = filbert(&["config", "print", &path]);
    assert_eq!((text(&again.stdout), text(&again.stderr)), (said, String::new()));
}

#[test]
fn a_file_that_is_not_there_is_named_as_such() {
    let refused = filbert(&["config", "check", "/nowhere/filbert.toml"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stderr);
    assert!(
        said.starts_with("filbert: cannot read the settings file /nowhere/filbert.toml: No such file"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1);
}
