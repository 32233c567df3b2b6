//! What Tab offers: commands, tables, columns, functions and words of SQL. It looks at the text before the cursor only, and knows of SQL
//! where tables stand.

use super::super::command::COMMANDS;

/// What can be named in a statement.
#[derive(Debug, Default, Clone)]
pub(super) struct Names {
    pub(super) tables: Vec<String>,
    pub(super) columns: Vec<String>,
    pub(super) functions: Vec<String>,
}

/// What stands at the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Completion {
    /// Words, in place of the text from that byte on.
    Words(usize, Vec<String>),
    /// A path, inside quotes or behind `\i`.
    Path,
}

/// Words behind which a table is named.
const BEFORE_TABLES: [&str; 11] =
    ["from", "join", "into", "update", "table", "describe", "mapping", "view", "on", "exists", "\\d"];

/// Words of SQL that statements are made of.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "ALL", "ANALYZE", "AND", "AS", "ASC", "BETWEEN", "BIGINT", "BOOLEAN", "BY", "CASE", "CAST", "COLUMNS",
    "COPY", "CREATE", "CROSS", "CSV", "CURRENT", "DATE", "DECIMAL", "DELETE", "DESC", "DESCRIBE",
    "DISTINCT", "DOUBLE", "DROP", "ELSE", "END", "EXCEPT", "EXISTS", "EXPLAIN", "EXTERNAL", "EXTRACT",
    "FALSE", "FILTER", "FIRST", "FOLLOWING", "FROM", "FULL", "FUNCTIONS", "GROUP", "HASH", "HAVING", "IF",
    "ILIKE", "IN", "INDEX", "INNER", "INSERT", "INT", "INTERSECT", "INTERVAL", "INTO", "IS", "JOIN", "JSON",
    "LAST", "LATERAL", "LEFT", "LIKE", "LIMIT", "LOCATION", "MAPPING", "MAPPINGS", "NATURAL", "NOT", "NULL",
    "NULLS", "OFFSET", "ON", "OPTIONS", "OR", "ORDER", "OUTER", "OVER", "PARQUET", "PARTITION", "PRECEDING",
    "REPLACE", "RIGHT", "ROWS", "SELECT", "SET", "SHOW", "SINK", "SORTED", "STORED", "TABLE", "TABLES",
    "THEN", "TIMESTAMP", "TO", "TRUE", "UNION", "UPDATE", "USING", "VALUES", "VARCHAR", "VERBOSE", "VIEW",
    "WHEN", "WHERE", "WINDOW", "WITH",
];

/// The files that a text names where tables stand, as they are called within their quotes.
#[cfg_attr(not(feature = "shell"), expect(dead_code, reason = "plain lines are not completed"))]
pub(super) fn files_in(text: &str) -> Vec<String> {
    let mut files = Vec::new();
    // Of the parts between quotes every second one is within them; a doubled quote makes an empty part.
    let parts: Vec<&str> = text.split('\'').collect();
    let mut at = 1;
    while at + 1 < parts.len() {
        let word =
            parts[at - 1].trim_end().rsplit(|letter: char| !is_of_word(letter)).next().unwrap_or_default();
        let mut file = parts[at].to_owned();
        while parts.get(at + 1) == Some(&"") && at + 3 < parts.len() {
            file = format!("{file}'{}", parts[at + 2]);
            at += 2;
        }
        if ["from", "join"].contains(&&*word.to_lowercase()) && !file.is_empty() {
            files.push(file);
        }
        at += 2;
    }
    files.sort_unstable();
    files.dedup();
    files
}

