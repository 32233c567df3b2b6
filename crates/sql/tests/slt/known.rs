//! The list of answers that differ from those of others, each with its reason: `known.txt`.
//!
//! ```text
//! = The reason for the lines below it.
//! datafusion/copy.slt  3  copy (select   three statements of a file, by words that stand in them
//! datafusion/cast.slt  2                 two of whatever words
//! datafusion/*         *  ^explain       any number, by their first words, in files of any name
//! - datafusion/spark/*                   files that are not run
//! ```
//!
//! Upper case and white space do not matter. A statement counts for the first entry that it fits. An answer that no entry knows is a mistake, as
//! is an entry for which there are more or fewer statements than it says.

use glob::Pattern;
use std::cell::Cell;

/// The whole list.
pub(crate) struct KnownAnswers {
    entries: Vec<Entry>,
}

struct Entry {
    reason: String,
    line: usize,
    files: Pattern,
    text: String,
    is_run: bool,
    /// How many statements there are, where that is told.
    count: Option<usize>,
    found: Cell<usize>,
}

impl KnownAnswers {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut entries = Vec::new();
        let mut reason = None;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            let wrong = |what: &str| format!("line {} of the list of known answers: {what}", number + 1);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(text) = line.strip_prefix('=') {
                reason = Some(text.trim().to_owned());
                continue;
            }
            let reason = reason.clone().filter(|reason| !reason.is_empty());
            let reason = reason.ok_or_else(|| wrong("there is no reason above it"))?;
            let (is_run, line) = line.strip_prefix("- ").map_or((true, line), |line| (false, line));
            let (files, rest) = line.split_once(char::is_whitespace).unwrap_or((line, "*"));
            let rest = rest.trim_start();
            let (count, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let count = match count {
                "*" => None,
                count => Some(count.parse().map_err(|_| wrong("there is no number of statements"))?),
            };
            let files = Pattern::new(files).map_err(|error| wrong(&error.to_string()))?;
            let found = Cell::new(0);
            entries.push(Entry { reason, line: number + 1, files, text: plain(text), is_run, count, found });
        }
        Ok(Self { entries })
    }

    /// Tells why a file is not run, if it is not.
    pub(crate) fn reason_to_leave_out(&self, file: &str) -> Option<&str> {
        self.first(|entry| !entry.is_run && entry.files.matches(file))
    }

    /// Tells why a statement has another answer, if that is known.
    pub(crate) fn reason_to_differ(&self, file: &str, statement: &str) -> Option<&str> {
        let statement = plain(statement);
        self.first(|entry| {
            let says = match entry.text.strip_prefix('^') {
                Some(begin) => statement.starts_with(begin),
                None => statement.contains(&entry.text),
            };
            entry.is_run && says && entry.files.matches(file)
        })
    }

    fn first(&self, is_meant: impl Fn(&Entry) -> bool) -> Option<&str> {
        let entry = self.entries.iter().find(|entry| is_meant(entry))?;
        entry.found.set(entry.found.get() + 1);
        Some(&entry.reason)
    }

    /// Lists the entries of a suite that know more or fewer statements than there are.
    pub(crate) fn miscounted(&self, suite: &str) -> Vec<String> {
        let is_wrong = |entry: &&Entry| match entry.count {
            Some(count) => entry.found.get() != count,
            None => entry.found.get() == 0,
        };
        let said = |entry: &Entry| {
            let found = entry.found.get();
            format!(
                "known.txt, line {}: {found} statements are found for {} {}",
                entry.line, entry.files, entry.text
            )
        };
        let of_suite = self.entries.iter().filter(|entry| entry.files.as_str().starts_with(suite));
        of_suite.filter(is_wrong).map(said).collect()
    }
}

/// A text without the differences that do not matter.
fn plain(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("--"));
    let words: Vec<_> = lines.flat_map(str::split_whitespace).collect();
    words.join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_file_and_words() {
        let list = "# all\n= plans\na/*  * ^EXPLAIN select\n= numbers\na/b.slt  1  2 ^ 3\na/b.slt 1\n= not here\n- a/spark/*\n";
        let known = KnownAnswers::read(list).unwrap();
        assert_eq!(known.miscounted("a").len(), 4);
        assert_eq!(known.reason_to_differ("a/c.slt", "explain\n  SELECT 1"), Some("plans"));
        assert_eq!(known.reason_to_differ("a/c.slt", "SELECT 'explain select'"), None);
        assert_eq!(known.reason_to_differ("a/b.slt", "-- a comment\nselect 2  ^ 3"), Some("numbers"));
        assert_eq!(known.reason_to_differ("a/c.slt", "select 2 ^ 3"), None);
        assert_eq!(known.reason_to_differ("a/b.slt", "select 4"), Some("numbers"));
        assert_eq!(known.miscounted("a"), ["known.txt, line 8: 0 statements are found for a/spark/* "]);
        assert_eq!(known.reason_to_leave_out("a/spark/x.slt"), Some("not here"));
        assert_eq!(known.reason_to_leave_out("a/b.slt"), None);
        assert!(known.miscounted("a").is_empty());
        assert_eq!(known.reason_to_differ("a/b.slt", "select 5"), Some("numbers"));
        assert_eq!(known.miscounted("a"), ["known.txt, line 6: 2 statements are found for a/b.slt "]);
    }

    #[test]
    fn an_entry_has_a_reason_and_a_number() {
        for wrong in ["a/b.slt 1 x\n", "=\na/b.slt 1 x\n", "= y\na/[ 1 x\n", "= y\na/b.slt x\n"] {
            assert!(KnownAnswers::read(wrong).is_err(), "{wrong}");
        }
    }
}
