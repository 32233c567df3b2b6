//! `psql` itself, where it is installed.

use crate::client::{Member, skipped};
use std::process::Command;

/// What psql prints for a command; `None` when there is no psql here.
fn psql(member: &Member, arguments: &[&str]) -> Option<String> {
    let port = member.address().port().to_string();
    let run = Command::new("psql")
        .args(["-X", "-h", "127.0.0.1", "-p", &port, "-U", "ann", "-d", "filbert", "-v", "ON_ERROR_STOP=1"])
        .args(arguments)
        .output();
    match run {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            skipped("there is no psql here (Debian: apt-get install postgresql-client)");
            None
        }
        Err(error) => panic!("{error}"),
        Ok(output) => {
            let (said, failed) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{arguments:?}: {said}{failed}");
            Some(format!("{said}{failed}"))
        }
    }
}

#[test]
fn queries_of_psql() {
    let member = Member::with_cities();
    let Some(said) = psql(&member, &["-At", "-c", "SELECT __key, this FROM cities ORDER BY this"]) else {
        return;
    };
    assert_eq!(said, "Tromsø|77000\nBergen|289000\nOslo|709000\n");
    let script =
        "BEGIN; INSERT INTO cities VALUES ('Moss', 50000); COMMIT; SELECT count(*) AS n FROM cities;";
    assert_eq!(psql(&member, &["-At", "-c", script]).unwrap(), "BEGIN\nINSERT 0 1\nCOMMIT\n4\n");
    let fetched =
        psql(&member, &["-At", "--csv", "-c", "SELECT value FROM generate_series(1, 30000)"]).unwrap();
    assert_eq!(fetched.lines().count(), 30_000);
}

#[test]
fn the_commands_that_describe() {
    let member = Member::with_cities();
    let Some(tables) = psql(&member, &["-At", "-c", "\\dt"]) else { return };
    assert_eq!(tables, "public|cities|table|filbert\n");
    assert_eq!(psql(&member, &["-At", "-c", "\\d"]).unwrap(), "public|cities|table|filbert\n");
    let described = psql(&member, &["-c", "\\d cities"]).unwrap();
    for word in ["Table \"public.cities\"", "__key", "this", "text", "bigint"] {
        assert!(described.contains(word), "{described}");
    }
    assert!(psql(&member, &["-At", "-c", "\\l"]).unwrap().starts_with("filbert|filbert|UTF8|C|C|"));
    assert!(psql(&member, &["-At", "-c", "\\dn"]).unwrap().contains("public|filbert"));
    assert!(psql(&member, &["-At", "-c", "\\du"]).unwrap().starts_with("filbert|"));
    assert!(psql(&member, &["-At", "-c", "\\dT int4"]).unwrap().contains("integer"));
    assert!(psql(&member, &["-c", "\\d+ cities"]).unwrap().contains("bigint"));
    member.client().query("CREATE VIEW large AS SELECT * FROM cities WHERE this > 100000").ok();
    assert_eq!(psql(&member, &["-At", "-c", "\\dv"]).unwrap(), "public|large|view|filbert\n");
    assert!(psql(&member, &["-c", "\\d large"]).unwrap().contains("View \"public.large\""));
    assert!(psql(&member, &["-At", "-c", "\\l+"]).unwrap().contains("filbert"));
    assert!(psql(&member, &["-At", "-c", "\\df sum"]).unwrap().starts_with("pg_catalog|sum|"));
    assert!(psql(&member, &["-At", "-c", "\\daS sum"]).unwrap().contains("|sum|"));
    for command in [
        "\\di",
        "\\df",
        "\\dv+",
        "\\dt+",
        "\\d+",
        "\\dn+",
        "\\du+",
        "\\dT",
        "\\l+",
        "\\ds",
        "\\dm",
        "\\conninfo",
    ] {
        psql(&member, &["-c", command]).unwrap();
    }
}

#[test]
fn psql_copies_from_and_to_its_own_files() {
    let member = Member::start();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(file("in.csv"), "id,name\n1,\"a, b\"\n2,\n").unwrap();
    if psql(&member, &["-c", "CREATE TABLE t (id bigint, name text)"]).is_none() {
        return;
    }
    let copied = psql(&member, &["-c", &format!("\\copy t from '{}' with csv header", file("in.csv"))]);
    assert_eq!(copied.unwrap(), "COPY 2\n");
    let out = format!("\\copy (select * from t order by id) to '{}'", file("out.txt"));
    assert_eq!(psql(&member, &["-c", &out]).unwrap(), "COPY 2\n");
    assert_eq!(std::fs::read_to_string(file("out.txt")).unwrap(), "1\ta, b\n2\t\\N\n");
}
