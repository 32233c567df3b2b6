//! Cubes over tables of a DuckDB, in files that the tests make.
#![allow(clippy::disallowed_methods, reason = "tests make deadlines of their own")]

#[path = "../asking/mod.rs"]
mod asking;
mod files;
mod same;
mod trouble;

use arrow::array::{
    Array, ArrayAccessor, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, RecordBatch, StringArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow::datatypes::{Int64Type, UInt8Type};
use asking::{all, begun, close_twice, eventually, rows, stages, wait};
use filbert_cube::{Aggregator, Cube, DuckDb, Filter, Forest, Query, Table, TableGroups, TableQuery};
use filbert_pool::Shutdown;
use files::{Files, handles, open};
use std::sync::Arc;

#[test]
fn every_type_becomes_one_of_arrow() {
    let Some(files) = Files::new() else { return };
    let place = files.database(
        "types.duckdb",
        "CREATE TYPE mood AS ENUM ('calm', 'wild');
         CREATE TABLE t (b BOOLEAN, i1 TINYINT, i2 SMALLINT, i4 INTEGER, i8 BIGINT, u1 UTINYINT, u2 USMALLINT,
            u4 UINTEGER, u8 UBIGINT, h HUGEINT, f4 FLOAT, f8 DOUBLE, d DECIMAL(12, 3), small DECIMAL(4, 1), t VARCHAR,
            m mood, day DATE, \"at\" TIME, ts TIMESTAMP, s TIMESTAMP_S, ms TIMESTAMP_MS, ns TIMESTAMP_NS, tz TIMESTAMPTZ,
            id UUID, j JSON, \"odd \"\"name\" INTEGER);
         INSERT INTO t VALUES (true, -1, -2, 4, 1234567890123, 1, 2, 3, 18446744073709551615,
            -99999999999999999999999999999999999999, 1.5, -0.25, -1234.567, 0.5, 'é''\"', 'wild', '2026-03-31',
            '01:02:03.5', '2026-03-31 12:00:00.000001', '2026-03-31 12:00:00', '2026-03-31 12:00:00.001',
            '2026-03-31 12:00:00.000000001', '1969-12-31 23:59:59+00', '00112233-4455-6677-8899-aabbccddeeff',
            '{\"a\": 1}', 7);
         INSERT INTO t (f8) VALUES ('nan')",
    );
    let stages = stages();
    let table = open(&stages, &place, "main.t").unwrap();
    let texts = |text: &str| Arc::new(StringArray::from(vec![Some(text), None])) as ArrayRef;
    let decimal = |value: i128, digits, after| {
        let values = Decimal128Array::from(vec![Some(value), None]);
        Arc::new(values.with_precision_and_scale(digits, after).unwrap()) as ArrayRef
    };
    let noon = 1_774_958_400;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("b", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("i1", Arc::new(Int8Array::from(vec![Some(-1), None]))),
        ("i2", Arc::new(Int16Array::from(vec![Some(-2), None]))),
        ("i4", Arc::new(Int32Array::from(vec![Some(4), None]))),
        ("i8", Arc::new(Int64Array::from(vec![Some(1_234_567_890_123), None]))),
        ("u1", Arc::new(UInt8Array::from(vec![Some(1), None]))),
        ("u2", Arc::new(UInt16Array::from(vec![Some(2), None]))),
        ("u4", Arc::new(UInt32Array::from(vec![Some(3), None]))),
        ("u8", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None]))),
        ("h", decimal(1 - 10_i128.pow(38), 38, 0)),
        ("f4", Arc::new(Float32Array::from(vec![Some(1.5), None]))),
        ("f8", Arc::new(Float64Array::from(vec![-0.25, f64::NAN]))),
        ("d", decimal(-1_234_567, 12, 3)),
        ("small", decimal(5, 4, 1)),
        ("t", texts("é'\"")),
        ("day", Arc::new(Date32Array::from(vec![Some(20_543), None]))),
        ("at", Arc::new(Time64MicrosecondArray::from(vec![Some(3_723_500_000), None]))),
        ("ts", Arc::new(TimestampMicrosecondArray::from(vec![Some(noon * 1_000_000 + 1), None]))),
        ("s", Arc::new(TimestampSecondArray::from(vec![Some(noon), None]))),
        ("ms", Arc::new(TimestampMillisecondArray::from(vec![Some(noon * 1_000 + 1), None]))),
        ("ns", Arc::new(TimestampNanosecondArray::from(vec![Some(noon * 1_000_000_000 + 1), None]))),
        (
            "tz",
            Arc::new(TimestampMicrosecondArray::from(vec![Some(-1_000_000), None]).with_timezone("+00:00")),
        ),
        ("id", texts("00112233-4455-6677-8899-aabbccddeeff")),
        ("j", texts("{\"a\": 1}")),
        ("odd \"name", Arc::new(Int32Array::from(vec![Some(7), None]))),
    ];
    let read = rows(&stages, &table);
    // And the enum, which comes as a dictionary.
    assert_eq!(read.num_columns(), columns.len() + 1);
    for (name, column) in columns {
        assert_eq!(read.column_by_name(name).unwrap(), &column, "{name}");
    }
    let moods: &DictionaryArray<UInt8Type> = read.column_by_name("m").unwrap().as_dictionary();
    assert_eq!(moods.downcast_dict::<StringArray>().unwrap().value(0), "wild");
    assert!(moods.is_null(1));
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn rows_come_in_batches_and_the_file_is_closed_with_the_stream() {
    let Some(files) = Files::new() else { return };
    let place = files.database("n.duckdb", "CREATE TABLE n AS SELECT n FROM range(200000) AS r(n)");
    let path = files.path("n.duckdb");
    let stages = stages();
    let table = open(&stages, &place, "n").unwrap();
    assert_eq!((table.readers(), handles(&path)), (0, 0), "nothing is left of looking at it");
    let request = || TableQuery::new(["n"], Filter::All);
    let stream = Table::open(&table, &stages, request());
    let batches = wait(&stages, async move { all(&mut stream.await.unwrap()).await });
    let sizes: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 200_000);
    assert!(sizes.len() <= 4, "a few thousand rows at a time are too few: {sizes:?}");
    let values = batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values());
    assert!(values.copied().eq(0..200_000), "rows come in their order");
    assert_eq!((table.readers(), handles(&path)), (0, 0), "it is closed at the end of the rows");
    let (stream, rows, closed) = begun(&stages, &table, request());
    assert_eq!((rows > 0, table.readers(), handles(&path)), (true, 1, 1));
    close_twice(&stages, stream, &closed);
    assert_eq!((table.readers(), handles(&path)), (0, 0), "it is closed in the middle of the rows");
    // Begun, and not wanted before it is open.
    drop(Table::open(&table, &stages, request()));
    eventually("the file is closed", || table.readers() == 0 && handles(&path) == 0);
    let forest = Forest::builder().measure("rows", Aggregator::count()).build().unwrap();
    let cube = Cube::builder(&stages, forest, table).build().unwrap();
    for groups in [TableGroups::Never, TableGroups::WhereExact] {
        let result = cube.query(Query::new(["rows"]).table_groups(groups)).unwrap().wait().unwrap();
        assert_eq!(result.to_csv().unwrap(), "rows\n200000\n");
    }
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn files_of_others_are_read_without_a_database() {
    let Some(files) = Files::new() else { return };
    let path = files.path("trades.csv");
    std::fs::write(&path, "desk,lots\nFX,1\nRates,2\nFX,3\n").unwrap();
    let stages = stages();
    let place = DuckDb::in_memory().library(files::library().unwrap()).setting("threads", "1");
    let query = format!("FROM read_csv('{}') -- as it is", path.display());
    let table = open(&stages, &place, &query).unwrap();
    let forest = Forest::builder().measure("lots", Aggregator::sum("lots")).build().unwrap();
    let cube = Cube::builder(&stages, forest, table).build().unwrap();
    let asked = || cube.query(Query::new(["lots"]).by(["desk"])).unwrap().wait().unwrap().to_csv().unwrap();
    assert_eq!(asked(), "desk,lots\nFX,4\nRates,2\n");
    // Nothing is kept from one query to the next.
    std::fs::write(&path, "desk,lots\nFX,5\n").unwrap();
    assert_eq!(asked(), "desk,lots\nFX,5\n");
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn queries_at_the_same_time_share_the_file() {
    let Some(files) = Files::new() else { return };
    let place = files.database("many.duckdb", "CREATE TABLE n AS SELECT n FROM range(100000) AS r(n)");
    let path = files.path("many.duckdb");
    let stages = stages();
    let table = open(&stages, &place, "n").unwrap();
    let request = || TableQuery::new(["n"], Filter::All);
    let streams: Vec<_> = (0..8).map(|_| Table::open(&table, &stages, request())).collect();
    let mut streams = wait(&stages, async move {
        let mut open = Vec::new();
        for stream in streams {
            let mut stream = stream.await.unwrap();
            assert!(stream.next().await.unwrap().is_ok());
            open.push(stream);
        }
        open
    });
    assert_eq!((table.readers(), handles(&path)), (8, 1));
    let other = open(&stages, &place.clone().setting("threads", "1"), "n").unwrap_err().to_string();
    assert!(other.contains("other settings"), "{other}");
    let last = streams.pop();
    wait(&stages, async move { drop(streams) });
    assert_eq!((table.readers(), handles(&path)), (1, 1));
    wait(&stages, async move { drop(last) });
    assert_eq!((table.readers(), handles(&path)), (0, 0));
    open(&stages, &place.setting("threads", "1"), "n").unwrap();
    stages.shutdown(Shutdown::Drain).unwrap();
}
