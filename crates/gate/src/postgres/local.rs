//! Statements that the session answers itself: transactions, variables, prepared statements, cursors, and what drivers clean up with. Everything else
//! is SQL.

use super::copy::{Copy, Wrong};
use super::cursor::{self, Declaration, Fetch};
use super::named::{Call, Preparation};
use super::variables::{is_variable, switch};

/// A statement of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Local {
    /// Only to read, or not, when that is said.
    Begin {
        read_only: Option<bool>,
    },
    Commit,
    Rollback,
    /// Savepoints are no-ops like transactions; the word is the tag.
    Savepoint(&'static str),
    Set {
        name: String,
        value: String,
        /// Until the transaction ends.
        local: bool,
    },
    /// `SELECT set_config('name', 'value', is_local)`: frameworks set their zone so.
    SetConfig {
        name: String,
        value: String,
        local: bool,
    },
    /// How the transaction goes on, as far as that has an effect.
    SetTransaction {
        read_only: Option<bool>,
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
    Prepare(Preparation),
    Execute(Call),
    /// None: all.
    Deallocate(Option<String>),
    Declare(Declaration),
    Fetch(Fetch),
    /// None: all.
    Close(Option<String>),
    /// Rows from the client, or to it.
    Copy(Box<Copy>),
    /// Nobody was listening.
    Unlisten,
    /// PostgreSQL has it; why it is not here.
    Unserved(&'static str),
    /// It begins like one of these and goes on otherwise.
    Malformed(&'static str),
    /// It is one of these, and something is wrong with it.
    Wrong(Wrong),
}

/// A word or sign of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
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
        "pre", "exe", "dec", "fet", "clo", "cop", "/*", "--",
    ];
    if first == "sel" {
        return set_config(text);
    }
    if !begins.iter().any(|begin| first.starts_with(begin)) {
        return None;
    }
    if let Some((Token::Word(first), rest)) = token(text) {
        // They may be as long as statements are.
        match first.to_ascii_lowercase().as_str() {
            "prepare" => {
                return Some(Preparation::read(rest).map_or(Local::Malformed("PREPARE"), Local::Prepare));
            }
            "execute" => return Some(Call::read(rest).map_or(Local::Malformed("EXECUTE"), Local::Execute)),
            "copy" => {
                return Copy::read(text)
                    .map(|read| read.map_or_else(Local::Wrong, |copy| Local::Copy(Box::new(copy))));
            }
            "declare" => return Some(cursor::declaration(rest).unwrap_or(Local::Malformed("DECLARE"))),
            _ => {}
        }
    }
    let tokens = tokens(text)?;
    let word = |at: usize| tokens.get(at).and_then(Token::word).unwrap_or_default();
    let name = |at: usize| tokens.get(at).and_then(Token::name);
    let second = word(1);
    Some(match word(0).as_str() {
        "begin" => Local::Begin { read_only: read_only(&tokens) },
        "start" if second == "transaction" => Local::Begin { read_only: read_only(&tokens) },
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
        "reset" if second == "time" && word(2) == "zone" => Local::Reset(Some("TimeZone".into())),
        "reset" if is_engine_zone(&tokens[1..]) => Local::Reset(Some("TimeZone".into())),
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
        "fetch" => cursor::fetch(&tokens[1..]).unwrap_or(Local::Malformed("FETCH")),
        "close" if second == "all" => Local::Close(None),
        "close" => Local::Close(Some(name(1)?)),
        "unlisten" => Local::Unlisten,
        _ => return None,
    })
}

impl Token {
    /// A name or keyword in lower case.
    fn word(&self) -> Option<String> {
        match self {
            Self::Word(word) => Some(word.to_ascii_lowercase()),
            _ => None,
        }
    }

    /// What it names: in quotes as it stands there, else in lower case.
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Self::Quoted(name) => Some(name.clone()),
            _ => self.word(),
        }
    }

    pub(super) fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword))
    }
}

/// `READ ONLY` or `READ WRITE` among the modes of a transaction; the last one counts.
fn read_only(tokens: &[Token]) -> Option<bool> {
    let mut pairs = tokens.windows(2).rev().filter(|pair| pair[0].is("read"));
    pairs.find_map(|pair| Some(pair[1].is("only")).filter(|only| *only || pair[1].is("write")))
}

