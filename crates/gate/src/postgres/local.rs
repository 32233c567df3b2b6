//! Statements that the session answers itself: transactions, variables, and what drivers clean up with. Everything else is SQL.

use super::variables::is_variable;

/// A statement of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Local {
    Begin,
    Commit,
    Rollback,
    /// Savepoints are no-ops like transactions; the word is the tag.
    Savepoint(&'static str),
    Set {
        name: String,
        value: String,
    },
    /// Something is set that has no effect.
    SetNothing,
    /// None: all.
    Reset(Option<String>),
    Show(String),
    ShowAll,
    Discard {
        all: bool,
    },
    /// None: all.
    Deallocate(Option<String>),
    /// Nobody was listening.
    Unlisten,
}

/// A word or sign of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// A name or keyword as it stands there.
    Word(String),
    /// In double quotes, or a string.
    Quoted(String),
    Sign(char),
}

/// Tokens that are looked at: what the session answers is short, apart from lists of values.
const MOST_TOKENS: usize = 64;

/// What the session answers itself; `None` when that is SQL.
pub(super) fn local(text: &str) -> Option<Local> {
    let first = text.trim_start().get(..3)?.to_ascii_lowercase();
    let begins = [
        "beg", "sta", "com", "end", "rol", "abo", "sav", "rel", "set", "res", "sho", "dis", "dea", "unl",
        "/*", "--",
    ];
    if !begins.iter().any(|begin| first.starts_with(begin)) {
        return None;
    }
    let tokens = tokens(text)?;
    let word = |at: usize| match tokens.get(at) {
        Some(Token::Word(word)) => word.to_ascii_lowercase(),
        _ => String::new(),
    };
    let name = |at: usize| match tokens.get(at) {
        Some(Token::Word(word)) => Some(word.to_ascii_lowercase()),
        Some(Token::Quoted(name)) => Some(name.clone()),
        _ => None,
    };
    let second = word(1);
    Some(match word(0).as_str() {
        "begin" => Local::Begin,
        "start" if second == "transaction" => Local::Begin,
        "commit" | "end" if second != "prepared" => Local::Commit,
        "abort" => Local::Rollback,
        "rollback" => {
            let to = [word(1), word(2)].iter().any(|word| word == "to");
            if to { Local::Savepoint("ROLLBACK") } else { Local::Rollback }
        }
        "savepoint" => Local::Savepoint("SAVEPOINT"),
        "release" => Local::Savepoint("RELEASE"),
        "set" => return set(&tokens),
        "reset" if second == "all" => Local::Reset(None),
        "reset" => Local::Reset(Some(name(1).filter(|name| is_variable(name))?)),
        "show" if second == "all" => Local::ShowAll,
        "show" if second == "time" && word(2) == "zone" => Local::Show("TimeZone".into()),
        "show" if second == "transaction" && word(2) == "isolation" => {
            Local::Show("transaction_isolation".into())
        }
        "show" => Local::Show(name(1).filter(|name| is_variable(name) && tokens.len() == 2)?),
        "discard" => Local::Discard { all: second == "all" },
        "deallocate" => {
            let at = if second == "prepare" { 2 } else { 1 };
            if word(at) == "all" { Local::Deallocate(None) } else { Local::Deallocate(Some(name(at)?)) }
        }
        "unlisten" => Local::Unlisten,
        _ => return None,
    })
}

fn set(tokens: &[Token]) -> Option<Local> {
    let word = |at: usize| match tokens.get(at) {
        Some(Token::Word(word)) => word.to_ascii_lowercase(),
        _ => String::new(),
    };
    let at = if matches!(word(1).as_str(), "session" | "local") { 2 } else { 1 };
    match word(at).as_str() {
        "transaction" | "characteristics" | "constraints" => return Some(Local::SetNothing),
        "names" => {
            return Some(Local::Set { name: "client_encoding".into(), value: value(tokens.get(at + 1..)?) });
        }
        "time" if word(at + 1) == "zone" => {
            return Some(Local::Set { name: "TimeZone".into(), value: value(tokens.get(at + 2..)?) });
        }
        _ => {}
    }
    let (Token::Word(name) | Token::Quoted(name)) = tokens.get(at)? else { return None };
    match tokens.get(at + 1)? {
        // `datafusion.execution.batch_size` is a setting of the engine.
        Token::Sign('.') => return None,
        Token::Sign('=') => {}
        Token::Word(to) if to.eq_ignore_ascii_case("to") => {}
        _ => return None,
    }
    let value = value(tokens.get(at + 2..)?);
    if value.eq_ignore_ascii_case("default") {
        return Some(Local::Reset(Some(name.clone())));
    }
    Some(Local::Set { name: name.clone(), value })
}

