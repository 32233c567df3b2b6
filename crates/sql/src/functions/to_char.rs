//! `to_char(moment, pattern)` with the patterns of PostgreSQL and Hazelcast, such as `YYYY-MM-DD HH24:MI:SS`.
//!
//! DataFusion takes patterns of strftime alone, and gives any other pattern back as the answer. A pattern with a `%` is still one of these.

use super::plain::{by_rows, texts};
use crate::error::SqlError;
use arrow::array::{Array, ArrayRef, StringArray};
use arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature};
use datafusion::scalar::ScalarValue;
use std::sync::Arc;

/// The function, under its names.
pub(super) fn to_char() -> Arc<ScalarUDF> {
    let inner = datafusion::functions::datetime::to_char();
    Arc::new(ScalarUDF::new_from_impl(ToChar { inner }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToChar {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for ToChar {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [moments, pattern] = args.args.as_slice() else {
            return internal_err!("{} takes a moment and a pattern", self.name());
        };
        match pattern {
            ColumnarValue::Scalar(pattern) => match pattern.try_as_str().flatten() {
                Some(pattern) => self.of_one(moments, &parts(pattern).map_err(SqlError::into_plan)?, &args),
                None => Ok(ColumnarValue::Scalar(ScalarValue::Utf8(None))),
            },
            ColumnarValue::Array(patterns) => {
                let patterns = texts(patterns)?;
                let moments = moments.to_array(args.number_rows)?;
                let mut all = Vec::with_capacity(patterns.len());
                for (row, pattern) in patterns.iter().enumerate() {
                    let Some(pattern) = pattern else {
                        all.push(None);
                        continue;
                    };
                    let moment = ColumnarValue::Scalar(ScalarValue::try_from_array(&moments, row)?);
                    let parts = parts(pattern).map_err(SqlError::into_plan)?;
                    let text = self.of_one(&moment, &parts, &args)?.to_array(1)?;
                    let text = texts(&text)?;
                    all.push(text.is_valid(0).then(|| text.value(0).to_owned()));
                }
                Ok(ColumnarValue::Array(Arc::new(StringArray::from(all))))
            }
        }
    }
}

impl ToChar {
    /// The texts of moments by one pattern.
    fn of_one(
        &self,
        moments: &ColumnarValue,
        parts: &[Part],
        args: &ScalarFunctionArgs,
    ) -> Result<ColumnarValue> {
        let said = |format: &str| {
            let format = ScalarValue::Utf8(Some(format.to_owned()));
            self.inner.invoke_with_args(ScalarFunctionArgs {
                args: vec![moments.clone(), ColumnarValue::Scalar(format)],
                arg_fields: args.arg_fields.clone(),
                number_rows: args.number_rows,
                return_field: Arc::new(Field::new(self.name(), DataType::Utf8, true)),
                config_options: Arc::clone(&args.config_options),
            })
        };
        if let [Part { format, then: Then::AsIs }] = parts {
            return said(format);
        }
        let said = parts.iter().map(|part| said(&part.format)).collect::<Result<Vec<_>>>()?;
        by_rows(&said, args.number_rows, |columns| joined(columns, parts))
    }
}

fn joined(columns: &[ArrayRef], parts: &[Part]) -> Result<ArrayRef> {
    let columns = columns.iter().map(texts).collect::<Result<Vec<_>>>()?;
    let rows = columns.first().map_or(0, StringArray::len);
    let all: StringArray = (0..rows)
        .map(|row| {
            let each = columns.iter().zip(parts);
            each.map(|(column, part)| column.is_valid(row).then(|| part.then.of(column.value(row))))
                .collect::<Option<String>>()
        })
        .collect();
    Ok(Arc::new(all))
}

/// A part of a pattern: what strftime calls it, and what is done to its text.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    format: String,
    then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Then {
    AsIs,
    /// A name, with blanks behind it up to a width.
    Name(Case, usize),
    Number(Number),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Case {
    AsIs,
    Upper,
    Lower,
}

/// A number that is computed from another one.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    /// Of the number of the month.
    Quarter,
    /// Of the number of the day in the month or year, which begins the first week.
    Week,
    /// From Sunday, which is 1.
    Weekday,
}

impl Then {
    fn of(self, text: &str) -> String {
        let number = |of: fn(u32) -> u32| {
            text.trim().parse().map_or_else(|_| text.to_owned(), |number| of(number).to_string())
        };
        match self {
            Self::AsIs => text.to_owned(),
            Self::Name(Case::AsIs, width) => format!("{text:<width$}"),
            Self::Name(Case::Upper, width) => format!("{:<width$}", text.to_uppercase()),
            Self::Name(Case::Lower, width) => format!("{:<width$}", text.to_lowercase()),
            Self::Number(Number::Quarter) => number(|month| month.div_ceil(3)),
            Self::Number(Number::Week) => number(|day| day.div_ceil(7)),
            Self::Number(Number::Weekday) => number(|day| day + 1),
        }
    }
}

/// Words of patterns without regard to case: the longer ones first. What `FM` makes of them comes second.
const NUMBERS: [(&str, &str, &str); 23] = [
    ("HH24", "%H", "%-H"),
    ("HH12", "%I", "%-I"),
    ("IYYY", "%G", "%-G"),
    ("YYYY", "%Y", "%-Y"),
    ("DDD", "%j", "%-j"),
    ("FF1", "%1f", "%1f"),
    ("FF2", "%2f", "%2f"),
    ("FF3", "%3f", "%3f"),
    ("FF6", "%6f", "%6f"),
    ("FF9", "%9f", "%9f"),
    ("HH", "%I", "%-I"),
    ("MI", "%M", "%-M"),
    ("SS", "%S", "%-S"),
    ("MS", "%3f", "%3f"),
    ("US", "%6f", "%6f"),
    ("YY", "%y", "%-y"),
    ("IY", "%g", "%-g"),
    ("MM", "%m", "%-m"),
    ("DD", "%d", "%-d"),
    ("ID", "%u", "%u"),
    ("IW", "%V", "%-V"),
    ("TZ", "%Z", "%Z"),
    ("OF", "%:z", "%:z"),
];

/// Words of PostgreSQL that are not read: they would be given back as letters.
const UNKNOWN: [&str; 24] = [
    "SSSSS", "SSSS", "Y,YYY", "YYY", "IYY", "IDDD", "A.D.", "B.C.", "A.M.", "P.M.", "TZH", "TZM", "FF4",
    "FF5", "AD", "BC", "CC", "RM", "TH", "SP", "FX", "Y", "I", "J",
];

/// The parts of a pattern.
fn parts(pattern: &str) -> Result<Vec<Part>, SqlError> {
    if pattern.contains('%') {
        return Ok(vec![Part { format: pattern.to_owned(), then: Then::AsIs }]);
    }
    let mut parts: Vec<Part> = Vec::new();
    let mut rest = pattern;
    let (mut is_plain, mut is_name_plain) = (false, false);
    let mut push = |format: &str, then: Then| match parts.last_mut() {
        Some(last) if then == Then::AsIs && last.then == Then::AsIs => last.format.push_str(format),
        _ => parts.push(Part { format: format.to_owned(), then }),
    };
    while let Some(letter) = rest.chars().next() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (text, behind) = quoted.split_once('"').unwrap_or((quoted, ""));
            push(text, Then::AsIs);
            rest = behind;
            continue;
        }
        let begins =
            |word: &str| rest.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
        if begins("FM") {
            is_plain = true;
            rest = &rest[2..];
            continue;
        }
        if begins("TM") {
            // Names in the language of the server, which is English, without blanks behind them.
            is_name_plain = true;
            rest = &rest[2..];
            continue;
        }
        let number = NUMBERS.iter().find(|(word, ..)| begins(word));
        let longest = number.map_or(0, |(word, ..)| word.len());
        let unknown = UNKNOWN.iter().find(|word| begins(word) && word.len() > longest);
        let (length, format, then) = if let Some((length, format, case, width)) = name(rest) {
            (length, format, Then::Name(case, if is_plain || is_name_plain { 0 } else { width }))
        } else if begins("AM") || begins("PM") {
            (2, if letter.is_lowercase() { "%P" } else { "%p" }, Then::AsIs)
        } else if let Some(word) = unknown {
            let text = format!(
                "to_char: {word} in the pattern '{pattern}' is not known; put letters in double quotes"
            );
            return Err(SqlError::Refused(text));
        } else if let Some((word, padded, plain)) = number {
            (word.len(), if is_plain { *plain } else { *padded }, Then::AsIs)
        } else if begins("WW") {
            (2, "%j", Then::Number(Number::Week))
        } else {
            match letter {
                'Q' | 'q' => (1, "%m", Then::Number(Number::Quarter)),
                'W' | 'w' => (1, "%d", Then::Number(Number::Week)),
                'D' | 'd' => (1, "%w", Then::Number(Number::Weekday)),
                _ => (0, "", Then::AsIs),
            }
        };
        (is_plain, is_name_plain) = (false, false);
        if length == 0 {
            push(&rest[..letter.len_utf8()], Then::AsIs);
            rest = &rest[letter.len_utf8()..];
        } else {
            push(format, then);
            rest = &rest[length..];
        }
    }
    if parts.is_empty() {
        parts.push(Part { format: String::new(), then: Then::AsIs });
    }
    Ok(parts)
}

/// The name of a month or a day at the begin of a pattern: its letters, what strftime calls it, its case and the width of the longest one.
fn name(pattern: &str) -> Option<(usize, &'static str, Case, usize)> {
    const NAMES: [(&str, &str, usize); 4] =
        [("MONTH", "%B", 9), ("MON", "%b", 0), ("DAY", "%A", 9), ("DY", "%a", 0)];
    NAMES.iter().find_map(|(word, format, width)| {
        let begin = pattern.get(..word.len())?;
        if !begin.eq_ignore_ascii_case(word) {
            return None;
        }
        let mut letters = begin.chars();
        let case = match (letters.next()?.is_uppercase(), letters.next()?.is_uppercase()) {
            (false, _) => Case::Lower,
            (true, true) => Case::Upper,
            (true, false) => Case::AsIs,
        };
        Some((word.len(), *format, case, *width))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_said_for_strftime() {
        let one = |pattern| match parts(pattern).unwrap().as_slice() {
            [Part { format, then: Then::AsIs }] => format.clone(),
            other => panic!("{pattern}: {other:?}"),
        };
        assert_eq!(one("YYYY-MM-DD"), "%Y-%m-%d");
        assert_eq!(one("yyyy/mm/dd hh24:mi:ss.ms"), "%Y/%m/%d %H:%M:%S.%3f");
        assert_eq!(one("FMDD.FMMM.YYYY"), "%-d.%-m.%Y");
        assert_eq!(one("HH12:MI PM"), "%I:%M %p");
        assert_eq!(one("\"Day\" DDD \"of\" YYYY"), "Day %j of %Y");
        assert_eq!(one("YYYY-MM-DD\"T\"HH24"), "%Y-%m-%dT%H");
        assert!(parts("YYYY-MM-DDTHH24").unwrap_err().to_string().contains("TH in the pattern"));
        assert_eq!(one("%Y YYYY"), "%Y YYYY");
        for (pattern, word) in [
            ("YYYY AD", "AD"),
            ("HH24 TZH:TZM", "TZH"),
            ("tzm", "TZM"),
            ("FXYYYY", "FX"),
            ("SS.FF4", "FF4"),
            ("SS.FF5", "FF5"),
            ("J", "J"),
            ("Y-MM", "Y"),
            ("YYYYY", "Y"),
            ("I", "I"),
        ] {
            let said = parts(pattern).map(|_| pattern).unwrap_err().to_string();
            assert!(said.contains(&format!("to_char: {word} in the pattern")), "{pattern}: {said}");
        }
        let month = |pattern| parts(pattern).unwrap().remove(0).then;
        assert_eq!(month("TMMonth"), Then::Name(Case::AsIs, 0));
        assert_eq!(month("Month"), Then::Name(Case::AsIs, 9));
        assert_eq!(one("IYYY-IW-ID TZ"), "%G-%V-%u %Z");
    }
}
