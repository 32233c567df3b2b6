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
    assert_eq!(
        (found.status.code(), &*text(&found.stdout)),
        (Some(0), "{\"type\":\"string\",\"value\":\"709000\"}")
    );
    for (form, printed) in [(&[][..], ""), (&["--json"], "{\"type\":null,\"value\":null}")] {
        let missing = map(&[&["get", "cities", "Rome"], form].concat());
        assert_eq!((missing.status.code(), &*text(&missing.stdout)), (Some(1), printed));
        assert!(text(&missing.stderr).contains("has no key \"Rome\""), "{}", text(&missing.stderr));
    }
}

#[test]
fn entries_show_what_they_are_and_stay_on_their_lines() {
    let member = Process::start("");
    let address = member.address().to_string();
    let map = |words: &[&str]| filbert(&[&["map"], words, &["--address", &address]].concat());
    assert!(map(&["put", "m", "two\nlines", "a\tb"]).status.success());
    assert_eq!(
        text(&map(&["entries", "m"]).stdout),
        "key         type    value  type\ntwo\\nlines  string  a\\tb   string"
    );
    assert_eq!(text(&map(&["keys", "m"]).stdout), "two\\nlines");
    // A program gets the value as it is.
    assert_eq!(text(&map(&["get", "m", "two\nlines"]).stdout), "a\tb");
    assert!(map(&["clear", "m"]).status.success());
    assert!(map(&["put", "m", "1", "2.5", "--key-as", "long", "--value-as", "double"]).status.success());
    let said: serde_json::Value = serde_json::from_slice(&map(&["entries", "m", "--json"]).stdout).unwrap();
    let entry = serde_json::json!({ "key": 1, "key_type": "long", "value": 2.5, "value_type": "double" });
    assert_eq!(said, entry);
}

#[test]
fn keys_and_values_may_begin_with_a_hyphen() {
    let member = Process::start("");
    let address = member.address().to_string();
    let map = |words: &[&str]| filbert(&[&["map"], words, &["--address", &address]].concat());
    let put = map(&["put", "m", "-7", "-8", "--key-as", "int", "--value-as", "long"]);
    assert!(put.status.success(), "{}", text(&put.stderr));
    let got = map(&["get", "m", "-7", "--key-as", "int", "--json"]);
    assert_eq!(text(&got.stdout), "{\"type\":\"long\",\"value\":-8}", "{}", text(&got.stderr));
    assert!(map(&["put", "m", "-dash", "-x"]).status.success());
    assert_eq!(text(&map(&["get", "m", "-dash"]).stdout), "-x");
}

/// A string "1" and a long 1 are two keys.
#[test]
fn a_key_that_is_there_in_another_form_is_hinted_at() {
    let member = Process::start("");
    let address = member.address().to_string();
    let map = |words: &[&str]| filbert(&[&["map"], words, &["--address", &address]].concat());
    assert!(map(&["put", "m", "1", "one", "--key-as", "long"]).status.success());
    let missing = text(&map(&["get", "m", "1"]).stderr);
    assert!(missing.contains("read as a string; it has the long 1: add --key-as long"), "{missing}");
    let missing = text(&map(&["get", "m", "2", "--key-as", "int"]).stderr);
    assert!(missing.contains("read as an int; --key-as"), "{missing}");
    let wrong = text(&map(&["get", "m", "x", "--key-as", "int"]).stderr);
    assert!(wrong.contains("is not an int"), "{wrong}");
}

#[test]
fn a_map_whose_name_is_not_spelled_right_is_not_made() {
    let member = Process::start("");
    let address = member.address().to_string();
    let map = |words: &[&str]| filbert(&[&["map"], words, &["--address", &address]].concat());
    assert!(map(&["put", "cities", "Oslo", "1"]).status.success());
    for words in [
        &["size", "citis"][..],
        &["get", "citis", "Oslo"],
        &["contains", "citis", "Oslo"],
        &["keys", "citis"],
        &["entries", "citis"],
        &["remove", "citis", "Oslo"],
        &["clear", "citis"],
    ] {
        for _ in 0..2 {
            let wrong = map(words);
            let said = text(&wrong.stderr);
            assert_eq!(wrong.status.code(), Some(1), "{words:?}");
            assert!(said.contains("there is no map \"citis\"; is it \"cities\"?"), "{words:?}: {said}");
        }
    }
    assert_eq!(text(&map(&["size", "cities"]).stdout), "1");
}

#[test]
fn a_member_is_found_by_the_name_of_its_host() {
    let member = Process::start("");
    let address = format!("localhost:{}", member.address().port());
    let size = filbert(&["map", "size", "cities", "--address", &address]);
    assert!(
        text(&size.stderr).contains("there is no map \"cities\"; there are none"),
        "{}",
        text(&size.stderr)
    );
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
    let reached = text(&size(&["--ca", &ca]).stderr);
    assert!(reached.contains("there is no map \"m\""), "{reached}");
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
