//! Completion by Tab: commands, measures, columns, and the values of the column that a condition compares.

use super::line::{CLAUSES, COMMANDS, words};

/// A way to the values of a column.
type FindValues = Box<dyn Fn(&str) -> Vec<String>>;

/// The names of a cube.
pub(super) struct Names {
    pub(super) measures: Vec<String>,
    pub(super) columns: Vec<String>,
    /// Finds the values of a column.
    pub(super) values: FindValues,
}

/// Finds the words for the end of `text`, which ends at the cursor, and the byte from which on they replace it.
pub(super) fn complete(text: &str, names: &Names) -> (usize, Vec<String>) {
    if let Some((column, begin)) = compared(text) {
        let typed = &text[begin..];
        let fits = |value: &String| value.to_lowercase().starts_with(&typed.to_lowercase());
        let values = (names.values)(&column).into_iter().filter(fits);
        return (begin, values.map(|value| format!("{}'", value.replace('\'', "''"))).collect());
    }
    let words = words(text);
    let is_new = text.is_empty() || text.ends_with([' ', ',', '(']);
    let (before, start) = match words.split_last() {
        Some((last, before)) if !is_new => (before, last.begin),
        _ => (&words[..], text.len()),
    };
    // A bracket before a name is none of it.
    let start = start + text[start..].rfind('(').map_or(0, |at| at + 1);
    let typed = text[start..].trim_start_matches('"').to_lowercase();
    let clause = before.iter().rev().find_map(|word| word.clause());
    let fits = |name: &&String| name.to_lowercase().starts_with(&typed);
    let some = |names: &[String]| names.iter().filter(fits).map(|name| as_written(name)).collect::<Vec<_>>();
    let mut found = match clause {
        None if before.first().is_some_and(|word| word.text == "values") => {
            return (start, some(&names.columns));
        }
        None => some(&names.measures),
        Some("flat") => Vec::new(),
        Some(_) => some(&names.columns),
    };
    let is_quoted = text[start..].starts_with('"');
    let commands = COMMANDS.iter().skip(1).filter_map(|(usage, _)| usage.split(' ').next());
    let commands = commands.filter(|_| before.is_empty());
    let fits = |word: &&str| !is_quoted && !typed.is_empty() && word.starts_with(&typed);
    found.extend(CLAUSES.into_iter().chain(commands).filter(fits).map(str::to_owned));
    (start, found)
}

/// The column that is compared with the text in single quotes at the end, and where that text begins.
fn compared(text: &str) -> Option<(String, usize)> {
    if text.matches('\'').count().is_multiple_of(2) {
        return None;
    }
    let quote = text.rfind('\'')?;
    let mut before = text[..quote].trim_end();
    // Values of a list that stand before this one.
    if let Some(list) = before.rfind('(').filter(|at| before[at + 1..].chars().all(|letter| letter != ')')) {
        before = before[..list].trim_end();
    }
    for word in ["in", "IN", "not", "NOT"] {
        let bare = before.strip_suffix(word).filter(|rest| rest.ends_with(char::is_whitespace));
        before = bare.map_or(before, str::trim_end);
    }
    let before = before.trim_end_matches(['=', '<', '>', '!']).trim_end();
    Some((words(before).pop()?.text, quote + 1))
}

/// A name as it is typed: in double quotes where it must be.
fn as_written(name: &str) -> String {
    let is_plain = name.chars().all(|letter| letter.is_alphanumeric() || "_.".contains(letter));
    let is_keyword = CLAUSES.iter().any(|clause| name.eq_ignore_ascii_case(clause));
    let is_bare = is_plain && !is_keyword;
    if is_bare { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(text: &str) -> (usize, Vec<String>) {
        let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let values = |column: &str| match column {
            "desk" => vec!["FX".to_owned(), "Rates".to_owned(), "it's".to_owned()],
            _ => Vec::new(),
        };
        let names = Names {
            measures: all(&["pnl", "var95", "second worst"]),
            columns: all(&["desk", "ccy", "by"]),
            values: Box::new(values),
        };
        let (start, found) = complete(text, &names);
        assert!(text.is_char_boundary(start), "{text}");
        (start, found)
    }

    fn found(text: &str) -> Vec<String> {
        offered(text).1
    }

    #[test]
    fn names_are_offered_where_they_stand() {
        assert_eq!(offered("pn"), (0, vec!["pnl".to_owned()]));
        assert_eq!(found("pnl, s"), ["\"second worst\""]);
        assert_eq!(offered("\"sec"), (0, vec!["\"second worst\"".to_owned()]));
        assert_eq!(offered("pnl by d"), (7, vec!["desk".to_owned()]));
        assert_eq!(found("pnl by desk, "), ["desk", "ccy", "\"by\""]);
        assert_eq!(found("pnl by desk wh"), ["where"]);
        assert_eq!(found("pnl where (de"), ["desk"]);
        assert_eq!(found("values c"), ["ccy"]);
        assert_eq!(found("ex"), ["explain", "export"]);
        assert_eq!(found("pnl t"), ["totals"]);
    }

    #[test]
    fn values_are_offered_within_quotes() {
        assert_eq!(offered("pnl where desk = 'F"), (18, vec!["FX'".to_owned()]));
        assert_eq!(found("pnl where desk in ('FX', 'r"), ["Rates'"]);
        assert_eq!(found("pnl where ccy = 'a' and not desk not in ('"), ["FX'", "Rates'", "it''s'"]);
        assert_eq!(found("pnl where (desk<>'"), Vec::<String>::new());
        for text in ["'", "pnl where '", "日本 '日", "(", "in ('"] {
            offered(text);
        }
    }
}
