//! What answers look like: measures that failed, values that look like something else, the order of pivots, names.

mod trades;

use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use arrow::datatypes::DataType;
use filbert_cube::{
    Aggregation, Aggregator, Combinator, Cube, CubeError, CubeResult, Decomposition, Dispatchor,
    DrillThrough, Forest, ForestBuilder, MemoryTable, Query, Unfiltrator,
};
use filbert_pool::Stages;
use std::sync::Arc;
use trades::{cube, forest};

/// A cube over these columns.
fn over(columns: Vec<(&str, ArrayRef)>, forest: ForestBuilder) -> (Stages, Cube) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let table = MemoryTable::new("trades", batch.schema(), vec![batch]).unwrap();
    let stages = Stages::start().unwrap();
    let cube = Cube::builder(&stages, forest.build().unwrap(), table).build().unwrap();
    (stages, cube)
}

fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn ones(rows: usize) -> ArrayRef {
    Arc::new(Int64Array::from(vec![1; rows]))
}

fn lots() -> ForestBuilder {
    Forest::builder().measure("sum", Aggregator::sum("lots"))
}

fn asked(cube: &Cube, query: Query) -> CubeResult {
    cube.query(query).unwrap().wait().unwrap_or_else(|error| panic!("{error}"))
}

/// Fails where there is one slice: in totals.
fn fails_alone(columns: &[ArrayRef]) -> Result<ArrayRef, String> {
    if columns[0].len() == 1 { Err("too few".to_owned()) } else { Ok(Arc::clone(&columns[0])) }
}

/// The error became NULL, because numbers and texts were both made floats; beside dates the query failed.
#[test]
fn a_measure_that_fails_in_totals_only_keeps_its_values_and_tells() {
    let columns = vec![
        ("desk", texts(&[Some("FX"), Some("Rates")])),
        ("large", Arc::new(Int64Array::from(vec![i64::MAX, 7])) as _),
        ("day", Arc::new(Date32Array::from(vec![0, 1])) as _),
        ("lots", ones(2)),
    ];
    let forest = lots()
        .function("fails alone", fails_alone)
        .measure("large", Aggregator::sum("large"))
        .measure("last", Aggregator::new("day", Aggregation::Max))
        .measure("last of several", Combinator::function(&["last"], "fails alone"));
    let (_stages, cube) = over(columns, forest);
    let query = Query::new(["large", "last of several", "sum"]).by(["desk"]).totals(["desk"]);
    assert!(cube.query(query.clone()).unwrap().wait().is_err());
    // In one partition, so that the function sees both desks at a time.
    let result = asked(&cube, query.partitions(1).errors_are_values());
    let failed: Vec<&str> = result.failures().iter().map(|(measure, _)| measure.as_str()).collect();
    assert_eq!((failed, result.all_failed()), (vec!["large", "last of several"], false));
    let batch = result.batch();
    for (position, values, said) in
        [(1, ["9223372036854775807", "7"], "does not fit"), (2, ["1970-01-01", "1970-01-02"], "too few")]
    {
        let column = batch.column(position).as_string::<i32>();
        assert_eq!((column.value(0), column.value(1), column.null_count()), (values[0], values[1], 0));
        let error = column.value(2);
        assert!(error.starts_with("error: ") && error.contains(said), "{error}");
    }
    // Another measure is what it was.
    assert_eq!(batch.column(3).data_type(), &DataType::Int64);
    // Alone it has a row for the total over everything as well.
    let alone = Query::new(["large"]).by(["desk"]).totals(["desk"]).errors_are_values();
    let csv = asked(&cube, alone).to_csv().unwrap();
    assert!(
        csv.starts_with("desk,large\nFX,9223372036854775807\nRates,7\n*,") && csv.contains("does not fit")
    );
}

