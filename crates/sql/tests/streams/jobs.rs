//! `CREATE JOB`, `DROP JOB`, `SHOW JOBS`.

use super::*;
use filbert_pool::Shutdown;
use filbert_sql::{Access, Object, TableRights};
use std::sync::Arc;

/// A member with a journal of numbers, and a map to copy them to.
fn numbers(settings: SqlSettings) -> Member {
    let member = with(settings, 10_000);
    for map in ["j", "copy", "other"] {
        let text = format!(
            "CREATE MAPPING {map} TYPE IMap OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'bigint')"
        );
        member.ask(&text).unwrap();
    }
    member
}

const COPY: &str = "CREATE JOB copying AS SINK INTO copy SELECT __key, this FROM TABLE(journal('j')) WHERE __event <> 'REMOVED'";

/// Waits until the job of that name has that status; its row.
fn status(member: &Member, name: &str, wanted: &str) -> String {
    let mut found = String::new();
    wait_until(&format!("job {name} is {wanted}"), || {
        let rows = member.rows("SHOW JOBS");
        found = rows.into_iter().find(|row| row.starts_with(&format!("{name}; "))).unwrap_or_default();
        found.starts_with(&format!("{name}; {wanted}; "))
    });
    found
}

fn copied(member: &Member) -> i64 {
    member.rows("SELECT count(*) FROM copy").remove(0).parse().unwrap()
}

#[test]
fn a_job_goes_on_when_its_session_is_gone_and_ends_when_it_is_dropped() {
    let member = numbers(SqlSettings::default());
    let session = member.sql.session();
    block_on(session.query(COPY).unwrap().collect()).unwrap();
    drop(session);
    (0..100_i64).for_each(|key| member.put("j", key, key * 2));
    wait_until("all is copied", || copied(&member) == 100);
    assert_eq!(member.rows("SELECT sum(this) FROM copy"), ["9900"]);
    let row = status(&member, "copying", "running");
    wait_until("all is counted", || {
        status(&member, "copying", "running").contains("; 100; 0; 0; NULL; SINK INTO copy")
    });
    assert!(row.contains("Z; "), "{row}");
    member.ask("DROP JOB copying").unwrap();
    assert_eq!(member.rows("SHOW JOBS"), Vec::<String>::new());
    idle(&member.sql);
    member.put("j", 1_000_i64, 1_i64);
    assert_eq!(copied(&member), 100);
    // Its name is free, and it begins anew.
    member.ask(COPY).unwrap();
    wait_until("the new one copies", || copied(&member) == 101);
}

#[test]
fn windows_go_into_a_map() {
    let member = numbers(SqlSettings::default());
    let text = "CREATE JOB IF NOT EXISTS sums AS SINK INTO copy SELECT window_start, sum(this) \
                FROM TABLE(TUMBLE(TABLE(journal('j')), DESCRIPTOR(this), 10)) GROUP BY window_start";
    member.ask(text).unwrap();
    // One key: they come in this order.
    [1_i64, 5, 12].into_iter().for_each(|at| member.put("j", 1_i64, at));
    wait_until("a window is there", || copied(&member) == 1);
    [3_i64, 30].into_iter().for_each(|at| member.put("j", 1_i64, at));
    wait_until("two windows are there", || copied(&member) == 2);
    assert_eq!(member.rows("SELECT * FROM copy"), ["0; 6", "10; 12"]);
    wait_until("what came late is counted", || {
        status(&member, "sums", "running").contains("; 2; 1; 0; NULL; ")
    });
}

#[test]
fn a_job_that_fails_says_why_and_one_that_ends_is_completed() {
    let member = numbers(SqlSettings::default());
    member
        .ask("CREATE JOB dividing AS SINK INTO copy SELECT __key, 100 / this FROM TABLE(journal('j'))")
        .unwrap();
    member.put("j", 1_i64, 0_i64);
    let row = status(&member, "dividing", "failed");
    assert!(row.contains("ivide by zero"), "{row}");
    member
        .ask("CREATE JOB once AS SINK INTO other SELECT v, v * 2 FROM TABLE(generate_series(1, 10))")
        .unwrap();
    let row = status(&member, "once", "completed");
    assert!(row.contains("; 10; 0; 0; NULL; "), "{row}");
    wait_until("its fragments ran beside dataflow jobs, not on the threads of queries", || {
        member.stages.snapshot().iter().any(|stage| stage.stage == "flow" && stage.executed > 0)
    });
    // Those that have ended make room for others of their name, and can be dropped.
    member
        .ask("CREATE JOB once AS SINK INTO other SELECT v, v * 2 FROM TABLE(generate_series(1, 3))")
        .unwrap();
    wait_until("it ran again", || status(&member, "once", "completed").contains("; 3; 0; 0; NULL; "));
    member.ask("DROP JOB dividing").unwrap();
    member.ask("DROP JOB IF EXISTS dividing").unwrap();
    assert!(member.says("DROP JOB dividing").contains("SHOW JOBS"));
    idle(&member.sql);
}

