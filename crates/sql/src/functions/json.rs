//! `->`, `->>`, `json_value` and `json_query` over texts that are JSON.
//!
//! The operators are PostgreSQL's: a text that is no JSON is an error. The functions are those of standard SQL, with their defaults: what cannot
//! be found or read is NULL, unless `ERROR ON EMPTY` or `ERROR ON ERROR` says otherwise.

use super::json_path::{elements, find, is_json, member, parse, text_of};
use super::plain::{PlainFunction, texts};
use crate::column_form::ColumnForm;
use crate::engine_words::engine_words;
use crate::error::SqlError;
use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{ScalarUDF, Signature, Volatility};
use std::collections::HashMap;
use std::sync::Arc;

/// `json -> key`
pub(crate) const GET: &str = "__json_get";

/// `json ->> key`
pub(crate) const GET_TEXT: &str = "__json_get_text";

pub(super) fn functions() -> Vec<Arc<ScalarUDF>> {
    let two = || Signature::any(2, Volatility::Immutable);
    let more = || Signature::variadic_any(Volatility::Immutable);
    let text = || Field::new("value", DataType::Utf8, true);
    let json = || ColumnForm::Json.mark(text());
    vec![
        PlainFunction::function(GET, two(), json(), |args| got(args, |value| Some(value.to_owned()))),
        PlainFunction::function(GET_TEXT, two(), text(), |args| got(args, text_of)),
        PlainFunction::function("json_value", more(), text(), value),
        PlainFunction::function("json_query", more(), json(), query),
    ]
}

fn refused(text: impl Into<String>) -> datafusion::error::DataFusionError {
    SqlError::Refused(text.into()).into_plan()
}

/// The texts of a column of JSON.
fn documents(column: &ArrayRef) -> Result<StringArray> {
    match column.data_type() {
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Null
        | DataType::Dictionary(..) => texts(column),
        other => Err(refused(format!(
            "JSON is read from texts, not from {}; CAST(... AS VARCHAR) makes a text",
            engine_words(&other.to_string())
        ))),
    }
}

fn got(args: &[ArrayRef], shown: impl Fn(&str) -> Option<String>) -> Result<ArrayRef> {
    let documents = documents(&args[0])?;
    let checked = |text: &'_ str| match is_json(text) {
        true => Ok(()),
        false => {
            let begin: String = text.chars().take(40).collect();
            Err(refused(format!("'{begin}' is no JSON; json_value(...) gives NULL for such a text")))
        }
    };
    let rows = 0..documents.len();
    let answer: StringArray = if args[1].data_type().is_integer() {
        let keys = cast(&args[1], &DataType::Int64)?;
        let keys = keys.as_primitive::<Int64Type>();
        rows.map(|row| {
            if documents.is_null(row) || keys.is_null(row) {
                return Ok(None);
            }
            let text = documents.value(row);
            checked(text)?;
            let all = elements(text.trim());
            let number = keys.value(row);
            let at = if number < 0 { number + all.len() as i64 } else { number };
            Ok(usize::try_from(at).ok().and_then(|at| all.get(at).copied()).and_then(&shown))
        })
        .collect::<Result<_>>()?
    } else {
        let keys = texts(&args[1])?;
        rows.map(|row| {
            if documents.is_null(row) || keys.is_null(row) {
                return Ok(None);
            }
            let text = documents.value(row);
            checked(text)?;
            Ok(member(text.trim(), keys.value(row)).and_then(&shown))
        })
        .collect::<Result<_>>()?
    };
    Ok(Arc::new(answer))
}

/// What a call says beside the text and the path: `json_value(text, path, words...)`.
struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    fn of(args: &'a [StringArray], known: &[&str]) -> Result<Self> {
        let words: Vec<&str> =
            args.iter().filter(|one| !one.is_empty() && one.is_valid(0)).map(|one| one.value(0)).collect();
        match words.iter().find(|word| !known.contains(word)) {
            Some(word) => Err(refused(format!("'{word}' is not known here; {} are", known.join(", ")))),
            None => Ok(Self(words)),
        }
    }

    fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }
}

/// Calls `one` with what the path of each row finds in its text.
fn each(
    name: &str,
    args: &[ArrayRef],
    known: &[&str],
    one: impl Fn(&[&str], &Words<'_>) -> Result<Option<String>>,
) -> Result<ArrayRef> {
    let [json, path, more @ ..] = args else {
        return Err(refused(format!("{name} takes a text and a path: {name}(doc, '$.a.b')")));
    };
    let (documents, paths) = (documents(json)?, texts(path)?);
    let more = more.iter().map(texts).collect::<Result<Vec<_>>>()?;
    let words = Words::of(&more, known)?;
    let mut steps = HashMap::new();
    let answer = (0..documents.len()).map(|row| {
        if documents.is_null(row) || paths.is_null(row) {
            return Ok(None);
        }
        let path = paths.value(row);
        if !steps.contains_key(path) {
            steps.insert(path.to_owned(), parse(path).map_err(refused)?);
        }
        let text = documents.value(row);
        if !is_json(text) {
            return match words.has("error on error") {
                true => Err(refused(format!("{name}: a text is no JSON"))),
                false => Ok(None),
            };
        }
        let found = find(text, &steps[path]);
        if found.is_empty() && words.has("error on empty") {
            return Err(refused(format!("{name}: the path '{path}' leads to nothing")));
        }
        one(&found, &words)
    });
    Ok(Arc::new(answer.collect::<Result<StringArray>>()?))
}

fn value(args: &[ArrayRef]) -> Result<ArrayRef> {
    let known = ["error on empty", "error on error"];
    each("json_value", args, &known, |found, words| match found {
        [] => Ok(None),
        [one] if !one.starts_with(['{', '[']) => Ok(text_of(one)),
        _ if words.has("error on error") => Err(refused(
            "json_value: the path leads to more than one plain value; json_query gives objects and arrays",
        )),
        _ => Ok(None),
    })
}

fn query(args: &[ArrayRef]) -> Result<ArrayRef> {
    let known = ["error on empty", "error on error", "wrapper", "conditional wrapper"];
    each("json_query", args, &known, |found, words| match found {
        [] => Ok(None),
        [one] if one.starts_with(['{', '[']) && !words.has("wrapper") => Ok(Some((*one).to_owned())),
        _ if words.has("wrapper") || words.has("conditional wrapper") => {
            Ok(Some(format!("[{}]", found.join(","))))
        }
        _ if words.has("error on error") => Err(refused(
            "json_query: the path leads to no single object or array; WITH WRAPPER makes an array",
        )),
        _ => Ok(None),
    })
}
