//! The extended protocol: prepared statements, values, portals.

use crate::client::Member;

#[test]
fn a_statement_is_prepared_once_and_run_with_values() {
    let member = Member::with_cities();
    let mut client = member.client();
    client.parse("s", "SELECT __key AS name FROM cities WHERE this > $1 ORDER BY this", &[]);
    client.send('D', b"Ss\0");
    let described = client.sync().ok();
    assert_eq!(described.parameter_oids, [20]);
    assert_eq!(described.columns, [("name".to_owned(), 25)]);
    assert_eq!(described.kinds, "1tTZ");
    for (least, names) in [("100000", vec!["Bergen", "Oslo"]), ("300000", vec!["Oslo"]), ("1000000", vec![])]
    {
        client.bind("", "s", 0, &[Some(least.as_bytes())], 0);
        client.execute("", 0);
        let reply = client.sync().ok();
        let expected: Vec<Vec<String>> = names.iter().map(|name| vec![(*name).to_owned()]).collect();
        assert_eq!(reply.texts(), expected);
        assert_eq!(reply.tags, [format!("SELECT {}", names.len())]);
    }
    // In binary, both ways.
    client.bind("", "s", 1, &[Some(&300_000_i64.to_be_bytes())], 1);
    client.execute("", 0);
    assert_eq!(client.sync().ok().texts(), [["Oslo"]]);
    client.send('C', b"Ss\0");
    client.bind("", "s", 0, &[Some(b"1")], 0);
    let reply = client.sync();
    assert_eq!((reply.code(), reply.kinds.as_str()), ("26000", "3EZ"));
}

#[test]
fn types_that_a_client_declares_hold() {
    let member = Member::start();
    let mut client = member.client();
    client.parse("", "SELECT $1 AS a, $2 AS b, $3 AS c", &[23, 1082, 0]);
    client.send('D', b"S\0");
    let described = client.sync().ok();
    assert_eq!(described.parameter_oids, [23, 1082, 25]);
    assert_eq!(described.columns.iter().map(|(_, oid)| *oid).collect::<Vec<_>>()[..2], [23, 1082]);
    client.parse("", "SELECT $1 + 1 AS a, $2 AS b", &[23, 1082]);
    client.bind("", "", 1, &[Some(&41_i32.to_be_bytes()), Some(&1_i32.to_be_bytes())], 0);
    client.send('D', b"P\0");
    client.execute("", 0);
    assert_eq!(client.sync().ok().texts(), [["42", "2000-01-02"]]);
}

#[test]
fn values_of_every_type_come_back_in_binary() {
    let member = Member::start();
    let mut client = member.client();
    let numeric: &[u8] = &[0, 2, 0, 0, 0x40, 0, 0, 1, 0, 1, 0x13, 0x88];
    let cases: [(u32, &[u8]); 11] = [
        (16, &[1]),
        (20, &258_i64.to_be_bytes()),
        (21, &7_i16.to_be_bytes()),
        (23, &(-9_i32).to_be_bytes()),
        (700, &1.5_f32.to_be_bytes()),
        (701, &(-2.25_f64).to_be_bytes()),
        (25, "gr\u{f6}\u{df}e".as_bytes()),
        (17, &[0, 255, 1]),
        (1082, &8_000_i32.to_be_bytes()),
        (1083, &3_600_000_000_i64.to_be_bytes()),
        (1114, &752_000_000_000_000_i64.to_be_bytes()),
    ];
    for (oid, bytes) in cases {
        client.parse("", "SELECT $1 AS v", &[oid]);
        client.bind("", "", 1, &[Some(bytes)], 1);
        client.send('D', b"P\0");
        client.execute("", 0);
        let reply = client.sync().ok();
        assert_eq!(reply.columns[0].1, oid);
        assert_eq!(reply.rows, [[Some(bytes.to_vec())]], "type {oid}");
        client.bind("", "", 1, &[None], 1);
        client.execute("", 0);
        assert_eq!(client.sync().ok().rows, [[None]], "type {oid}");
    }
    // Numbers have the scale of their type.
    client.parse("", "SELECT CAST($1 AS DECIMAL(10, 1)) AS v", &[1700]);
    client.bind("", "", 1, &[Some(numeric)], 1);
    client.execute("", 0);
    assert_eq!(client.sync().ok().rows, [[Some(numeric.to_vec())]]);
}

