//! A loom model that fixes its own bound looks no deeper in `cargo xtask long` than in `verify`.

use super::{Report, Rule, source::SourceFile};

pub(super) const RULE: Rule = Rule {
    name: "loom-bounds",
    about: "a loom model's bound gives way to LOOM_MAX_PREEMPTIONS, which `xtask long` sets",
    remedy: "write `builder.preemption_bound.get_or_insert(3);`: the environment comes first",
    find,
};

fn find(files: &[SourceFile], report: &mut Report<'_>) {
    for file in files {
        for (line, code) in file.code_lines() {
            let spaceless: String = code.split_whitespace().collect();
            if ["preemption_bound=Some", "preemption_bound:Some"]
                .iter()
                .any(|fixed| spaceless.contains(fixed))
            {
                report(file, line, "a fixed bound on preemptions".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines_found;

    #[test]
    fn a_bound_gives_way() {
        let path = "crates/sync/tests/models/strand.rs";
        let bad = "//! A.\nfn a() {\n    builder.preemption_bound = Some(3);\n}\n";
        assert_eq!(lines_found(&RULE, path, bad), [3]);
        let good = "//! A.\nfn a() {\n    builder.preemption_bound.get_or_insert(3);\n}\n";
        assert!(lines_found(&RULE, path, good).is_empty());
    }
}
