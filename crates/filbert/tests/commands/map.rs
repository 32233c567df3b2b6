//! `filbert map`.

use crate::process::Process;
use crate::{command, filbert, text};
use filbert::{Data, ToData};
use filbert_wire::messages::map::Put;
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
    assert!(map(&["clear", "m", "--yes"]).status.success());
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
        &["ttl", "citis", "Oslo"],
        &["watch", "citis"],
        &["clear", "citis"],
        &["clear", "citis", "--yes"],
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
    let said = text(&refused.stderr);
    assert!(said.contains("--cluster-name") && said.contains("FILBERT_PASSWORD is not set"), "{said}");
    let words = ["map", "size", "cities", "--address", &address, "--cluster-name", "shop", "--user", "ann"];
    let refused = command(&words).env("FILBERT_PASSWORD", "sesame").output().unwrap();
    let said = text(&refused.stderr);
    assert!(said.contains("FILBERT_PASSWORD) is wrong") && !said.contains("is not set"), "{said}");
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

#[test]
fn maps_are_listed_with_their_entries() {
    let member = Process::start("");
    let address = member.address().to_string();
    let map = |words: &[&str]| filbert(&[&["map"], words, &["--address", &address]].concat());
    let none = map(&["list"]);
    assert_eq!((none.status.code(), &*text(&none.stdout)), (Some(0), ""));
    assert!(text(&none.stderr).contains("`filbert map put` makes one"), "{}", text(&none.stderr));
    for (name, key) in [("people", "1"), ("cities", "Oslo"), ("cities", "Rome")] {
        assert!(map(&["put", name, key, "x"]).status.success());
    }
    assert_eq!(text(&map(&["list"]).stdout), "name    entries\ncities        2\npeople        1");
    assert_eq!(
        text(&map(&["list", "--json"]).stdout),
        "{\"entries\":2,\"name\":\"cities\"}\n{\"entries\":1,\"name\":\"people\"}"
    );
}

/// More entries than a page of a partition, and than a terminal shows.
#[test]
fn a_limit_says_how_many_entries_it_leaves_out() {
    let member = Process::start("");
    let address = member.address().to_string();
    let map = |words: &[&str]| filbert(&[&["map"], words, &["--address", &address]].concat());
    let lines: String = (0..3_000).map(|key| format!("map put m {key} v{key} --key-as int\n")).collect();
    assert!(crate::grid::piped(&address, &lines).status.success());
    // A pipe gets all, each once.
    let keys = text(&map(&["keys", "m"]).stdout);
    let mut keys: Vec<u32> = keys.lines().map(|key| key.parse().unwrap()).collect();
    keys.sort_unstable();
    assert!(keys.into_iter().eq(0..3_000));
    assert_eq!(text(&map(&["entries", "m", "--json"]).stdout).lines().count(), 3_000);
    for (verb, header, what) in [("keys", 0, "keys"), ("entries", 1, "entries")] {
        let some = map(&[verb, "m", "--limit", "7"]);
        assert_eq!(text(&some.stdout).lines().count(), 7 + header);
        let said = format!("(7 of 3,000 {what} shown, in no order; --limit all shows the rest)");
        assert_eq!(text(&some.stderr), said);
        let all = map(&[verb, "m", "--limit", "all"]);
        assert_eq!((text(&all.stdout).lines().count(), &*text(&all.stderr)), (3_000 + header, ""));
    }
    let all = map(&["keys", "m", "--limit", "3000"]);
    assert_eq!((text(&all.stdout).lines().count(), &*text(&all.stderr)), (3_000, ""));
    let wrong = map(&["keys", "m", "--limit", "few"]);
    assert!(text(&wrong.stderr).contains("write a number, or all"), "{}", text(&wrong.stderr));
}

