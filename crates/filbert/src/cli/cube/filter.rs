//! The filter of a command line, and what is said of one that cannot be read: what is wrong, with a mark below its place.

use filbert::cube::{CubeError, Filter};
use unicode_width::UnicodeWidthStr;

/// So many letters are shown before and behind a mistake.
const AROUND: usize = 40;

/// Reads a filter.
pub(super) fn read(text: &str) -> Result<Filter, Box<dyn std::error::Error>> {
    text.parse().map_err(|error| match error {
        CubeError::InvalidFilter { at, problem } => format!("filter: {problem}\n{}", marked(text, at)).into(),
        other => other.into(),
    })
}

/// Shows a text around a letter, with a mark below it.
fn marked(text: &str, at: usize) -> String {
    let letters: Vec<char> =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let begin = at.saturating_sub(AROUND).min(letters.len());
    let end = at.saturating_add(AROUND).min(letters.len());
    let part = |from: usize, to: usize| letters[from..to].iter().collect::<String>();
    let before = format!("{}{}", if begin > 0 { "…" } else { "" }, part(begin, at.clamp(begin, end)));
    let behind = format!("{}{}", part(at.clamp(begin, end), end), if end < letters.len() { "…" } else { "" });
    format!("  {before}{behind}\n  {}^", " ".repeat(before.width()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_marked() {
        let told = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(
            told("ccy = EUR"),
            "filter: a text stands in single quotes: 'EUR'\n  ccy = EUR\n        ^"
        );
        assert!(
            told("desk = '日本' an").ends_with("  desk = '日本' an\n                ^"),
            "{}",
            told("desk = '日本' an")
        );
        assert!(told("ccy =\n").ends_with("  ccy = \n        ^"), "{}", told("ccy =\n"));
        let long = format!("{}ccy = EUR and {}true", "a = 1 and ".repeat(20), "b = 2 and ".repeat(20));
        let told = told(&long);
        let lines: Vec<&str> = told.lines().collect();
        assert!(lines[1].starts_with("  …") && lines[1].ends_with('…'), "{told}");
        let mark = lines[2].chars().count() - 1;
        assert_eq!(lines[1].chars().skip(mark).take(3).collect::<String>(), "EUR");
    }
}
