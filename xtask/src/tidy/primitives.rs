//! What loom explores must be what ships: a protocol whose atomics do not come from `primitives.rs` is not explored at all.

use super::{Report, Rule, source::SourceFile};

/// The crate of the protocols.
const PROTOCOLS: &str = "crates/sync/src/";

/// The one file in it that names the real atomics and cells, and loom's.
const DOOR: &str = "crates/sync/src/primitives.rs";

/// What that file stands for.
const REAL: &[&str] = &["sync::atomic", "cell::UnsafeCell", "hint::spin_loop"];

/// The clock waits for time to pass, not for a thread; the counts of the allocator are no protocol, and stand in statics, which loom has
/// none of.
const EXCEPT: [&str; 2] = ["crates/sync/src/ticks.rs", "crates/sync/src/process_memory.rs"];

pub(super) const RULE: Rule = Rule {
    name: "primitives",
    about: "sync takes atomics and cells from crate::primitives, so that loom sees them",
    remedy: "import it from crate::primitives (and add it there, once for std and once for loom)",
    find,
};

fn find(files: &[SourceFile], report: &mut Report<'_>) {
    let protocols = files.iter().filter(|file| file.path().starts_with(PROTOCOLS) && !file.is_test_file());
    for file in protocols.filter(|file| file.path() != DOOR && !EXCEPT.contains(&file.path())) {
        for (line, code) in file.code_lines().filter(|(line, _)| !file.is_test_line(*line)) {
            if let Some(real) = REAL.iter().find(|real| code.contains(**real)) {
                report(file, line, format!("{real} that loom does not see"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines_found;

    #[test]
    fn protocols_use_what_loom_sees() {
        let bad = "//! A.\nuse std::sync::atomic::AtomicBool;\nuse std::cell::UnsafeCell;\n";
        assert_eq!(lines_found(&RULE, "crates/sync/src/strand.rs", bad), [2, 3]);
        for allowed in [DOOR, "crates/sync/src/strand/tests.rs", "crates/pool/src/metrics.rs"] {
            assert!(lines_found(&RULE, allowed, bad).is_empty(), "{allowed}");
        }
        let good = "//! A.\nuse crate::primitives::{AtomicBool, UnsafeCell};\n";
        assert!(lines_found(&RULE, "crates/sync/src/strand.rs", good).is_empty());
    }
}
