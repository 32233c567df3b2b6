//! Files as tables of `filbert sql`, as users have them: with other separators, compressed, arrays of JSON.

use crate::{command, filbert, text};
use std::path::Path;

/// `id;name\n1;filbert\n2;walnut\n`
const GZIP: [u8; 47] = [
    31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 76, 177, 206, 75, 204, 77, 229, 50, 180, 78, 203, 204, 73, 74, 45,
    42, 225, 50, 178, 46, 79, 204, 201, 43, 45, 225, 2, 0, 58, 252, 105, 239, 27, 0, 0, 0,
];

/// `id,name\n1,filbert\n2,walnut\n`
const ZSTD: [u8; 40] = [
    0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0xd9, 0x00, 0x00, 0x69, 0x64, 0x2c, 0x6e, 0x61, 0x6d, 0x65, 0x0a,
    0x31, 0x2c, 0x66, 0x69, 0x6c, 0x62, 0x65, 0x72, 0x74, 0x0a, 0x32, 0x2c, 0x77, 0x61, 0x6c, 0x6e, 0x75,
    0x74, 0x0a, 0x24, 0xbf, 0x69, 0x5f,
];

const NUTS: &str = "id,name\n1,filbert\n2,walnut";

/// Runs statements in which `DIR` is that folder; gives rows as CSV.
fn answered(folder: &Path, statements: &str) -> String {
    let ran = filbert(&["sql", &statements.replace("DIR", &folder.to_string_lossy()), "--format", "csv"]);
    assert_eq!(ran.status.code(), Some(0), "{statements}: {}", text(&ran.stderr));
    text(&ran.stdout)
}

fn refused(folder: &Path, statements: &str) -> String {
    let ran = filbert(&["sql", &statements.replace("DIR", &folder.to_string_lossy())]);
    assert_eq!(ran.status.code(), Some(1), "{statements}: {}", text(&ran.stdout));
    text(&ran.stderr)
}

#[test]
fn separators_are_found_and_compressed_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("a.tsv", b"id\tname\n1\tfilbert\n2\twalnut\n");
    write("b.csv", b"id;name\n1;filbert\n2;walnut\n");
    write("c.csv", b"id|name\n1|filbert\n2|walnut\n");
    write("d.csv.gz", &GZIP);
    write("e.csv.zst", &ZSTD);
    for name in ["a.tsv", "b.csv", "c.csv", "d.csv.gz", "e.csv.zst"] {
        let rows = answered(folder.path(), &format!("SELECT * FROM 'DIR/{name}' ORDER BY id"));
        assert_eq!(rows, NUTS, "{name}");
    }
    write("cut.csv.gz", &GZIP[..30]);
    let said = refused(folder.path(), "SELECT * FROM 'DIR/cut.csv.gz'");
    assert!(said.contains("cut.csv.gz: it cannot be unpacked"), "{said}");
    write("tabs.dat", b"id\tname\n1\tfilbert\n2\twalnut\n");
    let said = refused(folder.path(), "SELECT * FROM 'tabs.dat'");
    assert!(
        said.contains("its ending says not what is in it") && said.contains("read_csv('tabs.dat')"),
        "{said}"
    );
    assert_eq!(answered(folder.path(), "SELECT * FROM read_csv('DIR/tabs.dat') ORDER BY id"), NUTS);
}

#[test]
fn arrays_of_json_are_tables_with_the_columns_in_the_order_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(
        path("a.json"),
        "[\n  {\"ts\": 1, \"id\": \"x, ]\"},\n  {\"ts\": 2, \"amount\": 1.5}\n]\n",
    )
    .unwrap();
    assert_eq!(
        answered(folder.path(), "SELECT * FROM 'DIR/a.json' ORDER BY ts"),
        "ts,id,amount\n1,\"x, ]\",\n2,,1.5"
    );
    std::fs::write(path("b.ndjson"), "{\"z\": 1, \"a\": 2}\n{\"z\": 3, \"m\": 4}\n").unwrap();
    assert_eq!(answered(folder.path(), "SELECT * FROM 'DIR/b.ndjson' ORDER BY z"), "z,a,m\n1,2,\n3,,4");
    // Large enough to be read in parts, were it lines.
    let elements: Vec<String> =
        (0..400_000).map(|at| format!("{{\"n\": {at},\n\"text\": \"a, b ]\"}}")).collect();
    std::fs::write(path("large.json"), format!("[{}]", elements.join(","))).unwrap();
    assert_eq!(
        answered(folder.path(), "SELECT count(*) AS rows, sum(n) AS sum FROM 'DIR/large.json'"),
        "rows,sum\n400000,79999800000"
    );
}