/// What can stand at the end of `text`, which ends at the cursor.
pub(super) fn complete(text: &str, names: &Names) -> Completion {
    if is_in_quotes(text) {
        return Completion::Path;
    }
    let start = text
        .rfind(|letter: char| !is_of_word(letter))
        .map_or(0, |at| at + text[at..].chars().next().map_or(0, char::len_utf8));
    let (before, typed) = text.split_at(start);
    let line = text.rsplit('\n').next().unwrap_or(text).trim_start();
    if line.starts_with('\\') {
        match line.split_once(char::is_whitespace) {
            None => return Completion::Words(text.len() - line.len(), commands(line)),
            Some(("\\i" | "\\o" | "\\e", _)) => return Completion::Path,
            Some(("\\format", _)) => return words(start, typed, &["table", "csv", "json", "ndjson"]),
            Some(("\\timing" | "\\pager", _)) => return words(start, typed, &["on", "off"]),
            Some(("\\x", _)) => return words(start, typed, &["on", "off", "auto"]),
            Some(("\\rows", _)) => return words(start, typed, &["all"]),
            Some(_) => {}
        }
    }
    let quoted = before.strip_suffix('"');
    let (start, before) = quoted.map_or((start, before), |before| (start - 1, before));
    let fits = |name: &&String| match quoted {
        Some(_) => name.starts_with(typed),
        None => name.to_lowercase().starts_with(&typed.to_lowercase()),
    };
    let some =
        |names: &[String]| names.iter().filter(fits).map(|name| as_written(name, quoted.is_some())).collect();
    if before.ends_with('.') {
        return Completion::Words(start, some(&names.columns));
    }
    let previous = before.trim_end().rsplit(|letter: char| !is_of_word(letter) && letter != '\\').next();
    let is_table = previous.is_some_and(|word| BEFORE_TABLES.contains(&&*word.to_lowercase()));
    if is_table && before.ends_with(char::is_whitespace) {
        return Completion::Words(start, some(&names.tables));
    }
    let mut found: Vec<String> = some(&names.columns);
    if !typed.is_empty() && quoted.is_none() {
        found.extend(keywords(typed));
        found.extend(names.functions.iter().filter(fits).map(|name| format!("{name}(")));
    }
    found.extend(some(&names.tables));
    found.sort_unstable();
    found.dedup();
    Completion::Words(start, found)
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// True when a text begins with a quote that does not end.
fn is_in_quotes(text: &str) -> bool {
    text.matches('\'').count() % 2 == 1
}

fn commands(typed: &str) -> Vec<String> {
    let mut names: Vec<String> = COMMANDS
        .iter()
        .filter_map(|(usage, _)| usage.split([' ', ',']).next())
        .filter(|name| name.starts_with('\\') && name.starts_with(typed))
        .map(str::to_owned)
        .collect();
    names.dedup();
    names
}

fn words(start: usize, typed: &str, words: &[&str]) -> Completion {
    let found = words.iter().filter(|word| word.starts_with(typed)).map(|word| (*word).to_owned());
    Completion::Words(start, found.collect())
}

/// Words of SQL, in the case of what was typed.
fn keywords(typed: &str) -> impl Iterator<Item = String> {
    let is_lower = typed.chars().any(char::is_lowercase);
    let upper = typed.to_uppercase();
    let found = WORDS.iter().filter(move |word| word.starts_with(&upper));
    found.map(move |word| if is_lower { word.to_lowercase() } else { (*word).to_owned() })
}

/// A name as it is written in a statement: in quotes where it must be.
fn as_written(name: &str, is_quoted: bool) -> String {
    let is_plain =
        name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
            && !name.starts_with(|first: char| first.is_ascii_digit());
    if is_plain && !is_quoted { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Names {
            tables: all(&["orders", "Offers", "people"]),
            columns: all(&["order_id", "pieces", "firstName"]),
            functions: all(&["octet_length", "power"]),
        }
    }

    /// What is offered, with the start of what it replaces.
    fn offered(text: &str) -> (usize, Vec<String>) {
        match complete(text, &names()) {
            Completion::Words(start, words) => (start, words),
            Completion::Path => panic!("{text}: a path"),
        }
    }

    #[test]
    fn tables_are_offered_where_a_table_stands() {
        assert_eq!(offered("SELECT * FROM o"), (14, vec!["orders".to_owned(), "\"Offers\"".to_owned()]));
        assert_eq!(offered("select * from people p join or"), (28, vec!["orders".to_owned()]));
        assert_eq!(offered("\\d pe"), (3, vec!["people".to_owned()]));
        assert_eq!(offered("DELETE\nFROM \"Of"), (12, vec!["\"Offers\"".to_owned()]));
        assert_eq!(offered("INSERT INTO ").1.len(), 3);
    }

    #[test]
    fn everything_else_is_offered_elsewhere() {
        let p = ["people", "pieces", "power("].map(str::to_owned).to_vec();
        assert_eq!(offered("SELECT pe").1, ["people"]);
        assert!(p.iter().all(|word| offered("select p").1.contains(word)), "{:?}", offered("select p"));
        assert_eq!(offered("SELECT FI").1, ["\"firstName\"", "FILTER", "FIRST"]);
        assert_eq!(offered("sel"), (0, vec!["select".to_owned()]));
        assert_eq!(offered("SELECT o.ord"), (9, vec!["order_id".to_owned()]));
        assert_eq!(offered("SELECT \"fi"), (7, vec!["\"firstName\"".to_owned()]));
        assert_eq!(offered("SELECT zzz").1, Vec::<String>::new());
    }

    #[test]
    fn commands_and_their_arguments_are_offered() {
        let (start, commands) = offered("\\");
        assert!(
            start == 0
                && ["\\d", "\\dt", "\\x", "\\copy"]
                    .iter()
                    .all(|name| commands.iter().any(|other| other == name))
        );
        assert_eq!(offered("\\x a").1, ["auto"]);
        assert_eq!(offered("\\ti"), (0, vec!["\\timing".to_owned()]));
        assert_eq!(offered("\\format c"), (8, vec!["csv".to_owned()]));
        assert_eq!(offered("\\timing ").1, ["on", "off"]);
        assert_eq!(complete("\\i rep", &names()), Completion::Path);
        assert_eq!(complete("SELECT * FROM 'data/o", &names()), Completion::Path);
    }

    #[test]
    fn files_are_known_where_tables_stand() {
        for (text, files) in [
            ("SELECT a FROM 'b.csv' WHERE c = 'from'", &["b.csv"][..]),
            ("SELECT a FROM 'it''s.csv' x JOIN 'd/*.parquet' y", &["d/*.parquet", "it's.csv"]),
            ("SELECT 'x' FROM t WHERE a = 'from", &[]),
            ("", &[]),
            ("'", &[]),
            ("FROM ''", &[]),
        ] {
            assert_eq!(files_in(text), files, "{text}");
        }
    }

    #[test]
    fn no_text_does_harm() {
        for text in ["", "\"", "日", "SELECT 日本", ".", "\\d ", "'", "a.\"", "\n\\", "x\u{301}"] {
            if let Completion::Words(start, _) = complete(text, &names()) {
                assert!(text.is_char_boundary(start), "{text}");
            }
        }
    }

    #[test]
    fn words_are_in_order_and_none_is_there_twice() {
        assert!(WORDS.is_sorted_by(|one, next| one < next));
    }
}
