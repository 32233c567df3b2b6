//! `COPY` from and to the client.

use crate::client::{Client, Member, Reply};

/// What came up to the answer `G`, which asks for rows; the failure where none are asked for.
fn begins(client: &mut Client, sql: &str) -> Option<Reply> {
    client.send('Q', format!("{sql}\0").as_bytes());
    let message = client.receive().unwrap();
    if message.kind == 'G' {
        return None;
    }
    assert_eq!(message.kind, 'E', "{message:?}");
    let rest = client.until_ready();
    Some(rest)
}

/// Copies bytes in, in pieces of so many.
fn copy_in(client: &mut Client, sql: &str, bytes: &[u8], piece: usize) -> Reply {
    assert!(begins(client, sql).is_none(), "{sql}");
    for piece in bytes.chunks(piece) {
        client.send('d', piece);
    }
    client.send('c', &[]);
    client.until_ready()
}

/// What is copied out, and what else came.
fn copy_out(client: &mut Client, sql: &str) -> (Vec<u8>, String) {
    client.send('Q', format!("{sql}\0").as_bytes());
    let (mut bytes, mut kinds) = (Vec::new(), String::new());
    loop {
        let message = client.receive().unwrap();
        kinds.push(message.kind);
        match message.kind {
            'd' => bytes.extend(&message.body),
            'E' => panic!("{}", String::from_utf8_lossy(&message.body)),
            'C' => kinds.push_str(&String::from_utf8_lossy(&message.body)),
            'Z' => return (bytes, kinds.replace('d', "")),
            _ => {}
        }
    }
}

fn with_table(client: &mut Client) {
    let kinds =
        "id bigint, name text, price numeric, born date, seen timestamptz, is_in boolean, bytes bytea";
    client.query(&format!("CREATE TABLE t ({kinds})")).ok();
}

