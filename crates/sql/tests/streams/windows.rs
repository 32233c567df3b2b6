//! `TUMBLE` and `HOP`.

use super::*;
use serde_json::json;

fn trade(member: &Member, key: i64, at: i64, symbol: &str, price: i64) {
    member.put_json("j", key, json!({"at": at, "symbol": symbol, "price": price}));
}

/// Columns are found in entries: the first one is there before a stream is planned.
fn trades() -> Member {
    let member = started();
    let columns = "CREATE MAPPING j (__key BIGINT, at BIGINT, symbol VARCHAR, price BIGINT) TYPE IMap \
                   OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'json-flat')";
    member.ask(columns).unwrap();
    member
}

const BY_WINDOW: &str = "SELECT window_start, window_end, symbol, count(*), sum(price) \
                         FROM TABLE(TUMBLE(TABLE(journal('j')), DESCRIPTOR(at), 10)) GROUP BY window_start, window_end, symbol";

#[test]
fn a_window_is_given_when_its_time_has_passed() {
    // One key, so that changes come in this order.
    let member = trades();
    let stream = member.stream(BY_WINDOW);
    trade(&member, 1, 1, "HAZ", 5);
    trade(&member, 1, 9, "HAZ", 7);
    trade(&member, 1, 4, "NUT", 1);
    trade(&member, 1, 10, "HAZ", 100);
    let mut rows = stream.take(2);
    rows.sort();
    assert_eq!(rows, ["0; 10; HAZ; 2; 12", "0; 10; NUT; 1; 1"]);
    assert!(stream.is_silent(), "the window that has not passed is not given");
    trade(&member, 1, 35, "NUT", 1);
    assert_eq!(stream.take(1), ["10; 20; HAZ; 1; 100"], "windows without rows are not given");
    stream.cancel();
    idle(&member.sql);
}

#[test]
fn rows_may_be_late_by_the_lag_and_not_more() {
    let member = trades();
    let text = "SELECT window_start, count(*) FROM TABLE(TUMBLE(TABLE(journal('j')), DESCRIPTOR(at), 10, 5)) GROUP BY window_start";
    let stream = member.stream(text);
    // One key, so that changes come in this order.
    for at in [1, 12, 9, 14, 8] {
        trade(&member, 1, at, "HAZ", 1);
    }
    assert!(stream.is_silent());
    trade(&member, 1, 15, "HAZ", 1);
    assert_eq!(stream.take(1), ["0; 3"]);
    trade(&member, 1, 9, "HAZ", 1);
    trade(&member, 1, 25, "HAZ", 1);
    assert_eq!(stream.take(1), ["10; 3"], "the row at 9 was too late for any window");
    stream.cancel();
}

#[test]
fn a_row_is_in_all_windows_that_hold_it() {
    let member = trades();
    let text = "SELECT window_start, window_end, sum(price) FROM TABLE(HOP(TABLE(journal('j')), DESCRIPTOR(at), 10, 5)) \
                GROUP BY window_start, window_end ORDER BY window_start";
    let stream = member.stream(text);
    for (at, price) in [(2, 1), (7, 10), (12, 100), (30, 1000)] {
        trade(&member, 1, at, "HAZ", price);
    }
    assert_eq!(stream.take(4), ["-5; 5; 1", "0; 10; 11", "5; 15; 110", "10; 20; 100"]);
    stream.cancel();
}

/// The oracle is a plain GROUP BY: with an end, and by hand.
#[test]
fn over_a_table_it_is_a_group_by() {
    let member = trades();
    for key in 0..500_i64 {
        trade(&member, key, (key * 7_919) % 1_000, ["HAZ", "NUT", "OAK"][key as usize % 3], key);
    }
    let columns = "window_start, symbol, count(*), sum(price), min(price), count(DISTINCT price)";
    let tumbled = member.rows(&format!(
        "SELECT {columns} FROM TABLE(TUMBLE(TABLE j, DESCRIPTOR(at), 50)) GROUP BY window_start, symbol"
    ));
    let by_hand = "SELECT *, at - at % 50 AS window_start FROM j";
    let expected = member.rows(&format!("SELECT {columns} FROM ({by_hand}) GROUP BY window_start, symbol"));
    assert_eq!(tumbled, expected);
    assert!(tumbled.len() == 60, "{}", tumbled.len());
    let hopped = member.rows(&format!(
        "SELECT {columns} FROM TABLE(HOP(TABLE j, DESCRIPTOR(at), 100, 50)) GROUP BY window_start, symbol"
    ));
    let by_hand = format!("{by_hand} UNION ALL SELECT *, at - at % 50 - 50 AS window_start FROM j");
    let expected = member.rows(&format!("SELECT {columns} FROM ({by_hand}) GROUP BY window_start, symbol"));
    assert_eq!(hopped, expected);
}

