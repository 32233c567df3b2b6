//! The pattern of a condition on texts, compiled once.
//!
//! A pattern is its text. What is compiled of it may be a thousand times as large, and filters live long: in forests, and in the keys of what a
//! cube keeps. So regular expressions are not held by patterns but by one list for all, of the last ones that were used: a filter may be copied,
//! brought into canonical form and applied to any number of batches for one compilation, and no text that somebody sends holds more memory
//! than the list has room for. Threads: any.

use moka::sync::Cache;
use regex::{Regex, RegexBuilder};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

/// What a regular expression may need, in bytes; a pattern of a few letters can stand for a very large one.
const MOST_BYTES: usize = 1 << 19;

/// So many patterns a filter may have; the list has room for those of several.
pub(super) const MOST_PATTERNS: usize = 64;

/// What is said of a filter with more.
pub(super) fn too_many_patterns() -> String {
    format!("it has more than {MOST_PATTERNS} patterns; join some of them by | in one")
}

/// What was compiled last; none for a text that is no regular expression, or too large a one.
static COMPILED: LazyLock<Compiled> = LazyLock::new(|| Cache::new(2 * MOST_PATTERNS as u64));

type Compiled = Cache<(Language, Arc<str>), Option<Arc<Regex>>>;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Language {
    Like,
    Regex,
}

/// The text of a pattern.
#[derive(Clone)]
pub struct Pattern {
    text: Arc<str>,
}

impl Pattern {
    /// A pattern that is written so.
    pub fn new(text: &str) -> Self {
        Self { text: text.into() }
    }

    /// How it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The regular expression; nothing when it is none. Matching is linear in the text.
    pub(crate) fn as_regex(&self) -> Option<Arc<Regex>> {
        self.compiled(Language::Regex, |text| text.to_owned())
    }

    /// The regular expression of a pattern in which `%` is any text and `_` any letter.
    pub(crate) fn as_like(&self) -> Option<Arc<Regex>> {
        self.compiled(Language::Like, |text| {
            let mut regex = String::from("(?s)^");
            for letter in text.chars() {
                match letter {
                    '%' => regex.push_str(".*"),
                    '_' => regex.push('.'),
                    other => regex.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
                }
            }
            regex.push('$');
            regex
        })
    }

    fn compiled(&self, language: Language, written: impl FnOnce(&str) -> String) -> Option<Arc<Regex>> {
        COMPILED.get_with((language, Arc::clone(&self.text)), || {
            #[cfg(test)]
            COMPILATIONS.with(|compiled| compiled.set(compiled.get() + 1));
            let limits = |builder: &mut RegexBuilder| {
                builder.size_limit(MOST_BYTES).dfa_size_limit(MOST_BYTES).build().ok()
            };
            limits(&mut RegexBuilder::new(&written(&self.text))).map(Arc::new)
        })
    }
}

#[cfg(test)]
thread_local! {
    /// How many patterns this thread compiled.
    pub(super) static COMPILATIONS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl PartialOrd for Pattern {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pattern {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}
