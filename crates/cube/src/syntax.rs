//! The tokens that texts of filters and of expressions share, and where in the text each stands.

use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::literal::Number;

/// How deep parentheses may stand in each other: the parsers recurse, and a text may come from anywhere.
pub(crate) const MAX_DEPTH: usize = 64;

/// How long a text may be, in bytes.
pub(crate) const MAX_TEXT: usize = 64 * 1024;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// A name, bare or in double quotes; bare ones may be keywords.
    Name(String),
    /// A name in double quotes, which is never a keyword.
    Quoted(String),
    /// A text in single quotes.
    Text(String),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// An operator or a bracket.
    Sign(&'static str),
}

impl Token {
    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Name(name) if name.eq_ignore_ascii_case(word))
    }
}

/// Which parser asks: errors are told apart.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Filter,
    Expression,
}

/// The tokens of a text, taken one by one.
pub(crate) struct Tokens {
    kind: Kind,
    tokens: Vec<(usize, Token)>,
    next: usize,
    end: usize,
}

const SIGNS: [&str; 16] =
    ["<>", "!=", "<=", ">=", "!~", "=", "<", ">", "~", "(", ")", ",", "+", "-", "*", "/"];

impl Tokens {
    pub(crate) fn of(text: &str, kind: Kind) -> Result<Self, CubeError> {
        let chars: Vec<char> = if text.len() > MAX_TEXT { Vec::new() } else { text.chars().collect() };
        let mut tokens = Self { kind, tokens: Vec::new(), next: 0, end: chars.len() };
        if text.len() > MAX_TEXT {
            return Err(tokens.error_at(0, format!("it is longer than {MAX_TEXT} bytes; split it")));
        }
        let mut at = 0;
        while at < chars.len() {
            let first = chars[at];
            if first.is_whitespace() {
                at += 1;
                continue;
            }
            let begin = at;
            let token = if first == '\'' || first == '"' {
                let text = tokens.quoted(&chars, &mut at)?;
                if first == '\'' { Token::Text(text) } else { Token::Quoted(text) }
            } else if first.is_ascii_digit() {
                tokens.number(&chars, &mut at)?
            } else if first.is_alphabetic() || first == '_' {
                let is_part = |char: &char| char.is_alphanumeric() || matches!(char, '_' | '.');
                at += chars[at..].iter().take_while(|char| is_part(char)).count();
                Token::Name(chars[begin..at].iter().collect())
            } else {
                let rest = |sign: &&str| {
                    sign.chars().zip(&chars[at..]).filter(|(a, b)| a == *b).count() == sign.len()
                };
                let Some(sign) = SIGNS.into_iter().find(|sign| rest(sign)) else {
                    return Err(tokens.error_at(at, format!("{first:?} is not expected here")));
                };
                at += sign.len();
                Token::Sign(sign)
            };
            tokens.tokens.push((begin, token));
        }
        Ok(tokens)
    }

    /// A text between quotes; a doubled quote stands for one.
    fn quoted(&self, chars: &[char], at: &mut usize) -> Result<String, CubeError> {
        let (begin, quote) = (*at, chars[*at]);
        let mut text = String::new();
        *at += 1;
        loop {
            match (chars.get(*at), chars.get(*at + 1)) {
                (None, _) => {
                    return Err(self.error_at(begin, format!("there is no {quote} at the end of this")));
                }
                (Some(first), second) if *first == quote => {
                    *at += 1;
                    if second != Some(&quote) {
                        return Ok(text);
                    }
                    text.push(quote);
                    *at += 1;
                }
                (Some(char), _) => {
                    text.push(*char);
                    *at += 1;
                }
            }
        }
    }

    fn number(&self, chars: &[char], at: &mut usize) -> Result<Token, CubeError> {
        let begin = *at;
        let mut previous = ' ';
        while let Some(&char) = chars.get(*at) {
            let is_sign_of_exponent = matches!(char, '+' | '-') && matches!(previous, 'e' | 'E');
            if !(char.is_ascii_alphanumeric() || char == '.' || is_sign_of_exponent) {
                break;
            }
            previous = char;
            *at += 1;
        }
        let text: String = chars[begin..*at].iter().collect();
        match Number::of(&text) {
            Number::Is(Coordinate::Int(whole)) => Ok(Token::Int(whole)),
            Number::Is(Coordinate::Float(number)) => Ok(Token::Float(number)),
            // As a double it would be another number, and match what nobody asked for.
            Number::Near(near) => {
                Err(self.error_at(begin, format!("{text} is no number here: {}", Number::advice(near))))
            }
            Number::Is(_) | Number::No => Err(self.error_at(begin, format!("{text:?} is not a number"))),
        }
    }

    pub(crate) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    pub(crate) fn take(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.next += 1;
        token
    }

    /// Takes the next token if it is this word, in any case.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let is = self.peek().is_some_and(|token| token.is_word(word));
        self.next += usize::from(is);
        is
    }

    /// Takes the next token if it is this sign.
    pub(crate) fn take_sign(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek(), Some(Token::Sign(next)) if *next == sign);
        self.next += usize::from(is);
        is
    }

    pub(crate) fn expect_sign(&mut self, sign: &str) -> Result<(), CubeError> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.error(format!("{sign:?} is missing"))) }
    }

    pub(crate) fn expect_end(&self) -> Result<(), CubeError> {
        let hint = match self.kind {
            Kind::Expression => "a name with blanks stands in double quotes, a choice is if(condition, a, b)",
            Kind::Filter => "conditions are joined by and, or; a name with blanks stands in double quotes",
        };
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error(format!("this is one word too many; {hint}"))),
        }
    }

    /// How many signs there are of these.
    pub(crate) fn count(&self, signs: &[&str]) -> usize {
        let is_one =
            |(_, token): &&(usize, Token)| matches!(token, Token::Sign(sign) if signs.contains(sign));
        self.tokens.iter().filter(is_one).count()
    }

    /// An error at the next token.
    pub(crate) fn error(&self, problem: String) -> CubeError {
        let at = self.tokens.get(self.next).map_or(self.end, |(at, _)| *at);
        self.error_at(at, problem)
    }

    fn error_at(&self, at: usize, problem: String) -> CubeError {
        match self.kind {
            Kind::Filter => CubeError::InvalidFilter { at, problem },
            Kind::Expression => CubeError::InvalidExpression { at, problem },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Token> {
        let mut tokens = Tokens::of(text, Kind::Filter).unwrap();
        std::iter::from_fn(|| tokens.take()).collect()
    }

    #[test]
    fn pieces_of_a_text() {
        let expected = [
            Token::Name("a.b".into()),
            Token::Sign(">="),
            Token::Float(1.5e-3),
            Token::Quoted("and \"so\"".into()),
            Token::Sign("<>"),
            Token::Text("it's".into()),
            Token::Sign("("),
            Token::Sign("-"),
            Token::Int(3),
        ];
        assert_eq!(all("a.b>=1.5e-3 \"and \"\"so\"\"\"<>'it''s' (-3"), expected);
    }

    #[test]
    fn what_is_no_token_is_told_with_its_place() {
        let too_long = "a = 18446744073709551615";
        for (text, place) in [("a = 'b", 4), ("a # b", 2), ("a = 1x", 4), (too_long, 4)] {
            let Err(CubeError::InvalidFilter { at, .. }) = Tokens::of(text, Kind::Filter) else {
                panic!("{text} was taken");
            };
            assert_eq!(at, place, "{text}");
        }
        assert_eq!(all("9223372036854775808"), [Token::Float(9_223_372_036_854_775_808.0)]);
    }
}
