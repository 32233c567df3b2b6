//! `filbert map`.

use crate::process::Process;
use crate::{command, filbert, text};
use std::path::PathBuf;

#[test]
fn a_key_that_is_not_there_ends_with_status_1_in_every_form() {
    let member = Process::start("");
    let address = member.address().to_string();
    let map = |words: &[&str]| filbert(&[&["map"], words, &["--address", &address]].concat());
    assert!(map(&["put", "cities", "Oslo", "709000"]).status.success());
    let found = map(&["get", "cities", "Oslo", "--json"]);
    assert_eq!((found.status.code(), &*text(&found.stdout)), (Some(0), "{\"value\":\"709000\"}"));
    for (form, printed) in [(&[][..], ""), (&["--json"], "{\"value\":null}")] {
        let missing = map(&[&["get", "cities", "Rome"], form].concat());
        assert_eq!((missing.status.code(), &*text(&missing.stdout)), (Some(1), printed));
        assert!(text(&missing.stderr).contains("has no key \"Rome\""), "{}", text(&missing.stderr));
    }
}

#[test]
fn a_member_is_found_by_the_name_of_its_host() {
    let member = Process::start("");
    let address = format!("localhost:{}", member.address().port());
    let size = filbert(&["map", "size", "cities", "--address", &address]);
    assert_eq!(text(&size.stdout), "0", "{}", text(&size.stderr));
    let nowhere = filbert(&["map", "size", "cities", "--address", "localhost"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(text(&nowhere.stderr).contains("host and port"), "{}", text(&nowhere.stderr));
}

#[test]
fn a_login_that_is_refused_says_what_may_be_wrong() {
    let member = Process::start("");
    let address = member.address().to_string();
    let refused = filbert(&["map", "size", "cities", "--address", &address, "--cluster-name", "shop"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("--cluster-name"), "{}", text(&refused.stderr));
}

#[test]
fn a_member_with_tls_and_users_is_reached() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("map-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let signed = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(path("member.pem"), signed.cert.pem()).unwrap();
    std::fs::write(path("member.key"), signed.signing_key.serialize_pem()).unwrap();
    let member = Process::start(&format!(
        "tls = {{ cert_pem_path = {:?}, key_pem_path = {:?} }}\n\
         users = [{{ name = 'ann', password = 'sesame', may = ['map/*'] }}]",
        path("member.pem"),
        path("member.key")
    ));
    let (address, ca) = (format!("localhost:{}", member.address().port()), path("member.pem"));
    let size = |words: &[&str]| {
        let words = [&["map", "size", "m", "--user", "ann", "--address", &address], words].concat();
        command(&words).env("FILBERT_PASSWORD", "sesame").output().unwrap()
    };
    assert_eq!(text(&size(&["--ca", &ca]).stdout), "0", "{}", text(&size(&["--ca", &ca]).stderr));
    let in_the_clear = size(&[]);
    assert_eq!(in_the_clear.status.code(), Some(1));
    assert!(text(&in_the_clear.stderr).contains("--ca"), "{}", text(&in_the_clear.stderr));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The member would refuse it, but by then everybody on the way has read it.
#[test]
fn a_password_is_not_sent_in_the_clear() {
    let words = ["map", "size", "m", "--user", "ann", "--address", "192.0.2.1:5701"];
    let refused = command(&words).env("FILBERT_PASSWORD", "sesame").output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("in the clear"), "{}", text(&refused.stderr));
}
