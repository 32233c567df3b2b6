//! Sentences on a terminal: wrapped at words, further lines indented.

use std::io::{self, Write};

/// The longest line, indentation included.
const WIDTH: usize = 100;

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

/// Bytes as people read them.
pub(super) fn bytes(count: f64) -> String {
    match count {
        ..1e4 => format!("{count:.0} B"),
        ..1e7 => format!("{:.1} kB", count / 1e3),
        ..1e10 => format!("{:.1} MB", count / 1e6),
        _ => format!("{:.1} GB", count / 1e9),
    }
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
