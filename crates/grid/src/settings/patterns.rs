//! Settings by name, or by a pattern: a name with one `*` in it, which stands for anything.

use filbert_pool::settings_fields::quoted_key;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Settings for names and patterns of names. The name itself counts first, then the pattern with the most letters, then the default.
///
/// What stands behind an `@` chooses the partition of a structure and is no part of the name: settings of `x` hold for `x@key`. A name or
/// a pattern that has an `@` itself counts before those that have none.
///
/// ```
/// use filbert_grid::{ListSettings, Patterns};
///
/// let mut lists = Patterns::default();
/// lists.set("*", ListSettings { max_size: 10 });
/// lists.set("log-*", ListSettings { max_size: 100 });
/// assert_eq!((lists.of("names").max_size, lists.of("log-eu").max_size), (10, 100));
/// assert_eq!(lists.of("log-eu@7").max_size, 100);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Patterns<S> {
    by_pattern: BTreeMap<String, S>,
}

impl<S> Default for Patterns<S> {
    fn default() -> Self {
        Self { by_pattern: BTreeMap::new() }
    }
}

impl<S: Clone + Default> Patterns<S> {
    /// Sets what holds for a name or a pattern.
    pub fn set(&mut self, pattern: &str, settings: S) {
        self.by_pattern.insert(pattern.to_owned(), settings);
    }

    /// What holds for a name.
    pub fn of(&self, name: &str) -> S {
        let found = match name.split_once('@') {
            None => self.nearest(name, |_| true),
            Some((base, _)) => self
                .nearest(name, |pattern| pattern.contains('@'))
                .or_else(|| self.nearest(base, |pattern| !pattern.contains('@'))),
        };
        found.cloned().unwrap_or_default()
    }

    /// The settings of `name` itself, or of the longest pattern that it matches; of those that `counts`.
    fn nearest(&self, name: &str, counts: impl Fn(&str) -> bool) -> Option<&S> {
        if let Some(exact) = self.by_pattern.get(name) {
            return Some(exact);
        }
        let matching =
            self.by_pattern.iter().filter(|(pattern, _)| counts(pattern) && matches(pattern, name));
        matching.max_by_key(|(pattern, _)| pattern.len()).map(|(_, settings)| settings)
    }
}

impl<S> Patterns<S> {
    /// What is set, by pattern.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &S)> {
        self.by_pattern.iter().map(|(pattern, settings)| (pattern.as_str(), settings))
    }

    /// What is wrong with the patterns of a kind of structure.
    pub(super) fn problems(&self, kind: &str) -> impl Iterator<Item = String> {
        self.by_pattern.keys().filter_map(move |pattern| {
            let stars = pattern.matches('*').count();
            let problem = match (pattern.is_empty(), stars) {
                (true, _) => "a name has at least one letter; * is every name",
                (_, 0 | 1) => return None,
                _ => "a pattern has at most one *; write one pattern for each",
            };
            Some(format!("{kind}.{}: {problem}", quoted_key(pattern)))
        })
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    let Some((front, back)) = pattern.split_once('*') else { return pattern == name };
    name.len() >= front.len() + back.len() && name.starts_with(front) && name.ends_with(back)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*", "a", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*.eu", "jobs.eu", true),
            ("*.eu", "jobs.us", false),
            ("jobs", "jobs2", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    /// A structure whose partition was chosen had none of the settings of its name: no bound, no time to live.
    #[test]
    fn what_chooses_the_partition_is_no_part_of_the_name() {
        let mut numbers = Patterns::default();
        for (pattern, number) in [("x", 1), ("a*c", 2), ("*", 3), ("y@7", 4), ("z*@eu", 5), ("z*", 6)] {
            numbers.set(pattern, number);
        }
        for (name, expected) in [
            ("x", 1),
            ("x@key", 1),
            ("x@a@b", 1),
            ("abc@1", 2),
            ("ab@c", 3),
            ("y@7", 4),
            ("y@8", 3),
            ("zoo@eu", 5),
            ("zoo@us", 6),
        ] {
            assert_eq!(numbers.of(name), expected, "{name}");
        }
    }

    #[test]
    fn the_nearest_pattern_counts() {
        let mut numbers = Patterns::default();
        for (pattern, number) in [("*", 1), ("a*", 2), ("a*c", 3), ("abc", 4)] {
            numbers.set(pattern, number);
        }
        assert_eq!(["x", "ab", "aac", "abc"].map(|name| numbers.of(name)), [1, 2, 3, 4]);
    }
}
