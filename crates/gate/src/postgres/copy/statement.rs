//! `COPY` as it is written, where the client is one of its ends; to and from files, it is a statement of the engine.

use super::options::Options;
use crate::postgres::local::{Token, skipped, token};
use std::borrow::Cow;

/// `COPY ... FROM STDIN` or `COPY ... TO STDOUT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::postgres) struct Copy {
    pub(in crate::postgres) source: Source,
    pub(in crate::postgres) is_in: bool,
    pub(super) options: Options,
}

/// What is copied from, or to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::postgres) enum Source {
    /// A table by its name, as it is written; of these columns, or of all.
    Table { name: String, columns: Vec<String> },
    /// The rows of a query.
    Query(String),
}

/// What is wrong with a `COPY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::postgres) struct Wrong {
    pub(in crate::postgres) code: &'static str,
    pub(in crate::postgres) why: Cow<'static, str>,
}

impl Wrong {
    pub(super) fn syntax(why: impl Into<Cow<'static, str>>) -> Self {
        Self { code: "42601", why: why.into() }
    }

    pub(super) fn unserved(why: impl Into<Cow<'static, str>>) -> Self {
        Self { code: "0A000", why: why.into() }
    }

    pub(super) fn value(why: impl Into<Cow<'static, str>>) -> Self {
        Self { code: "22023", why: why.into() }
    }
}

impl Copy {
    /// Reads a statement that begins with `COPY`; `None` when it is one of the engine.
    pub(in crate::postgres) fn read(text: &str) -> Option<Result<Self, Wrong>> {
        let mut words = Words(text);
        if !words.takes("copy") {
            return None;
        }
        let was_binary = words.takes("binary");
        let source = match words.parenthesized() {
            Some(query) => Source::Query(query.trim().to_owned()),
            None => {
                let name = words.table()?;
                let columns = match words.takes_sign('(') {
                    true => words.names()?,
                    false => Vec::new(),
                };
                Source::Table { name, columns }
            }
        };
        let is_in = match words.word().ok()?.as_str() {
            "from" => true,
            "to" => false,
            _ => return None,
        };
        if !words.takes("stdin") && !words.takes("stdout") {
            return None;
        }
        if is_in && matches!(source, Source::Query(_)) {
            return Some(Err(Wrong::syntax("COPY ... FROM STDIN copies to a table, not to a query")));
        }
        if was_binary {
            return Some(Err(Wrong::syntax("COPY: write BINARY behind STDIN or STDOUT")));
        }
        Some(Options::read(&mut words, is_in).map(|options| Self { source, is_in, options }))
    }

    /// The query whose rows are copied out.
    pub(in crate::postgres) fn query(&self) -> String {
        match &self.source {
            Source::Query(query) => query.clone(),
            Source::Table { name, columns } if columns.is_empty() => format!("SELECT * FROM {name}"),
            Source::Table { name, columns } => format!("SELECT {} FROM {name}", quoted(columns)),
        }
    }
}

/// Names as SQL, whatever is in them.
pub(super) fn quoted(names: &[String]) -> String {
    let each = names.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\"")));
    each.collect::<Vec<_>>().join(", ")
}

/// What is left of a statement.
pub(super) struct Words<'t>(&'t str);

impl<'t> Words<'t> {
    pub(super) fn peek(&self) -> Option<Token> {
        token(self.0).map(|(token, _)| token)
    }

    fn next(&mut self) -> Result<Token, Wrong> {
        let (token, rest) =
            token(self.0).ok_or_else(|| Wrong::syntax("COPY: the statement ends too early"))?;
        self.0 = rest;
        Ok(token)
    }

    /// True at the end of the statement.
    pub(super) fn is_end(&self) -> bool {
        skipped(self.0).is_some_and(|rest| {
            rest.trim_end_matches(|sign: char| sign == ';' || sign.is_whitespace()).is_empty()
        })
    }