#[test]
fn files_are_read_as_a_call_says() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "1~filbert\n2~\n").unwrap();
    let call = "SELECT * FROM read_csv('DIR/a.txt', delimiter => '~', header => false) ORDER BY 1";
    assert_eq!(answered(folder.path(), call), "column_1,column_2\n1,filbert\n2,");
    std::fs::write(folder.path().join("b.csv"), "id,name\n1,filbert\n2,walnut\n").unwrap();
    let texts = "SELECT r.id || '!' AS id FROM read_csv(['DIR/b.csv', 'DIR/b.csv'], all_varchar = true) r WHERE id = '1'";
    assert_eq!(answered(folder.path(), texts), "id\n1!");
    let twice = "COPY (SELECT 1 AS n) TO 'DIR/c.parquet'; SELECT n FROM read_parquet('DIR/c.parquet')";
    assert!(answered(folder.path(), twice).ends_with("n\n1"));
    let said = refused(folder.path(), "SELECT * FROM read_csv('DIR/b.csv', skip => 1)");
    assert!(said.contains("read_csv has no option skip; it has: delimiter"), "{said}");
    // A call is a file: with settings that allow none it is refused.
    let config = folder.path().join("filbert.toml");
    std::fs::write(&config, "[sql]\nrows = 10\n").unwrap();
    let statement = format!("SELECT * FROM read_csv('{}')", folder.path().join("b.csv").display());
    let denied = filbert(&["sql", &statement, "--config", &config.to_string_lossy()]);
    assert!(text(&denied.stderr).contains("sql.files"), "{}", text(&denied.stderr));
}

#[test]
fn a_table_is_summarized_column_by_column() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.csv"), "id,name\n1,filbert\n2,walnut\n3,\n4,walnut\n").unwrap();
    let rows = answered(folder.path(), "SUMMARIZE 'DIR/a.csv'");
    let lines: Vec<&str> = rows.lines().collect();
    let names = "column_name,column_type,min,max,approx_unique,avg,std,q25,q50,q75,count,null_percentage";
    assert_eq!(lines[0], names);
    assert!(lines[1].starts_with("id,BIGINT,1,4,4,2.5,") && lines[1].ends_with(",4,0.0"), "{rows}");
    assert_eq!(lines[2..], ["name,VARCHAR,filbert,walnut,2,,,,,,4,25.0"], "{rows}");
    let rows = answered(folder.path(), "SUMMARIZE SELECT 1 AS \"a \"\"b\"");
    assert!(rows.lines().nth(1).unwrap().starts_with("\"a \"\"b\",BIGINT,1,1,1,1.0,"), "{rows}");
    let said = refused(folder.path(), "SUMMARIZE nowhere");
    assert!(said.contains("there is no table \"nowhere\""), "{said}");
}

#[test]
fn a_guess_that_fails_says_how_to_read_text() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..1_500).map(|line| format!("{line},2026-01-01\n")).collect();
    std::fs::write(folder.path().join("days.csv"), format!("n,day\n{lines}1500,2024-02-30\n")).unwrap();
    let said = refused(folder.path(), "SELECT max(day) FROM 'DIR/days.csv'");
    assert!(said.contains("all_varchar => true") && said.contains("sample_size => -1"), "{said}");
    let rows =
        answered(folder.path(), "SELECT max(day) AS day FROM read_csv('DIR/days.csv', all_varchar => true)");
    assert_eq!(rows, "day\n2026-01-01");
    // Whoever declared the type needs no hint.
    let declared = "CREATE EXTERNAL TABLE t (n INT, day DATE) STORED AS CSV LOCATION 'DIR/days.csv'; SELECT max(day) FROM t";
    let said = refused(folder.path(), declared);
    assert!(said.contains("2024-02-30") && !said.contains("all_varchar"), "{said}");
    let option =
        "CREATE EXTERNAL TABLE u STORED AS CSV LOCATION 'DIR/days.csv' OPTIONS ('format.null_regex' 'NA')";
    let said = refused(folder.path(), option);
    assert!(said.contains("null_regex") && said.contains("nullif"), "{said}");
}

/// Paths in a settings file begin at its folder, paths in a statement where the command is started.
#[test]
fn relative_paths_begin_where_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let (here, settings) = (folder.path().join("here"), folder.path().join("settings"));
    for (place, number) in [(&here, 1), (&settings, 2)] {
        std::fs::create_dir(place).unwrap();
        std::fs::write(place.join("a.csv"), format!("n\n{number}\n")).unwrap();
    }
    std::fs::write(settings.join("filbert.toml"), "[sql]\nfiles = [\".\"]\n").unwrap();
    let run = |statement: &str| {
        let words = ["sql", "--config", "../settings/filbert.toml", "--format", "csv", statement];
        command(&words).current_dir(&here).output().unwrap()
    };
    assert_eq!(text(&run("SELECT n FROM '../settings/a.csv'").stdout), "n\n2");
    let denied = run("SELECT n FROM 'a.csv'");
    assert!(text(&denied.stderr).contains("may not be read"), "{}", text(&denied.stderr));
}
