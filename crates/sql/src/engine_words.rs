//! Types and values as SQL writes them, in place of the names that the engine has for them.
//!
//! Its messages show its own types (`Timestamp(ns)`, `List(Int64)`) and its own constants
//! (`Int64(1)`, `Utf8("a")`). Both are found by their names, with the parentheses behind them.

/// A text with the engine's types and constants in the words of SQL.
pub(crate) fn engine_words(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let begins = letter.is_ascii_uppercase()
            && !plain.ends_with(|before: char| before.is_alphanumeric() || before == '_');
        let length = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let word = &rest[..length.unwrap_or(rest.len())];
        let behind = &rest[word.len()..];
        let read = match inside(behind) {
            _ if !begins => None,
            Some((inner, after)) => constant(word, inner)
                .or_else(|| type_of(word, Some(inner)))
                .map(|written| (written, after))
                .or_else(|| Some((type_of(word, None)?, behind))),
            None => type_of(word, None).map(|written| (written, behind)),
        };
        match read {
            Some((written, after)) => {
                plain.push_str(&written);
                rest = after;
            }
            None => {
                let copied = if word.is_empty() { letter.len_utf8() } else { word.len() };
                plain.push_str(&rest[..copied]);
                rest = &rest[copied..];
            }
        }
    }
    plain
}

/// What stands in the parentheses at the begin of a text, and what comes behind them. Those in
/// quotes do not count.
fn inside(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('(')?;
    let (mut depth, mut is_quoted) = (1_usize, false);
    for (at, letter) in inner.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '(' | '[' | '{' if !is_quoted => depth += 1,
            ')' | ']' | '}' if !is_quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&inner[..at], &inner[at + 1..]));
        }
    }
    None
}

/// A constant: the engine writes the name of its type before it.
fn constant(name: &str, inner: &str) -> Option<String> {
    const NUMBERS: [&str; 11] = [
        "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float16", "Float32",
        "Float64",
    ];
    let quoted = || Some(format!("'{}'", inner.strip_prefix('"')?.strip_suffix('"')?));
    if inner == "NULL" {
        return Some("NULL".to_owned());
    }
    match name {
        "Boolean" => matches!(inner, "true" | "false").then(|| inner.to_owned()),
        _ if NUMBERS.contains(&name) => inner.parse::<f64>().is_ok().then(|| inner.to_owned()),
        "Decimal32" | "Decimal64" | "Decimal128" | "Decimal256" => decimal(inner),
        "Utf8" | "LargeUtf8" | "Utf8View" | "Date32" | "Date64" | "Binary" | "LargeBinary" | "BinaryView" => {
            quoted()
        }
        "List" | "LargeList" | "FixedSizeList" | "Struct" | "Map" => {
            inner.starts_with(['[', '{']).then(|| engine_words(inner))
        }
        _ if name.starts_with("Interval") && name != "Interval" => Some("an INTERVAL".to_owned()),
        _ if name.starts_with("Duration") && name != "Duration" => Some("an INTERVAL".to_owned()),
        _ if name.starts_with("Timestamp") && name != "Timestamp" => Some("a TIMESTAMP".to_owned()),
        _ if name.starts_with("Time") && name.ends_with("second") => Some("a TIME".to_owned()),
        _ => None,
    }
}

/// `Some(250),10,2` as `2.50`.
fn decimal(inner: &str) -> Option<String> {
    let mut parts = inner.split(',').map(str::trim);
    let digits = parts.next()?;
    if digits == "NULL" || digits == "None" {
        return Some("NULL".to_owned());
    }
    let digits = digits.strip_prefix("Some(")?.strip_suffix(')')?;
    let scale: usize = parts.nth(1)?.parse().ok()?;
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    let point = if scale == 0 { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}"))
}

