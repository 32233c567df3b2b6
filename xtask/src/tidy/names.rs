//! A name that fits everything explains nothing, and the file collects everything.

use super::{Report, Rule, source::SourceFile};

/// File and folder names, without the ending, that say nothing.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "helpers", "helper", "manager", "misc"];

pub(super) const RULE: Rule = Rule {
    name: "names",
    about: "no utils, common, helpers, manager or misc, as file or folder",
    remedy: "name it after its main type",
    find,
};

fn find(files: &[SourceFile], report: &mut Report<'_>) {
    for file in files.iter().filter(|file| file.is_rust()) {
        let path = file.path().trim_end_matches(".rs");
        if let Some(empty) = path.split('/').find(|part| EMPTY_NAMES.contains(part)) {
            report(file, 1, format!("the name {empty:?} says nothing"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines_found;

    #[test]
    fn names_say_something() {
        for bad in ["utils", "common", "helpers", "manager"] {
            assert_eq!(lines_found(&RULE, &format!("crates/x/src/{bad}.rs"), "//! A.\n"), [1]);
            assert_eq!(lines_found(&RULE, &format!("crates/x/tests/{bad}/mod.rs"), "//! A.\n"), [1]);
        }
        assert!(lines_found(&RULE, "crates/x/src/conveyor.rs", "//! A.\n").is_empty());
    }
}
