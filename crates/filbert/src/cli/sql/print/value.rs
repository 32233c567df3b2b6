//! Values as people read them: `2026-03-09 01:02:03` for a moment, `364 days 23:58:31` for an interval.

use filbert::arrow::array::types::{DurationMicrosecondType, IntervalMonthDayNanoType};
use filbert::arrow::array::{Array, ArrayRef, AsArray};
use filbert::arrow::compute::cast;
use filbert::arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};
use filbert::arrow::error::ArrowError;
use filbert::arrow::util::display::{ArrayFormatter, FormatOptions};
use filbert::cube::cell::on_terminal;
use filbert::sql::{Interval, type_name};

/// The key by which a column that came as text tells its type in SQL.
pub(in crate::cli::sql) const SQL_TYPE: &str = "filbert.sql_type";

const MOMENT: &str = "%Y-%m-%d %H:%M:%S%.f";
const MOMENT_IN_ZONE: &str = "%Y-%m-%d %H:%M:%S%.f%:z";

/// The values of one column of a batch.
pub(super) struct Values<'a> {
    array: &'a ArrayRef,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Plain(ArrayFormatter<'a>),
    /// Texts that are moments, with a `T` between day and time.
    Moments(ArrayFormatter<'a>),
    /// Microseconds.
    Durations(ArrayRef),
    /// Months, days and nanoseconds.
    Intervals(ArrayRef),
}

/// The name that a column's type has in SQL.
pub(super) fn type_of(field: &Field) -> String {
    field.metadata().get(SQL_TYPE).cloned().unwrap_or_else(|| type_name(field.data_type()))
}

/// How moments are written on a terminal.
fn options() -> FormatOptions<'static> {
    super::written()
        .with_timestamp_format(Some(MOMENT))
        .with_timestamp_tz_format(Some(MOMENT_IN_ZONE))
        .with_datetime_format(Some(MOMENT))
        .with_null("NULL")
}

impl<'a> Values<'a> {
    pub(super) fn of(field: &Field, array: &'a ArrayRef) -> Result<Self, ArrowError> {
        let kind = match array.data_type() {
            DataType::Duration(_) => {
                Kind::Durations(cast(array, &DataType::Duration(TimeUnit::Microsecond))?)
            }
            DataType::Interval(_) => {
                Kind::Intervals(cast(array, &DataType::Interval(IntervalUnit::MonthDayNano))?)
            }
            DataType::Utf8 if type_of(field).starts_with("TIMESTAMP") => {
                Kind::Moments(ArrayFormatter::try_new(array, &options())?)
            }
            _ => Kind::Plain(ArrayFormatter::try_new(array, &options())?),
        };
        Ok(Self { array, kind })
    }

    /// Writes the value of a row: it may have several lines, and does nothing else to a terminal. NULL is none.
    pub(super) fn cell(&self, row: usize) -> Result<Option<String>, ArrowError> {
        // An array of nulls keeps no list of them.
        if self.array.is_null(row) || *self.array.data_type() == DataType::Null {
            return Ok(None);
        }
        let text = match &self.kind {
            Kind::Plain(values) => values.value(row).try_to_string()?,
            Kind::Moments(values) => values.value(row).try_to_string()?.replacen('T', " ", 1),
            Kind::Durations(values) => {
                Interval::of_micros(values.as_primitive::<DurationMicrosecondType>().value(row)).to_string()
            }
            Kind::Intervals(values) => {
                let value = values.as_primitive::<IntervalMonthDayNanoType>().value(row);
                let micros = value.nanoseconds / 1_000;
                Interval { months: value.months, days: value.days, micros }.to_string()
            }
        };
        Ok(Some(shown(&text)))
    }
}

/// Keeps the lines of a text; whatever else would move the cursor is shown as it is written in code.
pub(super) fn shown(text: &str) -> String {
    text.split('\n').map(on_terminal).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert::arrow::array::{
        DurationSecondArray, IntervalDayTimeArray, IntervalYearMonthArray, NullArray, StringArray,
        TimestampMicrosecondArray,
    };
    use filbert::arrow::datatypes::IntervalDayTime;
    use std::collections::HashMap;
    use std::sync::Arc;

    fn cell(array: ArrayRef) -> Option<String> {
        cell_of(&Field::new("c", array.data_type().clone(), true), array)
    }

    fn cell_of(field: &Field, array: ArrayRef) -> Option<String> {
        Values::of(field, &array).unwrap().cell(0).unwrap()
    }

    #[test]
    fn moments_have_a_space_and_intervals_are_in_words() {
        let moment = TimestampMicrosecondArray::from(vec![1_719_430_738_500_000]);
        let day = IntervalDayTimeArray::from(vec![IntervalDayTime::new(2, 1_500)]);
        for (array, text) in [
            (Arc::new(moment.clone()) as ArrayRef, "2024-06-26 19:38:58.500"),
            (Arc::new(moment.with_timezone("+02:00")), "2024-06-26 21:38:58.500+02:00"),
            (Arc::new(DurationSecondArray::from(vec![31_535_911])), "364 days 23:58:31"),
            (Arc::new(IntervalYearMonthArray::from(vec![14])), "1 year 2 mons"),
            (Arc::new(day), "2 days 00:00:01.5"),
            (Arc::new(StringArray::from(vec!["a\nb\u{1b}[2J"])), "a\nb\\u{1b}[2J"),
        ] {
            assert_eq!(cell(array).as_deref(), Some(text));
        }
        assert_eq!(cell(Arc::new(NullArray::new(1))), None);
        assert_eq!(cell(Arc::new(StringArray::from(vec![None::<&str>]))), None);
    }

    #[test]
    fn what_a_member_sends_as_text_is_shown_as_what_it_is() {
        let kind = HashMap::from([(SQL_TYPE.to_owned(), "TIMESTAMP".to_owned())]);
        let field = Field::new("t", DataType::Utf8, true).with_metadata(kind);
        assert_eq!(type_of(&field), "TIMESTAMP");
        let moment: ArrayRef = Arc::new(StringArray::from(vec!["2026-03-09T01:02:03"]));
        assert_eq!(cell_of(&field, moment).as_deref(), Some("2026-03-09 01:02:03"));
    }
}