#[test]
fn mistakes_are_told_to_whoever_makes_the_job() {
    let member = numbers(SqlSettings { jobs: 1, ..Default::default() });
    for (text, word) in [
        ("CREATE JOB x AS SELECT 1", "SINK INTO"),
        ("CREATE JOB x AS SINK INTO copy SELECT nothing FROM j", "nothing"),
        (
            "CREATE JOB x AS SINK INTO copy SELECT this, count(*) FROM TABLE(journal('j')) GROUP BY this",
            "TUMBLE",
        ),
        ("CREATE JOB AS SINK INTO copy SELECT 1, 1", "SINK"),
    ] {
        let said = member.says(text);
        assert!(said.contains(word), "{text}: {said}");
    }
    assert_eq!(member.rows("SHOW JOBS"), Vec::<String>::new(), "nothing is left of them");
    member.ask(COPY).unwrap();
    assert!(member.says(COPY).contains("DROP JOB ends it"));
    member.ask(&COPY.replace("JOB", "JOB IF NOT EXISTS")).unwrap();
    let said = member.says(&COPY.replace("copying", "more"));
    assert!(said.contains("sql.jobs"), "{said}");
}

struct Rights(&'static [(Access, &'static str)]);

impl TableRights for Rights {
    fn check(&self, access: Access, object: &Object) -> Result<(), String> {
        match self.0.contains(&(access, object.to_string().as_str())) {
            true => Ok(()),
            false => Err(format!("guest has no right to {access:?} {object}")),
        }
    }
}

#[test]
fn a_job_needs_the_rights_of_its_statement_and_dropping_it_that_of_its_map() {
    let member = numbers(SqlSettings::default());
    let ask = |rights: &'static [(Access, &'static str)], text: &str| {
        let session = member.sql.session_as(Arc::new(Rights(rights)));
        block_on(session.query(text).unwrap().collect()).map(|_| ()).map_err(|error| error.to_string())
    };
    let read = (Access::Read, "j");
    let write = (Access::Insert, "copy");
    assert_eq!(ask(&[], COPY).unwrap_err(), "guest has no right to Read j");
    let none: &'static [(Access, &'static str)] = Box::leak(Box::new([read]));
    assert_eq!(ask(none, COPY).unwrap_err(), "guest has no right to Insert copy");
    assert_eq!(member.rows("SHOW JOBS"), Vec::<String>::new());
    let both: &'static [(Access, &'static str)] = Box::leak(Box::new([read, write]));
    ask(both, COPY).unwrap();
    assert_eq!(ask(none, "DROP JOB copying").unwrap_err(), "guest has no right to Insert copy");
    assert_eq!(ask(none, "SHOW JOBS").unwrap_err(), "guest has no right to Read information_schema.jobs");
    ask(both, "DROP JOB copying").unwrap();
}

#[test]
fn jobs_take_no_place_of_queries() {
    let member = numbers(SqlSettings { queries: 1, time_limit_ms: Some(60_000), ..Default::default() });
    for number in 0..5 {
        member.ask(&COPY.replace("copying", &format!("job{number}"))).unwrap();
    }
    member.put("j", 1_i64, 1_i64);
    wait_until("a query runs beside them", || copied(&member) == 1);
    assert_eq!(member.rows("SHOW JOBS").len(), 5);
}

#[test]
fn a_shutdown_does_not_wait_for_jobs_that_were_ended() {
    let member = numbers(SqlSettings::default());
    member.ask(COPY).unwrap();
    member.put("j", 1_i64, 1_i64);
    wait_until("it runs", || copied(&member) == 1);
    block_on(member.sql.end_jobs());
    let report = member.stages.shutdown(Shutdown::Drain).unwrap();
    assert_eq!(report.cut_short, Vec::<&str>::new());
}

