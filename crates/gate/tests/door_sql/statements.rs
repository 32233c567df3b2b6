//! SQL through the door: pages, ends, limits, and what hostile clients try.

use crate::line::{Client, Member, authentication, eventually, int};
use filbert_gate::hazelcast::{HazelcastSettings, Rights, User};
use filbert_wire::messages::answers::Done;
use filbert_wire::messages::client::{Authentication, Ping};
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::page::{Column, ColumnType, Page};
use filbert_wire::messages::sql::{Close, Execute, Executed, Fetch, Fetched};
use filbert_wire::messages::structures::{SqlError, SqlQueryId};
use filbert_wire::{Data, ToData};

/// Rows without end, in practice; the first comes at once.
const ENDLESS: &str =
    "SELECT b.value AS v FROM generate_series(1, 1000) a CROSS JOIN generate_series(1, 100000000) b";

/// Codes of problems.
const CANCELLED: i32 = 1003;
const TIMED_OUT: i32 = 1004;

fn id(number: i64) -> SqlQueryId {
    SqlQueryId { member_id_high: 1, member_id_low: 2, local_id_high: 3, local_id_low: number }
}

fn statement(number: i64, sql: &str) -> Execute {
    Execute {
        sql: sql.into(),
        parameters: Vec::new(),
        timeout_ms: -1,
        cursor_buffer_size: 4_096,
        schema: None,
        expected_result_type: 0,
        query_id: id(number),
        skip_update_statistics: false,
    }
}

fn fetch(number: i64, rows: i32) -> Fetch {
    Fetch { query_id: id(number), cursor_buffer_size: rows }
}

fn execute(client: &mut Client, sql: &str) -> Executed {
    client.call(&statement(0, sql)).unwrap()
}

fn problem(answer: Executed) -> SqlError {
    answer.error.expect("an answer where an error was due")
}

fn longs(page: &Page) -> Vec<i64> {
    match &page.columns[0] {
        Column::BigInt(values) => values.iter().flatten().copied().collect(),
        other => panic!("{other:?}"),
    }
}

