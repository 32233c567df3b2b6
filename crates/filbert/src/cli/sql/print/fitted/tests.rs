use super::*;
use crate::cli::sql::print::view::Paint;
use filbert::arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use filbert::arrow::datatypes::DataType;

const VIEW: View = View { width: Some(80), rows: Some(40), expanded: Expanded::Off, paint: NONE };
const NONE: Paint = Paint::NONE;

fn rows(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name.to_owned(), array, true)),
    )
    .unwrap()
}

fn numbers(from: i64, to: i64) -> RecordBatch {
    rows(vec![("n", Arc::new(Int64Array::from_iter_values(from..=to)))])
}

fn printed(view: View, batches: &[RecordBatch]) -> String {
    let mut printer = FittedPrinter::new(&batches[0].schema(), view);
    let mut out = Vec::new();
    for batch in batches {
        printer.batch(batch, &mut out).unwrap();
    }
    let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    printer.end(&Summary { rows, elapsed: None }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn numbers_stand_on_their_point_below_names_and_types() {
    let batch = rows(vec![
        ("item", Arc::new(StringArray::from(vec![Some("filbert"), Some("日本"), None]))),
        ("price", Arc::new(Float64Array::from(vec![Some(100.25), None, Some(10_000_000_000.0)]))),
        ("n", Arc::new(Int64Array::from(vec![7, -12, 3]))),
    ]);
    let expected = "\
item              price       n
VARCHAR          DOUBLE  BIGINT
-------  --------------  ------
filbert          100.25       7
日本            NULL        -12
NULL     10000000000.0        3
(3 rows)
";
    assert_eq!(printed(VIEW, &[batch]), expected);
}

#[test]
fn of_many_rows_the_first_and_the_last_are_shown() {
    let batches: Vec<RecordBatch> = (0..10).map(|at| numbers(at * 100 + 1, at * 100 + 100)).collect();
    let said = printed(VIEW, &batches);
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    assert_eq!(lines[3..5], ["1", "2"]);
    assert_eq!(lines[22..25], ["20", "… 960 more rows …", "981"]);
    assert_eq!(lines[43..], ["1000", "(40 of 1,000 rows shown)"]);
    let few = printed(View { rows: Some(3), ..VIEW }, &batches[..1]);
    let lines: Vec<&str> = few.lines().map(str::trim).collect();
    assert_eq!(lines[3..], ["1", "2", "… 97 more rows …", "100", "(3 of 100 rows shown)"]);
    let one = printed(View { rows: Some(1), ..VIEW }, &batches[..1]);
    let lines: Vec<&str> = one.lines().map(str::trim).collect();
    assert_eq!(lines[3..], ["1", "… 99 more rows …", "(1 of 100 rows shown)"]);
    let whole = printed(VIEW, &[numbers(1, 40)]);
    assert!(whole.ends_with("\n    40\n(40 rows)\n") && !whole.contains('…'), "{whole}");
    let all = printed(View { rows: None, ..VIEW }, &batches);
    assert!(all.ends_with("\n  1000\n(1,000 rows)\n") && !all.contains('…'), "{all}");
}

/// Kept until the end, a long result would take as much memory as it has rows.
#[test]
fn a_long_result_takes_the_memory_of_a_few_batches() {
    let mut printer = FittedPrinter::new(&numbers(1, 1).schema(), VIEW);
    for at in 0..1_000 {
        printer.batch(&numbers(at * 7, at * 7 + 6), &mut Vec::new()).unwrap();
        assert!(printer.last.len() <= 4 && printer.first.len() <= 20);
    }
    let mut all = FittedPrinter::new(&numbers(1, 1).schema(), View { rows: None, ..VIEW });
    let mut out = Vec::new();
    for at in 0..1_000 {
        all.batch(&numbers(at * 7, at * 7 + 6), &mut out).unwrap();
        assert!(all.first.len() <= LOOKED_AT);
    }
    assert!(all.has_written() && all.first.is_empty());
    assert!(String::from_utf8(out).unwrap().lines().count() == 7_000 + 3);
}

fn wide(columns: usize) -> RecordBatch {
    let column = |at: usize| {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![format!("value {at}").repeat(3)]));
        (format!("column_{at}"), texts, true)
    };
    RecordBatch::try_from_iter_with_nullable((1..=columns).map(column)).unwrap()
}

