//! How rows look in a `COPY`: its options, in the words of PostgreSQL, now and before version 9.

use super::statement::{Words, Wrong};
use crate::postgres::local::Token;
use crate::postgres::variables::switch;

/// The three forms that rows are copied in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::postgres) enum Form {
    Text,
    Csv,
    Binary,
}

/// What the first line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::postgres) enum Header {
    None,
    /// The names of the columns.
    Names,
    /// The names of the columns, which are those of the table, in order.
    Match,
}

/// Some columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::postgres) enum Columns {
    #[default]
    None,
    All,
    These(Vec<String>),
}

impl Columns {
    /// True when it is one of them.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::These(names) => names.iter().any(|known| known == name),
        }
    }
}

/// The options of a `COPY`, as they were said or as they are without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::postgres) struct Options {
    pub(in crate::postgres) form: Form,
    pub(super) delimiter: u8,
    pub(super) null: String,
    pub(super) header: Header,
    pub(super) quote: u8,
    pub(super) escape: u8,
    pub(super) force_quote: Columns,
    pub(super) force_not_null: Columns,
    pub(super) force_null: Columns,
}

/// What was said, before it is known which form that is for.
#[derive(Default)]
struct Said {
    form: Option<Form>,
    delimiter: Option<String>,
    null: Option<String>,
    header: Option<Header>,
    quote: Option<String>,
    escape: Option<String>,
    force_quote: Columns,
    force_not_null: Columns,
    force_null: Columns,
}

impl Options {
    /// Reads what follows `STDIN` or `STDOUT`.
    pub(super) fn read(words: &mut Words<'_>, is_in: bool) -> Result<Self, Wrong> {
        let mut said = Said::default();
        let with = words.takes("with");
        if words.takes_sign('(') {
            loop {
                said.option(words)?;
                if words.takes_sign(')') {
                    break;
                }
                words.sign(',')?;
            }
        } else {
            while !words.is_end() {
                said.old_option(words)?;
            }
        }
        if with && said.is_nothing() {
            return Err(Wrong::syntax("COPY: WITH is followed by options"));
        }
        if words.takes("where") {
            return Err(Wrong::unserved("COPY FROM takes all rows: WHERE is not served"));
        }
        if !words.is_end() {
            return Err(Wrong::syntax("COPY: something follows the options"));
        }
        said.checked(is_in)
    }
}

impl Said {
    fn is_nothing(&self) -> bool {
        self.form.is_none()
            && self.delimiter.is_none()
            && self.null.is_none()
            && self.header.is_none()
            && self.quote.is_none()
            && self.escape.is_none()
    }

    /// An option in parentheses: a name, and mostly a value.
    fn option(&mut self, words: &mut Words<'_>) -> Result<(), Wrong> {
        let name = words.word()?;
        match name.as_str() {
            "format" => self.form = Some(form(&words.value()?)?),
            "delimiter" => self.delimiter = Some(words.value()?),
            "null" => self.null = Some(words.value()?),
            "header" => {
                self.header = Some(match words.flag()?.as_deref() {
                    Some("match") => Header::Match,
                    flag => {
                        if is_on("header", flag)? {
                            Header::Names
                        } else {
                            Header::None
                        }
                    }
                });
            }
            "quote" => self.quote = Some(words.value()?),
            "escape" => self.escape = Some(words.value()?),
            "force_quote" => self.force_quote = words.columns()?,
            "force_not_null" => self.force_not_null = words.columns()?,
            "force_null" => self.force_null = words.columns()?,
            "encoding" => utf8(&words.value()?)?,
            "freeze" => {
                if is_on("freeze", words.flag()?.as_deref())? {
                    return Err(Wrong::unserved("COPY has no FREEZE: there are no versions of rows"));
                }
            }
            "on_error" if words.value()?.eq_ignore_ascii_case("stop") => {}
            other => return Err(Wrong::syntax(format!("COPY has no option {other:?} here"))),
        }
        Ok(())
    }

    /// An option without parentheses.
    fn old_option(&mut self, words: &mut Words<'_>) -> Result<(), Wrong> {
        let name = words.word()?;
        if matches!(name.as_str(), "delimiter" | "delimiters" | "null" | "quote" | "escape") {
            words.takes("as");
        }
        match name.as_str() {
            "binary" => self.form = Some(Form::Binary),
            "csv" => self.form = Some(Form::Csv),
            "header" => self.header = Some(Header::Names),
            "delimiter" | "delimiters" => self.delimiter = Some(words.value()?),
            "using" if words.takes("delimiters") => self.delimiter = Some(words.value()?),
            "null" => self.null = Some(words.value()?),
            "quote" => self.quote = Some(words.value()?),
            "escape" => self.escape = Some(words.value()?),
            "encoding" => utf8(&words.value()?)?,
            "force" => match words.word()?.as_str() {
                "quote" => self.force_quote = words.columns()?,
                "not" if words.takes("null") => self.force_not_null = words.columns()?,
                "null" => self.force_null = words.columns()?,
                _ => return Err(Wrong::syntax("COPY: FORCE is followed by QUOTE, NOT NULL or NULL")),
            },
            "where" => return Err(Wrong::unserved("COPY FROM takes all rows: WHERE is not served")),
            other => return Err(Wrong::syntax(format!("COPY has no option {other:?} here"))),
        }
        Ok(())
    }

