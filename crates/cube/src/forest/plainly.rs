//! Words of forests for what the reader of TOML and JSON says of a name that it does not expect: which one was perhaps meant, and which
//! there are.

use crate::nearest::nearest;

/// Says in plain words which name is not known, or missing, and keeps everything else of a message.
pub(super) fn plainly(problem: &str) -> String {
    let line = |line: &str| unknown(line).or_else(|| missing(line)).unwrap_or_else(|| line.to_owned());
    problem.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Begins of messages about a name that is not expected, and the words that say so here.
const UNKNOWN: [(&str, &str, &str); 2] =
    [("unknown variant `", "", " is not known here"), ("unknown field `", "there is no key ", " here")];

fn unknown(line: &str) -> Option<String> {
    let (begin, before_name, behind_name) = UNKNOWN.into_iter().find(|(begin, ..)| line.contains(begin))?;
    let (before, rest) = line.split_once(begin)?;
    let (name, rest) = rest.split_once('`')?;
    // Of the parts between quotes every second one is a name.
    let parts: Vec<&str> = rest.split('`').collect();
    let known: Vec<&str> = parts.iter().skip(1).step_by(2).copied().collect();
    let behind = if known.is_empty() { "" } else { parts.last().copied().unwrap_or_default() };
    let is_it = nearest(name, known.iter().copied()).map(|near| format!("; is it {near:?}?"));
    let there_are = match known.is_empty() {
        true => String::new(),
        false => {
            format!("{} {}", if is_it.is_some() { " There are:" } else { "; there are:" }, known.join(", "))
        }
    };
    let is_it = is_it.unwrap_or_default();
    Some(format!("{before}{before_name}{name:?}{behind_name}{is_it}{there_are}{behind}"))
}

fn missing(line: &str) -> Option<String> {
    let (before, rest) = line.split_once("missing field `")?;
    let (name, behind) = rest.split_once('`')?;
    Some(format!("{before}the key {name:?} is missing{behind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_known_are_told_with_those_that_are() {
        for (said, told) in [
            (
                "line\nunknown variant `agregator`, expected one of `aggregator`, `combinator`\n",
                "line\n\"agregator\" is not known here; is it \"aggregator\"? There are: aggregator, combinator\n",
            ),
            (
                "unknown field `colum`, expected `column` or `aggregation`",
                "there is no key \"colum\" here; is it \"column\"? There are: column, aggregation",
            ),
            (
                "unknown field `x`, expected `column` at line 3 column 9",
                "there is no key \"x\" here; there are: column at line 3 column 9",
            ),
            ("unknown field `x`, there are no fields", "there is no key \"x\" here"),
            ("missing field `name` at line 1", "the key \"name\" is missing at line 1"),
            ("something else `x`", "something else `x`"),
        ] {
            assert_eq!(plainly(said), told);
        }
    }
}
