//! Looks at a statement's text before it is parsed: its length, how deep its expressions would be, where one statement ends.
//!
//! A parser makes a tree, and a tree of a million `OR`s is a million deep: dropping it alone would overflow the stack. So depth is
//! bounded here, by counting tokens once, before anything is built: open parentheses, and operators since the last comma or clause at
//! that level. The tokens are the parser's own, so that nothing is a string or a comment here and code there.

use crate::error::SqlError;
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, PostgreSqlDialect};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

/// Refuses what is too long; cheap enough for any thread.
pub(crate) fn check_length(text: &str, limit: usize) -> Result<(), SqlError> {
    match text.len() {
        bytes if bytes > limit => Err(SqlError::TextTooLong { bytes, limit }),
        _ => Ok(()),
    }
}

/// Refuses what is too deep, before it is parsed; takes milliseconds on the longest texts.
///
/// ```
/// let deep = format!("SELECT {}1{}", "(".repeat(300), ")".repeat(300));
/// assert!(filbert_sql::check_depth(&deep, 100).is_err());
/// ```
///
/// # Errors
/// Where it is deeper than `limit`.
pub fn check_depth(text: &str, limit: usize) -> Result<(), SqlError> {
    if text.len() <= limit {
        return Ok(());
    }
    // A door may parse in another dialect than the engine. What is no text of tokens in one, its parser refuses as well.
    for dialect in [&GenericDialect {} as &dyn Dialect, &PostgreSqlDialect {}] {
        if let Some(tokens) = tokens(text, dialect) {
            check_tokens(text, &tokens, limit)?;
        }
    }
    Ok(())
}

fn check_tokens(text: &str, tokens: &[TokenWithSpan], limit: usize) -> Result<(), SqlError> {
    let mut scan = Scan { limit, open: vec![Level::default()], operators_open: 0 };
    for TokenWithSpan { token, span } in tokens {
        let refused = match token {
            Token::LParen | Token::LBrace => scan.open(),
            // `a[1][1]` and `INT[][]` are as deep as they are long.
            Token::LBracket => scan.operator().or_else(|| scan.open()),
            Token::RParen | Token::RBracket | Token::RBrace => scan.close(),
            Token::Comma => scan.comma(),
            Token::SemiColon => scan.part(),
            Token::Word(word) if word.quote_style.is_none() => scan.word(&word.value),
            Token::Word(_)
            | Token::Number(..)
            | Token::Whitespace(_)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::Placeholder(_)
            | Token::EOF => None,
            _ => scan.operator(),
        };
        if let Some((what, depth)) = refused {
            let at = Cursor::new(text).advance(span.start);
            return Err(SqlError::TooDeep { what, depth, at, limit });
        }
    }
    Ok(())
}

/// The statements of a text, split at the semicolons between them; empty ones and comments alone are left out. What cannot be taken
/// apart (a string without end) is one statement, for the parser to refuse.
///
/// ```
/// let split = filbert_sql::statements("SELECT ';' AS a; /* ; */ ;\nINSERT INTO t VALUES (1);");
/// assert_eq!(split, ["SELECT ';' AS a", "INSERT INTO t VALUES (1)"]);
/// ```
pub fn statements(text: &str) -> Vec<&str> {
    let Some(tokens) = tokens(text, &GenericDialect {}) else { return vec![text.trim()] };
    let mut cursor = Cursor::new(text);
    let (mut found, mut begin) = (Vec::new(), None);
    for TokenWithSpan { token, span } in &tokens {
        match token {
            Token::Whitespace(_) | Token::EOF => {}
            Token::SemiColon => {
                let end = cursor.advance(span.start);
                found.extend(begin.take().map(|begin: usize| text[begin..end].trim_end()));
            }
            _ => {
                begin.get_or_insert_with(|| cursor.advance(span.start));
            }
        }
    }
    found.extend(begin.map(|begin| text[begin..].trim_end()));
    found
}

/// Where the tokens of a text begin; none when it cannot be taken apart.
pub(crate) fn token_starts(text: &str) -> impl Iterator<Item = usize> {
    token_places(text).map(|(_, start)| start)
}

/// The tokens of a text, and where each begins; none when it cannot be taken apart.
pub(crate) fn token_places(text: &str) -> impl Iterator<Item = (Token, usize)> {
    let mut cursor = Cursor::new(text);
    tokens(text, &GenericDialect {}).unwrap_or_default().into_iter().map(move |token| {
        let start = cursor.advance(token.span.start);
        (token.token, start)
    })
}

/// Where in the text a token begins.
pub(crate) fn offset(text: &str, location: Location) -> usize {
    Cursor::new(text).advance(location)
}