#[test]
fn columns_in_the_middle_are_left_out_where_there_is_no_room() {
    let expected = "\
column_1      column_2      column_3      …  column_29     column_30
VARCHAR       VARCHAR       VARCHAR       …  VARCHAR       VARCHAR
------------  ------------  ------------  -  ------------  ------------
value 1valu…  value 2valu…  value 3valu…  …  value 29val…  value 30val…
(1 row, 5 of 30 columns shown)
";
    let said = printed(View { width: Some(74), ..VIEW }, &[wide(30)]);
    assert_eq!(said, expected);
    let many = rows(vec![
        ("a", Arc::new(StringArray::from(vec!["x".repeat(60); 50]))),
        ("b", Arc::new(Int64Array::from(vec![i64::MAX; 50]))),
        ("c", Arc::new(Int64Array::from(vec![i64::MIN; 50]))),
    ]);
    let said = printed(View { width: Some(24), ..VIEW }, &[many]);
    assert!(said.ends_with("(40 of 50 rows and 1 of 3 columns shown)\n"), "{said}");
}

#[test]
fn no_line_is_wider_than_the_terminal_and_no_number_is_cut() {
    let batch = rows(vec![
        ("text", Arc::new(StringArray::from(vec!["long text ".repeat(30)]))),
        // The sign behind the heart makes it wider than the two are by themselves.
        ("hearts", Arc::new(StringArray::from(vec!["\u{2764}\u{fe0f}".repeat(100)]))),
        ("a name that is longer than its numbers", Arc::new(Int64Array::from(vec![1]))),
        ("y", Arc::new(Float64Array::from(vec![100.215_480_932_919_36]))),
    ]);
    for width in 1..140 {
        let said = printed(View { width: Some(width), ..VIEW }, std::slice::from_ref(&batch));
        let lines: Vec<&str> = said.lines().collect();
        for line in &lines[..lines.len() - 1] {
            let wide: usize = unicode_width::UnicodeWidthStr::width(*line);
            assert!(wide <= width, "{width}: {wide}\n{said}");
        }
        let is_cut = said.contains("100.2") && !said.contains("100.21548093291936");
        assert!(!is_cut, "{width}\n{said}");
    }
}

#[test]
fn each_value_may_have_a_line() {
    let batch = rows(vec![
        ("id", Arc::new(Int64Array::from(vec![1, 2]))),
        ("note", Arc::new(StringArray::from(vec![Some("two\nlines"), None]))),
    ]);
    let expected = "\
-[ 1 ]------------------------
id    1
note  two
      lines
-[ 2 ]------------------------
id    2
note  NULL
(2 rows)
";
    let said = printed(View { expanded: Expanded::On, ..VIEW }, std::slice::from_ref(&batch));
    assert_eq!(said, expected);
    let auto = View { expanded: Expanded::Auto, ..VIEW };
    assert!(printed(auto, &[batch]).starts_with("    id  note"));
    assert!(printed(auto, &[wide(30)]).starts_with("-[ 1 ]---"));
    let gap = printed(View { expanded: Expanded::On, rows: Some(2), ..VIEW }, &[numbers(1, 9)]);
    assert!(gap.contains("… 7 more rows …\n-[ 9 ]---"), "{gap}");
}

#[test]
fn a_result_without_rows_has_its_columns() {
    let none = RecordBatch::new_empty(numbers(1, 1).schema());
    assert_eq!(printed(VIEW, &[none]), "     n\nBIGINT\n------\n(0 rows)\n");
}

#[test]
fn colours_are_where_they_are_wanted() {
    let paint = Paint::of_terminal(true, |name| (name == "TERM").then(|| "xterm".to_owned()));
    let batch = rows(vec![("a", Arc::new(StringArray::from(vec![None::<&str>])) as ArrayRef)]);
    let said = printed(View { paint, ..VIEW }, &[batch]);
    let expected =
        "\x1b[1ma\x1b[0m\n\x1b[2mVARCHAR\x1b[0m\n\x1b[2m-------\x1b[0m\n\x1b[2mNULL   \x1b[0m\n(1 row)\n";
    assert_eq!(said, expected);
    let field = Field::new("a", DataType::Int64, true);
    assert_eq!(type_of(&field), "BIGINT");
}
