//! A sleep that waits for something is either too short (the test fails on a busy machine) or too long (every run pays).
//!
//! clippy.toml forbids the call in production code; tests may make it where time itself is the subject, and say so.

use super::{Report, Rule, source::SourceFile};

/// The words of a comment, on the line or just above it, that make a sleep in a test legitimate.
const EXCUSE: &str = "sleeps because";

pub(super) const RULE: Rule = Rule {
    name: "sleeps",
    about: "no sleep, also not in tests, without a comment `// sleeps because ...` at it",
    remedy: "wait for a condition with a deadline; if time itself is the subject, write `// sleeps because ...` above",
    find,
};

fn find(files: &[SourceFile], report: &mut Report<'_>) {
    for file in files {
        let excused: Vec<usize> =
            file.comment_lines().filter(|(_, text)| text.contains(EXCUSE)).map(|(line, _)| line).collect();
        for (line, code) in file.code_lines() {
            let sleeps = code.contains("thread::sleep");
            // The excuse may take a second line.
            if sleeps && !excused.iter().any(|&at| at <= line && line <= at + 2) {
                report(file, line, "a sleep".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines_found;

    #[test]
    fn a_sleep_says_why() {
        let bad = "//! A.\nfn a() {\n    std::thread::sleep(b);\n}\n";
        let good = "//! A.\nfn a() {\n    // sleeps because the clock is what is tested\n    std::thread::sleep(b);\n}\n";
        for path in ["crates/x/src/a.rs", "crates/x/tests/a.rs"] {
            assert_eq!(lines_found(&RULE, path, bad), [3]);
            assert!(lines_found(&RULE, path, good).is_empty());
        }
    }
}