/// Where in the text a token stands, the first of those that are written so.
pub(crate) fn offset_of_token(text: &str, said: &str) -> Option<usize> {
    token_places(text).find_map(|(token, start)| (token.to_string() == said).then_some(start))
}

/// Where in the text these words stand one after the other, the first time.
pub(crate) fn offset_of_words(text: &str, said: &str) -> Option<usize> {
    let words: Vec<String> = said.split_whitespace().map(str::to_lowercase).collect();
    let found: Vec<(String, usize)> = token_places(text)
        .filter(|(token, _)| !matches!(token, Token::Whitespace(_)))
        .map(|(token, start)| (token.to_string().to_lowercase(), start))
        .collect();
    found.windows(words.len().max(1)).find_map(|place| {
        let is_it = place.iter().zip(&words).all(|((token, _), word)| token == word);
        is_it.then(|| place[0].1)
    })
}

fn tokens(text: &str, dialect: &dyn Dialect) -> Option<Vec<TokenWithSpan>> {
    Tokenizer::new(dialect, text).tokenize_with_location().ok()
}

/// From lines and columns to bytes, forwards only.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
    line: u64,
    column: u64,
}

impl<'t> Cursor<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1, column: 1 }
    }

    fn advance(&mut self, to: Location) -> usize {
        for letter in self.text[self.at..].chars() {
            if (self.line, self.column) >= (to.line, to.column) {
                break;
            }
            self.at += letter.len_utf8();
            match letter {
                '\n' => (self.line, self.column) = (self.line + 1, 1),
                _ => self.column += 1,
            }
        }
        self.at
    }
}

struct Scan {
    limit: usize,
    /// By open parenthesis.
    open: Vec<Level>,
    /// Their sum: how deep the tree is here at most.
    operators_open: usize,
}

#[derive(Default)]
struct Level {
    /// Operators since its begin or its last comma.
    operators: usize,
    /// Between FROM and what follows it: a comma there is a join.
    is_from: bool,
}

