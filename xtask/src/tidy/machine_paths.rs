//! A path that exists on one machine only makes the project fail on every other.

use super::{Report, Rule, source::SourceFile};

/// The first folder of paths that belong to one machine. Written without the slash, so that this file passes.
const FOLDERS: &[&str] = &["work", "root", "home", "Users"];

pub(super) const RULE: Rule = Rule {
    name: "machine-paths",
    about: "no absolute path of some machine in any tracked file",
    remedy: "name it from the workspace, or read it from the environment",
    find,
};

fn find(files: &[SourceFile], report: &mut Report<'_>) {
    for file in files {
        for (line, text) in file.lines() {
            if let Some(folder) = FOLDERS.iter().find(|folder| names_folder(text, folder)) {
                report(file, line, format!("a path below /{folder}"));
            }
        }
    }
}

/// True when a path in `text` begins with `/folder`: nothing that could be an earlier part of a path or an address before
/// it, and nothing that makes it a longer word after it.
fn names_folder(text: &str, folder: &str) -> bool {
    let start = format!("/{folder}");
    text.match_indices(&start).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + start.len()..].chars().next();
        let earlier_part = |c: char| c.is_alphanumeric() || "_-./~*})>$".contains(c);
        let longer_word = |c: char| c.is_alphanumeric() || "_-".contains(c);
        !before.is_some_and(earlier_part) && !after.is_some_and(longer_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines_found;

    #[test]
    fn paths_of_one_machine_are_found() {
        for folder in FOLDERS {
            for bad in [format!("see /{folder}/x"), format!("\"/{folder}\""), format!("A=/{folder}/y")] {
                assert_eq!(lines_found(&RULE, "README.md", &bad), [1], "{bad}");
            }
        }
    }

    #[test]
    fn other_slashes_are_not() {
        for good in ["fork/work", "https://example.org/home", "$HOME/.cache", "../root/x", "I/O /workers"] {
            assert!(lines_found(&RULE, "README.md", good).is_empty(), "{good}");
        }
    }
}
