//! `RegexPattern`: a regular expression that must fit a text as a whole.
//!
//! The `regex` crate takes time in proportion to the text, whatever the expression; Java's engine can take for ever on a hostile one. The
//! price: no look-around, no back-references, no possessive quantifiers; and `\w`, `\d`, `\b` mean Unicode, where Java means ASCII.

use super::error::{MAX_REGEXES, QueryError};
use regex::{Regex, RegexBuilder};

/// How large a compiled expression may become, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// A regular expression, compiled once.
#[derive(Debug, Clone)]
pub struct RegexPattern {
    text: String,
    regex: Regex,
}

impl RegexPattern {
    /// The expression, which must fit from start to end.
    pub fn new(text: &str) -> Result<Self, QueryError> {
        let bad = |problem: regex::Error| QueryError::BadRegex {
            pattern: text.to_owned(),
            problem: problem.to_string(),
        };
        // Compiled alone first, so that `a)(b` does not become whole by the brackets around it.
        let compile = |text: &str| {
            RegexBuilder::new(text).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED).build()
        };
        compile(text).map_err(bad)?;
        let regex = compile(&format!(r"\A(?:{text})\z")).map_err(bad)?;
        Ok(Self { text: text.to_owned(), regex })
    }

    /// The expression as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the whole of `text` fits.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// Compiles the regular expressions of one predicate that came from outside, of which there may be [`MAX_REGEXES`].
#[derive(Debug, Default)]
pub(super) struct RegexCompiler {
    compiled: usize,
}

impl RegexCompiler {
    pub(super) fn compile(&mut self, text: &str) -> Result<RegexPattern, QueryError> {
        self.compiled += 1;
        if self.compiled > MAX_REGEXES {
            return Err(QueryError::TooLarge {
                what: "the regular expressions of a predicate",
                size: self.compiled,
                limit: MAX_REGEXES,
            });
        }
        RegexPattern::new(text)
    }
}

impl PartialEq for RegexPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_as_a_whole() {
        let pattern = RegexPattern::new("c[ar].*|dog").unwrap();
        assert!(pattern.matches("car") && pattern.matches("cry") && pattern.matches("dog"));
        assert!(!pattern.matches("giraffe car") && !pattern.matches("dogs"));
    }

    #[test]
    fn what_does_not_compile_is_refused() {
        for text in ["(", "a)(b", "(?=x)", r"(a)\1", "a{100000}{100000}"] {
            assert!(matches!(RegexPattern::new(text), Err(QueryError::BadRegex { .. })), "{text}");
        }
    }
}