#[test]
fn a_job_that_was_dropped_writes_nothing_more() {
    let member = numbers(SqlSettings::default());
    member
        .ask("CREATE JOB busy AS SINK INTO copy SELECT v, v * 2 FROM TABLE(generate_stream(1000000))")
        .unwrap();
    wait_until("it writes", || copied(&member) > 10_000);
    member.ask("DROP JOB busy").unwrap();
    let written = copied(&member);
    for round in 0..20 {
        assert_eq!(copied(&member), written, "{round}");
    }
    idle(&member.sql);
}

#[test]
fn a_job_that_is_lapped_fails_and_says_what_to_do() {
    // Some two changes for each partition, and a job that is never fast enough: all changes are of one key, written at once.
    let member = with(SqlSettings::default(), 600);
    for map in ["j", "copy"] {
        let text = format!(
            "CREATE MAPPING {map} TYPE IMap OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'bigint')"
        );
        member.ask(&text).unwrap();
    }
    member.ask(COPY).unwrap();
    let mut value = 0_i64;
    wait_until("it is lapped", || {
        value += 1;
        let map = member.grid.map("j");
        let puts: Vec<_> =
            (0..1_000_i64).map(|_| map.set(1_i64.to_data().unwrap(), value.to_data().unwrap())).collect();
        puts.into_iter().for_each(|put| put.wait().unwrap());
        member.rows("SHOW JOBS")[0].starts_with("copying; failed; ")
    });
    let row = member.rows("SHOW JOBS").remove(0);
    assert!(row.contains("journal of map \"j\"") && row.contains("larger capacity"), "{row}");
}

/// The statements of a page of the documentation, in its order.
fn documented(part: &str) -> String {
    const PAGE: &str = include_str!("../../../../docs/sql-streams.md");
    let found = filbert_sql::statements(
        PAGE.split("```sql")
            .skip(1)
            .filter_map(|block| block.split("```").next())
            .find(|block| block.contains(part))
            .expect("a block of statements"),
    )
    .into_iter()
    .find(|statement| statement.contains(part))
    .expect("a statement");
    found.to_owned()
}

#[test]
fn the_examples_of_the_documentation_run() {
    let stages = Stages::builder().set("fragment.threads", 2).start().unwrap();
    let mut maps = GridSettings::default();
    let journal = Some(JournalSettings { capacity: 100_000, ..Default::default() });
    maps.maps.set("trades", MapSettings { journal, ..Default::default() });
    let grid = Grid::with(&stages, maps, Registry::new());
    let sql = Sql::start(&stages, SqlSettings::default()).unwrap();
    sql.attach(&grid).unwrap();
    let session = sql.session();
    let member = Member { stages, grid, sql, session };
    for part in ["CREATE MAPPING trades", "CREATE MAPPING minutes", "CREATE JOB candles"] {
        member.ask(&documented(part)).unwrap_or_else(|error| panic!("{part}: {error}"));
    }
    let changes = member.stream(&documented("__event, __key, price, __old"));
    let new = member.stream(&documented("price > 100"));
    let at = |time: &str| format!("2024-02-29T{time}");
    for (time, price) in [("10:00:10", 40), ("10:00:50", 42), ("10:01:05", 120)] {
        let value = serde_json::json!({"symbol": "HAZ", "price": price, "traded": at(time)});
        member.put_json("trades", 1, value);
    }
    assert_eq!(changes.take(1), ["ADDED; 1; 40; NULL"]);
    assert!(new.take(1)[0].contains("HAZ; 120"));
    wait_until("a minute is there", || {
        member.rows(&documented("FROM minutes ORDER BY")) == ["10:00; HAZ; 2; 42"]
    });
    assert_eq!(member.rows(&documented("LIMIT 3")), ["3; 120"]);
    assert_eq!(
        member.ask(&documented("generate_series(0, 9)")).unwrap(),
        ["-5; 5; 10", "0; 10; 45", "5; 15; 35"]
    );
    assert_eq!(member.rows(&documented("SHOW JOBS")).len(), 1);
    member.ask(&documented("DROP JOB")).unwrap();
    changes.cancel();
    new.cancel();
}