#[test]
fn rows_come_in_as_text_and_csv() {
    let member = Member::start();
    let mut client = member.client();
    with_table(&mut client);
    client.query("SET TIME ZONE 'Europe/Oslo'").ok();
    let text = "1\tone\\ttwo\t1.50\t2024-02-29\t2000-06-01 12:00:00\tt\t\\\\x00ff\n2\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\n";
    for piece in [1, 7, 1_000] {
        let reply = copy_in(&mut client, "COPY t FROM STDIN", text.as_bytes(), piece).ok();
        assert_eq!((reply.tags[0].as_str(), reply.status), ("COPY 2", 'I'));
    }
    let csv = "name,id\n\"a,\"\"b\"\"\nc\",3\n,4\n";
    let reply =
        copy_in(&mut client, "COPY t (name, id) FROM STDIN WITH (FORMAT csv, HEADER)", csv.as_bytes(), 5);
    assert_eq!(reply.ok().tags, ["COPY 2"]);
    let rows = client
        .query("SELECT DISTINCT id, name, seen, is_in, bytes, born, price = 1.5 FROM t ORDER BY id")
        .ok();
    assert_eq!(
        rows.texts(),
        [
            ["1", "one\ttwo", "2000-06-01 12:00:00+02", "t", "\\x00ff", "2024-02-29", "t"],
            ["2", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL"],
            ["3", "a,\"b\"\nc", "NULL", "NULL", "NULL", "NULL", "NULL"],
            ["4", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL"],
        ]
    );
    assert_eq!(client.query("SELECT count(*) FROM t").ok().texts(), [["8"]]);
}

#[test]
fn rows_come_in_as_binary_and_go_out_the_same() {
    let member = Member::start();
    let mut client = member.client();
    with_table(&mut client);
    client.query("CREATE TABLE u (id bigint, name text, price numeric, born date, seen timestamptz, is_in boolean, bytes bytea)").ok();
    client
        .query("INSERT INTO t VALUES (1, 'x', 1.25, DATE '2024-02-29', '2000-06-01 12:00:00Z', true, '\\x00ff'), (2, NULL, NULL, NULL, NULL, NULL, NULL)")
        .ok();
    let (bytes, kinds) = copy_out(&mut client, "COPY t TO STDOUT (FORMAT binary)");
    assert!(bytes.starts_with(b"PGCOPY\n\xff\r\n\0") && bytes.ends_with(&[0xff, 0xff]));
    assert_eq!(kinds, "HcCCOPY 2\0Z");
    assert_eq!(copy_in(&mut client, "COPY u FROM STDIN BINARY", &bytes, 11).ok().tags, ["COPY 2"]);
    let both =
        ["t", "u"].map(|table| client.query(&format!("SELECT * FROM {table} ORDER BY id")).ok().texts());
    assert_eq!(both[0], both[1]);
    let (text, _) = copy_out(&mut client, "COPY u TO STDOUT");
    assert_eq!(copy_in(&mut client, "COPY t FROM STDIN", &text, 13).ok().tags, ["COPY 2"]);
    assert_eq!(client.query("SELECT DISTINCT * FROM t ORDER BY id").ok().texts(), both[1]);
}

#[test]
fn rows_go_out_as_they_are_asked_for() {
    let member = Member::with_cities();
    let mut client = member.client();
    let cities = "SELECT __key AS name, this AS people FROM cities ORDER BY this DESC";
    let (csv, kinds) = copy_out(&mut client, &format!("COPY ({cities}) TO STDOUT WITH CSV HEADER"));
    assert_eq!(String::from_utf8(csv).unwrap(), "name,people\nOslo,709000\nBergen,289000\nTromsø,77000\n");
    assert_eq!(kinds, "HcCCOPY 3\0Z");
    let odd = "SELECT 'a\tb\\c' AS x, '' AS y, NULL AS z, 'say \"hi\", you' AS w";
    let out = |client: &mut Client, options: &str| {
        String::from_utf8(copy_out(client, &format!("COPY ({odd}) TO STDOUT {options}")).0).unwrap()
    };
    assert_eq!(out(&mut client, ""), "a\\tb\\\\c\t\t\\N\tsay \"hi\", you\n");
    assert_eq!(out(&mut client, "(FORMAT csv)"), "a\tb\\c,\"\",,\"say \"\"hi\"\", you\"\n");
    assert_eq!(
        out(&mut client, "(FORMAT csv, DELIMITER ';', NULL '-', FORCE_QUOTE (y))"),
        "a\tb\\c;\"\";-;\"say \"\"hi\"\", you\"\n"
    );
    // By the extended protocol, too.
    client.parse("", "COPY cities (this) TO STDOUT", &[]);
    client.bind("", "", 0, &[], 0);
    client.send('D', b"P\0");
    client.execute("", 0);
    assert_eq!(client.sync().ok().kinds, "12nHdddcCZ");
    // What changes rows is no query.
    assert_eq!(client.query("COPY (DELETE FROM cities) TO STDOUT").errors.len(), 1);
    assert_eq!(client.query("SELECT count(*) FROM cities").ok().texts(), [["3"]]);
}

#[test]
fn maps_are_copied_into() {
    let member = Member::with_cities();
    let mut client = member.client();
    let reply =
        copy_in(&mut client, "COPY cities (__key, this) FROM STDIN", b"Moss\t50000\nHamar\t28000\n", 9);
    assert_eq!(reply.ok().tags, ["COPY 2"]);
    let cities = member.grid.typed_map::<String, i64>("cities");
    assert_eq!(cities.get("Hamar").wait().unwrap(), Some(28_000));
    let reply = copy_in(&mut client, "COPY cities FROM STDIN", b"Lom\t2400\n", 3);
    assert_eq!(reply.ok().tags, ["COPY 1"]);
    // A key that is taken, as INSERT says it.
    let taken = copy_in(&mut client, "COPY cities FROM STDIN", b"Lom\t1\n", 3);
    assert!(taken.errors[0].1.contains("lines 1 to 1"), "{:?}", taken.errors);
}

#[test]
fn what_is_wrong_is_said_with_line_and_column() {
    let member = Member::start();
    let mut client = member.client();
    client.query("CREATE TABLE t (id bigint, name text)").ok();
    for (bytes, code, part) in [
        (&b"1\ta\nx\tb\n"[..], "22P02", "line 2, column \"id\""),
        (b"1\n", "22P04", "line 1: missing data for column \"name\""),
        (b"1\ta\tb\n", "22P04", "line 1: extra data"),
        (b"1\t\xff\n", "22021", "line 1, column \"name\""),
    ] {
        let reply = copy_in(&mut client, "COPY t FROM STDIN", bytes, 100);
        assert!(reply.code() == code && reply.errors[0].1.contains(part), "{:?}", reply.errors);
    }
    assert_eq!(client.query("SELECT count(*) FROM t").ok().texts(), [["0"]]);
    // The client gives up.
    assert!(begins(&mut client, "COPY t FROM STDIN").is_none());
    client.send('d', b"1\ta\n");
    client.send('f', b"no more\0");
    let reply = client.until_ready();
    assert!(reply.code() == "57014" && reply.errors[0].1.contains("no more"), "{:?}", reply.errors);
    // Before a row is asked for.
    for sql in ["COPY nothing FROM STDIN", "COPY t (nothing) FROM STDIN", "COPY t FROM STDIN (FORMAT xml)"] {
        assert_eq!(begins(&mut client, sql).unwrap().status, 'I', "{sql}");
    }
    client.query("BEGIN READ ONLY").ok();
    assert_eq!(begins(&mut client, "COPY t FROM STDIN").unwrap().status, 'E');
    client.query("ROLLBACK").ok();
    assert_eq!(client.query("SELECT 1").ok().texts(), [["1"]]);
}

/// Bug: each was stored as something else than it says.
#[test]
fn half_dates_and_stray_carriage_returns_are_not_stored() {
    let member = Member::start();
    let mut client = member.client();
    client.query("CREATE TABLE t (day date, name text)").ok();
    let copy = "COPY t FROM STDIN";
    for (sql, bytes, code, part) in [
        (copy, &b"2026-03-31\ta\n2026-03-3x\tb\n"[..], "22P02", "line 2, column \"day\""),
        ("COPY t FROM STDIN CSV", b"2026-03-31,a\n2026-03-30,b\r\n", "22P04", "line 2: unquoted carriage"),
    ] {
        let reply = copy_in(&mut client, sql, bytes, 100);
        assert!(reply.code() == code && reply.errors[0].1.contains(part), "{:?}", reply.errors);
    }
    client.parse("", "INSERT INTO t (day) VALUES ($1)", &[]);
    client.bind("", "", 0, &[Some(b"2026-03-3x")], 0);
    client.execute("", 0);
    assert_eq!(client.sync().code(), "22P02");
    assert_eq!(client.query("SELECT count(*) FROM t").ok().texts(), [["0"]]);
    copy_in(&mut client, copy, b"2026-3-1\ta\n", 100).ok();
    assert_eq!(client.query("SELECT day FROM t").ok().texts(), [["2026-03-01"]]);
}

#[test]
fn many_rows_are_copied_in_parts_and_the_error_says_which_stay() {
    let member = Member::start();
    let mut client = member.client();
    client.query("CREATE TABLE t (id bigint, name text)").ok();
    let mut rows: String = (0..30_000).map(|at| format!("{at}\tname of {at}\n")).collect();
    assert_eq!(copy_in(&mut client, "COPY t FROM STDIN", rows.as_bytes(), 50_000).ok().tags, ["COPY 30000"]);
    let sum = "SELECT count(*), sum(id), max(name) FROM t";
    assert_eq!(client.query(sum).ok().texts(), [["30000", "449985000", "name of 9999"]]);
    rows.push_str("wrong\tx\n");
    let reply = copy_in(&mut client, "COPY t FROM STDIN", rows.as_bytes(), 50_000);
    let (code, said) = &reply.errors[0];
    assert!(code == "22P02" && said.contains("line 30001, column \"id\""), "{said}");
    let stay: u64 =
        said.split("the ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
    let count = client.query("SELECT count(*) FROM t").ok().texts()[0][0].parse::<u64>().unwrap();
    assert_eq!(count, 30_000 + stay);
    assert!(stay > 0, "{said}");
}
