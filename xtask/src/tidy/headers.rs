//! Whoever opens a file reads first what it is and why it is so.

use super::{Report, Rule, source::SourceFile};

pub(super) const RULE: Rule = Rule {
    name: "headers",
    about: "every Rust file (but tests.rs beside another) begins with //! and says what it is",
    remedy: "begin with `//!`: what this is, why it is so, which threads run it",
    find,
};

fn find(files: &[SourceFile], report: &mut Report<'_>) {
    for file in files.iter().filter(|file| file.is_rust()) {
        let first = file.text().lines().next().unwrap_or_default();
        let said = first.strip_prefix("//!").is_some_and(|words| !words.trim().is_empty());
        // The tests beside a file belong to its header.
        if !said && file.name() != "tests.rs" {
            report(file, 1, "no header".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines_found;

    #[test]
    fn files_begin_with_a_header() {
        for bad in ["", "use std::fmt;\n", "//!\n", "// A.\n"] {
            assert_eq!(lines_found(&RULE, "crates/x/src/a.rs", bad), [1], "{bad:?}");
        }
        assert!(lines_found(&RULE, "crates/x/src/a.rs", "//! A parker.\n").is_empty());
        assert!(lines_found(&RULE, "crates/x/src/a/tests.rs", "use super::*;\n").is_empty());
    }
}
