//! Settings that are fields of a struct: declared once by [`settings_struct!`](crate::settings_struct), which makes the struct, its
//! defaults and the table of its fields, so that a settings file, its checker and the documentation cannot disagree.
//!
//! [`check`] goes through a TOML table before serde reads it: serde stops at the first mistake and speaks of its own types, this names
//! all of them with their paths. What is wrong is taken out or replaced, so that the rest can be read and checked further.

pub use super::nearest::nearest;
use serde::Serialize;

/// One setting of a struct of settings.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its key in a settings file.
    pub key: &'static str,
    /// What it means, as the doc comment says it.
    about: &'static str,
    /// What it takes.
    pub shape: Shape,
    /// It has no default, and must be given.
    pub is_required: bool,
    standard: fn() -> Option<toml::Value>,
}

/// What a setting takes.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Shape {
    /// A whole number from the first to the second.
    Number(u64, u64),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A text that this finds nothing wrong with.
    Text(fn(&str) -> Result<(), String>),
    /// A list of such texts.
    Texts(fn(&str) -> Result<(), String>),
    /// A text that is never shown.
    Secret,
    /// A table.
    Table(&'static [Field]),
    /// Tables by name.
    Named(&'static [Field]),
    /// A list of tables.
    List(&'static [Field]),
    /// A table with exactly one of these.
    OneOf(&'static [Field]),
}

/// A name: any text but none.
pub fn is_named(text: &str) -> Result<(), String> {
    if text.trim().is_empty() { Err("a name is expected, this one is empty".to_owned()) } else { Ok(()) }
}

/// Any path will do, but not what should stand in the file.
pub fn is_path(text: &str) -> Result<(), String> {
    if is_content(text) { Err("a path is expected, not the PEM text itself".to_owned()) } else { Ok(()) }
}

/// True for a text that looks like what is in a file, maybe a private key, and not like what a setting takes.
fn is_content(text: &str) -> bool {
    text.contains(['\n', '\r']) || text.contains("-----BEGIN")
}

impl Field {
    /// A setting that need not be given, and is not set then.
    pub const fn new(key: &'static str, about: &'static str, shape: Shape) -> Self {
        Self { key, about, shape, is_required: false, standard: || None }
    }

    /// A setting that must be given.
    pub const fn required(key: &'static str, about: &'static str, shape: Shape) -> Self {
        Self { is_required: true, ..Self::new(key, about, shape) }
    }

    /// The same setting with a default.
    pub const fn or(self, standard: fn() -> Option<toml::Value>) -> Self {
        Self { standard, ..self }
    }

    /// Its value when nothing is said; none when it is not set then.
    pub fn standard(&self) -> Option<toml::Value> {
        (self.standard)()
    }

    /// What it means.
    pub fn about(&self) -> &'static str {
        self.about.trim()
    }

    /// What it takes, in a few words; a number with its unit.
    pub fn takes(&self) -> String {
        match self.shape {
            Shape::Number(least, most) => {
                let unit = unit(self.key).map(|unit| format!(" {unit}")).unwrap_or_default();
                format!("{}{unit}", range(least, most))
            }
            Shape::Flag => "true or false".to_owned(),
            Shape::Words(words) => words.join(", "),
            Shape::Text(_) | Shape::Secret => "a text".to_owned(),
            Shape::Texts(_) => "a list of texts".to_owned(),
            Shape::Table(_) => "a table".to_owned(),
            Shape::Named(_) => "tables by name".to_owned(),
            Shape::List(_) => "a list of tables".to_owned(),
            Shape::OneOf(fields) => format!("one of {}", keys(fields)),
        }
    }
}

/// What a number of that key counts: units stand last in a key.
pub fn unit(key: &str) -> Option<&'static str> {
    [("_ms", "ms"), ("_seconds", "s"), ("bytes", "bytes")]
        .into_iter()
        .find(|(end, _)| key.ends_with(end))
        .map(|(_, unit)| unit)
}

/// A value as it is written in a settings file; none for what is not set.
pub fn written<S: Serialize>(value: &S) -> Option<toml::Value> {
    toml::Value::try_from(value).ok()
}

/// Which whole numbers are taken, in words.
pub fn range(least: u64, most: u64) -> String {
    /// Above it an upper end says nothing to people.
    const NO_END: u64 = 1 << 50;
    if most > NO_END { format!("at least {least}") } else { format!("{least} to {most}") }
}

/// A key as it is written in a settings file: in quotes where it must be.
pub fn quoted_key(key: &str) -> String {
    let is_bare = !key.is_empty()
        && key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-');
    if is_bare {
        return key.to_owned();
    }
    // Rust's own escapes are not those of TOML, but both have the same letters to escape: what is not seen, or not as itself.
    let mut quoted = String::from('"');
    for letter in key.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\'' => quoted.push(letter),
            _ if letter.escape_debug().len() == 1 => quoted.push(letter),
            _ => match u32::from(letter) {
                code @ ..=0xFFFF => quoted += &format!("\\u{code:04X}"),
                code => quoted += &format!("\\U{code:08X}"),
            },
        }
    }
    quoted + "\""
}

