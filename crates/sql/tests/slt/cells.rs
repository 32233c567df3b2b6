//! Writes the values of an answer as scripts write them.

use arrow::array::{
    Array, ArrayRef, AsArray, Float16Array, Float32Array, Float64Array, RecordBatch, downcast_array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, Schema};
use arrow::util::display::{ArrayFormatter, DurationFormat, FormatOptions};

/// Who wrote a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The scripts beside this file: a row per line, values as Arrow writes them.
    Own,
    /// DataFusion: a row per line, numbers rounded to twelve digits behind the point, and a line for each line of the last value.
    DataFusion,
    /// SQLite: a value per line, written by the letter of its column.
    Sqlite,
}

/// The letters for the types of columns.
pub(crate) fn letters(schema: &Schema, dialect: Dialect) -> String {
    schema.fields().iter().map(|field| letter(field.data_type(), dialect)).collect()
}

fn letter(kind: &DataType, dialect: Dialect) -> char {
    match kind {
        DataType::Boolean => 'B',
        DataType::Date32 | DataType::Date64 => 'D',
        DataType::Time32(_) | DataType::Time64(_) if dialect == Dialect::DataFusion => 'D',
        DataType::Timestamp(..) => 'P',
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => 'T',
        DataType::Dictionary(_, values) if dialect == Dialect::DataFusion && values.is_string() => 'T',
        kind if kind.is_integer() => 'I',
        kind if kind.is_numeric() => 'R',
        _ => '?',
    }
}

/// The rows of an answer; `types` are the letters that the script gives its columns.
pub(crate) fn rows(batches: &[RecordBatch], dialect: Dialect, types: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let columns = batch.columns().iter().enumerate();
            let cells = columns.map(|(number, column)| match dialect {
                Dialect::Own => own(column, row),
                Dialect::DataFusion => datafusion(column, row),
                Dialect::Sqlite => sqlite(column, row, types.chars().nth(number).unwrap_or('T')),
            });
            let cells: Vec<_> = cells.collect();
            if dialect == Dialect::DataFusion { rows.extend(lined(cells)) } else { rows.push(cells) }
        }
    }
    rows
}

fn shown(column: &ArrayRef, row: usize) -> String {
    let options = FormatOptions::default().with_null("NULL").with_display_error(true);
    ArrayFormatter::try_new(column, &options).unwrap().value(row).to_string()
}

fn or_empty(text: String) -> String {
    if text.is_empty() { "(empty)".to_owned() } else { text }
}

fn own(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) { "NULL".to_owned() } else { or_empty(shown(column, row)) }
}

fn datafusion(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return "NULL".to_owned();
    }
    match column.data_type() {
        DataType::Float16 => rounded(&downcast_array::<Float16Array>(column).value(row).to_string()),
        DataType::Float32 => rounded(&downcast_array::<Float32Array>(column).value(row).to_string()),
        DataType::Float64 => rounded(&downcast_array::<Float64Array>(column).value(row).to_string()),
        kind if kind.is_decimal() => trimmed(&shown(column, row)),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            or_empty(shown(column, row)).trim_end_matches('\n').replace('\0', "\\0")
        }
        DataType::Dictionary(..) => {
            let all = column.as_any_dictionary();
            datafusion(all.values(), all.normalized_keys()[row])
        }
        _ => {
            let options = FormatOptions::default()
                .with_null("NULL")
                .with_display_error(true)
                .with_duration_format(DurationFormat::Pretty);
            ArrayFormatter::try_new(column, &options).unwrap().value(row).to_string()
        }
    }
}

/// A line for each line of the last value, with its number, and `-` for blanks at its begin.
fn lined(mut row: Vec<String>) -> Vec<Vec<String>> {
    match row.last() {
        Some(last) if last.contains('\n') => {}
        _ => return vec![row],
    }
    let last = row.pop().unwrap_or_default();
    let lines = last.split('\n').enumerate().map(|(number, line)| {
        let content = line.trim_start();
        vec![format!("{:02}){}{content}", number + 1, "-".repeat(line.len() - content.len()))]
    });
    std::iter::once(row).chain(lines).collect()
}

