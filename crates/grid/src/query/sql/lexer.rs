//! Cuts the text of a predicate into tokens.

use crate::query::error::QueryError;
use crate::query::predicate::Comparison;
use std::borrow::Cow;

/// A piece of the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'a> {
    /// A keyword, an attribute or a value, without quotes.
    Word(&'a str),
    /// Text that stood in quotes.
    Quoted(Cow<'a, str>),
    Open,
    Close,
    Comma,
    Equal,
    NotEqual,
    Compare(Comparison),
    /// After the last.
    End,
}

impl Token<'_> {
    /// Whether it is that keyword, in any case.
    pub(super) fn is(&self, keyword: &str) -> bool {
        matches!(self, Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// What it is, for messages.
    pub(super) fn describe(&self) -> String {
        /// A whole megabyte would not help.
        fn cut(text: &str) -> &str {
            &text[..text.floor_char_boundary(40)]
        }
        match self {
            Token::Word(word) => format!("`{}`", cut(word)),
            Token::Quoted(text) => format!("'{}'", cut(text)),
            Token::Open => "`(`".into(),
            Token::Close => "`)`".into(),
            Token::Comma => "`,`".into(),
            Token::Equal => "`=`".into(),
            Token::NotEqual => "`<>`".into(),
            Token::Compare(comparison) => format!("`{comparison}`"),
            Token::End => "the end".into(),
        }
    }
}

/// Whether a word ends before this sign.
pub(super) fn ends_word(sign: char) -> bool {
    sign.is_whitespace() || matches!(sign, '(' | ')' | ',' | '=' | '<' | '>' | '!' | '\'')
}

/// Gives one token after the other.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next token and where it begins.
    pub(super) fn next(&mut self) -> Result<(usize, Token<'a>), QueryError> {
        let rest = &self.text[self.at..];
        let rest = rest.trim_start();
        self.at = self.text.len() - rest.len();
        let start = self.at;
        let (token, length) = match rest.as_bytes() {
            [] => (Token::End, 0),
            [b'(', ..] => (Token::Open, 1),
            [b')', ..] => (Token::Close, 1),
            [b',', ..] => (Token::Comma, 1),
            [b'\'', ..] => return self.quoted().map(|token| (start, token)),
            [b'=', b'=', ..] => (Token::Equal, 2),
            [b'=', ..] => (Token::Equal, 1),
            [b'!', b'=', ..] | [b'<', b'>', ..] => (Token::NotEqual, 2),
            [b'<', b'=', ..] => (Token::Compare(Comparison::LessOrEqual), 2),
            [b'>', b'=', ..] => (Token::Compare(Comparison::GreaterOrEqual), 2),
            [b'<', ..] => (Token::Compare(Comparison::Less), 1),
            [b'>', ..] => (Token::Compare(Comparison::Greater), 1),
            [b'!', ..] => {
                let found = "`!`".into();
                return Err(QueryError::Syntax { position: start, expected: "`!=`", found });
            }
            _ => {
                let end = rest.find(ends_word).unwrap_or(rest.len());
                (Token::Word(&rest[..end]), end)
            }
        };
        self.at += length;
        Ok((start, token))
    }

    /// Text from a quote to the next that is not doubled.
    fn quoted(&mut self) -> Result<Token<'a>, QueryError> {
        let start = self.at + 1;
        let mut end = start;
        loop {
            let Some(quote) = self.text[end..].find('\'') else {
                let found = "the end".into();
                return Err(QueryError::Syntax {
                    position: self.text.len(),
                    expected: "the closing quote of a text",
                    found,
                });
            };
            end += quote;
            if self.text.as_bytes().get(end + 1) != Some(&b'\'') {
                break;
            }
            end += 2;
        }
        self.at = end + 1;
        let raw = &self.text[start..end];
        Ok(Token::Quoted(if raw.contains("''") { raw.replace("''", "'").into() } else { raw.into() }))
    }
}