    fn checked(self, is_in: bool) -> Result<Options, Wrong> {
        let form = self.form.unwrap_or(Form::Text);
        let is_csv = form == Form::Csv;
        if form == Form::Binary {
            let said = [
                ("DELIMITER", self.delimiter.is_some()),
                ("NULL", self.null.is_some()),
                ("HEADER", !matches!(self.header, None | Some(Header::None))),
            ];
            if let Some((name, _)) = said.into_iter().find(|(_, is_said)| *is_said) {
                return Err(Wrong::syntax(format!("COPY: {name} is not for the binary format")));
            }
        }
        let csv_only = [
            ("QUOTE", self.quote.is_some()),
            ("ESCAPE", self.escape.is_some()),
            ("FORCE QUOTE", self.force_quote != Columns::None),
            ("FORCE NOT NULL", self.force_not_null != Columns::None),
            ("FORCE NULL", self.force_null != Columns::None),
        ];
        if let Some((name, _)) = csv_only.into_iter().find(|(_, is_said)| *is_said && !is_csv) {
            return Err(Wrong::unserved(format!("COPY: {name} is for the CSV format only")));
        }
        if is_in && self.force_quote != Columns::None {
            return Err(Wrong::unserved("COPY: FORCE QUOTE is for COPY TO"));
        }
        if !is_in && (self.force_not_null != Columns::None || self.force_null != Columns::None) {
            return Err(Wrong::unserved("COPY: FORCE NULL and FORCE NOT NULL are for COPY FROM"));
        }
        if !is_in && self.header == Some(Header::Match) {
            return Err(Wrong::unserved("COPY: HEADER MATCH is for COPY FROM"));
        }
        let delimiter = one_byte("DELIMITER", self.delimiter, if is_csv { b',' } else { b'\t' })?;
        let quote = one_byte("QUOTE", self.quote, b'"')?;
        let escape = one_byte("ESCAPE", self.escape, quote)?;
        let null = self.null.unwrap_or_else(|| if is_csv { "" } else { "\\N" }.to_owned());
        if null.contains(['\r', '\n']) {
            return Err(Wrong::syntax("COPY: NULL cannot have a line's end in it"));
        }
        if null.as_bytes().contains(&delimiter) || is_csv && null.as_bytes().contains(&quote) {
            return Err(Wrong::syntax("COPY: NULL cannot have the delimiter or the quote in it"));
        }
        if is_csv && delimiter == quote {
            return Err(Wrong::syntax("COPY: the delimiter and the quote are not the same"));
        }
        if !is_csv
            && (delimiter.is_ascii_lowercase() || delimiter.is_ascii_digit() || b"\\.".contains(&delimiter))
        {
            return Err(Wrong::syntax(format!("COPY: the delimiter cannot be {:?}", char::from(delimiter))));
        }
        Ok(Options {
            form,
            delimiter,
            null,
            header: self.header.unwrap_or(Header::None),
            quote,
            escape,
            force_quote: self.force_quote,
            force_not_null: self.force_not_null,
            force_null: self.force_null,
        })
    }
}

fn form(name: &str) -> Result<Form, Wrong> {
    match name.to_ascii_lowercase().as_str() {
        "text" => Ok(Form::Text),
        "csv" => Ok(Form::Csv),
        "binary" => Ok(Form::Binary),
        other => Err(Wrong::value(format!("COPY has no format {other:?}; there are text, csv and binary"))),
    }
}

/// Without a value, it is.
fn is_on(option: &str, flag: Option<&str>) -> Result<bool, Wrong> {
    match flag {
        None => Ok(true),
        Some(flag) => switch(flag)
            .ok_or_else(|| Wrong::syntax(format!("COPY: {option} is true or false, not {flag:?}"))),
    }
}

fn utf8(name: &str) -> Result<(), Wrong> {
    match name.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
        "utf8" | "unicode" => Ok(()),
        _ => Err(Wrong::value(format!("COPY is in UTF-8, not in {name:?}"))),
    }
}

fn one_byte(option: &str, said: Option<String>, otherwise: u8) -> Result<u8, Wrong> {
    let Some(said) = said else { return Ok(otherwise) };
    match said.as_bytes() {
        [byte] if !b"\r\n".contains(byte) => Ok(*byte),
        _ => Err(Wrong::syntax(format!("COPY: {option} is one character of one byte, and no line's end"))),
    }
}

impl Words<'_> {
    /// The columns of an option: `*`, or names, with or without parentheses.
    fn columns(&mut self) -> Result<Columns, Wrong> {
        if self.takes_sign('*') {
            return Ok(Columns::All);
        }
        let within = self.takes_sign('(');
        let mut names = vec![self.name()?];
        while self.takes_sign(',') {
            names.push(self.name()?);
        }
        if within {
            self.sign(')')?;
        }
        Ok(Columns::These(names))
    }

    /// What may follow a flag.
    fn flag(&mut self) -> Result<Option<String>, Wrong> {
        match self.peek() {
            Some(Token::Word(_) | Token::Quoted(_)) => {
                self.value().map(|value| Some(value.to_ascii_lowercase()))
            }
            _ => Ok(None),
        }
    }
}