/// The answer was a table without rows and columns without a type.
#[test]
fn measures_that_all_fail_are_told() {
    let broken = forest()
        .function("broken", |_| Err("no luck".to_owned()))
        .measure("broken", Combinator::function(&["lots"], "broken"))
        .measure("more", Combinator::sum(&["broken", "lots"]));
    let (_stages, cube) = cube(broken);
    let both = Query::new(["broken", "more"]).errors_are_values();
    let total = asked(&cube, both.clone());
    assert!(total.all_failed() && total.rows() == 1);
    assert_eq!(total.to_csv().unwrap().matches("no luck").count(), 2, "{}", total.to_csv().unwrap());
    let by_desk = asked(&cube, both.by(["desk"]));
    assert!(by_desk.all_failed() && by_desk.failures().len() == 2);
    assert_eq!(by_desk.to_csv().unwrap(), "desk,broken,more\n");
    assert_eq!(by_desk.to_json().unwrap(), "[]");
    assert_eq!(by_desk.batch().column(1).data_type(), &DataType::Utf8);
    let one = asked(&cube, Query::new(["broken", "lots"]).by(["desk"]).errors_are_values());
    assert!(!one.all_failed() && one.failures().len() == 1);
}

/// A missing value and an empty text were one row, of which the later one was shown; a star was one with the total.
#[test]
fn values_that_look_alike_are_not_one() {
    let odd = [None, Some(""), Some("*"), Some("'*'"), Some("(none)"), Some("''")];
    let columns = vec![
        ("book", texts(&odd)),
        ("side", texts(&[Some("buy"); 6])),
        ("lots", Arc::new(Int64Array::from(vec![1, 2, 4, 8, 16, 32])) as _),
    ];
    let (_stages, cube) = over(columns, lots());
    let result = asked(&cube, Query::new(["sum"]).by(["book", "side"]).totals(["book"]));
    let down = "book      buy\n--------  ---\n''          2\n''''       32\n''*''       8\n'*'         4\n'(none)'   16\n(none)      1\n*          63\n";
    assert_eq!(result.to_pivot("side").unwrap(), down);
    let across = "side  ''  ''''  ''*''  '*'  '(none)'  (none)   *\n----  --  ----  -----  ---  --------  ------  --\n\
                  buy    2    32      8    4        16       1  63\n";
    assert_eq!(result.to_pivot("book").unwrap(), across);
    assert_eq!(result.pivot_columns("book").unwrap(), 7);
    let flat = asked(&cube, Query::new(["sum"]).by(["book"]).totals(["book"]));
    assert_eq!(flat.to_csv().unwrap(), "book,sum\n,1\n\"\",2\n'',32\n''*'',8\n(none),16\n'*',4\n*,63\n");
    assert_eq!((0..flat.rows()).filter(|row| flat.is_total(*row, 0)).collect::<Vec<_>>(), [6]);
    assert!(!flat.is_total(6, 1) && !flat.is_total(7, 0));
    let json = flat.to_json().unwrap();
    assert!(json.starts_with(r#"[{"sum":1},{"book":"","sum":2}"#), "{json}");
    assert!(
        json.contains(r#"{"book":"'*'","sum":4}"#) && json.ends_with(r#"{"book":"*","sum":63}]"#),
        "{json}"
    );
    // Without totals nothing is taken for one.
    let plain = asked(&cube, Query::new(["sum"]).by(["book"]));
    assert!(plain.to_csv().unwrap().contains("\n*,4\n") && !plain.is_total(2, 0));
    assert!(plain.to_text().unwrap().ends_with("\n(none)      1\n"), "{}", plain.to_text().unwrap());
}

/// Heads were in the order of their texts: 1, 10, 2.
#[test]
fn pivots_are_in_the_order_of_values() {
    let columns = vec![
        ("bucket", Arc::new(Int64Array::from(vec![10, 2, 1, -3])) as _),
        ("rate", Arc::new(Float64Array::from(vec![10.0, 9.5, -2.0, -10.0])) as _),
        ("day", Arc::new(Date32Array::from(vec![9, 1, -1, -354_286])) as _),
        ("desk", texts(&[Some("b"), Some("b"), Some("a"), None])),
        ("lots", ones(4)),
    ];
    let (_stages, cube) = over(columns, lots());
    let heads = |across: &str, query: Query| {
        let pivot = asked(&cube, query).to_pivot(across).unwrap();
        pivot.lines().next().unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    for (column, order) in [
        ("bucket", "desk -3 1 2 10"),
        ("rate", "desk -10.0 -2.0 9.5 10.0"),
        ("day", "desk 0999-12-31 1969-12-31 1970-01-02 1970-01-10"),
    ] {
        let query = Query::new(["sum"]).by(["desk", column]);
        assert_eq!(heads(column, query.clone()), order);
        assert_eq!(heads(column, query.totals([column])), format!("{order} *"), "with totals it is texts");
    }
    // Lines too, also where the column that stands across is the first one.
    let pivot = asked(&cube, Query::new(["sum"]).by(["desk", "bucket"]).totals(["bucket"])).to_pivot("desk");
    let lines: Vec<String> =
        pivot.unwrap().lines().skip(2).map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(lines, ["-3", "1", "2", "10", "*"]);
}

/// A text could move the cursor, clear the screen, or begin a line of its own.
#[test]
fn texts_do_not_write_to_the_terminal() {
    let (desk, ccy) = ("a\nb\u{1b}[2J", "E\tUR");
    let columns = vec![("desk", texts(&[Some(desk)])), ("c\rcy", texts(&[Some(ccy)])), ("lots", ones(1))];
    let (_stages, cube) = over(columns, lots());
    let result = asked(&cube, Query::new(["sum"]).by(["desk", "c\rcy"]));
    let rows = cube.drill_through(DrillThrough::new(Query::new(["sum"]))).unwrap().wait().unwrap();
    for (text, has_name) in [
        (result.to_text().unwrap(), true),
        (result.to_pivot("c\rcy").unwrap(), false),
        (rows.to_text().unwrap(), true),
    ] {
        assert!(text.contains(r"a\nb\u{1b}[2J") && text.contains(r"E\tUR"), "{text}");
        assert_eq!(text.contains(r"c\rcy"), has_name, "{text}");
        assert!(!text.contains(['\u{1b}', '\t', '\r']) && text.lines().count() == 3, "{text}");
    }
    // Programs get them as they are.
    assert_eq!(result.to_csv().unwrap(), format!("desk,\"c\rcy\",sum\n\"{desk}\",{ccy},1\n"));
    let json = result.to_json().unwrap();
    assert!(json.contains(r"a\nb") && json.contains(r"E\tUR"), "{json}");
}

/// An object in JSON had two members of one name.
#[test]
fn an_answer_has_every_name_once() {
    let (_stages, cube) = cube(forest());
    for (query, told) in [
        (Query::new(["pnl", "lots", "pnl"]), "asks for measure \"pnl\" twice; name each once"),
        (Query::new(["pnl"]).by(["desk", "desk"]), "groups by \"desk\" twice; name each column once"),
        (Query::new(["pnl", "lots"]).by(["lots"]), "\"lots\" is a measure and a column that it groups by"),
    ] {
        let error = cube.query(query).unwrap_err();
        assert!(
            matches!(error, CubeError::InvalidQuery { .. }) && error.to_string().contains(told),
            "{error}"
        );
    }
    // The same as a condition is nothing wrong.
    assert_eq!(trades::answer(&cube, Query::new(["lots"]).filter("lots > 5".parse().unwrap())), "6");
}

/// Columns that dispatchors make were not named, and a slip was not seen.
#[test]
fn an_unknown_column_is_told_with_all_that_there_are() {
    let pairs = vec![("EUR".into(), "G7".into())];
    let groups = Dispatchor::new("lots", "ccy", "ccy group", Decomposition::Pairs(pairs));
    let slips = forest().measure("groups", groups).measure("all", Unfiltrator::suppress("lots", &["dekc"]));
    let (_stages, cube) = cube(slips);
    let told = |query: Query| cube.query(query).unwrap().wait().unwrap_err().to_string();
    let all = "it has: ccy, day, desk, lots, pnl; dispatchors make, for their own measures and those above: ccy group";
    let slip = told(Query::new(["groups"]).by(["dekc"]));
    assert_eq!(slip, format!("table \"trades\" has no column \"dekc\"; {all}"));
    // It dropped no filter, and the figure was another one.
    assert_eq!(told(Query::new(["all"])), format!("measure \"all\": {slip}"));
    let slip = told(Query::new(["groups"]).by(["DESK"]));
    assert_eq!(slip, format!("table \"trades\" has no column \"DESK\"; {all}; is it \"desk\"?"));
    let slip = told(Query::new(["groups"]).by(["ccy gruop"]));
    assert_eq!(slip, format!("table \"trades\" has no column \"ccy gruop\"; {all}; is it \"ccy group\"?"));
    // A measure that does not go through the dispatchor.
    let beside = told(Query::new(["lots"]).by(["ccy group"]));
    assert_eq!(beside, format!("table \"trades\" has no column \"ccy group\"; {all}"));
}