/// A number with at most twelve digits behind the point; a half goes to the even digit.
fn rounded(number: &str) -> String {
    const PLACES: usize = 12;
    match number {
        "inf" => return "Infinity".to_owned(),
        "-inf" => return "-Infinity".to_owned(),
        _ => {}
    }
    let Some((whole, part)) = number.split_once('.') else { return trimmed(number) };
    if part.len() <= PLACES {
        return trimmed(number);
    }
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let (kept, rest) = part.split_at(PLACES);
    let mut digits: Vec<u8> = whole.bytes().chain(kept.bytes()).collect();
    let half = format!("5{}", "0".repeat(rest.len() - 1));
    let is_odd = digits.last().is_some_and(|digit| digit % 2 == 1);
    if rest > half.as_str() || (rest == half && is_odd) {
        let mut place = digits.len();
        loop {
            if place == 0 {
                digits.insert(0, b'1');
                break;
            }
            place -= 1;
            if digits[place] < b'9' {
                digits[place] += 1;
                break;
            }
            digits[place] = b'0';
        }
    }
    digits.insert(digits.len() - PLACES, b'.');
    trimmed(&format!("{sign}{}", String::from_utf8(digits).unwrap_or_default()))
}

/// A number without zeros at its end, and without a sign if it is 0.
fn trimmed(number: &str) -> String {
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    let is_zero = number.bytes().all(|byte| matches!(byte, b'0' | b'-'));
    if is_zero { "0".to_owned() } else { number.to_owned() }
}

fn sqlite(column: &ArrayRef, row: usize, letter: char) -> String {
    if column.is_null(row) {
        return "NULL".to_owned();
    }
    let one = column.slice(row, 1);
    match letter {
        // SQLite has no booleans, and takes the whole part of what is to be a whole number.
        'I' => match cast(&one, &DataType::Int64) {
            Ok(number) if number.is_valid(0) => number.as_primitive::<Int64Type>().value(0).to_string(),
            _ => shown(column, row),
        },
        'R' => match cast(&one, &DataType::Float64) {
            Ok(number) if number.is_valid(0) => {
                format!("{:.3}", number.as_primitive::<Float64Type>().value(0))
            }
            _ => shown(column, row),
        },
        _ => or_empty(shown(column, row)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BooleanArray, DictionaryArray, StringArray};
    use std::sync::Arc;

    #[test]
    fn numbers_have_at_most_twelve_digits_behind_the_point() {
        for (number, written) in [
            ("1", "1"),
            ("-0", "0"),
            ("000", "0"),
            ("1.50", "1.5"),
            ("100", "100"),
            ("0.1234567890125", "0.123456789012"),
            ("0.1234567890135", "0.123456789014"),
            ("0.12345678901251", "0.123456789013"),
            ("9.9999999999999", "10"),
            ("-0.0000000000001", "0"),
            ("NaN", "NaN"),
            ("-inf", "-Infinity"),
        ] {
            assert_eq!(rounded(number), written, "{number}");
        }
    }

    #[test]
    fn values_are_written_as_each_dialect_writes_them() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(2.5), None]));
        let bools: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["", "a\n  b"]));
        let words: ArrayRef =
            Arc::new(["x", "y"].into_iter().collect::<DictionaryArray<arrow::datatypes::Int8Type>>());
        let columns = [("f", floats), ("b", bools), ("w", words), ("t", texts)];
        let batch =
            RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
                .unwrap();
        let written = |dialect, types| rows(std::slice::from_ref(&batch), dialect, types);
        assert_eq!(
            written(Dialect::Sqlite, "RIT"),
            [["2.500", "1", "x", "(empty)"], ["NULL", "0", "y", "a\n  b"]]
        );
        assert_eq!(written(Dialect::Sqlite, "I")[0][0], "2");
        assert_eq!(
            written(Dialect::DataFusion, ""),
            [vec!["2.5", "true", "x", "(empty)"], vec!["NULL", "false", "y"], vec!["01)a"], vec!["02)--b"]]
        );
        assert_eq!(letters(&batch.schema(), Dialect::DataFusion), "RBTT");
        assert_eq!(letters(&batch.schema(), Dialect::Own), "RB?T");
    }
}
