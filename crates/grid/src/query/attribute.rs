//! `Attribute`: the path to what a query looks at, as `address.city`, `__key`, `this`, `wheels[any].size`, parsed once.
//!
//! `__key` and `this` are key and value themselves; `__key.name` (in old style `__key#name`) is an attribute of the key, every other path
//! one of the value. Square brackets choose an item of a list: `[0]` the first, `[any]` each of them.

use super::error::QueryError;
use std::sync::Arc;

/// How many steps a path may have.
const MAX_STEPS: usize = 64;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PathStep {
    /// The field of that name.
    Field(Box<str>),
    /// The item of that number.
    Item(usize),
    /// Every item.
    Any,
}

/// A path to a part of an entry; cheap to clone.
///
/// ```
/// use filbert_grid::query::Attribute;
///
/// let size: Attribute = "wheels[any].size".parse()?;
/// assert_eq!(size.as_str(), "wheels[any].size");
/// assert!("wheels[-1]".parse::<Attribute>().is_err());
/// # Ok::<(), filbert_grid::query::QueryError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Attribute {
    path: Arc<Path>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Path {
    text: Box<str>,
    of_key: bool,
    steps: Box<[PathStep]>,
}

impl Attribute {
    /// The path as it was written, without a leading `this.`.
    pub fn as_str(&self) -> &str {
        &self.path.text
    }

    /// True when it leads into the key.
    pub fn is_of_key(&self) -> bool {
        self.path.of_key
    }

    /// True when it can lead to several values at once.
    pub fn is_multiple(&self) -> bool {
        self.steps().contains(&PathStep::Any)
    }

    /// The steps from the key or value on; none for `__key` and `this`.
    pub(crate) fn steps(&self) -> &[PathStep] {
        &self.path.steps
    }
}

impl std::fmt::Display for Attribute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Attribute {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        let text = text.strip_prefix("this.").unwrap_or(text);
        let after = |constant: &str| {
            let rest = text.strip_prefix(constant)?;
            (rest.is_empty() || rest.starts_with(['.', '#', '[']))
                .then(|| rest.strip_prefix(['.', '#']).unwrap_or(rest))
        };
        let (of_key, rest) = match (after("__key"), after("this")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => (false, text),
        };
        let start = text.len() - rest.len();
        let bad = |position, problem| QueryError::BadPath { path: text.to_owned(), position, problem };
        // The end of `__key.` is a name that is missing, while `__key` is whole.
        let steps = if start == text.len() && !text.is_empty() && !text.ends_with(['.', '#']) {
            Vec::new()
        } else {
            steps(rest).map_err(|(position, problem)| bad(start + position, problem))?
        };
        Ok(Self { path: Arc::new(Path { text: text.into(), of_key, steps: steps.into() }) })
    }
}

/// The steps of a path, or where it is wrong.
fn steps(text: &str) -> Result<Vec<PathStep>, (usize, &'static str)> {
    let mut steps = Vec::new();
    let mut at = 0;
    let mut name_next = !text.starts_with('[');
    loop {
        if steps.len() == MAX_STEPS {
            return Err((at, "it has more than 64 steps"));
        }
        let rest = &text[at..];
        if name_next {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 {
                return Err((at, "a name is missing"));
            }
            steps.push(PathStep::Field(rest[..end].into()));
            at += end;
        } else {
            // Here stands an opening bracket.
            let Some(end) = rest.find(']') else { return Err((at, "the bracket is not closed")) };
            steps.push(match &rest[1..end] {
                "any" => PathStep::Any,
                number => match number.parse() {
                    Ok(item) => PathStep::Item(item),
                    Err(_) => return Err((at + 1, "in brackets stands `any` or a number from 0 on")),
                },
            });
            at += end + 1;
        }
        match text.as_bytes().get(at) {
            None => return Ok(steps),
            Some(b'.') => (at, name_next) = (at + 1, true),
            Some(b'[') => name_next = false,
            Some(_) => return Err((at, "after a bracket comes a dot or another bracket")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (bool, Vec<PathStep>) {
        let attribute: Attribute = text.parse().unwrap();
        (attribute.is_of_key(), attribute.steps().to_vec())
    }

    fn field(name: &str) -> PathStep {
        PathStep::Field(name.into())
    }

    #[test]
    fn key_and_value_are_paths_without_steps() {
        assert_eq!(parsed("__key"), (true, vec![]));
        assert_eq!(parsed("this"), (false, vec![]));
        assert_eq!(parsed("this.name"), (false, vec![field("name")]));
        assert_eq!(parsed("__key.name"), (true, vec![field("name")]));
        assert_eq!(parsed("__key#name"), (true, vec![field("name")]));
        assert_eq!(parsed("__keys"), (false, vec![field("__keys")]));
        assert_eq!(parsed("thisAndThat"), (false, vec![field("thisAndThat")]));
        assert_eq!(parsed("this[0]"), (false, vec![PathStep::Item(0)]));
    }

    #[test]
    fn brackets_choose_items() {
        let expected = vec![field("a"), PathStep::Item(3), PathStep::Any, field("b c")];
        assert_eq!(parsed("a[3][any].b c"), (false, expected));
        assert_eq!(parsed("[any].x"), (false, vec![PathStep::Any, field("x")]));
    }

    #[test]
    fn wrong_paths_are_refused() {
        for text in ["", ".", "a.", "a..b", "a[", "a[]", "a[-1]", "a[x]", "a[0]b", "__key.", "this."] {
            assert!(matches!(text.parse::<Attribute>(), Err(QueryError::BadPath { .. })), "{text:?}");
        }
        assert!(vec!["a"; 65].join(".").parse::<Attribute>().is_err());
    }
}
