//! The compiler keeps the promise that a crate holds no unsafe code, once the crate's root says so.

use super::{Report, Rule, source::SourceFile};

/// The packages that hold unsafe code; the rule `unsafe` says where in them.
const EXCEPT: &[&str] = &["crates/sync/", "crates/pool/"];

pub(super) const RULE: Rule = Rule {
    name: "forbid-unsafe",
    about: "every crate but sync and pool forbids unsafe code in its roots",
    remedy: "add #![forbid(unsafe_code)] below the header",
    find,
};

fn find(files: &[SourceFile], report: &mut Report<'_>) {
    for file in files.iter().filter(|file| is_root(file.path())) {
        let said = file.code_lines().any(|(_, code)| code.trim() == "#![forbid(unsafe_code)]");
        if !said && !EXCEPT.iter().any(|place| file.path().starts_with(place)) {
            report(file, 1, "a crate root that does not forbid unsafe code".to_owned());
        }
    }
}

fn is_root(path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    path.ends_with("src/lib.rs") || path.ends_with("src/main.rs") || folder.ends_with("src/bin")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines_found;

    #[test]
    fn roots_forbid_unsafe_code() {
        let good = "//! A.\n\n#![forbid(unsafe_code)]\n";
        for root in ["crates/grid/src/lib.rs", "bench/src/main.rs", "crates/grid/src/bin/a.rs"] {
            assert_eq!(lines_found(&RULE, root, "//! #![forbid(unsafe_code)]\n"), [1], "{root}");
            assert!(lines_found(&RULE, root, good).is_empty());
        }
        assert!(lines_found(&RULE, "crates/sync/src/lib.rs", "//! A.\n").is_empty());
        assert!(lines_found(&RULE, "crates/grid/src/map.rs", "//! A.\n").is_empty());
    }
}
