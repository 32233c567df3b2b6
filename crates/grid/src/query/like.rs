//! `LikePattern`: SQL's LIKE. `%` is any text, `_` any one character, a backslash takes the next sign as it is.
//!
//! Matching keeps one place to go back to, the last `%`, so it takes at most text x pattern steps and no memory; a translation to a
//! regular expression, as Hazelcast does it, was rejected as slower and harder to bound.

use super::error::{MAX_LIKE, QueryError};

/// A pattern of LIKE or ILIKE, parsed once.
///
/// ```
/// use filbert_grid::query::LikePattern;
///
/// let pattern = LikePattern::new(r"A%\%")?;
/// assert!(pattern.matches("A 100%") && !pattern.matches("a 100%"));
/// # Ok::<(), filbert_grid::query::QueryError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikePattern {
    text: String,
    ignore_case: bool,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Char(char),
    One,
    Any,
}

impl LikePattern {
    /// The pattern of a LIKE, of [`MAX_LIKE`] bytes at most.
    pub fn new(text: impl Into<String>) -> Result<Self, QueryError> {
        Self::parsed(text.into(), false)
    }

    /// The pattern of an ILIKE: upper and lower case are the same.
    pub fn ignoring_case(text: impl Into<String>) -> Result<Self, QueryError> {
        Self::parsed(text.into(), true)
    }

    fn parsed(text: String, ignore_case: bool) -> Result<Self, QueryError> {
        if text.len() > MAX_LIKE {
            return Err(QueryError::TooLarge {
                what: "the pattern of a LIKE",
                size: text.len(),
                limit: MAX_LIKE,
            });
        }
        let mut parts = Vec::new();
        let mut signs = text.chars().peekable();
        while let Some(sign) = signs.next() {
            parts.push(match sign {
                '%' if parts.last() == Some(&Part::Any) => continue,
                '%' => Part::Any,
                '_' => Part::One,
                // Before any other sign a backslash is a sign like others.
                '\\' => Part::Char(signs.next_if(|next| matches!(next, '%' | '_')).unwrap_or('\\')),
                other => Part::Char(if ignore_case { lower(other) } else { other }),
            });
        }
        Ok(Self { text, ignore_case, parts })
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether case does not count.
    pub fn ignores_case(&self) -> bool {
        self.ignore_case
    }

    /// Whether the whole of `text` fits.
    pub fn matches(&self, text: &str) -> bool {
        let (mut rest, mut part) = (text.chars(), 0);
        let mut retry = None;
        loop {
            match self.parts.get(part) {
                Some(Part::Any) => {
                    part += 1;
                    retry = Some((rest.clone(), part));
                    continue;
                }
                None if rest.as_str().is_empty() => return true,
                expected => {
                    let found = rest.next();
                    let fits = match (expected, found) {
                        (_, None) => return false,
                        (Some(Part::One), _) => true,
                        (Some(Part::Char(expected)), Some(found)) => {
                            *expected == if self.ignore_case { lower(found) } else { found }
                        }
                        _ => false,
                    };
                    if fits {
                        part += 1;
                        continue;
                    }
                }
            }
            // The last `%` takes one character more.
            let Some((from, after)) = &mut retry else { return false };
            from.next();
            (rest, part) = (from.clone(), *after);
        }
    }

    /// The text that everything that fits begins with, if the pattern is that text and a final `%`: a range of a sorted index.
    pub(crate) fn prefix(&self) -> Option<String> {
        let (last, head) = self.parts.split_last()?;
        if *last != Part::Any || self.ignore_case || head.is_empty() {
            return None;
        }
        head.iter().map(|part| if let Part::Char(sign) = part { Some(*sign) } else { None }).collect()
    }
}

fn lower(sign: char) -> char {
    let mut lower = sign.to_lowercase();
    // The few that become two characters stay as they are.
    if lower.len() == 1 { lower.next().unwrap_or(sign) } else { sign }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_and_escapes() {
        let fits = |pattern: &str, text: &str| LikePattern::new(pattern).unwrap().matches(text);
        assert!(fits("", "") && !fits("", "a") && fits("%", "") && fits("%%", "abc"));
        assert!(fits("a%", "abc") && fits("%c", "abc") && fits("a%c", "ac") && fits("_b_", "abc"));
        assert!(!fits("_", "") && !fits("a_", "a") && fits("_", "ä") && fits("%\n%", "x\ny"));
        assert!(
            fits(r"50\%", "50%") && !fits(r"50\%", "50x") && fits(r"a\_b", "a_b") && !fits(r"a\_b", "axb")
        );
        assert!(fits(r"a\b", r"a\b") && fits("a.c", "a.c") && !fits("a.c", "abc"));
        assert!(fits("%ab%ab", "ababab") && !fits("%ab%abc", "ababab"));
        assert!(LikePattern::ignoring_case("ÄB%").unwrap().matches("äbc"));
    }

    #[test]
    fn hostile_patterns_take_bounded_time() {
        let pattern = LikePattern::new(format!("{}b", "%a".repeat(500))).unwrap();
        assert!(!pattern.matches(&"a".repeat(5_000)));
        let longest = LikePattern::new(format!("%{}b", "a".repeat(MAX_LIKE - 2))).unwrap();
        assert!(!longest.matches(&"a".repeat(100_000)));
        assert!(matches!(LikePattern::new("a".repeat(MAX_LIKE + 1)), Err(QueryError::TooLarge { .. })));
    }

    #[test]
    fn prefixes_for_the_index() {
        let prefix = |pattern: &str| LikePattern::new(pattern).unwrap().prefix();
        assert_eq!(prefix(r"a\%b%"), Some("a%b".into()));
        assert_eq!(prefix("a_b%"), None);
        assert_eq!(prefix("a%b"), None);
        assert_eq!(prefix("ab"), None);
    }
}
