//! Dates that somebody wrote wrongly are told, and never read as other dates.

mod trades;

use filbert_cube::{CubeError, DrillThrough, Filter, Query, Shiftor};
use trades::{answer, cube, forest};

fn query() -> Query {
    Query::new(["lots"])
}

#[test]
fn a_filter_with_a_wrong_date_is_an_error_that_names_it() {
    let (_stages, cube) = cube(forest());
    let filtered = |filter: &str| query().filter(filter.parse().unwrap());
    assert_eq!(answer(&cube, filtered("day = '1970-01-02'")), "17");
    for (filter, value) in [
        ("day = '1970-01-0x'", "'1970-01-0x'"),
        ("day = '1970-01-02x'", "'1970-01-02x'"),
        ("day = '1970-02-31'", "'1970-02-31'"),
        ("not day in ('1970-01-01', '1970-01-2')", "'1970-01-2'"),
        ("desk = 'FX' or day >= '19700102'", "'19700102'"),
        ("day = 19700102", "19700102"),
        ("day < 1.5", "1.5"),
        ("day = true", "true"),
        ("day = '1970-01-02T00:00:00'", "'1970-01-02T00:00:00'"),
    ] {
        let error = cube.query(filtered(filter)).unwrap().wait().unwrap_err();
        let CubeError::InvalidValue { column, value: said, wanted } = &error else {
            panic!("{filter}: {error:?}");
        };
        assert_eq!((column.as_str(), said.as_str()), ("day", value), "{filter}");
        assert!(wanted.contains("write dates like '2026-03-31'"), "{wanted}");
        assert_eq!(
            error.to_string(),
            format!("column \"day\": {value} is no date; write dates like '2026-03-31'")
        );
    }
}

#[test]
fn measures_and_cells_are_looked_at_as_well() {
    let (_stages, cube) = cube(forest().measure("then", Shiftor::to("lots", "day", "1970-01-0x")));
    let error = cube.query(Query::new(["then"])).unwrap().wait().unwrap_err();
    assert!(matches!(&error, CubeError::InvalidValue { column, .. } if column == "day"), "{error}");

    let rows = |by: &str, value: &str| {
        let through = DrillThrough::new(query().by([by])).cell(by, value);
        cube.drill_through(through).unwrap().wait()
    };
    assert_eq!(rows("day", "1970-01-01").unwrap().batch().num_rows(), 2);
    for (by, value) in [("day", "1970-01-0x"), ("lots", "many"), ("lots", "1.5")] {
        let error = rows(by, value).err().unwrap_or_else(|| panic!("{value}"));
        assert!(matches!(&error, CubeError::InvalidValue { column, .. } if column == by), "{error}");
    }
    let none = Filter::equals("day", None::<&str>);
    assert_eq!(answer(&cube, query().filter(none)), "");
}
