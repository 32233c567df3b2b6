//! `cargo xtask tidy`: the rules of this code base that neither the compiler, clippy nor rustfmt checks.
//!
//! Each rule is one file with its reason, its lists in a constant at the top, and a test with a bad and a good sample. A
//! rule sees [`SourceFile`]s, in which text, comments and code are told apart, so a word in a comment is not mistaken
//! for code. Rejected: a real parser (`syn`); the rules need words and braces, and tidy must work on code that does not parse.

mod arrows;
mod forbid_unsafe;
mod headers;
mod leftovers;
mod length;
mod links;
mod loom_bounds;
mod machine_paths;
mod names;
mod primitives;
mod scan;
mod sleeps;
mod source;
mod threads;
mod unsafety;

use crate::options::Options;
use crate::workspace::Workspace;
use source::SourceFile;
use std::fmt;

/// More findings than this are counted, not listed.
const SHOWN: usize = 100;

/// A place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    rule: &'static str,
    problem: String,
    remedy: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: [{}] {}; {}", self.path, self.line, self.rule, self.problem, self.remedy)
    }
}

/// Takes what a rule finds: the file, the line (from 1), and what is wrong there.
type Report<'a> = dyn FnMut(&SourceFile, usize, String) + 'a;

/// A rule looks at all files and reports what breaks it.
pub(crate) struct Rule {
    name: &'static str,
    about: &'static str,
    remedy: &'static str,
    find: fn(&[SourceFile], &mut Report<'_>),
}

const RULES: [&Rule; 13] = [
    &arrows::RULE,
    &forbid_unsafe::RULE,
    &headers::RULE,
    &leftovers::RULE,
    &length::RULE,
    &links::RULE,
    &loom_bounds::RULE,
    &machine_paths::RULE,
    &names::RULE,
    &primitives::RULE,
    &sleeps::RULE,
    &threads::RULE,
    &unsafety::RULE,
];

impl Rule {
    /// What breaks this rule, in the order of the files.
    fn findings(&self, files: &[SourceFile]) -> Vec<Finding> {
        let mut findings = Vec::new();
        (self.find)(files, &mut |file, line, problem| {
            let (path, rule, remedy) = (file.path().to_owned(), self.name, self.remedy);
            findings.push(Finding { path, line, rule, problem, remedy });
        });
        findings
    }
}

/// Runs the chore.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let options = Options::parse("tidy", words, &[], &[], &[])?;
    if options.help {
        print!("{}", help());
        return Ok(());
    }
    check(&Workspace::find()?)
}

/// The step of `verify`: prints every finding, and fails if there is one.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let mut files = Vec::new();
    for path in workspace.files()? {
        // What is not text (an image, a Parquet file) has no lines to look at.
        if let Ok(text) = workspace.read(&path) {
            files.push(SourceFile::new(path, text));
        }
    }
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule.findings(&files)).collect();
    findings.sort();
    for finding in findings.iter().take(SHOWN) {
        println!("{finding}");
    }
    if findings.len() > SHOWN {
        println!("... and {} more", findings.len() - SHOWN);
    }
    match findings.len() {
        0 => {
            println!("   {} files, {} rules, nothing to mend", files.len(), RULES.len());
            Ok(())
        }
        count => Err(format!("tidy: {count} finding(s), listed above")),
    }
}

fn help() -> String {
    let rules: String = RULES.iter().map(|rule| format!("  {:<14} {}\n", rule.name, rule.about)).collect();
    format!(
        "\
The rules of this code base that no other tool checks. Looks at every file that git tracks or would track.

Usage: cargo xtask tidy

Rules:
{rules}
Each finding names the place, the rule and what to do. The lists (which module may hold unsafe code, which crate lies
below which) are constants at the top of the rule's file in xtask/src/tidy/.
"
    )
}

/// What a rule finds in one made-up file, for the tests of the rules: the lines.
#[cfg(test)]
fn lines_found(rule: &Rule, path: &str, text: &str) -> Vec<usize> {
    let files = [SourceFile::new(path.to_owned(), text.to_owned())];
    rule.findings(&files).into_iter().map(|finding| finding.line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_says_where_what_and_what_to_do() {
        let files = [SourceFile::new("crates/grid/src/utils.rs".to_owned(), "//! Map.\n".to_owned())];
        let finding = names::RULE.findings(&files).remove(0).to_string();
        assert!(finding.starts_with("crates/grid/src/utils.rs:1: [names] "), "{finding}");
        assert!(finding.ends_with(names::RULE.remedy), "{finding}");
    }

    #[test]
    fn the_help_names_every_rule() {
        let help = help();
        assert!(RULES.iter().all(|rule| help.contains(rule.name)));
    }
}