/// A type: `Timestamp(ns)`, or one without anything behind it.
fn type_of(name: &str, inner: Option<&str>) -> Option<String> {
    let written = match (name, inner) {
        ("Utf8" | "LargeUtf8" | "Utf8View", None) => "VARCHAR",
        ("Binary" | "LargeBinary" | "BinaryView", None) | ("FixedSizeBinary", _) => "VARBINARY",
        ("Int8", None) => "TINYINT",
        ("Int16", None) => "SMALLINT",
        ("Int32", None) => "INTEGER",
        ("Int64", None) => "BIGINT",
        ("UInt8", None) => "TINYINT UNSIGNED",
        ("UInt16", None) => "SMALLINT UNSIGNED",
        ("UInt32", None) => "INTEGER UNSIGNED",
        ("UInt64", None) => "BIGINT UNSIGNED",
        ("Float16" | "Float32", None) => "REAL",
        ("Float64", None) => "DOUBLE",
        ("Boolean", None) => "BOOLEAN",
        ("Date32" | "Date64", None) => "DATE",
        ("Time32" | "Time64", _) => "TIME",
        ("Timestamp", Some(inner)) if inner.contains(',') && !inner.contains("None") => {
            "TIMESTAMP WITH TIME ZONE"
        }
        ("Timestamp", Some(_)) => "TIMESTAMP",
        ("Interval" | "Duration", Some(_)) => "INTERVAL",
        ("Decimal32" | "Decimal64" | "Decimal128" | "Decimal256", None) => "DECIMAL",
        ("Decimal32" | "Decimal64" | "Decimal128" | "Decimal256", Some(inner)) => {
            return Some(format!("DECIMAL({inner})"));
        }
        ("List" | "LargeList" | "ListView" | "LargeListView" | "FixedSizeList", Some(inner)) => {
            let item = inner.split(" x ").last().unwrap_or(inner);
            let item = item.split(',').next().unwrap_or(item).trim_start_matches("non-null ").trim();
            return Some(match type_with_parentheses(item) {
                Some(item) => format!("{item}[]"),
                None => "a list".to_owned(),
            });
        }
        ("Dictionary", Some(inner)) => {
            let values = inner.split_once(", ").map_or(inner, |(_, values)| values);
            return type_with_parentheses(values).or_else(|| Some("VARCHAR".to_owned()));
        }
        ("Struct", Some(_)) => "STRUCT",
        ("Map", Some(_)) => "MAP",
        ("Null", None) => "NULL",
        _ => return None,
    };
    Some(written.to_owned())
}

/// All of a text as a type.
fn type_with_parentheses(text: &str) -> Option<String> {
    let length = text.find('(').unwrap_or(text.len());
    match inside(&text[length..]) {
        Some((inner, "")) => type_of(&text[..length], Some(inner)),
        _ => type_of(text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_constants_are_those_of_sql() {
        for (engine, sql) in [
            ("Cannot coerce Int64 + Utf8", "Cannot coerce BIGINT + VARCHAR"),
            ("Timestamp(ns) and Timestamp(µs, \"UTC\")", "TIMESTAMP and TIMESTAMP WITH TIME ZONE"),
            ("a > Int64(1) AND b = Utf8(\"x (y)\")", "a > 1 AND b = 'x (y)'"),
            ("Int64(-1), Float64(1.5), Boolean(true), Int64(NULL)", "-1, 1.5, true, NULL"),
            ("Decimal128(10, 2) and Decimal128(Some(-250),10,2)", "DECIMAL(10, 2) and -2.50"),
            ("Decimal128(Some(5),38,3)", "0.005"),
            (
                "List(Int64), List(Timestamp(ns)), FixedSizeList(3 x Float64)",
                "BIGINT[], TIMESTAMP[], DOUBLE[]",
            ),
            ("List([1, 2]) and Struct(\"a\": Int64)", "[1, 2] and STRUCT"),
            ("Interval(MonthDayNano)", "INTERVAL"),
            ("TimestampNanosecond(1709201472000000000, None)", "a TIMESTAMP"),
            ("IntervalMonthDayNano(\"IntervalMonthDayNano { months: 0, days: 1 }\")", "an INTERVAL"),
            ("Date32(\"2024-02-29\")", "'2024-02-29'"),
            ("MyUtf8 and utf8, Utf8s, Null", "MyUtf8 and utf8, Utf8s, NULL"),
            ("ü Dictionary(Int32, Utf8) (Map", "ü VARCHAR (Map"),
            ("", ""),
        ] {
            assert_eq!(engine_words(engine), sql);
        }
    }
}