/// Every mistake in `table`, one line each, with the path that begins with `path`. What is wrong is taken out or replaced.
pub fn check(path: &str, fields: &[Field], table: &mut toml::Table) -> Vec<String> {
    let mut problems = Vec::new();
    check_table(path, fields, table, &mut problems);
    problems
}

/// As [`check`], for a table that has such a table for each name.
pub fn check_named(path: &str, fields: &[Field], tables: &mut toml::Table) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, value) in tables.iter_mut() {
        let path = join(path, &quoted_key(name));
        match value {
            toml::Value::Table(table) => check_table(&path, fields, table, &mut problems),
            _ => problems.push(format!("{path}: must be a table with {}", keys(fields))),
        }
    }
    tables.retain(|_, value| value.is_table());
    problems
}

/// Every value of a struct of settings that is out of its range, one line each, with the path that begins with `path`.
pub fn check_values(path: &str, fields: &[Field], settings: &impl Serialize) -> Vec<String> {
    match toml::Table::try_from(settings) {
        Ok(mut table) => check(path, fields, &mut table),
        Err(error) => vec![format!("{}: {error}", if path.is_empty() { "a setting" } else { path })],
    }
}

fn check_table(path: &str, fields: &[Field], table: &mut toml::Table, problems: &mut Vec<String>) {
    let unknown: Vec<String> =
        table.keys().filter(|key| fields.iter().all(|field| field.key != **key)).cloned().collect();
    for key in unknown {
        table.remove(&key);
        problems.push(unknown_key(path, &key, fields));
    }
    for field in fields {
        let path = join(path, field.key);
        match table.get_mut(field.key) {
            Some(value) => {
                if let Err(problem) = check_value(&path, field.shape, value, problems) {
                    let shown = match (field.shape, value) {
                        // What belongs into a table may be a secret, also when it is not written as one.
                        (Shape::Secret | Shape::Table(_) | Shape::List(_) | Shape::Named(_), _) => {
                            String::new()
                        }
                        // It is a table rightly, with the wrong things in it.
                        (Shape::OneOf(_), toml::Value::Table(_)) => String::new(),
                        (_, value) => shown(value),
                    };
                    problems.push(format!("{path}{shown}: {problem}"));
                    stand_in(field, table, problems.len());
                }
            }
            None if field.is_required => {
                problems.push(format!("{path}: is missing"));
                stand_in(field, table, problems.len());
            }
            None => {}
        }
    }
}

/// A value as it stands behind its path in a problem. What has values in it may have a secret among them, whatever was asked for, and is
/// only called what it is.
pub(super) fn shown(value: &toml::Value) -> String {
    match value {
        toml::Value::Table(_) => " is a table".to_owned(),
        toml::Value::Array(_) => " is a list".to_owned(),
        toml::Value::String(text) if is_content(text) => String::new(),
        _ => format!(" = {value}"),
    }
}

/// Instead of a value that is wrong: none where there is a default, else one that nothing else is wrong with.
fn stand_in(field: &Field, table: &mut toml::Table, number: usize) {
    if field.is_required || matches!(field.shape, Shape::Secret) {
        table.insert(field.key.to_owned(), format!("?{number}").into());
    } else {
        table.remove(field.key);
    }
}

