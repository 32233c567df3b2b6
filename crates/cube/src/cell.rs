//! How a value is written among others, so that it is not taken for something else: on a terminal, in CSV, beside totals.
//!
//! One place for all who write answers, the command line included.

use std::borrow::Cow;

/// A text as a terminal may be given it: what would move the cursor, begin a line or change colours is shown as it is written in code.
///
/// ```
/// assert_eq!(filbert_cube::cell::on_terminal("red\u{1b}[31m\nnext"), "red\\u{1b}[31m\\nnext");
/// ```
pub fn on_terminal(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escaped = |letter: char| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// One line of CSV, RFC 4180, without its end: a missing cell is nothing, an empty text is `""`.
///
/// A missing cell that is alone on its line is `""` too: programs skip lines with nothing in them.
///
/// ```
/// let cells = [Some("a,b".to_owned()), None, Some(String::new())];
/// assert_eq!(filbert_cube::cell::csv_line(cells), "\"a,b\",,\"\"");
/// ```
pub fn csv_line(cells: impl IntoIterator<Item = Option<String>>) -> String {
    let (mut line, mut count) = (String::new(), 0);
    for cell in cells {
        if count > 0 {
            line.push(',');
        }
        match cell {
            Some(text) if !text.is_empty() && !text.contains([',', '"', '\n', '\r']) => line += &text,
            Some(text) => line += &format!("\"{}\"", text.replace('"', "\"\"")),
            None => {}
        }
        count += 1;
    }
    if count == 1 && line.is_empty() { "\"\"".to_owned() } else { line }
}

/// A text in single quotes where it would be taken for a word that stands for something else; otherwise as it is. What is such a word in
/// quotes already gets another pair, so that no two texts become one.
pub(crate) fn apart_from<'a>(text: &'a str, words: &[&str]) -> Cow<'a, str> {
    let mut bare = text;
    while let Some(inner) = bare.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        bare = inner;
    }
    if words.contains(&bare) { Cow::Owned(format!("'{text}'")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_stand_for_something_are_quoted_and_no_two_become_one() {
        let texts = ["", "''", "*", "'*'", "''*''", "NULL", "'", "'''", "a", "'a'", "* "];
        let written = texts.map(|text| apart_from(text, &["", "*", "NULL"]).into_owned());
        let expected = ["''", "''''", "'*'", "''*''", "'''*'''", "'NULL'", "'", "'''", "a", "'a'", "* "];
        assert_eq!(written, expected);
        assert!(written.iter().all(|text| !["", "*", "NULL"].contains(&text.as_str())));
    }

    #[test]
    fn a_terminal_is_not_what_a_value_may_write_to() {
        assert_eq!(on_terminal("a\nb\u{1b}[2Jc\t\r\u{9b}"), "a\\nb\\u{1b}[2Jc\\t\\r\\u{9b}");
        assert!(matches!(on_terminal("größer 日本"), Cow::Borrowed("größer 日本")));
    }

    #[test]
    fn a_line_has_all_of_its_cells() {
        let line = |cells: &[Option<&str>]| csv_line(cells.iter().map(|cell| cell.map(str::to_owned)));
        assert_eq!(line(&[Some("a \"b\""), Some("c\nd"), Some("e")]), "\"a \"\"b\"\"\",\"c\nd\",e");
        assert_eq!(line(&[None, None]), ",");
        assert_eq!(line(&[None]), "\"\"");
        assert_eq!(line(&[]), "");
    }
}