/// A script must not lose data because nobody was there to say no.
#[test]
fn nothing_is_cleared_without_consent() {
    let member = Process::start("");
    let address = member.address().to_string();
    let map = |words: &[&str]| filbert(&[&["map"], words, &["--address", &address]].concat());
    assert!(map(&["put", "m", "1", "one"]).status.success());
    let refused = map(&["clear", "m"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stderr);
    assert!(said.contains("clear map \"m\" with 1 entry") && said.contains("--yes"), "{said}");
    assert_eq!(text(&map(&["size", "m"]).stdout), "1");
    assert_eq!(text(&map(&["clear", "m", "--yes"]).stdout), "cleared m");
    assert_eq!(text(&map(&["size", "m"]).stdout), "0");
}

#[test]
fn an_entry_says_when_it_expires() {
    let member = Process::start("");
    let address = member.address().to_string();
    let map = |words: &[&str]| filbert(&[&["map"], words, &["--address", &address]].concat());
    assert!(map(&["put", "m", "a", "1"]).status.success());
    assert_eq!(text(&map(&["ttl", "m", "a"]).stdout), "never expires");
    let none = "{\"expires_in_ms\":null,\"max_idle_ms\":null,\"ttl_ms\":null}";
    assert_eq!(text(&map(&["ttl", "m", "a", "--json"]).stdout), none);
    let said = text(&map(&["ttl", "m", "a", "86400"]).stdout);
    let left: u32 = said.strip_prefix("expires in ").unwrap().strip_suffix(" s").unwrap().parse().unwrap();
    assert!((1..=86_400).contains(&left), "{said}");
    let said: serde_json::Value = serde_json::from_slice(&map(&["ttl", "m", "a", "--json"]).stdout).unwrap();
    assert_eq!(said["ttl_ms"], 86_400_000);
    assert!(said["expires_in_ms"].as_u64().is_some_and(|left| left <= 86_400_000), "{said}");
    assert_eq!(text(&map(&["ttl", "m", "a", "never"]).stdout), "never expires");
    for words in [&["ttl", "m", "b"][..], &["ttl", "m", "b", "60"]] {
        let missing = map(words);
        assert_eq!(missing.status.code(), Some(1));
        assert!(text(&missing.stderr).contains("has no key \"b\""), "{}", text(&missing.stderr));
    }
    let wrong = text(&map(&["ttl", "m", "a", "0"]).stderr);
    assert!(wrong.contains("whole seconds, or never"), "{wrong}");
}

/// What only a program in another language can read is named.
#[test]
fn a_pickled_value_is_called_so() {
    let member = Process::start("");
    let address = member.address().to_string();
    let map = |words: &[&str]| filbert(&[&["map"], words, &["--address", &address]].concat());
    let put = Put {
        name: "m".into(),
        key: 1_i64.to_data().unwrap(),
        value: Data::new(-120, &[0; 20]),
        thread_id: 1,
        ttl_ms: -1,
    };
    member.client().call(&put).unwrap();
    assert_eq!(
        text(&map(&["entries", "m"]).stdout),
        "key  type  value       type\n  1  long  (20 bytes)  pickled Python object"
    );
    let value = map(&["get", "m", "1", "--key-as", "long"]);
    assert_eq!(text(&value.stdout), "(pickled Python object, 20 bytes)");
}

/// The statement that an error suggests is one that works.
#[test]
fn an_insert_into_a_new_map_says_how_to_make_it() {
    let member = Process::start("");
    let address = member.address().to_string();
    let sql = |text: &str| filbert(&["sql", "--connect", &address, text]);
    for (table, insert) in [
        ("fresh", "INSERT INTO fresh VALUES (1, 2)"),
        ("people", "INSERT INTO people (id, name) VALUES (1, 'Ann')"),
        ("Trades", "INSERT INTO \"Trades\" VALUES (1, 2.5, 'EUR')"),
    ] {
        let refused = sql(insert);
        assert_eq!(refused.status.code(), Some(1));
        let said = text(&refused.stderr);
        assert!(said.contains(&format!("there is no table \"{table}\"")), "{said}");
        let at = said.find("CREATE MAPPING").unwrap_or_else(|| panic!("{said}"));
        let mapping = said[at..].lines().next().unwrap();
        let made = sql(mapping);
        assert!(made.status.success(), "{mapping}: {}", text(&made.stderr));
        let inserted = sql(insert);
        assert!(inserted.status.success(), "{insert}: {}", text(&inserted.stderr));
        let got = filbert(&["map", "contains", table, "1", "--key-as", "long", "--address", &address]);
        assert_eq!(text(&got.stdout), "true", "{table}: {}", text(&got.stderr));
    }
}