/// The same rows, as a stream whose last row closes all windows.
#[test]
fn over_a_stream_it_is_the_same_as_over_a_table() {
    let member = trades();
    for key in 0..500_i64 {
        trade(&member, key, key * 2 - key * 7_919 % 31, ["HAZ", "NUT", "OAK"][key as usize % 3], key % 17);
    }
    // sleeps because changes of the same millisecond have no order
    std::thread::sleep(Duration::from_millis(5));
    trade(&member, 500, 1_000_000, "END", 0);
    for (window, columns) in [
        ("TUMBLE(%, DESCRIPTOR(at), 50%)", "symbol, count(*), sum(price), avg(price)"),
        ("HOP(%, DESCRIPTOR(at), 100, 30%)", "symbol, min(price), max(price), count(DISTINCT price)"),
        (
            "TUMBLE(%, DESCRIPTOR(at), 70%)",
            "upper(symbol), count(*) FILTER (WHERE price > 8), string_agg(symbol, '')",
        ),
    ] {
        let group = columns.split(',').next().unwrap();
        // All rows are in the journal: its order of time may be off by what one millisecond holds.
        let of = |input: &str, lag: &str| {
            let window = window.replacen('%', input, 1).replacen('%', lag, 1);
            format!(
                "SELECT window_start, window_end, {columns} FROM TABLE({window}) WHERE symbol <> 'NUT' GROUP BY window_start, window_end, {group} \
                 HAVING count(*) > 0"
            )
        };
        let expected =
            member.rows(&format!("SELECT * FROM ({}) WHERE window_end < 900000", of("TABLE j", "")));
        let stream = member.stream(&of("TABLE(journal('j'))", ", 5000"));
        let mut rows = stream.take(expected.len());
        rows.sort();
        assert_eq!(rows, expected, "{window}");
        assert!(stream.is_silent());
        stream.cancel();
    }
    idle(&member.sql);
}

/// What a trader calls open and close.
#[test]
fn the_first_and_the_last_of_a_window_are_those_of_their_time() {
    let member = trades();
    let text = "SELECT window_start, first_value(price ORDER BY at), last_value(price ORDER BY at), array_agg(price ORDER BY at DESC) \
                FROM TABLE(TUMBLE(TABLE(journal('j')), DESCRIPTOR(at), 10, 10)) GROUP BY window_start";
    let stream = member.stream(text);
    for (at, price) in [(5, 50), (9, 90), (1, 10), (7, 70), (20, 0)] {
        trade(&member, 1, at, "HAZ", price);
    }
    assert_eq!(stream.take(1), ["0; 10; 90; [90, 70, 50, 10]"]);
    stream.cancel();
}

#[test]
fn times_are_timestamps_too() {
    let member = started();
    let columns = "CREATE MAPPING j (__key BIGINT, at TIMESTAMP, price BIGINT) TYPE IMap \
                   OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'json-flat')";
    member.ask(columns).unwrap();
    let text = "SELECT window_start, window_end, sum(price) \
                FROM TABLE(TUMBLE(TABLE(journal('j')), DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '2' SECOND)) \
                GROUP BY window_start, window_end";
    let stream = member.stream(text);
    for (second, price) in [(1, 1), (59, 10), (61, 100), (58, 1000), (62, 0)] {
        let at = format!("2024-02-29T12:{:02}:{:02}", second / 60, second % 60);
        member.put_json("j", 1, json!({"at": at, "price": price}));
    }
    assert_eq!(stream.take(1), ["2024-02-29T12:00:00; 2024-02-29T12:01:00; 1011"]);
    stream.cancel();
    let by_change = "SELECT window_start <= max(__time), count(*) \
                     FROM TABLE(TUMBLE(TABLE(journal('j')), DESCRIPTOR(__time), INTERVAL '1' MILLISECOND)) GROUP BY window_start";
    let stream = member.stream(by_change);
    let mut windows = 0;
    let mut key = 0;
    wait_until("windows pass as time does", || {
        key += 1;
        member.put_json("j", key, json!({"price": 1}));
        windows += std::iter::from_fn(|| stream.rows.try_recv().ok())
            .inspect(|row| assert!(row.as_ref().unwrap().starts_with("true")))
            .count();
        windows > 3
    });
    stream.cancel();
}