#[test]
fn a_portal_gives_as_many_rows_as_are_asked_for() {
    let member = Member::start();
    let mut client = member.client();
    client.query("BEGIN").ok();
    client.parse("", "SELECT value FROM generate_series(1, 7)", &[]);
    client.bind("p", "", 0, &[], 0);
    client.execute("p", 3);
    let first = client.sync().ok();
    assert_eq!((first.texts().len(), first.kinds.as_str(), first.status), (3, "12DDDsZ", 'T'));
    client.execute("p", 3);
    let second = client.sync().ok();
    assert_eq!(second.texts(), [["4"], ["5"], ["6"]]);
    client.execute("p", 0);
    let last = client.sync().ok();
    assert_eq!(
        (last.texts(), last.tags.as_slice()),
        (vec![vec!["7".to_owned()]], &["SELECT 1".to_owned()][..])
    );
    client.query("COMMIT").ok();
    client.execute("p", 0);
    assert_eq!(client.sync().code(), "34000");
    // Outside of a transaction it ends with the next Sync, and so does its query.
    client.parse("", "SELECT a.value FROM generate_series(1, 100000) a, generate_series(1, 100000) b", &[]);
    client.bind("q", "", 0, &[], 0);
    client.execute("q", 1);
    assert_eq!(client.sync().ok().rows.len(), 1);
    crate::client::eventually("the query has ended", || member.sql.snapshot().running == 0);
}

#[test]
fn after_a_failure_nothing_happens_until_sync() {
    let member = Member::with_cities();
    let mut client = member.client();
    client.parse("", "SELECT nothing FROM cities", &[]);
    client.bind("", "", 0, &[], 0);
    client.execute("", 0);
    client.parse("t", "DELETE FROM cities", &[]);
    client.bind("", "t", 0, &[], 0);
    client.execute("", 0);
    let reply = client.sync();
    assert_eq!((reply.code(), reply.kinds.as_str()), ("42703", "EZ"));
    assert_eq!(client.query("SELECT count(*) AS n FROM cities").ok().texts(), [["3"]]);
}

#[test]
fn what_has_no_rows_says_so() {
    let member = Member::with_cities();
    let mut client = member.client();
    for (sql, tag) in
        [("INSERT INTO cities VALUES ($1, $2)", "INSERT 0 1"), ("BEGIN", "BEGIN"), ("COMMIT", "COMMIT")]
    {
        client.parse("", sql, &[]);
        let values: &[Option<&[u8]>] = if sql.contains('$') { &[Some(b"Moss"), Some(b"50000")] } else { &[] };
        client.bind("", "", 0, values, 0);
        client.send('D', b"P\0");
        client.execute("", 0);
        let reply = client.sync().ok();
        assert_eq!((reply.kinds.as_str(), reply.tags[0].as_str()), ("12nCZ", tag), "{sql}");
    }
    client.parse("", "", &[]);
    client.bind("", "", 0, &[], 0);
    client.execute("", 0);
    assert_eq!(client.sync().ok().kinds, "12IZ");
    client.parse("", "SHOW server_encoding", &[]);
    client.bind("", "", 0, &[], 0);
    client.send('D', b"P\0");
    client.execute("", 0);
    assert_eq!(client.sync().ok().texts(), [["UTF8"]]);
}

#[test]
fn several_requests_at_once_are_answered_in_order() {
    let member = Member::start();
    let mut client = member.client();
    client.parse("s", "SELECT $1 AS v", &[23]);
    for number in 0..50 {
        client.bind("", "s", 0, &[Some(number.to_string().as_bytes())], 0);
        client.execute("", 0);
    }
    let reply = client.sync().ok();
    let expected: Vec<Vec<String>> = (0..50).map(|number| vec![number.to_string()]).collect();
    assert_eq!(reply.texts(), expected);
}

