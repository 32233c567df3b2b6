//! The time zone of a session.

use crate::client::{Client, Member};

fn one(client: &mut Client, expression: &str) -> String {
    client.query(&format!("SELECT {expression} AS x")).ok().texts().remove(0).remove(0)
}

#[test]
fn the_zone_of_a_session_says_which_moment_a_text_is() {
    let member = Member::start();
    let mut client = member.client();
    let plain = "'2000-06-01 12:00:00'::timestamptz";
    assert_eq!(one(&mut client, plain), "2000-06-01 12:00:00+00");
    client.query("SET TIME ZONE 'Europe/Oslo'").ok();
    assert_eq!(client.parameters.iter().rfind(|(name, _)| name == "TimeZone").unwrap().1, "Europe/Oslo");
    assert_eq!(one(&mut client, plain), "2000-06-01 12:00:00+02");
    let utc = "'2000-06-01 10:00:00Z'::timestamptz";
    assert_eq!(one(&mut client, &format!("{plain} = {utc}")), "t");
    for (expression, shown) in [
        (format!("extract(hour from {utc})"), "12"),
        (format!("date_trunc('day', {utc})"), "2000-06-01 00:00:00+02"),
        (format!("{utc}::timestamp"), "2000-06-01 12:00:00"),
        ("'2000-05-31 23:30:00Z'::timestamptz::date".to_owned(), "2000-06-01"),
        ("TIMESTAMP '2000-01-01 12:00:00'::timestamptz".to_owned(), "2000-01-01 12:00:00+01"),
        ("DATE '2000-06-01'::timestamptz".to_owned(), "2000-06-01 00:00:00+02"),
        (format!("{utc} AT TIME ZONE 'America/New_York'"), "2000-06-01 06:00:00"),
        (
            "TIMESTAMP '2000-06-01 12:00:00' AT TIME ZONE 'America/New_York'".to_owned(),
            "2000-06-01 18:00:00+02",
        ),
        (format!("{utc} BETWEEN '2000-06-01 11:59:59' AND '2000-06-01 12:00:01'"), "t"),
        (format!("array[{utc}]"), "{\"2000-06-01 12:00:00+02\"}"),
        ("now() - now()::timestamptz".to_owned(), "00:00:00"),
    ] {
        assert_eq!(one(&mut client, &expression), shown, "{expression}");
    }
    client.query("SET TIME ZONE -3.5").ok();
    assert_eq!(one(&mut client, utc), "2000-06-01 06:30:00-03:30");
    client.query("RESET TIME ZONE").ok();
    assert_eq!(one(&mut client, utc), "2000-06-01 10:00:00+00");
}

#[test]
fn values_of_parameters_and_tables_are_in_the_zone_too() {
    let member = Member::start();
    let mut client = member.client();
    client.query("CREATE TABLE t (seen timestamptz)").ok();
    client.query("SET timezone = 'Europe/Oslo'").ok();
    client.query("INSERT INTO t VALUES ('2000-06-01 12:00:00')").ok();
    client.parse("", "INSERT INTO t VALUES ($1)", &[1184]);
    client.bind("", "", 0, &[Some(b"2000-01-01 12:00:00")], 0);
    client.execute("", 0);
    client.sync().ok();
    client.query("PREPARE p (timestamptz) AS SELECT count(*) FROM t WHERE seen = $1").ok();
    assert_eq!(client.query("EXECUTE p('2000-06-01 12:00:00')").ok().texts(), [["1"]]);
    assert_eq!(
        client.query("SELECT count(*) FROM t WHERE seen > '2000-06-01 11:59:59'").ok().texts(),
        [["1"]]
    );
    let rows = "SELECT seen FROM t ORDER BY seen";
    assert_eq!(client.query(rows).ok().texts(), [["2000-01-01 12:00:00+01"], ["2000-06-01 12:00:00+02"]]);
    // In binary, a moment has no zone.
    client.parse("", rows, &[]);
    client.bind("", "", 0, &[], 1);
    client.execute("", 0);
    let micros = client.sync().ok().rows[0][0].clone().unwrap();
    assert_eq!(i64::from_be_bytes(micros.try_into().unwrap()), 11 * 3_600_000_000);
    client.query("SET datafusion.execution.time_zone = 'UTC'").ok();
    assert_eq!(client.query("SHOW timezone").ok().texts(), [["UTC"]]);
    assert_eq!(client.query(rows).ok().texts(), [["2000-01-01 11:00:00+00"], ["2000-06-01 10:00:00+00"]]);
}

