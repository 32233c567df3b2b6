//! A statement that went wrong: what is wrong, and where in its text.

use super::splitter::Statement;
use filbert::SqlError;
use std::fmt;

/// What is shown of a long line on each side of the place.
const AROUND: usize = 60;

/// Why a statement has no result, for people.
#[derive(Debug)]
pub(super) struct StatementError {
    said: String,
    place: Option<Place>,
}

#[derive(Debug, PartialEq, Eq)]
struct Place {
    /// In the whole text.
    line: usize,
    /// What stands there, and how many letters before the place.
    shown: String,
    before: usize,
}

impl StatementError {
    pub(super) fn new(statement: &Statement, error: &SqlError) -> Self {
        let at = error.offset_in(&statement.text);
        Self { said: error.to_string(), place: at.map(|at| Place::of(statement, at)) }
    }
}

impl Place {
    fn of(statement: &Statement, at: usize) -> Self {
        let text = &statement.text;
        let start = text[..at].rfind('\n').map_or(0, |before| before + 1);
        let end = text[at..].find('\n').map_or(text.len(), |after| at + after);
        let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
        let before: Vec<char> = text[start..at].chars().map(plain).collect();
        let after: Vec<char> = text[at..end].chars().map(plain).collect();
        let (cut, kept) = before.split_at(before.len().saturating_sub(AROUND));
        let mut shown = String::from(if cut.is_empty() { "" } else { "…" });
        shown.extend(kept);
        let before = unicode_width::UnicodeWidthStr::width(&*shown);
        shown.extend(after.iter().take(AROUND));
        shown += if after.len() > AROUND { "…" } else { "" };
        Self { line: statement.line + text[..start].matches('\n').count(), shown, before }
    }
}

impl fmt::Display for StatementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)?;
        let Some(Place { line, shown, before }) = &self.place else { return Ok(()) };
        let line = format!("line {line}: ");
        write!(f, "\n  {line}{shown}\n  {}^", " ".repeat(line.len() + before))
    }
}

impl std::error::Error for StatementError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, at: usize) -> String {
        let statement = Statement { text: text.to_owned(), line: 3 };
        let error = StatementError { said: "no".to_owned(), place: Some(Place::of(&statement, at)) };
        error.to_string()
    }

    #[test]
    fn the_place_is_pointed_at() {
        assert_eq!(shown("SELECT x\nFROM\tt", 14), "no\n  line 4: FROM t\n               ^");
        assert_eq!(shown("SELECT x", 8), "no\n  line 3: SELECT x\n                  ^");
        let wide = format!("no\n  line 3: SELECT '日本', x\n  {}^", " ".repeat(23));
        assert_eq!(shown("SELECT '日本', x", 17), wide);
        let long = format!("SELECT {}x{}", "1, ".repeat(100), ", 1".repeat(100));
        let said = shown(&long, 307);
        let lines: Vec<&str> = said.lines().collect();
        let column = lines[2].chars().count() - 1;
        assert_eq!(lines[1].chars().nth(column), Some('x'), "{said}");
        assert!(lines.iter().all(|line| line.chars().count() < 140), "{said}");
    }
}
