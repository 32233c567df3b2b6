//! Looks at a statement's text before it is parsed: its length, and how deep its expressions would be.
//!
//! A parser makes a tree, and a tree of a million `OR`s is a million deep: dropping it alone would overflow the stack. So depth is
//! bounded here, by counting over the text once, before anything is built. It need not understand SQL: it skips strings, quoted names
//! and comments, counts open parentheses, and operators since the last comma or semicolon at that level.

use crate::error::SqlError;

/// Refuses what is too long or too deep.
pub(crate) fn check(text: &str, text_bytes: usize, depth: usize) -> Result<(), SqlError> {
    if text.len() > text_bytes {
        return Err(SqlError::TextTooLong { bytes: text.len(), limit: text_bytes });
    }
    let mut scan = Scan { limit: depth, open: vec![0], operators_open: 0 };
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match rest[0] {
            quote @ (b'\'' | b'"' | b'`') => past_quote(rest, quote),
            b'-' if rest.starts_with(b"--") => past(rest, b"\n", 2),
            b'/' if rest.starts_with(b"/*") => past(rest, b"*/", 2),
            b'(' | b'[' => scan.open(at)?,
            b')' | b']' => scan.close(),
            b',' | b';' => scan.part(),
            b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'|' | b'&' | b'^' | b'~'
            | b':' => scan.operator(at)?,
            letter if letter.is_ascii_alphabetic() || letter == b'_' || letter >= 0x80 => {
                let word = rest
                    .iter()
                    .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_' || **b >= 0x80)
                    .count();
                scan.word(&rest[..word], at)?;
                word
            }
            digit if digit.is_ascii_digit() => {
                rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'.').count()
            }
            _ => 1,
        };
    }
    Ok(())
}

/// The length of a quoted piece; a doubled quote is part of it.
fn past_quote(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        if rest[at] == quote {
            if rest.get(at + 1) != Some(&quote) {
                return at + 1;
            }
            at += 1;
        }
        at += 1;
    }
    rest.len()
}

/// The length up to and with `end`, looked for after `begin` bytes.
fn past(rest: &[u8], end: &[u8], begin: usize) -> usize {
    let found = rest[begin..].windows(end.len()).position(|piece| piece == end);
    found.map_or(rest.len(), |at| begin + at + end.len())
}

struct Scan {
    limit: usize,
    /// By open parenthesis: operators since its begin or its last comma.
    open: Vec<usize>,
    /// Their sum: how deep the tree is here at most.
    operators_open: usize,
}

impl Scan {
    fn open(&mut self, at: usize) -> Result<usize, SqlError> {
        self.open.push(0);
        self.refuse("nests parentheses", self.open.len() - 1, at)?;
        Ok(1)
    }

    fn close(&mut self) -> usize {
        if self.open.len() > 1 {
            self.operators_open -= self.open.pop().unwrap_or(0);
        }
        1
    }

    fn part(&mut self) -> usize {
        if let Some(operators) = self.open.last_mut() {
            self.operators_open -= std::mem::take(operators);
        }
        1
    }

    fn operator(&mut self, at: usize) -> Result<usize, SqlError> {
        if let Some(operators) = self.open.last_mut() {
            *operators += 1;
        }
        self.operators_open += 1;
        self.refuse("chains operators", self.operators_open, at)?;
        Ok(1)
    }

    fn word(&mut self, word: &[u8], at: usize) -> Result<(), SqlError> {
        const OPERATORS: [&str; 14] = [
            "and",
            "or",
            "not",
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
        ];
        const CLAUSES: [&str; 6] = ["select", "from", "where", "having", "group", "order"];
        let is_one_of =
            |words: &[&str]| words.iter().any(|other| word.eq_ignore_ascii_case(other.as_bytes()));
        if is_one_of(&OPERATORS) {
            self.operator(at)?;
        } else if is_one_of(&CLAUSES) && !word.eq_ignore_ascii_case(b"select") {
            self.part();
        }
        Ok(())
    }

    fn refuse(&self, what: &'static str, depth: usize, at: usize) -> Result<(), SqlError> {
        if depth > self.limit {
            return Err(SqlError::TooDeep { what, depth, at, limit: self.limit });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> Option<String> {
        check(text, 16 << 20, 100).err().map(|error| error.to_string())
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
        let long = check(&"x".repeat(11), 10, 100).unwrap_err().to_string();
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
        assert_eq!(refusal("SELECT 'it''s ((' , e'x' FROM t WHERE a = 'ü'"), None);
    }

    #[test]
    fn unfinished_texts_are_left_to_the_parser() {
        for text in ["'", "\"", "/*", "--", ")", "]]]", "SELECT (", "'a''"] {
            assert_eq!(refusal(text), None, "{text}");
        }
    }
}
