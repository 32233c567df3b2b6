//! A thread that no stage knows is a thread without a bound, a name, a metric or a shutdown. So one file makes threads.
//!
//! clippy.toml forbids the same calls by their resolved names; this rule also sees runtimes that make threads of their own.

use super::{Report, Rule, source::SourceFile};

/// What makes a thread, and where that may stand outside tests: files, or folders with `/` at their end.
const MAKERS: &[(&str, &[&str])] = &[
    ("thread::spawn", &[DOOR]),
    ("thread::scope", &[DOOR]),
    ("thread::Builder", &[DOOR]),
    ("Builder::new_multi_thread", &["crates/pool/src/"]),
    ("Builder::new_current_thread", &["crates/pool/src/"]),
    ("Runtime::new", &["crates/pool/src/"]),
];

/// The one file that makes threads.
const DOOR: &str = "crates/pool/src/thread.rs";

pub(super) const RULE: Rule = Rule {
    name: "threads",
    about: "only pool makes threads: crates/pool/src/thread.rs, and tokio runtimes in pool alone",
    remedy: "submit to a stage; inside pool use `Threads::spawn`",
    find,
};

fn find(files: &[SourceFile], report: &mut Report<'_>) {
    for file in files.iter().filter(|file| !file.is_test_file()) {
        for (line, code) in file.code_lines().filter(|(line, _)| !file.is_test_line(*line)) {
            for (maker, places) in MAKERS {
                let here = |place: &&str| {
                    file.path() == *place || (place.ends_with('/') && file.path().starts_with(*place))
                };
                if code.contains(maker) && !places.iter().any(here) {
                    report(file, line, format!("{maker} makes a thread that no stage knows"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines_found;

    #[test]
    fn one_file_makes_threads() {
        let bad = "//! A.\nfn a() {\n    std::thread::spawn(b);\n}\n";
        assert_eq!(lines_found(&RULE, "crates/grid/src/map.rs", bad), [3]);
        assert_eq!(lines_found(&RULE, "crates/pool/src/striped/mod.rs", bad), [3]);
        for allowed in [DOOR, "crates/grid/tests/map.rs", "bench/src/suites/spsc.rs"] {
            assert!(lines_found(&RULE, allowed, bad).is_empty(), "{allowed}");
        }
        let in_tests = "//! A.\n#[cfg(test)]\nmod tests {\n    fn a() { std::thread::spawn(b); }\n}\n";
        assert!(lines_found(&RULE, "crates/grid/src/map.rs", in_tests).is_empty());
    }

    #[test]
    fn only_pool_makes_runtimes() {
        let runtime = "//! A.\nfn a() { tokio::runtime::Builder::new_multi_thread(); }\n";
        assert_eq!(lines_found(&RULE, "crates/net/src/lib.rs", runtime), [2]);
        assert!(lines_found(&RULE, "crates/pool/src/blocking/mod.rs", runtime).is_empty());
    }
}