/// What is too deep, and how deep.
type Refused = Option<(&'static str, usize)>;

impl Scan {
    fn open(&mut self) -> Refused {
        self.open.push(Level::default());
        self.refuse("nests parentheses", self.open.len() - 1)
    }

    fn close(&mut self) -> Refused {
        if self.open.len() > 1 {
            self.operators_open -= self.open.pop().map_or(0, |level| level.operators);
        }
        None
    }

    fn part(&mut self) -> Refused {
        if let Some(level) = self.open.last_mut() {
            self.operators_open -= std::mem::take(level).operators;
        }
        None
    }

    fn comma(&mut self) -> Refused {
        match self.open.last() {
            Some(Level { is_from: true, .. }) => self.operator(),
            _ => self.part(),
        }
    }

    fn operator(&mut self) -> Refused {
        if let Some(level) = self.open.last_mut() {
            level.operators += 1;
        }
        self.operators_open += 1;
        self.refuse("chains operators", self.operators_open)
    }

    fn word(&mut self, word: &str) -> Refused {
        /// Whatever stands between or behind expressions or tables: the parser chains it.
        const OPERATORS: [&str; 33] = [
            "and",
            "or",
            "xor",
            "not",
            "in",
            "similar",
            "rlike",
            "regexp",
            "match",
            "overlaps",
            "div",
            "member",
            "operator",
            "notnull",
            "isnull",
            "pivot",
            "unpivot",
            "tablesample",
            "match_recognize",
            "is",
            "like",
            "ilike",
            "between",
            "case",
            "when",
            "union",
            "except",
            "intersect",
            "join",
            "collate",
            "zone",
            "interval",
            "explain",
        ];
        const CLAUSES: [&str; 5] = ["from", "where", "having", "group", "order"];
        let is_one_of = |words: &[&str]| words.iter().any(|other| word.eq_ignore_ascii_case(other));
        if is_one_of(&OPERATORS) {
            return self.operator();
        }
        if is_one_of(&CLAUSES) {
            self.part();
        }
        if let Some(level) = self.open.last_mut()
            && (is_one_of(&CLAUSES) || is_one_of(&["select"]))
        {
            level.is_from = is_one_of(&["from"]);
        }
        None
    }

    fn refuse(&self, what: &'static str, depth: usize) -> Refused {
        (depth > self.limit).then_some((what, depth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> Option<String> {
        check_depth(text, 100).err().map(|error| error.to_string())
    }

    #[test]
    fn deep_and_long_texts_are_refused_with_a_place() {
        let nested = format!("SELECT {}1{}", "(".repeat(1_000_000), ")".repeat(1_000_000));
        let text = refusal(&nested).unwrap();
        assert!(text.contains("nests parentheses 101 deep at byte 107"), "{text}");
        let flat = format!("SELECT 1 WHERE {}", vec!["a = 1"; 1_000_000].join(" OR "));
        assert!(refusal(&flat).unwrap().contains("chains operators 101 deep"));
        let unions = vec!["SELECT 1"; 1_000].join(" UNION ALL ");
        assert!(refusal(&unions).is_some());
        let minuses = format!("SELECT {}1", "- ".repeat(1_000));
        assert!(refusal(&minuses).is_some());
        let long = check_length(&"x".repeat(11), 10).unwrap_err().to_string();
        assert!(long.contains("11 bytes") && long.contains("sql.text_bytes"), "{long}");
    }

    #[test]
    fn wide_texts_are_not_deep() {
        let list = format!("SELECT * FROM t WHERE a IN ({})", vec!["1 + 2"; 10_000].join(", "));
        assert_eq!(refusal(&list), None);
        let columns = format!("SELECT {} FROM t", vec!["a.b * 2 AS c"; 10_000].join(", "));
        assert_eq!(refusal(&columns), None);
        let values = format!("INSERT INTO t VALUES {}", vec!["(1, -2, 'a')"; 10_000].join(", "));
        assert_eq!(refusal(&values), None);
        let string = format!(
            "SELECT '{}', \"{}\" -- {}\n /* {} */",
            "((".repeat(500),
            "+".repeat(500),
            "(".repeat(500),
            "- ".repeat(500)
        );
        assert_eq!(refusal(&string), None);
        let tables = vec!["t"; 1_000].join(", ");
        assert!(refusal(&format!("SELECT 1 FROM {tables}")).is_some(), "a comma joins");
        assert!(refusal(&format!("SELECT a{} FROM t", "[1]".repeat(1_000))).is_some());
        assert!(refusal(&format!("SELECT now(){}", " AT TIME ZONE 'UTC'".repeat(1_000))).is_some());
        assert!(refusal(&format!("{}SELECT 1", "EXPLAIN ".repeat(1_000))).is_some());
        assert_eq!(refusal(&format!("SELECT 1 FROM t UNION SELECT {tables} FROM t ORDER BY {tables}")), None);
        assert_eq!(refusal("SELECT 'it''s ((' , e'x' FROM t WHERE a = 'ü'"), None);
    }

    #[test]
    fn unfinished_texts_are_left_to_the_parser() {
        for text in ["'", "\"", "/*", "--", ")", "]]]", "SELECT (", "'a''"] {
            assert_eq!(refusal(text), None, "{text}");
        }
    }

    #[test]
    fn what_looks_like_a_string_hides_nothing() {
        let deep = vec!["1"; 1_000].join(" + ");
        for begin in [
            "SELECT E'\\'', ",
            "SELECT $$ ' $$, ",
            "SELECT q'[']', ",
            "SELECT x'\\'', ",
            "/* /* ' */ ' */ SELECT ",
        ] {
            let text = format!("{begin}{deep}");
            assert!(refusal(&text).is_some_and(|text| text.contains("chains operators")), "{begin}");
        }
    }

    /// The parser chains whatever may follow an expression or a table, and a chain is as deep as it is long.
    #[test]
    fn every_chain_counts() {
        for link in [
            " IN (1)",
            " XOR 1",
            " SIMILAR TO 'a'",
            " RLIKE 'a'",
            " REGEXP 'a'",
            " OVERLAPS 1",
            " DIV 2",
            " MEMBER OF(a)",
        ] {
            let text = format!("SELECT 1{}", link.repeat(1_000));
            assert!(refusal(&text).is_some_and(|text| text.contains("chains operators")), "{link}");
        }
        let pivots = " PIVOT(sum(a) FOR b IN (1))".repeat(1_000);
        assert!(refusal(&format!("SELECT * FROM t{pivots}")).is_some());
        // No text of the engine's dialect, and one of PostgreSQL's.
        let text = format!("SELECT 1 |` {}", vec!["1"; 1_000].join(" + "));
        assert!(refusal(&text).is_some());
    }

    #[test]
    fn statements_end_at_semicolons_that_are_none_of_a_string() {
        assert_eq!(
            statements("SELECT 'ä;' ; \n SELECT \";\" -- x;y\n;;/* ; */"),
            ["SELECT 'ä;'", "SELECT \";\" -- x;y"]
        );
        assert_eq!(statements("SELECT $$;$$; SELECT E'\\';'"), ["SELECT $$;$$", "SELECT E'\\';'"]);
        assert_eq!(statements(" -- nothing"), Vec::<&str>::new());
        assert_eq!(statements("SELECT 1; SELECT 'no end"), ["SELECT 1; SELECT 'no end"]);
    }
}
