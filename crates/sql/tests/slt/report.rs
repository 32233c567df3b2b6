//! Counts how the statements of others ended.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// How many words of a message tell it from others.
const WORDS: usize = 6;

/// The figures of one suite.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) files: usize,
    pub(crate) left_out: usize,
    pub(crate) tried: usize,
    pub(crate) passed: usize,
    /// Refused statements, by the first words of the message, with the place of the first.
    refused: BTreeMap<String, (usize, String)>,
    /// Other answers that are known, by their reason.
    known: BTreeMap<String, usize>,
    /// Other answers that nobody knows.
    pub(crate) wrong: Vec<String>,
}

impl Report {
    pub(crate) fn refuse(&mut self, place: &str, message: &str) {
        let words: Vec<_> = message.split_whitespace().take(WORDS).collect();
        let group = self.refused.entry(words.join(" ")).or_insert_with(|| (0, place.to_owned()));
        group.0 += 1;
    }

    pub(crate) fn know(&mut self, reason: &str) {
        *self.known.entry(reason.to_owned()).or_default() += 1;
    }

    /// Keeps an answer that nobody knows, and shows it at once: the end is far.
    pub(crate) fn fail(&mut self, problem: String) {
        println!("{problem}");
        self.wrong.push(problem);
    }

    fn counts(&self) -> [usize; 7] {
        let refused = self.refused.values().map(|(count, _)| count).sum();
        let known = self.known.values().sum();
        [self.files, self.left_out, self.tried, self.passed, refused, known, self.wrong.len()]
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nrefused, by the first words of the message, with the first place:")?;
        let mut groups: Vec<_> = self.refused.iter().collect();
        groups.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (words, (count, place)) in groups {
            writeln!(f, "{count:>7}  {words}  ({place})")?;
        }
        writeln!(f, "other answers that are known, by their reason:")?;
        for (reason, count) in &self.known {
            writeln!(f, "{count:>7}  {reason}")?;
        }
        let names = ["files", "left out", "statements", "passed", "refused", "known", "wrong"];
        for (name, count) in names.iter().zip(self.counts()) {
            write!(f, "{name} {count}  ")?;
        }
        writeln!(f)
    }
}