/// What follows, as a text.
fn value(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        match token {
            Token::Sign(',') => text.push_str(", "),
            Token::Sign(sign) => text.push(*sign),
            Token::Word(word) | Token::Quoted(word) => {
                if text.ends_with(|letter: char| letter.is_alphanumeric()) {
                    text.push(' ');
                }
                text.push_str(word);
            }
        }
    }
    text
}

/// The tokens of a short statement, comments aside; `None` when it is too long to be one of ours or cannot be read.
fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let first = match rest.chars().next() {
            None | Some(';') => return Some(found),
            Some(first) => first,
        };
        if rest.starts_with("--") {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
            continue;
        }
        if rest.starts_with("/*") {
            rest = rest.split_once("*/")?.1;
            continue;
        }
        if found.len() == MOST_TOKENS {
            return None;
        }
        match first {
            quote @ ('\'' | '"') => {
                let (inner, tail) = quoted(&rest[1..], quote)?;
                found.push(Token::Quoted(inner));
                rest = tail;
            }
            letter if letter.is_alphanumeric() || matches!(letter, '_' | '-' | '+') => {
                let end = rest
                    .char_indices()
                    .skip(1)
                    .find(|(_, letter)| !letter.is_alphanumeric() && *letter != '_')
                    .map_or(rest.len(), |(at, _)| at);
                found.push(Token::Word(rest[..end].to_owned()));
                rest = &rest[end..];
            }
            sign => {
                found.push(Token::Sign(sign));
                rest = &rest[sign.len_utf8()..];
            }
        }
    }
}

/// What is within quotes, a doubled one is one, and what follows.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let (mut inner, mut rest) = (String::new(), text);
    loop {
        let (before, after) = rest.split_once(quote)?;
        inner.push_str(before);
        match after.strip_prefix(quote) {
            Some(tail) => {
                inner.push(quote);
                rest = tail;
            }
            None => return Some((inner, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_the_session_are_known() {
        let set = |name: &str, value: &str| Local::Set { name: name.into(), value: value.into() };
        for (text, expected) in [
            ("BEGIN", Local::Begin),
            ("begin isolation level serializable, read only", Local::Begin),
            (" start  transaction", Local::Begin),
            ("COMMIT WORK", Local::Commit),
            ("END", Local::Commit),
            ("/* x */ ROLLBACK", Local::Rollback),
            ("ROLLBACK TO SAVEPOINT a", Local::Savepoint("ROLLBACK")),
            ("SET extra_float_digits = 3", set("extra_float_digits", "3")),
            ("SET extra_float_digits TO -3", set("extra_float_digits", "-3")),
            ("set session application_name to 'a ''b'''", set("application_name", "a 'b'")),
            ("SET client_encoding='utf-8'", set("client_encoding", "utf-8")),
            ("SET DateStyle TO ISO, DMY", set("DateStyle", "ISO, DMY")),
            ("SET search_path = \"$user\", public", set("search_path", "$user, public")),
            ("SET NAMES 'UTF8'", set("client_encoding", "UTF8")),
            ("SET TIME ZONE 'UTC'", set("TimeZone", "UTC")),
            ("SET application_name TO DEFAULT", Local::Reset(Some("application_name".into()))),
            ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", Local::SetNothing),
            ("SHOW server_version", Local::Show("server_version".into())),
            ("SHOW TRANSACTION ISOLATION LEVEL", Local::Show("transaction_isolation".into())),
            ("DISCARD ALL", Local::Discard { all: true }),
            ("DEALLOCATE ALL", Local::Deallocate(None)),
            ("DEALLOCATE \"_pg3_0\"", Local::Deallocate(Some("_pg3_0".into()))),
            ("UNLISTEN *", Local::Unlisten),
        ] {
            assert_eq!(local(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn everything_else_is_sql() {
        for text in [
            "SELECT 1",
            "",
            "SHOW TABLES",
            "SHOW MAPPINGS",
            "SET datafusion.execution.batch_size = 1",
            "ü",
            "--",
            "/*",
            "SET x",
            "SET 'a",
            "EXPLAIN SELECT 1",
            "setup()",
            "RESET datafusion.x",
        ] {
            assert_eq!(local(text), None, "{text}");
        }
    }
}