    /// Takes this keyword, if it is next.
    pub(super) fn takes(&mut self, keyword: &str) -> bool {
        match token(self.0) {
            Some((word, rest)) if word.is(keyword) => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    /// Takes this sign, if it is next.
    pub(super) fn takes_sign(&mut self, sign: char) -> bool {
        match token(self.0) {
            Some((Token::Sign(next), rest)) if next == sign => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    pub(super) fn sign(&mut self, sign: char) -> Result<(), Wrong> {
        match self.takes_sign(sign) {
            true => Ok(()),
            false => Err(Wrong::syntax(format!("COPY: {sign:?} is missing"))),
        }
    }

    /// A keyword in lower case.
    pub(super) fn word(&mut self) -> Result<String, Wrong> {
        match self.next()? {
            Token::Word(word) => Ok(word.to_ascii_lowercase()),
            other => Err(Wrong::syntax(format!("COPY: a keyword is expected, not {other:?}"))),
        }
    }

    /// A name: in quotes as it stands there, else in lower case.
    pub(super) fn name(&mut self) -> Result<String, Wrong> {
        self.next()?.name().ok_or_else(|| Wrong::syntax("COPY: the name of a column is expected"))
    }

    /// The value of an option: a word, or a string, perhaps with escapes.
    pub(super) fn value(&mut self) -> Result<String, Wrong> {
        match self.next()? {
            Token::Word(word) if word.eq_ignore_ascii_case("e") => match self.next()? {
                Token::Quoted(text) => Ok(unescaped(&text)),
                _ => Err(Wrong::syntax("COPY: an option has no value")),
            },
            Token::Word(word) | Token::Quoted(word) => Ok(word),
            Token::Sign(_) => Err(Wrong::syntax("COPY: an option has no value")),
        }
    }

    /// Names up to the closing parenthesis.
    fn names(&mut self) -> Option<Vec<String>> {
        let mut names = vec![self.name().ok()?];
        while self.takes_sign(',') {
            names.push(self.name().ok()?);
        }
        self.takes_sign(')').then_some(names)
    }

    /// The name of a table as it is written, with what is before its points.
    fn table(&mut self) -> Option<String> {
        let begin = skipped(self.0)?;
        loop {
            match self.next().ok()? {
                Token::Sign(_) => return None,
                Token::Word(_) | Token::Quoted(_) => {}
            }
            if !self.takes_sign('.') {
                return Some(begin[..begin.len() - self.0.len()].trim_end().to_owned());
            }
        }
    }

    /// What stands within parentheses, if one is next.
    fn parenthesized(&mut self) -> Option<&'t str> {
        let inner = skipped(self.0)?.strip_prefix('(')?;
        let (mut rest, mut depth) = (inner, 1_usize);
        while depth > 0 {
            let (token, tail) = token(rest)?;
            match token {
                Token::Sign('(') => depth += 1,
                Token::Sign(')') => depth -= 1,
                _ => {}
            }
            rest = tail;
        }
        self.0 = rest;
        Some(&inner[..inner.len() - rest.len() - 1])
    }
}

/// The text of an `E'...'` string.
fn unescaped(text: &str) -> String {
    let mut letters = text.chars();
    let mut out = String::with_capacity(text.len());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.push(match letters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some(other) => other,
                None => '\\',
            }),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::options::{Columns, Form, Header};
    use super::*;

    fn read(text: &str) -> Copy {
        Copy::read(text).unwrap().unwrap()
    }

    #[test]
    fn statements_are_read() {
        let copy = read("COPY t FROM STDIN");
        assert_eq!(copy.source, Source::Table { name: "t".into(), columns: vec![] });
        assert!(copy.is_in);
        let options = &copy.options;
        assert_eq!((options.form, options.delimiter, options.null.as_str()), (Form::Text, b'\t', "\\N"));
        let copy = read("copy \"A b\".\"T\" ( a, \"B\" ) from stdin binary;");
        assert_eq!(
            copy.source,
            Source::Table { name: "\"A b\".\"T\"".into(), columns: vec!["a".into(), "B".into()] }
        );
        assert_eq!(copy.options.form, Form::Binary);
        assert_eq!(read("COPY t (a) TO STDOUT").query(), "SELECT \"a\" FROM t");
        let copy = read("COPY (SELECT ')' AS x, (1) -- )\n) TO STDOUT WITH CSV HEADER");
        assert_eq!(copy.query(), "SELECT ')' AS x, (1) -- )");
        assert_eq!((copy.is_in, copy.options.header), (false, Header::Names));
    }

    #[test]
    fn options_are_read_in_both_styles() {
        for text in [
            "COPY t FROM STDIN (FORMAT csv, DELIMITER ';', NULL 'none', HEADER true, QUOTE '''', ESCAPE '\\', FORCE_NULL (a, b))",
            "COPY t FROM STDIN WITH CSV DELIMITER AS ';' NULL 'none' HEADER QUOTE AS '''' ESCAPE '\\' FORCE NULL a, b",
        ] {
            let options = read(text).options;
            let signs =
                (options.form, options.delimiter, options.quote, options.escape, options.null.as_str());
            assert_eq!(signs, (Form::Csv, b';', b'\'', b'\\', "none"), "{text}");
            assert_eq!(options.header, Header::Names);
            assert_eq!(options.force_null, Columns::These(vec!["a".into(), "b".into()]));
        }
        assert_eq!(read("COPY t FROM STDIN DELIMITER E'\\t'").options.delimiter, b'\t');
        assert_eq!(read("COPY t FROM STDIN (FORMAT 'csv', HEADER match)").options.header, Header::Match);
        assert_eq!(read("COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE *)").options.force_quote, Columns::All);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (text, code) in [
            ("COPY t FROM STDIN (FORMAT xml)", "22023"),
            ("COPY t FROM STDIN (QUOTE 'x')", "0A000"),
            ("COPY t FROM STDIN (FORMAT binary, DELIMITER ',')", "42601"),
            ("COPY t FROM STDIN (DELIMITER 'ab')", "42601"),
            ("COPY t FROM STDIN (DELIMITER 'a')", "42601"),
            ("COPY t FROM STDIN (FORMAT csv, DELIMITER '\"')", "42601"),
            ("COPY t FROM STDIN (ENCODING 'LATIN1')", "22023"),
            ("COPY t FROM STDIN (SPEED 'high')", "42601"),
            ("COPY t FROM STDIN (FREEZE)", "0A000"),
            ("COPY t FROM STDIN WHERE a > 1", "0A000"),
            ("COPY t FROM STDIN CSV nonsense", "42601"),
            ("COPY t TO STDOUT (FORMAT csv, FORCE_NULL (a))", "0A000"),
            ("COPY (SELECT 1) FROM STDIN", "42601"),
            ("COPY t FROM STDIN (", "42601"),
        ] {
            assert_eq!(Copy::read(text).unwrap().unwrap_err().code, code, "{text}");
        }
    }

    #[test]
    fn files_are_the_engines() {
        for text in [
            "COPY t TO '/tmp/x.csv'",
            "COPY (SELECT 1) TO 'x.parquet' STORED AS parquet",
            "COPY",
            "COPY (SELECT",
        ] {
            assert_eq!(Copy::read(text), None, "{text}");
        }
    }
}