fn check_value(
    path: &str,
    shape: Shape,
    value: &mut toml::Value,
    problems: &mut Vec<String>,
) -> Result<(), String> {
    use toml::Value::{Array, Boolean, Integer, String as Text, Table};
    match (shape, value) {
        (Shape::Number(least, most), Integer(number))
            if u64::try_from(*number).is_ok_and(|number| (least..=most).contains(&number)) =>
        {
            Ok(())
        }
        (Shape::Number(least, most), _) => {
            let unit = unit(path).map(|unit| format!(" {unit}")).unwrap_or_default();
            Err(format!("must be a whole number, {}{unit}", range(least, most)))
        }
        (Shape::Flag, Boolean(_)) => Ok(()),
        (Shape::Flag, _) => Err("must be true or false".to_owned()),
        (Shape::Words(words), Text(word)) if words.contains(&word.as_str()) => Ok(()),
        (Shape::Words(words), value) => {
            let meant = value.as_str().and_then(|word| nearest(word, words.iter().copied()));
            let hint = meant.map(|word| format!("; did you mean \"{word}\"?")).unwrap_or_default();
            Err(format!("must be one of {}{hint}", super::quoted(words)))
        }
        (Shape::Text(check), Text(text)) => check(text),
        (Shape::Secret, Text(_)) => Ok(()),
        (Shape::Text(_) | Shape::Secret, _) => Err("must be a text in quotes".to_owned()),
        (Shape::Texts(check), Array(texts)) => {
            let mut at = 0;
            texts.retain(|text| {
                at += 1;
                let problem = match text.as_str() {
                    Some(text) => check(text).err().map(|problem| format!("{path}: {problem}")),
                    None => Some(format!("{path}[{at}]{}: must be a text in quotes", shown(text))),
                };
                let is_sound = problem.is_none();
                problems.extend(problem);
                is_sound
            });
            Ok(())
        }
        (Shape::Texts(_), _) => Err("must be a list of texts, such as [\"a\", \"b\"]".to_owned()),
        (Shape::Table(fields), Table(table)) => {
            check_table(path, fields, table, problems);
            Ok(())
        }
        (Shape::Table(fields), _) => Err(format!("must be a table with {}", keys(fields))),
        (Shape::Named(fields), Table(tables)) => {
            problems.extend(check_named(path, fields, tables));
            Ok(())
        }
        (Shape::Named(_), _) => Err("must be tables by name".to_owned()),
        (Shape::List(fields), Array(tables)) => {
            let mut at = 0;
            tables.retain_mut(|value| {
                at += 1;
                let path = format!("{path}[{at}]");
                let Table(table) = value else {
                    problems.push(format!("{path}: must be a table with {}", keys(fields)));
                    return false;
                };
                check_table(&path, fields, table, problems);
                true
            });
            Ok(())
        }
        (Shape::List(fields), _) => Err(format!("must be a list of tables with {}", keys(fields))),
        (Shape::OneOf(fields), Table(table)) if table.len() == 1 => {
            let count = problems.len();
            check_table(path, fields, table, problems);
            // Half of it cannot be read: what stands in for it is the smallest that can.
            if problems.len() > count
                && let Some(first) = fields.first()
            {
                table.clear();
                table.insert(first.key.to_owned(), 1.into());
            }
            Ok(())
        }
        (Shape::OneOf(fields), _) => {
            let example = fields.first().map_or("", |field| field.key);
            Err(format!("must be one of {}: write for instance {{ {example} = 1000 }}", keys(fields)))
        }
    }
}

fn unknown_key(path: &str, key: &str, fields: &[Field]) -> String {
    let at = join(path, &quoted_key(key));
    match nearest(key, fields.iter().map(|field| field.key)) {
        Some(meant) => format!("{at}: no such setting; did you mean {meant}?"),
        None => format!("{at}: no such setting; there are {}", keys(fields)),
    }
}

