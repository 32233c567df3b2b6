//! Parameters of statements: values of `Data` as SQL's, and `?` as numbers.

use crate::maps::scalar_of_value;
use crate::text::token_starts;
use datafusion::scalar::ScalarValue;
use filbert_wire::compact::SchemaSource;
use filbert_wire::{Data, FromData, Value};
use std::borrow::Cow;

/// The value of a parameter that came as `Data`; null without one.
///
/// ```
/// use filbert_sql::{ScalarValue, scalar_of};
/// use filbert_wire::ToData;
///
/// let catalog = filbert_grid::query::Catalog::default();
/// assert_eq!(scalar_of(Some(&7_i32.to_data()?), &catalog)?, ScalarValue::Int32(Some(7)));
/// assert_eq!(scalar_of(None, &catalog)?, ScalarValue::Null);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// What is wrong with it: it cannot be read, or SQL has no such values.
pub fn scalar_of(data: Option<&Data>, schemas: &dyn SchemaSource) -> Result<ScalarValue, String> {
    let Some(data) = data else { return Ok(ScalarValue::Null) };
    let value = Value::from_data_with(data, schemas).map_err(|error| error.to_string())?;
    scalar_of_value(value, schemas)
}

/// Writes `$1`, `$2`, ... for the `?` of a text, but not within strings, quoted names and comments. What cannot be taken apart stays as
/// it is, for the parser to refuse.
///
/// ```
/// let text = filbert_sql::numbered_parameters("SELECT '?' FROM m WHERE a > ? AND b = ? -- ?");
/// assert_eq!(text, "SELECT '?' FROM m WHERE a > $1 AND b = $2 -- ?");
/// ```
pub fn numbered_parameters(text: &str) -> Cow<'_, str> {
    if !text.contains('?') {
        return Cow::Borrowed(text);
    }
    let (mut copied, mut number) = (0, 0_usize);
    let mut written = String::with_capacity(text.len() + 8);
    // Whatever the parser takes `?-` or `?|` for: what begins with a question mark outside of quotes is a parameter here.
    for at in token_starts(text).filter(|at| text.as_bytes().get(*at) == Some(&b'?')) {
        number += 1;
        written.push_str(&text[copied..at]);
        written.push('$');
        written.push_str(&number.to_string());
        copied = at + 1;
    }
    written.push_str(&text[copied..]);
    Cow::Owned(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert_grid::query::Catalog;
    use filbert_wire::{Decimal, LocalDate, ToData, type_id};

    #[test]
    fn question_marks_are_numbered_outside_of_quotes_and_comments() {
        for (text, numbered) in [
            ("", ""),
            ("SELECT 1", "SELECT 1"),
            ("a > ?-1 AND b = ?||'x' OR (?,?)", "a > $1-1 AND b = $2||'x' OR ($3,$4)"),
            ("'it''s ?' ? \"a?\"\"?\" ?", "'it''s ?' $1 \"a?\"\"?\" $2"),
            ("/* ? /* ? */ ? */ ? -- ?\n?", "/* ? /* ? */ ? */ $1 -- ?\n$2"),
            ("'ü' = ? AND E'\\'?' = ?", "'ü' = $1 AND E'\\'?' = $2"),
            ("$$?$$ = ?", "$$?$$ = $1"),
            ("? = '?", "? = '?"),
        ] {
            assert_eq!(numbered_parameters(text), numbered);
        }
    }

    #[test]
    fn values_become_those_of_sql() {
        let catalog = Catalog::default();
        let of = |data: Data| scalar_of(Some(&data), &catalog);
        assert_eq!(of("a".to_data().unwrap()), Ok(ScalarValue::Utf8(Some("a".into()))));
        assert_eq!(of(true.to_data().unwrap()), Ok(ScalarValue::Boolean(Some(true))));
        assert_eq!(of(1.5_f64.to_data().unwrap()), Ok(ScalarValue::Float64(Some(1.5))));
        let day = LocalDate::new(1970, 1, 3).unwrap();
        assert_eq!(of(day.to_data().unwrap()), Ok(ScalarValue::Date32(Some(2))));
        let decimal = Value::Decimal(Decimal::new(12345, 3)).to_data().unwrap();
        assert_eq!(of(decimal), Ok(ScalarValue::Decimal128(Some(12345), 5, 3)));
        assert_eq!(of(Data::new(type_id::NULL, &[])), Ok(ScalarValue::Null));
        assert!(of(Data::new(type_id::PORTABLE, &[0; 40])).unwrap_err().contains("no such values"));
        assert!(of(Data::new(type_id::INTEGER, &[0])).is_err());
    }
}