fn texts(page: &Page, column: usize) -> Vec<String> {
    match &page.columns[column] {
        Column::Varchar(values) => values.iter().map(|value| value.as_deref().unwrap().to_owned()).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_statement_gives_its_columns_and_rows() {
    let member = Member::with_sql();
    let mut client = member.client();
    let answer = execute(&mut client, "SELECT 1 AS one, 'a' AS \"Two\", NULL AS three");
    let columns = answer.row_metadata.unwrap();
    let told: Vec<_> = columns.iter().map(|column| (&*column.name, column.kind)).collect();
    assert_eq!(told, [("one", ColumnType::BigInt as i32), ("Two", 0), ("three", ColumnType::Null as i32)]);
    let page = answer.row_page.unwrap();
    let expected =
        vec![Column::BigInt(vec![Some(1)]), Column::Varchar(vec![Some("a".into())]), Column::Null(1)];
    assert_eq!((page.last, page.columns), (true, expected));
    assert_eq!((answer.update_count, answer.error, answer.is_infinite_rows), (-1, None, false));
}

#[test]
fn pages_come_when_they_are_fetched_and_the_last_ends_the_statement() {
    let member = Member::with_sql();
    let mut client = member.client();
    let sql = "SELECT value FROM generate_series(1, 10) ORDER BY value";
    let first = client.call(&Execute { cursor_buffer_size: 4, ..statement(1, sql) }).unwrap();
    let mut seen = longs(first.row_page.as_ref().unwrap());
    assert_eq!((seen.as_slice(), first.row_page.unwrap().last), (&[1, 2, 3, 4][..], false));
    for last in [false, true] {
        let page = client.call(&fetch(1, 4)).unwrap().row_page.unwrap();
        seen.extend(longs(&page));
        assert_eq!(page.last, last);
    }
    assert_eq!(seen, (1..=10).collect::<Vec<_>>());
    let gone = client.call(&fetch(1, 4)).unwrap();
    assert!(gone.row_page.is_none() && gone.error.unwrap().code == -1);
    eventually("the query goes with its last page", || member.sql().snapshot().running == 0);
}

#[test]
fn nothing_is_read_ahead_of_a_client_that_does_not_fetch() {
    let member = Member::with_sql();
    let mut client = member.client();
    let first = client.call(&Execute { cursor_buffer_size: 1, ..statement(1, ENDLESS) }).unwrap();
    assert!(!first.row_page.unwrap().last);
    // Credits bound what waits in the exchanges of the query, whatever it could give.
    assert!(member.sql().snapshot().memory_bytes < 256 << 20);
    assert_eq!(member.sql().snapshot().running, 1);
    assert_eq!(longs(&client.call(&fetch(1, 3)).unwrap().row_page.unwrap()).len(), 3);
    assert_eq!(client.call(&Close { query_id: id(1) }).unwrap(), Done {});
    eventually("a closed statement is cancelled", || member.sql().snapshot().running == 0);
    assert!(client.call(&fetch(1, 3)).unwrap().error.is_some());
}

#[test]
fn statements_of_a_connection_that_is_gone_are_cancelled() {
    let member = Member::with_sql();
    let mut client = member.client();
    for number in 1..=3 {
        client.call(&Execute { cursor_buffer_size: 1, ..statement(number, ENDLESS) }).unwrap();
    }
    // One that has no first row yet, and so no answer.
    client.send(&statement(4, &format!("SELECT count(*) FROM ({ENDLESS}) t")));
    eventually("four run", || member.sql().snapshot().running == 4);
    drop(client);
    eventually("none runs", || member.sql().snapshot().running == 0);
    eventually("their memory is given back", || member.sql().snapshot().memory_bytes == 0);
}

#[test]
fn a_connection_has_so_many_statements_open_and_more_wait_their_turn() {
    let settings = HazelcastSettings { sql_statements: 2, ..HazelcastSettings::default() };
    let member = Member::with_sql_and(settings);
    let mut client = member.client();
    let open = |number| Execute { cursor_buffer_size: 1, ..statement(number, ENDLESS) };
    for number in [1, 2] {
        assert_eq!(client.call(&open(number)).unwrap().error, None);
    }
    let [third, fourth, fifth] = [3, 4, 5].map(|number| client.send(&open(number)));
    // Who waits can be ended, and has a time limit of its own.
    let hurried = client.send(&Execute { timeout_ms: 50, ..open(6) });
    let code = |answer: Executed| problem(answer).code;
    assert_eq!(code(client.answer::<Execute>(hurried).unwrap()), TIMED_OUT);
    client.call(&Close { query_id: id(4) }).unwrap();
    assert_eq!(code(client.answer::<Execute>(fourth).unwrap()), CANCELLED);
    for (over, next) in [(1, third), (2, fifth)] {
        client.call(&Close { query_id: id(over) }).unwrap();
        assert_eq!(client.answer::<Execute>(next).unwrap().error, None);
    }
    // Another connection has its own.
    assert_eq!(member.client().call(&open(1)).unwrap().error, None);
}

/// The threads of a program share one connection.
#[test]
fn a_thousand_statements_of_one_connection_at_once_are_all_answered() {
    let member = Member::with_sql();
    let mut client = member.client();
    let sent: Vec<i64> =
        (0..1_000).map(|number| client.send(&statement(number, "SELECT 1 AS one"))).collect();
    for correlation in sent {
        let answer = client.answer::<Execute>(correlation).unwrap();
        assert_eq!(answer.error, None);
        assert!(answer.row_page.unwrap().last);
    }
}

/// A row that never comes must not keep the program from its result: it could not even close it.
#[test]
fn a_stream_is_answered_before_its_first_row() {
    let member = Member::with_sql();
    let mut client = member.client();
    let text = "SELECT v FROM TABLE(generate_stream(10)) WHERE v < 0";
    let answer = client.call(&statement(1, text)).unwrap();
    assert_eq!((answer.error.clone(), answer.is_infinite_rows), (None, true));
    assert_eq!(answer.row_metadata.unwrap().len(), 1);
    assert!(!answer.row_page.unwrap().last);
    let waits = client.send(&fetch(1, 1));
    client.call(&Close { query_id: id(1) }).unwrap();
    assert!(client.answer::<Fetch>(waits).unwrap().error.is_some());
}

#[test]
fn ids_that_are_not_ones_own_or_used_twice_do_no_harm() {
    let member = Member::with_sql();
    let (mut client, mut other) = (member.client(), member.client());
    let open = Execute { cursor_buffer_size: 1, ..statement(1, ENDLESS) };
    client.call(&open).unwrap();
    assert!(problem(client.call(&open).unwrap()).message.unwrap().contains("id"));
    for number in [2, 0, -1, i64::MIN, i64::MAX] {
        assert!(client.call(&fetch(number, 1)).unwrap().error.is_some());
        assert_eq!(client.call(&Close { query_id: id(number) }).unwrap(), Done {});
    }
    for rows in [0, -1, i32::MIN] {
        assert!(client.call(&fetch(1, rows)).unwrap().error.is_some());
        assert!(
            problem(client.call(&Execute { cursor_buffer_size: rows, ..statement(9, "SELECT 1") }).unwrap())
                .code
                == -1
        );
    }
    // What another connection has open is not there.
    assert!(other.call(&fetch(1, 1)).unwrap().error.is_some());
    other.call(&Close { query_id: id(1) }).unwrap();
    assert_eq!(client.call(&fetch(1, 1)).unwrap().error, None);
    assert!(
        problem(client.call(&Execute { expected_result_type: 77, ..statement(5, "SELECT 1") }).unwrap()).code
            == -1
    );
}

#[test]
fn one_page_is_read_at_a_time() {
    let member = Member::with_sql();
    let mut client = member.client();
    client.call(&Execute { cursor_buffer_size: 1, ..statement(1, ENDLESS) }).unwrap();
    let sent: Vec<_> = (0..4).map(|_| client.send(&fetch(1, 20_000))).collect();
    let answers: Vec<Fetched> =
        sent.into_iter().map(|correlation| client.answer::<Fetch>(correlation).unwrap()).collect();
    assert!(answers[0].error.is_none());
    for answer in &answers {
        match &answer.error {
            Some(error) => assert!(error.message.as_ref().unwrap().contains("being read"), "{error:?}"),
            None => assert_eq!(longs(answer.row_page.as_ref().unwrap()).len(), 20_000),
        }
    }
}

#[test]
fn a_page_ends_where_its_bytes_do_and_has_a_row_at_least() {
    let settings =
        HazelcastSettings { sql_page_bytes: 10_000, answer_bytes: 100_000, ..HazelcastSettings::default() };
    let member = Member::with_sql_and(settings);
    let mut client = member.client();
    let sql = "SELECT repeat('x', 3000) AS t FROM generate_series(1, 10)";
    let first = client.call(&Execute { cursor_buffer_size: i32::MAX, ..statement(1, sql) }).unwrap();
    let (mut rows, mut page) = (0, first.row_page.unwrap());
    loop {
        rows += page.columns[0].rows();
        assert!((1..=3).contains(&page.columns[0].rows()), "{}", page.columns[0].rows());
        if page.last {
            break;
        }
        page = client.call(&fetch(1, i32::MAX)).unwrap().row_page.unwrap();
    }
    assert_eq!(rows, 10);
    let wide = execute(&mut client, "SELECT repeat('x', 50000) AS t").row_page.unwrap();
    assert_eq!(wide.columns[0].rows(), 1);
    // With another id: the one above may not know yet that its page was the last.
    let refused = client.call(&statement(2, "SELECT repeat('x', 200000) AS t")).unwrap();
    let refused = problem(refused);
    assert!(refused.message.unwrap().contains("answer_bytes"));
}

#[test]
fn a_statement_ends_when_its_time_is_over() {
    let member = Member::with_sql();
    let mut client = member.client();
    let sql = format!("SELECT count(*) FROM ({ENDLESS}) t");
    let late = problem(client.call(&Execute { timeout_ms: 50, ..statement(1, &sql) }).unwrap());
    assert_eq!(late.code, 1004);
    assert!(late.message.unwrap().contains("50 ms"));
    // One that waits for its client to fetch ends as well.
    let mut timeout_ms = 100;
    let open = |timeout_ms| Execute { timeout_ms, cursor_buffer_size: 1, ..statement(2, ENDLESS) };
    while let Some(late) = client.call(&open(timeout_ms)).unwrap().error {
        // On a busy machine the first page may take longer than that.
        assert_eq!(late.code, 1004);
        timeout_ms *= 2;
    }
    eventually("it ends", || member.sql().snapshot().running == 0);
    assert_eq!(client.call(&fetch(2, 1)).unwrap().error.unwrap().code, 1004);
    for timeout_ms in [0, i64::MIN, i64::MAX] {
        assert_eq!(client.call(&Execute { timeout_ms, ..statement(3, "SELECT 1") }).unwrap().error, None);
    }
}

#[test]
fn a_statement_is_closed_before_its_first_row() {
    let member = Member::with_sql();
    let mut client = member.client();
    let sent = client.send(&statement(1, &format!("SELECT count(*) FROM ({ENDLESS}) t")));
    client.call(&Close { query_id: id(1) }).unwrap();
    let answer = client.answer::<Execute>(sent).unwrap();
    assert_eq!(problem(answer).code, 1003);
    eventually("it is cancelled", || member.sql().snapshot().running == 0);
}

#[test]
fn parameters_stand_for_question_marks() {
    let member = Member::with_sql();
    let mut client = member.client();
    let of = |sql: &str, parameters: Vec<Option<Data>>| Execute { parameters, ..statement(1, sql) };
    let sql = "SELECT '?' || ? AS \"a?\", ? + 1 /* ? */ AS b, ? AS c";
    let given = vec![Some("x".to_data().unwrap()), Some(41_i64.to_data().unwrap()), None];
    let page = client.call(&of(sql, given)).unwrap().row_page.unwrap();
    assert_eq!(page.columns[0], Column::Varchar(vec![Some("?x".into())]));
    assert_eq!(page.columns[1], Column::BigInt(vec![Some(42)]));
    for parameters in [vec![], vec![Some(int(1)), Some(int(2))]] {
        assert_eq!(problem(client.call(&of("SELECT ? + 1", parameters)).unwrap()).code, 1008);
    }
    let portable = Some(Data::new(-1, &[0; 40]));
    let refused = problem(client.call(&of("SELECT ?", vec![portable])).unwrap());
    assert!(refused.code == 2000 && refused.message.unwrap().contains("parameter 1"));
}

#[test]
fn changes_are_counted_and_what_was_expected_is_checked_before_they_happen() {
    let member = Member::with_sql();
    let mut client = member.client();
    let mapping = "CREATE MAPPING m TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'int')";
    let created = execute(&mut client, mapping);
    assert_eq!((created.update_count, created.row_page, created.error), (0, None, None));
    assert_eq!(execute(&mut client, "INSERT INTO m VALUES (1, 10), (2, 20)").update_count, 2);
    assert_eq!(execute(&mut client, "UPDATE m SET this = 11 WHERE __key = 1").update_count, 1);
    let rows = Execute { expected_result_type: 1, ..statement(1, "DELETE FROM m") };
    assert_eq!(problem(client.call(&rows).unwrap()).code, -1);
    assert_eq!(member.grid.map("m").size().wait().unwrap(), 2);
    let count = Execute { expected_result_type: 2, ..statement(1, "SELECT * FROM m") };
    assert_eq!(problem(client.call(&count).unwrap()).code, -1);
    let delete = Execute { expected_result_type: 2, ..statement(1, "DELETE FROM m") };
    assert_eq!(client.call(&delete).unwrap().update_count, 2);
    let select = Execute { expected_result_type: 1, ..statement(1, "SELECT * FROM m") };
    assert!(client.call(&select).unwrap().row_page.unwrap().last);
}

#[test]
fn errors_have_codes_and_the_member() {
    let member = Member::with_sql();
    let mut client = member.client();
    let mut code = |sql: &str| {
        let error = problem(execute(&mut client, sql));
        assert_eq!(error.originating_member, member.grid.member());
        (error.code, error.message.unwrap().to_string(), error.suggestion.map(|text| text.to_string()))
    };
    assert_eq!(code("SELEC 1").0, 1008);
    assert_eq!(code("SELECT nowhere FROM generate_series(1, 2)").0, 1008);
    assert_eq!(code("SELECT 1; SELECT 2").0, 1008);
    assert_eq!(code("SELECT CAST('a' AS INT)").0, 2000);
    let _ = member.grid.map("Orders");
    let (number, text, suggestion) = code("SELECT * FROM \"orders\"");
    assert!(number == 1010 && text.contains("orders"), "{number} {text}");
    assert_eq!(suggestion.as_deref(), Some("SELECT * FROM \"Orders\""));
    assert_eq!(code("SELECT * FROM nothing").2, None);
}

#[test]
fn without_an_engine_the_messages_say_so() {
    let member = Member::start();
    let mut client = member.client();
    assert_eq!(client.refused(&statement(1, "SELECT 1")), ErrorCode::UnsupportedOperation);
    assert_eq!(client.refused(&fetch(1, 1)), ErrorCode::UnsupportedOperation);
    assert!(client.call(&Ping {}).is_ok());
}

#[test]
fn a_user_sees_no_more_than_the_rights_allow() {
    let may = ["map/orders: read, create", "map/mine*", "map/inbox: put", "map/looked: index"]
        .iter()
        .map(|line| line.parse::<Rights>().unwrap())
        .collect();
    let user = User { name: "ann".into(), password: Some("secret".into()), token: None, may };
    let member =
        Member::with_sql_and(HazelcastSettings { users: vec![user], ..HazelcastSettings::default() });
    for name in ["orders", "mine", "secret", "Mine", "inbox", "looked", "pg_catalog.secret"] {
        member.grid.map(name).set(int(1), int(2)).wait().unwrap();
    }
    let mut client = Client::connect(member.address());
    let login =
        Authentication { username: Some("ann".into()), password: Some("secret".into()), ..authentication() };
    assert_eq!(client.log_in(&login).status, 0);
    for allowed in [
        "SELECT * FROM orders",
        "SELECT 1",
        "SELECT * FROM mine a JOIN orders b ON a.__key = b.__key",
        "INSERT INTO mine VALUES (5, 6)",
        "CREATE MAPPING mine2 TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'int')",
        "DELETE FROM mine",
        "DROP MAPPING mine2",
        // What a message of the protocol may do, SQL may.
        "INSERT INTO inbox VALUES (5, 6)",
        "CREATE INDEX i ON looked (this)",
    ] {
        assert_eq!(execute(&mut client, allowed).error, None, "{allowed}");
    }
    let listed = execute(&mut client, "SELECT table_name FROM information_schema.tables ORDER BY table_name");
    assert_eq!(texts(&listed.row_page.unwrap(), 0), ["mine", "orders"]);
    for refused in [
        "SELECT * FROM secret",
        "SELECT * FROM nothing",
        "SELECT * FROM \"pg_catalog.secret\"",
        "SELECT * FROM inbox",
        "DELETE FROM inbox",
        "SHOW QUERIES",
        "SELECT * FROM mine WHERE __key IN (SELECT __key FROM secret)",
        "WITH a AS (SELECT * FROM secret) SELECT * FROM a",
        "INSERT INTO orders VALUES (5, 6)",
        "INSERT INTO mine SELECT * FROM secret",
        "UPDATE orders SET this = 1",
        "DELETE FROM orders",
        "CREATE MAPPING mine3 EXTERNAL NAME secret TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'int')",
        "CREATE INDEX i ON secret (this)",
        "CREATE VIEW mine4 AS SELECT * FROM secret",
        "EXPLAIN SELECT * FROM secret",
        "SELECT * FROM information_schema.views",
        "SHOW TABLES",
        "SHOW MAPPINGS",
        "SELECT * FROM 'people.csv'",
        "SELECT * FROM '/etc/people.csv'",
        "CREATE EXTERNAL TABLE mine5 STORED AS CSV LOCATION '/etc/people.csv'",
        "COPY mine TO '/tmp/x.csv'",
    ] {
        let error = execute(&mut client, refused).error.unwrap_or_else(|| panic!("{refused} was allowed"));
        let text = error.message.unwrap();
        assert!(error.code == -1 && text.contains("\"ann\" has no right"), "{refused}: {text}");
        assert_eq!(error.suggestion, None);
    }
    assert!(member.door.counts().denied >= 23);
}

/// What Hazelcast's JDBC driver asks for `getTables` and `getColumns`, with its parameters.
#[test]
fn clients_see_tables_and_columns_as_hazelcast_names_them() {
    let member = Member::with_sql();
    let mut client = member.client();
    for text in [
        "CREATE MAPPING kinds (__key BIGINT, name VARCHAR, at TIMESTAMP WITH TIME ZONE, small TINYINT) TYPE IMap \
         OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'compact', 'valueCompactTypeName' = 'kinds')",
        "CREATE VIEW some_kinds AS SELECT __key AS id, at FROM kinds",
    ] {
        assert_eq!(execute(&mut client, text).error, None, "{text}");
    }
    let mut ask = |number: i64, sql: &str, parameters: &[&str]| {
        let parameters = parameters.iter().map(|text| Some(text.to_data().unwrap())).collect();
        let answer = client.call(&Execute { parameters, ..statement(number, sql) }).unwrap();
        assert_eq!(answer.error, None, "{sql}");
        answer.row_page.unwrap()
    };
    let tables = ask(
        1,
        "SELECT table_catalog TABLE_CAT, table_schema TABLE_SCHEM, table_name TABLE_NAME, CASE table_type WHEN 'BASE TABLE' THEN \
         'MAPPING' ELSE table_type END TABLE_TYPE, CAST(null as VARCHAR) REMARKS FROM information_schema.tables WHERE 1=1 \
         AND table_schema LIKE ? ORDER BY TABLE_TYPE, table_catalog, table_schema, table_name",
        &["%"],
    );
    assert_eq!(texts(&tables, 0), ["hazelcast", "hazelcast"]);
    assert_eq!(texts(&tables, 1), ["public", "public"]);
    assert_eq!(texts(&tables, 2), ["kinds", "some_kinds"]);
    assert_eq!(texts(&tables, 3), ["MAPPING", "VIEW"]);
    let columns = "SELECT table_name, column_name, data_type, is_nullable, ordinal_position FROM information_schema.columns  WHERE \
                   table_name LIKE ? AND column_name LIKE ? ORDER BY table_catalog, table_schema, table_name, ordinal_position ASC";
    let found = ask(2, columns, &["kinds", "%"]);
    assert_eq!(texts(&found, 1), ["__key", "name", "at", "small"]);
    assert_eq!(texts(&found, 2), ["BIGINT", "VARCHAR", "TIMESTAMP_WITH_TIME_ZONE", "TINYINT"]);
    assert_eq!(texts(&found, 3), ["true"; 4]);
    assert_eq!(found.columns[4], Column::Integer((1..=4).map(Some).collect()));
    let found = ask(3, columns, &["some%", "a_"]);
    assert_eq!((texts(&found, 0), texts(&found, 1)), (vec!["some_kinds".to_owned()], vec!["at".to_owned()]));
    // A parameter elsewhere, the name of the table before that of the column, and what the engine has beside them.
    let named = "SELECT information_schema.columns.column_name FROM information_schema.columns WHERE \
                 information_schema.columns.table_name = ? AND ordinal_position = 4";
    assert_eq!(texts(&ask(4, named, &["kinds"]), 0), ["small"]);
    assert!(!ask(5, "SELECT routine_name FROM information_schema.routines", &[]).columns.is_empty());
}
