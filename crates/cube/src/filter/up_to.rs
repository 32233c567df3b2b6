//! All that comes before what a filter wants: what running totals read.
//!
//! A filter on one column changes its mind at the values that it names and nowhere else. So it is asked at each of them, between each two,
//! below the first and above the last; the last place where it says yes is the bound.

use super::column::compare;
use super::{Comparison, Filter, Matcher};
use crate::coordinate::{Coordinate, logical_type};
use crate::error::CubeError;
use arrow::datatypes::DataType;

impl Filter {
    /// The rows whose value of `column` is not above the greatest value that this filter wants, which is on that column alone. Rows without
    /// a value are wanted where the filter wants them.
    pub(crate) fn up_to(&self, column: &str, data_type: Option<&DataType>) -> Result<Filter, CubeError> {
        if *self == Self::All {
            return Ok(Self::All);
        }
        let mut values = Vec::new();
        self.named(&mut values)?;
        if data_type.map(logical_type) == Some(DataType::Date32) {
            // The texts of years before 0 and after 9999 have another order.
            values.sort_by_cached_key(Coordinate::days);
        } else {
            values.sort_by(|a, b| compare(a, b).unwrap_or_else(|| a.cmp(b)));
        }
        values.dedup();
        // Place 2n + 1 is the value n, place 2n lies below it and above the one before.
        let last = (0..=2 * values.len())
            .rev()
            .filter(|place| !is_gap_of_none(&values, *place))
            .find(|place| self.holds_at(&values, Some(*place)));
        let up_to = match last {
            None => Self::None,
            Some(place) if place == 2 * values.len() => Self::is_null(column).negated(),
            Some(place) if place % 2 == 1 => {
                Self::compare(column, Comparison::AtMost, values[place / 2].clone())
            }
            Some(place) => Self::compare(column, Comparison::Less, values[place / 2].clone()),
        };
        Ok(if self.holds_at(&values, None) { up_to.or(Self::is_null(column)) } else { up_to }.canonical())
    }

    /// The values that conditions name.
    fn named(&self, values: &mut Vec<Coordinate>) -> Result<(), CubeError> {
        match self {
            Self::All | Self::None | Self::Column(_, Matcher::Null) => {}
            Self::Column(_, Matcher::In(all)) => values.extend(all.iter().cloned()),
            Self::Column(_, Matcher::Compare(_, bound)) => values.push(bound.clone()),
            Self::Column(column, Matcher::Like(_) | Matcher::Regex(_)) => {
                let problem = format!(
                    "`{self}` does not say up to where {column:?} is added up; filter it by values or by < and <="
                );
                return Err(CubeError::InvalidQuery { problem });
            }
            Self::Not(inner) => inner.named(values)?,
            Self::And(all) | Self::Or(all) => all.iter().try_for_each(|filter| filter.named(values))?,
        }
        Ok(())
    }

    /// Whether it wants the values at a place; none is where there is no value.
    fn holds_at(&self, values: &[Coordinate], place: Option<usize>) -> bool {
        let place_of =
            |value: &Coordinate| values.iter().position(|known| known == value).map(|at| 2 * at + 1);
        match (self, place) {
            (Self::All, _) => true,
            (Self::None, _) => false,
            (Self::Not(inner), _) => !inner.holds_at(values, place),
            (Self::And(all), _) => all.iter().all(|filter| filter.holds_at(values, place)),
            (Self::Or(any), _) => any.iter().any(|filter| filter.holds_at(values, place)),
            (Self::Column(_, matcher), None) => *matcher == Matcher::Null,
            (Self::Column(_, matcher), Some(place)) => match matcher {
                Matcher::In(all) => all.iter().any(|value| place_of(value) == Some(place)),
                Matcher::Compare(comparison, bound) => {
                    place_of(bound).is_some_and(|bound| comparison.holds(place.cmp(&bound)))
                }
                Matcher::Null | Matcher::Like(_) | Matcher::Regex(_) => false,
            },
        }
    }
}

/// True for a place between two whole numbers that have none between them.
fn is_gap_of_none(values: &[Coordinate], place: usize) -> bool {
    if place % 2 == 1 || place == 0 || place == 2 * values.len() {
        return false;
    }
    match (&values[place / 2 - 1], &values[place / 2]) {
        (Coordinate::Int(below), Coordinate::Int(above)) => below.checked_add(1) == Some(*above),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_reaches_up_to_its_greatest_value() {
        let cases = [
            ("d = 1", "d <= 1"),
            ("d in (0, 2)", "d <= 2"),
            ("d < 3", "d < 3"),
            ("d <= 3 and d > 1", "d <= 3"),
            ("d > 1", "not d is null"),
            ("d <> 1", "not d is null or d is null"),
            ("d is null", "d is null"),
            ("d = 1 or d is null", "d <= 1 or d is null"),
            ("d in (0, 3) and d <> 3", "d <= 0"),
            ("(d < 5 and d > 3) or d = 1", "d < 5"),
            ("name <= 'm' and name <> 'm'", "name < 'm'"),
        ];
        for (filter, expected) in cases {
            let filter = filter.parse::<Filter>().unwrap().canonical();
            let column = filter.columns().into_iter().next().unwrap();
            let expected = expected.parse::<Filter>().unwrap().canonical();
            assert_eq!(filter.up_to(&column, None).unwrap(), expected, "{filter}");
        }
        assert_eq!(Filter::All.up_to("d", None).unwrap(), Filter::All);
        let nothing: Filter = "d > 1 and d < 2".parse().unwrap();
        assert_eq!(nothing.up_to("d", None).unwrap(), Filter::None);
        let pattern: Filter = "name like 'a%'".parse().unwrap();
        assert!(pattern.up_to("name", None).unwrap_err().to_string().contains("does not say up to where"));
    }
    #[test]
    fn dates_of_far_years_come_after_others() {
        let day = |text: &str| text.parse::<Filter>().unwrap().up_to("day", Some(&DataType::Date32)).unwrap();
        let expected = |text: &str| text.parse::<Filter>().unwrap().canonical();
        assert_eq!(
            day("day in ('2026-01-01', '+10000-01-01', '-0044-03-15')"),
            expected("day <= '+10000-01-01'")
        );
        assert_eq!(day("day > '-0044-03-15' and day < '2026-01-01'"), expected("day < '2026-01-01'"));
    }
}