#[test]
fn flush_sends_what_there_is() {
    let member = Member::start();
    let mut client = member.client();
    client.parse("", "SELECT 1 AS a", &[]);
    client.send('H', &[]);
    assert_eq!(client.receive().unwrap().kind, '1');
    client.sync().ok();
}

/// A row a second, without end.
const SLOW: &str = "SELECT v FROM TABLE(generate_stream(1))";

/// Bug: rows stayed in the buffer until it was full, however long that took.
#[test]
fn rows_do_not_wait_for_those_that_are_not_there_yet() {
    let member = Member::start();
    let mut client = member.client();
    client.send('Q', format!("{SLOW}\0").as_bytes());
    assert_eq!(client.receive().unwrap().kind, 'T');
    assert_eq!(client.receive().unwrap().kind, 'D');
    // The buffer would be full in an hour; another connection ends it.
    let (process, key) = (client.process, client.key.clone());
    let mut other = crate::client::Client::connect(member.address());
    other.packet(80_877_102, &[&process.to_be_bytes()[..], &key].concat());
    assert_eq!(client.until_ready().code(), "57014");
}

/// Bug: with as many rows as were asked for, the portal waited for one more before it said so.
#[test]
fn a_portal_with_all_rows_that_were_asked_for_waits_for_no_more() {
    let member = Member::start();
    let mut client = member.client();
    client.parse("", SLOW, &[]);
    client.bind("", "", 0, &[], 0);
    client.execute("", 1);
    assert_eq!(client.sync().ok().kinds, "12DsZ");
    client.parse("", "SELECT 1 AS v", &[]);
    client.bind("", "", 0, &[], 0);
    client.execute("", 1);
    client.execute("", 1);
    let reply = client.sync().ok();
    assert_eq!((reply.kinds.as_str(), reply.tags.as_slice()), ("12DsCZ", &["SELECT 0".to_owned()][..]));
}

#[test]
fn results_have_as_many_columns_as_clients_can_count() {
    let member = Member::start();
    let mut client = member.client();
    let select = |columns: usize| {
        let columns: Vec<String> = (0..columns).map(|at| format!("{at} AS c{at}")).collect();
        format!("SELECT {}", columns.join(","))
    };
    assert_eq!(client.query(&select(1_664)).ok().columns.len(), 1_664);
    let refused = client.query(&select(1_665));
    assert_eq!(refused.code(), "54011");
    assert!(refused.errors[0].1.contains("1665 columns"), "{refused:?}");
    client.parse("", &select(1_665), &[]);
    assert_eq!(client.sync().code(), "54011");
    client.query("SELECT 1").ok();
}

/// Bug: a parameter whose type only a cast says was told as a text, and drivers refused values of the type that was meant.
#[test]
fn a_cast_says_the_type_of_its_parameter() {
    let member = Member::with_cities();
    let mut client = member.client();
    let text = "SELECT CAST($1 AS bool) AS b, $2::timestamp(3) without time zone AS at, CAST($3 AS varchar(9)) AS t, \
                count(*) FILTER (WHERE this > CAST($4 AS int8)) AS n, $5::text || $5::int4 AS first FROM cities";
    client.parse("", text, &[0, 0, 25]);
    client.send('D', b"S\0");
    let values: [&[u8]; 5] = [b"t", b"2026-01-02 03:04:05", b"x", b"100000", b"7"];
    client.bind("", "", 0, &values.map(Some), 0);
    client.execute("", 0);
    let reply = client.sync().ok();
    assert_eq!(reply.parameter_oids, [16, 1114, 25, 20, 25]);
    assert_eq!(reply.texts(), [["t", "2026-01-02 03:04:05", "x", "2", "77"]]);
}

#[test]
fn a_cast_to_a_number_of_many_digits_keeps_them_all() {
    let member = Member::start();
    let mut client = member.client();
    client.parse("", "SELECT CAST($1 AS numeric(20, 15)) AS v, CAST($2 AS numeric(38, 0)) AS w", &[]);
    let long: &[u8] = b"12345678901234567890123456789012345678";
    client.bind("", "", 0, &[Some(b"0.123456789012345"), Some(long)], 0);
    client.execute("", 0);
    let long = String::from_utf8(long.to_vec()).unwrap();
    assert_eq!(client.sync().ok().texts(), [["0.123456789012345".to_owned(), long]]);
}