fn keys(fields: &[Field]) -> String {
    fields.iter().map(|field| field.key).collect::<Vec<_>>().join(", ")
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Declares a struct of settings: each field with its doc comment, type, default and [`Shape`]. It becomes a struct that serde reads and
/// writes, with `Default`, and with the table of its fields as `FIELDS`.
///
/// A struct without defaults is declared without the `= default`; what has an attribute of serde in it need not be given.
///
/// ```
/// use filbert_pool::settings_fields::{self, Shape};
///
/// filbert_pool::settings_struct! {
///     /// What a cache is made with.
///     pub struct CacheSettings {
///         /// How long an entry lives; 0 is for ever.
///         pub ttl_seconds: u64 = 60 => Shape::Number(0, 1_000_000),
///     }
/// }
///
/// let mut table = "ttl_second = 5".parse::<toml::Table>()?;
/// let problems = settings_fields::check("cache", CacheSettings::FIELDS, &mut table);
/// assert_eq!(problems, ["cache.ttl_second: no such setting; did you mean ttl_seconds?"]);
/// assert_eq!(CacheSettings::FIELDS[0].about(), "How long an entry lives; 0 is for ever.");
/// # Ok::<(), toml::de::Error>(())
/// ```
#[macro_export]
macro_rules! settings_struct {
    ($(#[$attribute:meta])* pub struct $name:ident { $(
        $(#[doc = $about:literal])+
        pub $field:ident $(as $key:literal)? : $type:ty = $standard:expr => $shape:expr
    ),+ $(,)? }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name { $(
            $(#[doc = $about])+
            $(#[serde(rename = $key)])?
            pub $field: $type,
        )+ }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $standard),+ }
            }
        }

        impl $name {
            /// Every setting, with its key in a settings file.
            pub const FIELDS: &'static [$crate::settings_fields::Field] = &[$(
                $crate::settings_fields::Field::new(
                    $crate::settings_struct!(@key $field $($key)?),
                    concat!($($about),+),
                    $shape,
                )
                .or(|| $crate::settings_fields::written::<$type>(&$standard))
            ),+];
        }
    };
    ($(#[$attribute:meta])* pub struct $name:ident { $(
        $(#[doc = $about:literal])+
        $(#[serde $serde:tt])?
        pub $field:ident : $type:ty => $shape:expr
    ),+ $(,)? }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $(
            $(#[doc = $about])+
            $(#[serde $serde])?
            pub $field: $type,
        )+ }

        impl $name {
            /// Every setting, with its key in a settings file.
            pub const FIELDS: &'static [$crate::settings_fields::Field] = &[$(
                $crate::settings_struct!(@field $($serde)?)(
                    stringify!($field),
                    concat!($($about),+),
                    $shape,
                )
            ),+];
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@field) => { $crate::settings_fields::Field::required };
    (@field $serde:tt) => { $crate::settings_fields::Field::new };
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: &[Field] = &[Field::new("entries", "", Shape::Number(1, 100))];
    const FILES: &[Field] = &[
        Field::required("cert_path", " The certificate.", Shape::Text(is_named)),
        Field::new("may", "", Shape::Texts(|text| if text == "all" { Ok(()) } else { Err("no".into()) })),
        Field::new("password", "", Shape::Secret),
    ];
    const FIELDS: &[Field] = &[
        Field::new("wait_ms", "", Shape::Number(1, 9)),
        Field::new("eviction", "", Shape::Words(&["lru", "lfu"])),
        Field::new("stats", "", Shape::Flag),
        Field::new("max_size", "", Shape::OneOf(SIZE)),
        Field::new("map", "", Shape::Named(SIZE)),
        Field::new("users", "", Shape::List(FILES)),
        Field::new("tls", "", Shape::Table(FILES)),
    ];

    fn said(text: &str) -> Vec<String> {
        let mut table = text.parse().unwrap();
        let problems = check("x", FIELDS, &mut table);
        assert_eq!(check("x", FIELDS, &mut table), Vec::<String>::new(), "what is left is sound: {table}");
        problems
    }

    #[test]
    fn every_mistake_has_its_path_and_says_what_would_be_right() {
        for (text, expected) in [
            ("wait_ms = 10", "x.wait_ms = 10: must be a whole number, 1 to 9 ms"),
            ("wait_ms = -1", "x.wait_ms = -1: must be a whole number, 1 to 9 ms"),
            ("wait_ms = 'x'", "x.wait_ms = \"x\": must be a whole number, 1 to 9 ms"),
            ("wait = 1", "x.wait: no such setting; did you mean wait_ms?"),
            (
                "eviction = 'lrv'",
                "x.eviction = \"lrv\": must be one of \"lru\" or \"lfu\"; did you mean \"lru\"?",
            ),
            ("stats = 1", "x.stats = 1: must be true or false"),
            ("tls = 'sesame'", "x.tls: must be a table with cert_path, may, password"),
            ("max_size = 5", "x.max_size = 5: must be one of entries: write for instance { entries = 1000 }"),
            ("max_size = { entries = 0 }", "x.max_size.entries = 0: must be a whole number, 1 to 100"),
            ("max_size = { bits = 1 }", "x.max_size.bits: no such setting; there are entries"),
            ("map.'a*' = { entrie = 1 }", "x.map.\"a*\".entrie: no such setting; did you mean entries?"),
            ("map.a = 7", "x.map.a: must be a table with entries"),
            ("map = 7", "x.map: must be tables by name"),
            ("users = [{ cert_path = 'c' }, 5]", "x.users[2]: must be a table with cert_path, may, password"),
            ("users = [{}]", "x.users[1].cert_path: is missing"),
            ("users = 5", "x.users: must be a list of tables with cert_path, may, password"),
            ("tls = { cert_path = 'c', password = 4711 }", "x.tls.password: must be a text in quotes"),
            ("tls = { cert_path = 'c', may = ['all', 'x'] }", "x.tls.may: no"),
            (
                "tls = { cert_path = 'c', may = 'all' }",
                "x.tls.may = \"all\": must be a list of texts, such as [\"a\", \"b\"]",
            ),
            ("tls = { cert_path = 7 }", "x.tls.cert_path = 7: must be a text in quotes"),
            ("tls = { cert_path = 'c', may = ['all', 7] }", "x.tls.may[2] = 7: must be a text in quotes"),
        ] {
            assert_eq!(said(text), [expected], "{text}");
        }
        assert_eq!(said("wait_ms = 0\nstats = 1\nmap.a = { b = 1, c = 2 }").len(), 4);
    }

    /// Whatever a setting takes: a secret may stand in what was written instead.
    #[test]
    fn what_has_values_in_it_is_not_shown() {
        let whole = "must be a whole number, 1 to 9 ms";
        let one_of = "must be one of entries: write for instance { entries = 1000 }";
        for (text, expected) in [
            ("wait_ms = { p = 'sesame' }", format!("x.wait_ms is a table: {whole}")),
            ("wait_ms = ['sesame']", format!("x.wait_ms is a list: {whole}")),
            ("stats = { p = 'sesame' }", "x.stats is a table: must be true or false".to_owned()),
            (
                "eviction = { p = 'sesame' }",
                "x.eviction is a table: must be one of \"lru\" or \"lfu\"".to_owned(),
            ),
            ("max_size = ['sesame']", format!("x.max_size is a list: {one_of}")),
            ("max_size = { entries = 1, p = 'sesame' }", format!("x.max_size: {one_of}")),
            (
                "tls = { cert_path = { p = 'sesame' } }",
                "x.tls.cert_path is a table: must be a text in quotes".to_owned(),
            ),
            (
                "tls = { cert_path = 'c', may = { p = 'sesame' } }",
                "x.tls.may is a table: must be a list of texts, such as [\"a\", \"b\"]".to_owned(),
            ),
            (
                "tls = { cert_path = 'c', may = [{ p = 'sesame' }] }",
                "x.tls.may[1] is a table: must be a text in quotes".to_owned(),
            ),
            ("wait_ms = \"-----BEGIN sesame\"", format!("x.wait_ms: {whole}")),
            ("wait_ms = \"open\\nsesame\"", format!("x.wait_ms: {whole}")),
        ] {
            assert_eq!(said(text), [expected], "{text}");
        }
    }

    #[test]
    fn a_path_is_not_the_text_of_a_file() {
        assert_eq!(is_path("/etc/filbert/member.key"), Ok(()));
        for text in ["-----BEGIN PRIVATE KEY-----", "MIIE\nvQIB", "MIIE\rvQIB"] {
            assert!(is_path(text).is_err(), "{text}");
        }
    }

    #[test]
    fn keys_are_quoted_where_they_must_be() {
        assert_eq!([quoted_key("a-b_1"), quoted_key("a*"), quoted_key("")], ["a-b_1", "\"a*\"", "\"\""]);
        assert_eq!(quoted_key("it's \u{200b}"), "\"it's \\u200B\"");
    }

    #[test]
    fn a_quoted_key_is_read_as_it_was() {
        for key in [
            "",
            " ",
            "a.b",
            "'",
            "\"",
            "\\",
            "\\u{200b}",
            "a\nb\tc\r",
            "\0\u{7f}\u{9f}",
            "\u{200b}",
            "\u{e0001}",
            "é",
            "e\u{301}",
            "🌰",
        ] {
            let text = format!("[{}]", quoted_key(key));
            let table = text.parse::<toml::Table>().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(table.keys().collect::<Vec<_>>(), [key], "{text}");
        }
    }
}
