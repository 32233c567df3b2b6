//! A file that only grows is never read whole again. Tests do not count: they may be as many as they need to be.

use super::{Report, Rule, source::SourceFile};

/// More lines of production code than this are too many.
const LIMIT: usize = 800;

pub(super) const RULE: Rule = Rule {
    name: "length",
    about: "no more than 800 lines of production code in a file",
    remedy: "give each main type a file of its own",
    find,
};

fn find(files: &[SourceFile], report: &mut Report<'_>) {
    for file in files.iter().filter(|file| file.is_rust() && !file.is_test_file()) {
        let production = file.lines().filter(|(line, _)| !file.is_test_line(*line)).count();
        if production > LIMIT {
            report(file, LIMIT + 1, format!("{production} lines of production code, {LIMIT} are allowed"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines_found;

    #[test]
    fn production_lines_count_and_tests_do_not() {
        let full = "//! A.\n".repeat(LIMIT);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "// t\n".repeat(LIMIT));
        assert!(lines_found(&RULE, "crates/x/src/a.rs", &(full.clone() + &tests)).is_empty());
        assert_eq!(
            lines_found(&RULE, "crates/x/src/a.rs", &(full.clone() + "//! B.\n" + &tests)),
            [LIMIT + 1]
        );
        assert!(lines_found(&RULE, "crates/x/src/a/tests.rs", &full.repeat(2)).is_empty());
        assert!(lines_found(&RULE, "docs/a.md", &full.repeat(2)).is_empty());
    }
}
