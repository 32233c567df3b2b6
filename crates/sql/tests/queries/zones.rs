//! Sessions with a time zone: which moment a time of the clock is, and what can be compared with what.

use crate::asking::{ask, started, table};
use arrow::array::{Array, AsArray};
use filbert_sql::{Session, SqlSettings};

fn is_true(session: &Session, condition: &str) {
    let text = format!("SELECT {condition}");
    let batches = ask(session, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let held = batches[0].column(0).as_boolean();
    assert!(held.is_valid(0) && held.value(0), "{text}: {held:?}");
}

#[test]
fn to_timestamp_gives_moments_that_others_can_be_subtracted_from() {
    let (_stages, sql) = started(SqlSettings::default());
    let named = sql.session().in_time_zone("Europe/Oslo").unwrap();
    let set = sql.session();
    ask(&set, "SET datafusion.execution.time_zone = 'Europe/Oslo'").unwrap();
    for session in [&named, &set] {
        for function in ["", "_seconds", "_millis", "_micros", "_nanos"] {
            let call = format!("to_timestamp{function}('2024-01-01')");
            is_true(session, &format!("arrow_typeof({call}) LIKE '%UTC%'"));
            is_true(session, &format!("{call} = '2023-12-31 23:00:00Z'::timestamptz"));
            is_true(session, &format!("'2024-01-01 00:00:00Z'::timestamptz - {call} = INTERVAL '1 hour'"));
            is_true(session, &format!("now() > {call}"));
            is_true(session, &format!("now() - {call} > INTERVAL '1 hour'"));
            is_true(
                session,
                &format!("to_timestamp{function}(v) IS NOT NULL FROM (VALUES ('2024-01-01')) t(v)"),
            );
        }
        is_true(session, "to_timestamp(0) = '1970-01-01 00:00:00Z'::timestamptz");
        is_true(session, "to_timestamp_seconds(0) = '1970-01-01 00:00:00Z'::timestamptz");
    }
    is_true(&sql.session(), "arrow_typeof(to_timestamp('2024-01-01')) NOT LIKE '%UTC%'");
}

#[test]
fn casts_in_a_zone_may_be_in_sets_of_groupings() {
    let (_stages, sql) = started(SqlSettings::default());
    let session = sql.session().in_time_zone("Europe/Oslo").unwrap();
    let said = table(
        &session,
        "SELECT moment::timestamp AS shown, count(*) AS rows FROM (VALUES ('2024-01-01 00:00:00Z'::timestamptz)) t(moment) \
         GROUP BY ROLLUP (moment::timestamp) ORDER BY 2, 1",
    );
    assert!(said.contains("2024-01-01T01:00:00 | 1"), "{said}");
    assert_eq!(said.lines().count(), 6, "a row for the moment and one for all\n{said}");
}

#[test]
fn times_that_clocks_skip_or_show_twice_are_moments_as_in_postgresql() {
    let (_stages, sql) = started(SqlSettings::default());
    // Skipped, shown twice, and an hour before and behind.
    let moments = [
        ("2024-03-31 02:30:00", "2024-03-31 01:30:00Z"),
        ("2024-03-31 01:30:00", "2024-03-31 00:30:00Z"),
        ("2024-03-31 03:30:00", "2024-03-31 01:30:00Z"),
        ("2024-10-27 02:30:00", "2024-10-27 01:30:00Z"),
        ("2024-10-27 01:30:00", "2024-10-26 23:30:00Z"),
        ("2024-10-27 03:30:00", "2024-10-27 02:30:00Z"),
    ];
    let (utc, oslo) = (sql.session(), sql.session().in_time_zone("Europe/Oslo").unwrap());
    for (shown, moment) in moments {
        for session in [&utc, &oslo] {
            is_true(
                session,
                &format!("TIMESTAMP '{shown}' AT TIME ZONE 'Europe/Oslo' = '{moment}'::timestamptz"),
            );
        }
        is_true(&oslo, &format!("TIMESTAMP '{shown}'::timestamptz = '{moment}'::timestamptz"));
        is_true(
            &oslo,
            &format!(
                "shown::timestamptz = '{moment}'::timestamptz FROM (VALUES (TIMESTAMP '{shown}')) t(shown)"
            ),
        );
    }
    // A day that begins an hour late, and one that is not there at all.
    let cairo = sql.session().in_time_zone("Africa/Cairo").unwrap();
    is_true(&cairo, "DATE '2024-04-26'::timestamptz = '2024-04-25 22:00:00Z'::timestamptz");
    is_true(
        &utc,
        "TIMESTAMP '2011-12-30 12:00:00' AT TIME ZONE 'Pacific/Apia' = '2011-12-30 22:00:00Z'::timestamptz",
    );
    // A text is read with its zone, or refused with what it says.
    let text = "SELECT '2024-03-31 02:30:00'::timestamptz";
    let said = ask(&oslo, text).map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("2024-03-31 02:30:00"), "{said}");
}
