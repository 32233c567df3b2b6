//! Work that is not done is not merged, or has an issue; a mark in the code is seen by nobody.

use super::{Report, Rule, source::SourceFile, source::has_word};

/// Words that mark unfinished work, in comments and in files that are not Rust.
const MARKS: &[&str] = &["TODO", "FIXME"];

/// Macros that stand for code that is not there.
const MACROS: &[&str] = &["todo!", "unimplemented!"];

pub(super) const RULE: Rule = Rule {
    name: "leftovers",
    about: "no marks of unfinished work, no macro that stands for missing code",
    remedy: "finish it, or open an issue and take the mark out",
    find,
};

fn find(files: &[SourceFile], report: &mut Report<'_>) {
    for file in files {
        for (line, code) in file.code_lines() {
            if let Some(found) = MACROS.iter().find(|name| has_word(code, name)) {
                report(file, line, format!("{found} stands for missing code"));
            }
        }
        let marks = |text: &str| MARKS.iter().find(|mark| has_word(text, mark)).copied();
        let found: Vec<_> = if file.is_rust() {
            file.comment_lines().filter_map(|(line, text)| Some((line, marks(text)?))).collect()
        } else {
            file.lines().filter_map(|(line, text)| Some((line, marks(text)?))).collect()
        };
        for (line, mark) in found {
            report(file, line, format!("{mark} marks unfinished work"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines_found;

    #[test]
    fn unfinished_work_is_found() {
        let bad = "//! A.\n// TODO: b\nfn c() { todo!() }\nfn d() { unimplemented!(\"x\") } // FIXME\n";
        let mut lines = lines_found(&RULE, "crates/x/src/a.rs", bad);
        lines.sort();
        assert_eq!(lines, [2, 3, 4, 4]);
        assert_eq!(lines_found(&RULE, "README.md", "# A\nTODO\n"), [2]);
    }

    #[test]
    fn other_words_are_not() {
        let good = "//! A.\nfn todo() -> &'static str { \"TODO\" } // a todo list\n";
        assert!(lines_found(&RULE, "crates/x/src/a.rs", good).is_empty());
    }
}
