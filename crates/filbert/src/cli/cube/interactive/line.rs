//! A line that somebody types: a command, or a question in words, which becomes options of the command line.
//!
//! ```text
//! var95, pnl by desk, ccy pivot ccy where desk = 'FX' totals --digits 1
//!   └──► --measures=var95,pnl --by=desk,ccy --across=ccy --where=desk = 'FX' --totals --digits 1
//! ```
//!
//! So there is one reader of options, and what the command line can do can be asked here.

use std::path::PathBuf;

/// The meaning of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Nothing,
    Help,
    Measures,
    Columns,
    /// The values of a column.
    Values(String),
    Explain(bool),
    /// Decimals of measures; none for the formats of the forest.
    Digits(Option<u8>),
    /// Writes the last answer to a file.
    Export(PathBuf),
    Quit,
    /// Options of the command line.
    Question(Vec<String>),
}

/// The commands, and what they do.
pub(super) const COMMANDS: [(&str, &str); 9] = [
    (
        "MEASURES by COLUMNS",
        "a question; behind it: pivot COLUMN, where FILTER, totals [COLUMNS], flat, and options such as --format csv",
    ),
    ("measures", "the measures of the forest"),
    ("columns", "the columns to group and filter by"),
    ("values COLUMN", "the values of a column"),
    ("explain on|off", "how answers are computed, instead of the answers"),
    ("digits N|off", "decimals of measures, or the formats of the forest"),
    ("export FILE", "writes the last answer to a file: .csv, .json, .ndjson, .arrow or .parquet"),
    ("help", "this list"),
    ("quit", "ends this"),
];

/// The words that begin a part of a question.
pub(super) const CLAUSES: [&str; 6] = ["by", "pivot", "across", "where", "totals", "flat"];

/// A word of a line, and where it stands.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) begin: usize,
    end: usize,
    pub(super) text: String,
    /// False in double quotes, in which nothing is a keyword.
    is_bare: bool,
}

impl Word {
    /// The keyword that it is.
    pub(super) fn clause(&self) -> Option<&'static str> {
        CLAUSES.into_iter().find(|clause| self.is_bare && self.text.eq_ignore_ascii_case(clause))
    }

    /// Tells an option, such as `-o` or `--limit`, from a negative number.
    fn begins_options(&self) -> bool {
        let letter = self.text.strip_prefix("--").or_else(|| self.text.strip_prefix('-'));
        self.is_bare && letter.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_alphabetic()))
    }
}

/// Splits a line at blanks and commas outside of quotes.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut letters = text.char_indices().peekable();
    while let Some((begin, first)) = letters.next() {
        if is_between(first) {
            continue;
        }
        let (mut end, mut quote) = (begin + first.len_utf8(), is_quote(first).then_some(first));
        while let Some(&(at, letter)) = letters.peek() {
            match quote {
                Some(mark) if letter == mark => quote = None,
                None if is_quote(letter) => quote = Some(letter),
                None if is_between(letter) => break,
                _ => {}
            }
            end = at + letter.len_utf8();
            letters.next();
        }
        let written = &text[begin..end];
        let inner = written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let text = inner.map_or_else(|| written.to_owned(), |inner| inner.replace("\"\"", "\""));
        words.push(Word { begin, end, text, is_bare: inner.is_none() });
    }
    words
}

fn is_between(letter: char) -> bool {
    letter.is_whitespace() || letter == ','
}

fn is_quote(letter: char) -> bool {
    matches!(letter, '\'' | '"')
}

/// Reads a line.
pub(super) fn read(text: &str) -> Result<Line, String> {
    let text = text.trim().trim_end_matches(';').trim_end();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    Ok(match (first.to_lowercase().as_str(), rest) {
        ("", _) => Line::Nothing,
        ("help" | "?" | "\\?" | "\\h", "") => Line::Help,
        ("quit" | "exit" | "\\q", "") => Line::Quit,
        ("measures", "") => Line::Measures,
        ("columns", "") => Line::Columns,
        ("values", column) if words(column).len() == 1 => Line::Values(words(column).remove(0).text),
        ("values", _) => return Err("values takes one column, such as values desk".to_owned()),
        ("explain", "on") => Line::Explain(true),
        ("explain", "off") => Line::Explain(false),
        ("explain", _) => return Err("explain takes on or off".to_owned()),
        ("digits", "off") => Line::Digits(None),
        ("digits", count) => match count.parse() {
            Ok(digits) if digits <= filbert::cube::NumberFormat::MOST_DECIMALS => Line::Digits(Some(digits)),
            _ => return Err("digits takes a number from 0 to 15, or off".to_owned()),
        },
        ("export", "") => return Err("export takes a file, such as export report.csv".to_owned()),
        ("export", file) => Line::Export(unquoted(file).into()),
        _ => Line::Question(question(text)?),
    })
}

