//! Sentences on a terminal: wrapped at words, further lines indented.

use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// The longest line, indentation included: the width of the narrowest terminal in use.
const WIDTH: usize = 80;

/// Writes `text` as lines of bearable length, each after `indent`, all but the first two letters deeper.
pub(super) fn write_wrapped(out: &mut impl Write, indent: &str, text: &str) -> io::Result<()> {
    let mut line = indent.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{line}")?;
            line = format!("{indent}  ");
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line += word;
        empty = false;
    }
    writeln!(out, "{line}")
}

/// Stands for the rest of a text that has no room.
const LEFT_OUT: &str = "…";

/// Cuts a text to the columns of a terminal that there are for it.
pub(super) fn clipped(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(LEFT_OUT.width());
    // A sign behind a letter can make it wider than the two are by themselves.
    let fits = |end: &usize| text[..*end].width() <= room;
    let ends = text.char_indices().map(|(begin, letter)| begin + letter.len_utf8());
    let end = ends.take_while(fits).last().unwrap_or(0);
    text[..end].chars().chain(LEFT_OUT.chars().take(width)).collect()
}

/// A number with a comma after every thousand.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// So many of something, in words: `1 map`, `2 maps`.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// A name among others that are separated by commas, without the blanks around it.
pub(super) fn name(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a name is missing between the commas".to_owned()),
        name => Ok(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let numbers = [0, 999, 1_000, 20_000_000];
        assert_eq!(numbers.map(grouped), ["0", "999", "1,000", "20,000,000"]);
    }

    #[test]
    fn a_text_is_cut_by_columns() {
        assert_eq!(clipped("filbert", 7), "filbert");
        assert_eq!(clipped("filberts", 7), "filber…");
        assert_eq!(clipped("日本語", 5), "日本…");
        assert_eq!(clipped("filbert", 0), "");
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(counted(1, "entry", "entries"), "1 entry");
        assert_eq!(counted(1_000, "entry", "entries"), "1,000 entries");
        assert_eq!(name(" desk ").as_deref(), Ok("desk"));
        assert!(name(" ").is_err());
    }

    #[test]
    fn long_text_is_cut_between_words() {
        let mut out = Vec::new();
        write_wrapped(&mut out, "  ", &"filbert ".repeat(30)).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("filbert").count(), 30);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("    filbert")), "{text}");
    }
}
