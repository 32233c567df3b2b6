//! A file as the rules see it: its lines, and for Rust the code and the comments apart, and which lines are tests.

use super::scan::{Scanned, scan};

/// One file of the project.
pub(super) struct SourceFile {
    path: String,
    text: String,
    scanned: Option<Scanned>,
    test_lines: Vec<bool>,
}

impl SourceFile {
    /// Takes a file apart; `path` is named from the top of the workspace, with `/`.
    pub(super) fn new(path: String, text: String) -> Self {
        let scanned = path.ends_with(".rs").then(|| scan(&text));
        let test_lines = scanned.as_ref().map_or_else(Vec::new, |scanned| test_lines(&scanned.code));
        Self { path, text, scanned, test_lines }
    }

    /// Where it lies.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The last part of the path.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The whole text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// True for Rust.
    pub(super) fn is_rust(&self) -> bool {
        self.scanned.is_some()
    }

    /// True when the whole file is test, example or bench: nothing of it ships.
    pub(super) fn is_test_file(&self) -> bool {
        let parts: Vec<&str> = self.path.split('/').collect();
        let folders = &parts[..parts.len() - 1];
        self.name() == "tests.rs"
            || parts[0] == "bench"
            || folders.iter().any(|part| ["tests", "benches", "examples"].contains(part))
    }

    /// True when the line (from 1) is in a test module or the whole file is test.
    pub(super) fn is_test_line(&self, line: usize) -> bool {
        self.is_test_file() || self.test_lines.get(line - 1).copied().unwrap_or(false)
    }

    /// The lines of code, numbered from 1; none if this is not Rust.
    pub(super) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(self.scanned.as_ref().map_or("", |scanned| &scanned.code))
    }

    /// The lines of comments, numbered from 1; none if this is not Rust.
    pub(super) fn comment_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(self.scanned.as_ref().map_or("", |scanned| &scanned.comments))
    }

    /// The lines as they stand, numbered from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(&self.text)
    }
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// Marks the lines of every `mod` that is compiled for tests only, from its attribute to its closing brace.
fn test_lines(code: &str) -> Vec<bool> {
    let lines: Vec<&str> = code.lines().collect();
    let mut marks = vec![false; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        if !is_test_attribute(lines[at]) {
            at += 1;
            continue;
        }
        // Further attributes may stand between this one and the module.
        let item = (at + 1..lines.len()).find(|&next| !lines[next].trim_start().starts_with("#["));
        let is_module = item.is_some_and(|item| has_word(lines[item], "mod"));
        let end = if is_module { item.map_or(at, |item| block_end(&lines, item)) } else { at };
        if is_module {
            marks[at..=end].fill(true);
        }
        at = end + 1;
    }
    marks
}

fn is_test_attribute(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("#[cfg(") && has_word(line, "test") && !line.contains("not(test)")
}

/// The line on which the block that begins on `start` ends; `start` itself for `mod tests;`.
fn block_end(lines: &[&str], start: usize) -> usize {
    let mut depth = 0_i64;
    for (index, line) in lines.iter().enumerate().skip(start) {
        for character in line.chars() {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
        }
        if depth <= 0 {
            return index;
        }
    }
    lines.len() - 1
}

/// True when `word` occurs in `text` with no letter, digit or `_` on either side.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(part_of_word) && !text[at + word.len()..].starts_with(part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_modules_are_told_apart() {
        let text = "//! A.\nfn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { '{'; }\n}\nfn c() {}\n";
        let file = SourceFile::new("crates/x/src/a.rs".to_owned(), text.to_owned());
        let marks: Vec<bool> = (1..=7).map(|line| file.is_test_line(line)).collect();
        assert_eq!(marks, [false, false, true, true, true, true, false]);
    }

    #[test]
    fn further_attributes_and_other_conditions() {
        let text =
            "#[cfg(all(test, not(x)))]\n#[allow(y)]\nmod tests {\n}\n#[cfg(not(test))]\nmod real {\n}\n";
        let file = SourceFile::new("crates/x/src/a.rs".to_owned(), text.to_owned());
        assert!((1..=4).all(|line| file.is_test_line(line)));
        assert!((5..=7).all(|line| !file.is_test_line(line)));
    }

    #[test]
    fn only_modules_count_as_blocks() {
        let text = "#[cfg(test)]\nuse x;\nfn a() {}\n#[cfg(test)]\nmod tests;\nfn b() {}\n";
        let file = SourceFile::new("crates/x/src/a.rs".to_owned(), text.to_owned());
        assert!(!file.is_test_line(3) && file.is_test_line(5) && !file.is_test_line(6));
    }

    #[test]
    fn whole_files_of_tests() {
        for path in ["crates/x/tests/a.rs", "crates/x/src/a/tests.rs", "bench/src/main.rs"] {
            assert!(SourceFile::new(path.to_owned(), String::new()).is_test_file(), "{path}");
        }
        assert!(!SourceFile::new("crates/x/src/tester.rs".to_owned(), String::new()).is_test_file());
    }

    #[test]
    fn words_have_edges() {
        assert!(has_word("an unsafe block", "unsafe"));
        assert!(!has_word("forbid(unsafe_code)", "unsafe"));
    }
}