/// The options that a question is.
fn question(text: &str) -> Result<Vec<String>, String> {
    let words = words(text);
    let options = words.iter().position(Word::begins_options);
    let (words, options) = match options {
        Some(at) => (&words[..at], unquoted_words(&text[words[at].begin..])),
        None => (&words[..], Vec::new()),
    };
    let mut found = Vec::new();
    let mut rest = words;
    let mut clause = "";
    loop {
        let length = rest.iter().position(|word| word.clause().is_some()).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(length);
        found.extend(option(clause, part, text)?);
        let Some((next, left)) = behind.split_first() else { break };
        (clause, rest) = (next.clause().unwrap_or_default(), left);
    }
    found.extend(options);
    Ok(found)
}

/// The option that a part of a question is; `clause` begins it, nothing begins the measures.
fn option(clause: &str, part: &[Word], text: &str) -> Result<Option<String>, String> {
    let names = part.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(",");
    Ok(Some(match (clause, part) {
        ("", []) => return Ok(None),
        ("", _) => format!("--measures={names}"),
        ("by", []) => return Err("by takes columns, such as by desk, ccy".to_owned()),
        ("by", _) => format!("--by={names}"),
        ("pivot" | "across", [_]) => format!("--across={names}"),
        ("pivot" | "across", _) => return Err(format!("{clause} takes one column, such as {clause} ccy")),
        ("where", []) => return Err("where takes a condition, such as where desk = 'FX'".to_owned()),
        ("where", [first, ..]) => {
            let end = part.last().map_or(first.end, |last| last.end);
            format!("--where={}", &text[first.begin..end])
        }
        ("totals", []) => "--totals".to_owned(),
        ("totals", _) => format!("--totals={names}"),
        (_, []) => "--flat".to_owned(),
        _ => return Err("behind flat comes nothing, or where, totals and other words".to_owned()),
    }))
}

/// Splits options at blanks outside of quotes, and takes the quotes away.
fn unquoted_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in text.chars() {
        match quote {
            Some(mark) if letter == mark => quote = None,
            None if is_quote(letter) => {
                word.get_or_insert_default();
                quote = Some(letter);
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

fn unquoted(text: &str) -> &str {
    let inner = |mark: char| text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    inner('\'').or_else(|| inner('"')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Vec<String> {
        match read(text) {
            Ok(Line::Question(options)) => options,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_question_becomes_options() {
        assert_eq!(
            options(
                "var95 pnl by desk, ccy PIVOT ccy where desk = 'FX' and not ccy in ('EUR', 'by x') totals"
            ),
            [
                "--measures=var95,pnl",
                "--by=desk,ccy",
                "--across=ccy",
                "--where=desk = 'FX' and not ccy in ('EUR', 'by x')",
                "--totals"
            ]
        );
        assert_eq!(
            options("\"second worst\",pnl by \"by\" totals desk flat;"),
            ["--measures=second worst,pnl", "--by=by", "--totals=desk", "--flat"]
        );
        assert_eq!(
            options("pnl by desk --drill-through --cell 'desk=FX, book=1' --limit 3"),
            ["--measures=pnl", "--by=desk", "--drill-through", "--cell", "desk=FX, book=1", "--limit", "3"]
        );
        assert_eq!(
            options("pnl where pnl < -5 and var95 > -.5 -o a.csv"),
            ["--measures=pnl", "--where=pnl < -5 and var95 > -.5", "-o", "a.csv"]
        );
        assert_eq!(options("by desk"), ["--by=desk"]);
        assert_eq!(options("pnl where desk='a where b'"), ["--measures=pnl", "--where=desk='a where b'"]);
        assert_eq!(options("measures_of_risk"), ["--measures=measures_of_risk"]);
    }

    #[test]
    fn commands_are_told_from_questions() {
        for (text, line) in [
            ("", Line::Nothing),
            (" ; ", Line::Nothing),
            ("HELP", Line::Help),
            ("quit;", Line::Quit),
            ("values \"my desk\"", Line::Values("my desk".to_owned())),
            ("explain on", Line::Explain(true)),
            ("digits 2", Line::Digits(Some(2))),
            ("digits off", Line::Digits(None)),
            ("export 'my report.csv'", Line::Export("my report.csv".into())),
        ] {
            assert_eq!(read(text), Ok(line), "{text}");
        }
        for wrong in [
            "digits 16",
            "explain",
            "export",
            "values",
            "values a, b",
            "pnl by",
            "pnl by desk pivot",
            "pnl where",
            "pnl flat x",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_text_does_harm() {
        for text in ["'", "\"", "a 'b", "日本 by 本", "--", "-", ",", "by by", "where where '", "pnl --x '"]
        {
            let _ = read(text);
        }
    }
}
