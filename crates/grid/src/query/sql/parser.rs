//! Reads the tokens of a predicate by recursive descent; only parentheses recurse, and they are counted.

use super::lexer::{Lexer, Token};
use crate::query::attribute::Attribute;
use crate::query::error::{MAX_DEPTH, QueryError};
use crate::query::like::LikePattern;
use crate::query::operand::Operand;
use crate::query::pattern::RegexCompiler;
use crate::query::predicate::Predicate;
use filbert_wire::Value;

pub(super) struct Parser<'a, 'r> {
    lexer: Lexer<'a>,
    regexes: &'r mut RegexCompiler,
    /// The next token, and where it begins.
    next: Token<'a>,
    position: usize,
    depth: usize,
}

/// Words that are neither attributes nor values.
pub(super) const KEYWORDS: &[&str] = &["and", "or", "not", "between", "in", "like", "ilike", "regex", "is"];

impl<'a, 'r> Parser<'a, 'r> {
    pub(super) fn new(text: &'a str, regexes: &'r mut RegexCompiler) -> Result<Self, QueryError> {
        let mut lexer = Lexer::new(text);
        let (position, next) = lexer.next()?;
        Ok(Self { lexer, regexes, next, position, depth: 0 })
    }

    /// The whole text.
    pub(super) fn predicate(mut self) -> Result<Predicate, QueryError> {
        let predicate = self.either()?;
        match self.next {
            Token::End => Ok(predicate),
            _ => Err(self.expected("AND, OR or the end")),
        }
    }

    fn expected(&self, expected: &'static str) -> QueryError {
        QueryError::Syntax { position: self.position, expected, found: self.next.describe() }
    }

    /// Goes on to the next token, and gives the one that was next.
    fn advance(&mut self) -> Result<Token<'a>, QueryError> {
        let (position, token) = self.lexer.next()?;
        self.position = position;
        Ok(std::mem::replace(&mut self.next, token))
    }

    /// Goes over the keyword, if it is next.
    fn keyword(&mut self, keyword: &str) -> Result<bool, QueryError> {
        let found = self.next.is(keyword);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn either(&mut self) -> Result<Predicate, QueryError> {
        let first = self.all()?;
        if !self.next.is("or") {
            return Ok(first);
        }
        let mut predicates = vec![first];
        while self.keyword("or")? {
            predicates.push(self.all()?);
        }
        Ok(Predicate::or(predicates))
    }

    fn all(&mut self) -> Result<Predicate, QueryError> {
        let first = self.other()?;
        if !self.next.is("and") {
            return Ok(first);
        }
        let mut predicates = vec![first];
        while self.keyword("and")? {
            predicates.push(self.other()?);
        }
        Ok(Predicate::and(predicates))
    }

    fn other(&mut self) -> Result<Predicate, QueryError> {
        let mut negated = false;
        while self.keyword("not")? {
            negated = !negated;
        }
        let predicate = if self.next == Token::Open {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(QueryError::TooDeep { limit: MAX_DEPTH });
            }
            self.advance()?;
            let inner = self.either()?;
            if self.next != Token::Close {
                return Err(self.expected("`)`, AND or OR"));
            }
            self.advance()?;
            self.depth -= 1;
            inner
        } else {
            self.test()?
        };
        Ok(if negated { Predicate::not(predicate) } else { predicate })
    }

    /// An attribute and what it is tested for.
    fn test(&mut self) -> Result<Predicate, QueryError> {
        let attribute = self.attribute()?;
        if let Token::Equal = self.next {
            self.advance()?;
            return Ok(Predicate::Equal(attribute, self.value()?));
        }
        if let Token::NotEqual = self.next {
            self.advance()?;
            return Ok(Predicate::NotEqual(attribute, self.value()?));
        }
        if let Token::Compare(comparison) = self.next {
            self.advance()?;
            return Ok(Predicate::Compare(attribute, comparison, self.value()?));
        }
        if self.keyword("is")? {
            let negated = self.keyword("not")?;
            if !self.keyword("null")? {
                return Err(self.expected("NULL"));
            }
            let null = Operand::new(Value::Null);
            return Ok(if negated {
                Predicate::NotEqual(attribute, null)
            } else {
                Predicate::Equal(attribute, null)
            });
        }
        let negated = self.keyword("not")?;
        let predicate = if self.keyword("between")? {
            let from = self.value()?;
            if !self.keyword("and")? {
                return Err(self.expected("AND and the upper bound"));
            }
            Predicate::Between(attribute, from, self.value()?)
        } else if self.keyword("in")? {
            Predicate::In(attribute, self.values()?.into_iter().collect())
        } else if self.keyword("like")? {
            Predicate::Like(attribute, self.text()?.map(LikePattern::new).transpose()?)
        } else if self.keyword("ilike")? {
            Predicate::Like(attribute, self.text()?.map(LikePattern::ignoring_case).transpose()?)
        } else if self.keyword("regex")? {
            let pattern = self.text()?.map(|text| self.regexes.compile(&text)).transpose()?;
            Predicate::Regex(attribute, pattern)
        } else if negated {
            return Err(self.expected("BETWEEN, IN, LIKE, ILIKE or REGEX"));
        } else {
            Predicate::Equal(attribute, "true".into())
        };
        Ok(if negated { Predicate::not(predicate) } else { predicate })
    }

    fn attribute(&mut self) -> Result<Attribute, QueryError> {
        const EXPECTED: &str = "an attribute, NOT or `(`";
        let path = match &self.next {
            Token::Word(word) if !is_keyword(word) => word.strip_prefix('%').unwrap_or(word).parse(),
            Token::Quoted(text) => text.parse(),
            _ => return Err(self.expected(EXPECTED)),
        };
        self.advance()?;
        path
    }

    /// A value, as text; `None` is null.
    fn text(&mut self) -> Result<Option<String>, QueryError> {
        match self.next {
            Token::Word(word) if !is_keyword(word) => {}
            Token::Quoted(_) => {}
            _ => return Err(self.expected("a value")),
        }
        Ok(match self.advance()? {
            Token::Word(word) if word.eq_ignore_ascii_case("null") => None,
            Token::Word(word) => Some(word.to_owned()),
            Token::Quoted(text) => Some(text.into_owned()),
            _ => None,
        })
    }

    fn value(&mut self) -> Result<Operand, QueryError> {
        Ok(Operand::new(self.text()?.map_or(Value::Null, Value::String)))
    }

    fn values(&mut self) -> Result<Vec<Operand>, QueryError> {
        if self.next != Token::Open {
            return Err(self.expected("`(` and values"));
        }
        self.advance()?;
        let mut values = vec![self.value()?];
        while self.next == Token::Comma {
            self.advance()?;
            values.push(self.value()?);
        }
        if self.next != Token::Close {
            return Err(self.expected("`,` or `)`"));
        }
        self.advance()?;
        Ok(values)
    }
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}