#[test]
fn series_and_generated_streams_have_windows() {
    let member = started();
    let text = "SELECT window_end, sum(v) FROM TABLE(TUMBLE(TABLE(generate_series(0, 9)), DESCRIPTOR(v), 5)) GROUP BY window_end";
    assert_eq!(member.rows(text), ["10; 35", "5; 10"]);
    let text = "SELECT window_start, count(*) FROM TABLE(TUMBLE(TABLE(generate_stream(100000)), DESCRIPTOR(v), 1000)) GROUP BY window_start";
    let stream = member.stream(text);
    let expected: Vec<_> = (0..20).map(|window| format!("{}; 1000", window * 1_000)).collect();
    assert_eq!(stream.take(20), expected, "in order, and none is late");
    stream.cancel();
    idle(&member.sql);
}

#[test]
fn too_many_groups_end_the_query_with_an_error_that_says_what_to_do() {
    let member = with(SqlSettings { query_memory_bytes: 4 << 20, ..Default::default() }, 10_000);
    let text = "SELECT window_start, v, count(*) FROM TABLE(TUMBLE(TABLE(generate_stream(10000000)), DESCRIPTOR(v), 1000000000)) \
                GROUP BY window_start, v";
    let stream = member.stream(text);
    let error = stream.next().unwrap_err().to_string();
    assert!(error.contains("WindowAggregate") && error.contains("sql.query_memory_bytes"), "{error}");
    drop(stream);
    idle(&member.sql);
}

#[test]
fn windows_that_make_no_sense_are_refused() {
    let member = trades();
    let of = |window: &str| format!("SELECT * FROM TABLE({window})");
    for (window, word) in [
        ("TUMBLE(TABLE j, DESCRIPTOR(nothing), 10)", "nothing"),
        ("TUMBLE(TABLE j, DESCRIPTOR(symbol), 10)", "timestamps and whole numbers"),
        ("TUMBLE(TABLE j, DESCRIPTOR(at), 0)", "more than nothing"),
        ("TUMBLE(TABLE j, DESCRIPTOR(at), INTERVAL '1' MINUTE)", "write a number"),
        ("TUMBLE(TABLE j, DESCRIPTOR(at), price)", "no constant"),
        ("HOP(TABLE j, DESCRIPTOR(at), 10, 20)", "step"),
        ("HOP(TABLE j, DESCRIPTOR(at), 10)", "HOP takes a table"),
        ("TUMBLE(TABLE nothing, DESCRIPTOR(at), 10)", "nothing"),
    ] {
        let said = member.says(&of(window));
        assert!(said.contains(word), "{window}: {said}");
    }
    let stream = "TUMBLE(TABLE(journal('j')), DESCRIPTOR(at), 10)";
    let said = member.says(&format!("SELECT symbol, count(*) FROM TABLE({stream}) GROUP BY symbol"));
    assert!(said.contains("window_start or window_end in the GROUP BY"), "{said}");
    let said = member.says(&format!(
        "SELECT window_start, nth_value(price, 2 ORDER BY price) FROM TABLE({stream}) GROUP BY window_start"
    ));
    assert!(said.contains("order"), "{said}");
}

#[test]
fn a_view_of_windows_is_a_table_of_its_own() {
    let member = trades();
    member.ask(&format!("CREATE VIEW sums AS {BY_WINDOW}")).unwrap();
    let stream = member.stream("SELECT symbol, window_end FROM sums");
    trade(&member, 1, 1, "HAZ", 5);
    trade(&member, 1, 11, "HAZ", 5);
    assert_eq!(stream.take(1), ["HAZ; 10"]);
    stream.cancel();
}