/// Bug: clients were not told how many digits a decimal has, and took it for one of any length.
#[test]
fn decimals_are_told_with_their_digits() {
    let member = Member::start();
    let mut client = member.client();
    client.send('Q', b"SELECT CAST(1.5 AS numeric(12, 3)) AS v\0");
    let message = client.receive().unwrap();
    // One column: its name, its place, and the type with its size.
    let told = [&b"\0\x01v\0\0\0\0\0\0\x01"[..], &1_700_i32.to_be_bytes(), &(-1_i16).to_be_bytes()].concat();
    let digits = ((12_i32 << 16) + 3 + 4).to_be_bytes();
    assert_eq!((message.kind, &message.body[..20]), ('T', &[&told[..], &digits].concat()[..]));
    assert_eq!(client.until_ready().ok().texts(), [["1.500"]]);
}

#[test]
fn untyped_parameters_have_the_types_of_their_places() {
    let member = Member::with_cities();
    let mut client = member.client();
    client.parse("", "SELECT __key FROM cities ORDER BY this LIMIT $1 OFFSET $2", &[]);
    client.send('D', b"S\0");
    client.bind("", "", 0, &[Some(b"1"), Some(b"1")], 0);
    client.execute("", 0);
    let reply = client.sync().ok();
    assert_eq!(
        (reply.parameter_oids.as_slice(), reply.texts()),
        (&[20, 20][..], vec![vec!["Bergen".to_owned()]])
    );
    for (condition, oid, value, names) in [
        ("this = ANY($1)", 1016, &b"{77000,289000}"[..], vec!["Tromsø", "Bergen"]),
        ("__key = ANY ($1)", 1009, "{Oslo,\"Tromsø\"}".as_bytes(), vec!["Tromsø", "Oslo"]),
        ("this <> ALL($1)", 1016, b"{77000,289000}", vec!["Oslo"]),
        ("__key = ANY($1) AND this > 100000", 1009, b"{Oslo}", vec!["Oslo"]),
    ] {
        client.parse("", &format!("SELECT __key FROM cities WHERE {condition} ORDER BY this"), &[]);
        client.send('D', b"S\0");
        client.bind("", "", 0, &[Some(value)], 0);
        client.execute("", 0);
        let reply = client.sync().ok();
        assert_eq!(reply.parameter_oids, [oid], "{condition}");
        let expected: Vec<Vec<String>> = names.iter().map(|name| vec![(*name).to_owned()]).collect();
        assert_eq!(reply.texts(), expected, "{condition}");
    }
    client.query("PREPARE paged AS SELECT __key FROM cities ORDER BY this LIMIT $1").ok();
    assert_eq!(client.query("EXECUTE paged(1)").ok().texts(), [["Tromsø"]]);
    assert_eq!(
        client.query("SELECT '{1,2,NULL}'::int[] AS a, '{}'::text[] AS b").ok().texts(),
        [["{1,2,NULL}", "{}"]]
    );
}

#[test]
fn a_length_below_that_of_null_is_refused() {
    let member = Member::start();
    let mut client = member.client();
    client.parse("", "SELECT $1::text", &[]);
    client.sync().ok();
    // A portal and a statement without names, no formats, one value of length -2, no formats for results.
    client.send('B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0");
    assert_eq!(client.until_ready().code(), "08P01");
}

#[test]
fn dates_come_with_a_zone_that_they_do_not_have() {
    let member = Member::start();
    let mut client = member.client();
    client.parse("", "SELECT $1 AS day, $2 AS clock", &[1082, 1083]);
    client.bind("", "", 0, &[Some(b"1980-01-01 +00"), Some(b"10:00:00+01:00")], 0);
    client.execute("", 0);
    assert_eq!(client.sync().ok().texts(), [["1980-01-01", "10:00:00"]]);
}