fn set(tokens: &[Token]) -> Option<Local> {
    let word = |at: usize| tokens.get(at).and_then(Token::word).unwrap_or_default();
    let local = word(1) == "local";
    let at = if local || word(1) == "session" { 2 } else { 1 };
    match word(at).as_str() {
        "transaction" => return Some(Local::SetTransaction { read_only: read_only(tokens) }),
        "characteristics" => {
            let default = |only: bool| Local::Set {
                name: "default_transaction_read_only".into(),
                value: if only { "on" } else { "off" }.into(),
                local: false,
            };
            return Some(read_only(tokens).map_or(Local::SetNothing, default));
        }
        "constraints" => return Some(Local::SetNothing),
        "names" => {
            let value = value(tokens.get(at + 1..)?);
            return Some(Local::Set { name: "client_encoding".into(), value, local });
        }
        "time" if word(at + 1) == "zone" => {
            let value = value(tokens.get(at + 2..)?);
            return Some(match value.eq_ignore_ascii_case("default") {
                true => Local::Reset(Some("TimeZone".into())),
                false => Local::Set { name: "TimeZone".into(), value, local },
            });
        }
        _ => {}
    }
    let (Token::Word(name) | Token::Quoted(name)) = tokens.get(at)? else { return None };
    // The engine's word for the zone: it is that of the session, of which the door must know.
    let (name, at) = match is_engine_zone(tokens.get(at..)?) {
        true => ("TimeZone", at + 4),
        false => (name.as_str(), at),
    };
    match tokens.get(at + 1)? {
        // `datafusion.execution.batch_size` is a setting of the engine.
        Token::Sign('.') => return None,
        Token::Sign('=') => {}
        Token::Word(to) if to.eq_ignore_ascii_case("to") => {}
        _ => return None,
    }
    let value = value(tokens.get(at + 2..)?);
    if value.eq_ignore_ascii_case("default") {
        return Some(Local::Reset(Some(name.to_owned())));
    }
    match switch(&value) {
        Some(read_only) if name.eq_ignore_ascii_case("transaction_read_only") => {
            Some(Local::SetTransaction { read_only: Some(read_only) })
        }
        _ => Some(Local::Set { name: name.to_owned(), value, local }),
    }
}

/// Reads a query that does nothing but call `set_config` with constants.
fn set_config(text: &str) -> Option<Local> {
    const BEGIN: &str = "select set_config";
    let plain = text.trim_start().get(..BEGIN.len())?.eq_ignore_ascii_case(BEGIN);
    let tokens = if plain { tokens(text)? } else { return None };
    let [
        _,
        _,
        Token::Sign('('),
        Token::Quoted(name),
        Token::Sign(','),
        Token::Quoted(value),
        Token::Sign(','),
        is_local,
        Token::Sign(')'),
    ] = tokens.as_slice()
    else {
        return None;
    };
    let local = switch(&is_local.word()?)?;
    (is_variable(name) && !name.eq_ignore_ascii_case("transaction_read_only")).then(|| Local::SetConfig {
        name: name.clone(),
        value: value.clone(),
        local,
    })
}

/// True for `datafusion.execution.time_zone`.
fn is_engine_zone(tokens: &[Token]) -> bool {
    let words = ["datafusion", ".", "execution", ".", "time_zone"];
    tokens.len() >= words.len()
        && words.iter().zip(tokens).all(|(word, token)| match token {
            Token::Sign(sign) => word.len() == 1 && word.starts_with(*sign),
            other => other.is(word),
        })
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
    let mut rest = skipped(text)?;
    while !rest.is_empty() && !rest.starts_with(';') {
        if found.len() == MOST_TOKENS {
            return None;
        }
        let (token, tail) = token(rest)?;
        found.push(token);
        rest = skipped(tail)?;
    }
    Some(found)
}

/// What follows spaces and comments; `None` when a comment does not end.
pub(super) fn skipped(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    loop {
        rest = if rest.starts_with("--") {
            rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start()
        } else if rest.starts_with("/*") {
            rest.split_once("*/")?.1.trim_start()
        } else {
            return Some(rest);
        };
    }
}

