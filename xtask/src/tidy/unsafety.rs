//! Code that the compiler does not check lives where it is argued line by line: in `sync`, and in named modules of `pool`.

use super::{Report, Rule, source::SourceFile, source::has_word};

/// Where unsafe code may stand: a file, or a folder with `/` at its end.
const ALLOWED: &[&str] = &[
    // An allocator that counts, for one test; a function of the C library that counts, for another.
    "crates/cube/tests/allocation.rs",
    "crates/pool/tests/detached.rs",
    "crates/sync/",
    "crates/pool/src/steal/core.rs",
    "crates/pool/src/steal/guest.rs",
    "crates/pool/src/steal/job.rs",
    "crates/pool/src/steal/join.rs",
    "crates/pool/src/steal/mod.rs",
    "crates/pool/src/steal/scope.rs",
    "crates/pool/src/steal/shape/tree.rs",
    "crates/pool/src/steal/slot.rs",
    "crates/pool/src/steal/tests/",
    "crates/pool/src/steal/worker.rs",
];

pub(super) const RULE: Rule = Rule {
    name: "unsafe",
    about: "no unsafe code outside crates/sync and the files named in tidy/unsafety.rs",
    remedy: "use a part of filbert-sync, or name the module in xtask/src/tidy/unsafety.rs with its rules in its header",
    find,
};

fn find(files: &[SourceFile], report: &mut Report<'_>) {
    for file in files.iter().filter(|file| !allowed(file.path())) {
        for (line, code) in file.code_lines() {
            if has_word(code, "unsafe") {
                report(file, line, "unsafe code".to_owned());
            }
        }
    }
}

fn allowed(path: &str) -> bool {
    ALLOWED.iter().any(|place| path == *place || (place.ends_with('/') && path.starts_with(place)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines_found;

    #[test]
    fn unsafe_code_stands_in_named_places_only() {
        let bad = "//! A.\nfn a() {\n    unsafe { b() }\n}\n";
        assert_eq!(lines_found(&RULE, "crates/grid/src/map.rs", bad), [3]);
        assert!(lines_found(&RULE, "crates/sync/src/conveyor.rs", bad).is_empty());
        let good = "//! Nothing unsafe here.\n#![forbid(unsafe_code)]\nconst A: &str = \"unsafe\";\n";
        assert!(lines_found(&RULE, "crates/grid/src/lib.rs", good).is_empty());
    }
}