#[test]
fn zones_that_are_none_are_refused() {
    let member = Member::start();
    let mut client = member.client();
    for sql in [
        "SET TIME ZONE 'Mars/Olympus'",
        "SET timezone TO 'Mars/Olympus'",
        "SET datafusion.execution.time_zone = 'Mars/Olympus'",
        "SET TIME ZONE '+02:00'",
        "SET work_mem = '1GB'",
        "SET search_path = sales",
    ] {
        assert_eq!(client.query(sql).code(), "22023", "{sql}");
    }
    assert_eq!(client.query("SHOW timezone").ok().texts(), [["UTC"]]);
    let wrong = client.query("SELECT now() AT TIME ZONE 'Mars/Olympus'");
    assert!(wrong.errors[0].1.contains("Mars/Olympus"), "{:?}", wrong.errors);
    let mut stranger = Client::connect(member.address());
    stranger.start(&[("user", "ann"), ("TimeZone", "Mars/Olympus")]);
    assert_eq!(stranger.until_ready().code(), "22023");
    let mut there = Client::connect(member.address());
    there.start(&[("user", "ann"), ("TimeZone", "Asia/Tokyo")]);
    there.until_ready().ok();
    there.query("SET TIME ZONE 'UTC'").ok();
    there.query("RESET ALL").ok();
    assert_eq!(there.query("SHOW timezone").ok().texts(), [["Asia/Tokyo"]]);
}

#[test]
fn what_is_set_locally_ends_with_its_transaction() {
    let member = Member::start();
    let mut client = member.client();
    let warned = client.query("SET LOCAL TIME ZONE 'Asia/Tokyo'").ok();
    assert_eq!(warned.warnings.len(), 1);
    let moment = "'2000-06-01 10:00:00Z'::timestamptz";
    assert_eq!(one(&mut client, moment), "2000-06-01 10:00:00+00");
    client.query("BEGIN").ok();
    client.query("SET LOCAL TIME ZONE 'Asia/Tokyo'").ok();
    assert_eq!(one(&mut client, moment), "2000-06-01 19:00:00+09");
    client.query("COMMIT").ok();
    assert_eq!(one(&mut client, moment), "2000-06-01 10:00:00+00");
    // As Django sets it.
    let set = client.query("SELECT set_config('TimeZone', 'Asia/Tokyo', false)").ok();
    assert_eq!((set.texts(), set.tags), (vec![vec!["Asia/Tokyo".to_owned()]], vec!["SELECT 1".to_owned()]));
    assert_eq!(one(&mut client, moment), "2000-06-01 19:00:00+09");
    assert_eq!(client.query("SELECT set_config('TimeZone', 'Mars/Olympus', false)").code(), "22023");
}

#[test]
fn a_statement_has_no_more_time_than_the_session_gives_it() {
    let member = Member::start();
    let mut client = member.client();
    client.query("SET statement_timeout = '50ms'").ok();
    let endless = "SELECT count(*) FROM range(1, 100000000) a, range(1, 100000000) b WHERE a.value < b.value";
    assert_eq!(client.query(endless).code(), "57014");
    client.query("SET statement_timeout = 0").ok();
    assert_eq!(client.query("SELECT 1").ok().texts(), [["1"]]);
}