/// The next token and what follows it; `None` at the end, and where nothing can be read.
pub(super) fn token(text: &str) -> Option<(Token, &str)> {
    let rest = skipped(text)?;
    match rest.chars().next()? {
        quote @ ('\'' | '"') => {
            let (inner, tail) = quoted(&rest[1..], quote)?;
            Some((Token::Quoted(inner), tail))
        }
        letter if letter.is_alphanumeric() || matches!(letter, '_' | '-' | '+') => {
            let end = rest
                .char_indices()
                .skip(1)
                .find(|(_, letter)| !letter.is_alphanumeric() && *letter != '_')
                .map_or(rest.len(), |(at, _)| at);
            Some((Token::Word(rest[..end].to_owned()), &rest[end..]))
        }
        sign => Some((Token::Sign(sign), &rest[sign.len_utf8()..])),
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
        let set =
            |name: &str, value: &str| Local::Set { name: name.into(), value: value.into(), local: false };
        let declare =
            |name: &str, text: &str| Local::Declare(Declaration { name: name.into(), text: text.into() });
        let fetch = |cursor: &str, rows: usize| Local::Fetch(Fetch { cursor: cursor.into(), rows });
        for (text, expected) in [
            ("BEGIN", Local::Begin { read_only: None }),
            ("begin isolation level serializable, read only", Local::Begin { read_only: Some(true) }),
            ("BEGIN READ ONLY READ WRITE", Local::Begin { read_only: Some(false) }),
            (" start  transaction", Local::Begin { read_only: None }),
            ("SET transaction_read_only = on", Local::SetTransaction { read_only: Some(true) }),
            ("SET TRANSACTION READ ONLY", Local::SetTransaction { read_only: Some(true) }),
            ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", Local::SetTransaction { read_only: None }),
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
            ("SET TIME ZONE -3.5", set("TimeZone", "-3.5")),
            ("SET TIME ZONE DEFAULT", Local::Reset(Some("TimeZone".into()))),
            (
                "SELECT set_config('TimeZone', 'Asia/Tokyo', false)",
                Local::SetConfig { name: "TimeZone".into(), value: "Asia/Tokyo".into(), local: false },
            ),
            ("RESET TIME ZONE", Local::Reset(Some("TimeZone".into()))),
            ("set datafusion.execution.time_zone = 'Asia/Tokyo'", set("TimeZone", "Asia/Tokyo")),
            ("RESET datafusion.execution.time_zone", Local::Reset(Some("TimeZone".into()))),
            (
                "SET LOCAL TIME ZONE 'UTC'",
                Local::Set { name: "TimeZone".into(), value: "UTC".into(), local: true },
            ),
            ("SET application_name TO DEFAULT", Local::Reset(Some("application_name".into()))),
            (
                "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
                set("default_transaction_read_only", "on"),
            ),
            ("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE", Local::SetNothing),
            ("PREPARE x", Local::Malformed("PREPARE")),
            ("/* a */ EXECUTE", Local::Malformed("EXECUTE")),
            ("SHOW server_version", Local::Show("server_version".into())),
            ("SHOW TRANSACTION ISOLATION LEVEL", Local::Show("transaction_isolation".into())),
            ("DISCARD ALL", Local::Discard { all: true }),
            ("DEALLOCATE ALL", Local::Deallocate(None)),
            ("DEALLOCATE \"_pg3_0\"", Local::Deallocate(Some("_pg3_0".into()))),
            ("UNLISTEN *", Local::Unlisten),
            ("declare C no scroll cursor for SELECT 1;", declare("c", "SELECT 1")),
            ("DECLARE \"C\" INSENSITIVE CURSOR WITHOUT HOLD FOR\nTABLE t", declare("C", "TABLE t")),
            ("DECLARE c CURSOR SELECT 1", Local::Malformed("DECLARE")),
            ("DECLARE c NO CURSOR FOR SELECT 1", Local::Malformed("DECLARE")),
            ("DECLARE \"\" CURSOR FOR SELECT 1", Local::Malformed("DECLARE")),
            ("DECLARE c CURSOR FOR ;", Local::Malformed("DECLARE")),
            ("FETCH c", fetch("c", 1)),
            ("FETCH NEXT IN \"C\"", fetch("C", 1)),
            ("fetch forward 256 from c;", fetch("c", 256)),
            ("FETCH 7 c", fetch("c", 7)),
            ("FETCH FORWARD ALL FROM c", fetch("c", 0)),
            ("FETCH ALL c", fetch("c", 0)),
            ("FETCH", Local::Malformed("FETCH")),
            ("FETCH some FROM c", Local::Malformed("FETCH")),
            ("CLOSE c", Local::Close(Some("c".into()))),
            ("CLOSE ALL", Local::Close(None)),
        ] {
            assert_eq!(local(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn cursors_only_go_forward_and_end_with_their_transaction() {
        for text in [
            "DECLARE c SCROLL CURSOR FOR SELECT 1",
            "DECLARE c BINARY CURSOR FOR SELECT 1",
            "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
            "FETCH PRIOR FROM c",
            "FETCH BACKWARD ALL IN c",
            "FETCH ABSOLUTE 3 FROM c",
            "FETCH -1 FROM c",
            "FETCH 0 FROM c",
        ] {
            assert!(matches!(local(text), Some(Local::Unserved(_))), "{text}");
        }
    }

    #[test]
    fn everything_else_is_sql() {
        for text in [
            "SELECT 1",
            "SELECT set_config('jit', 'off', false), 1",
            "SELECT set_config('TimeZone', $1, false)",
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
