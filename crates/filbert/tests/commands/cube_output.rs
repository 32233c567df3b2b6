//! Where the answers of `filbert cube` go, in which format, and what is said of measures that failed.

use crate::cube::{FOREST, Folder};
use crate::{filbert, text};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

const BY_DESK: [&str; 4] = ["--measures", "pnl", "--by", "desk"];

impl Folder {
    pub(crate) fn read(&self, name: &str) -> String {
        text(&std::fs::read(self.path(name)).unwrap())
    }

    /// The names of all files, hidden ones too.
    pub(crate) fn names(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// With a measure whose total does not fit, and one that fails wherever desks come together.
    fn failing() -> Self {
        let (folder, large) = (Self::new(), i64::MAX);
        let more = "
[[measure]]
name = \"large\"
kind = \"aggregator\"
column = \"large\"
";
        std::fs::write(folder.path("risk.toml"), [FOREST, more].concat()).unwrap();
        let trades = format!("desk,ccy,pnl,large\nFX,EUR,1.5,{large}\nRates,EUR,2.5,{large}\n");
        std::fs::write(folder.path("trades.csv"), trades).unwrap();
        folder
    }
}

#[test]
fn a_file_has_the_format_that_its_ending_says() {
    let folder = Folder::new();
    let csv = "desk,pnl\nFX,8.5\nRates,2.0";
    for (name, lines) in [
        ("a.csv", Some(csv)),
        ("a.ndjson", Some("{\"desk\":\"FX\",\"pnl\":8.5}\n{\"desk\":\"Rates\",\"pnl\":2.0}")),
        ("a.JSONL", Some("{\"desk\":\"FX\",\"pnl\":8.5}\n{\"desk\":\"Rates\",\"pnl\":2.0}")),
        ("a.json", Some("[{\"desk\":\"FX\",\"pnl\":8.5},\n {\"desk\":\"Rates\",\"pnl\":2.0}]")),
        ("a.arrow", None),
        ("a.parquet", None),
    ] {
        let path = folder.path(name);
        assert_eq!(folder.shown(&[&BY_DESK[..], &["-o", &path]].concat()), "", "{name}");
        match lines {
            Some(lines) => assert_eq!(folder.read(name), lines, "{name}"),
            None => {
                let select = format!("SELECT * FROM '{path}' ORDER BY desk");
                assert_eq!(text(&filbert(&["sql", &select, "--format", "csv"]).stdout), csv, "{name}");
            }
        }
    }
    // What is said wins over the ending, and rows behind cells go the same way.
    let path = folder.path("rows.txt");
    let drill =
        ["--measures", "pnl", "--by", "desk", "--drill-through", "--cell", "desk=FX", "--output", &path];
    assert_eq!(folder.shown(&[&drill[..], &["--format", "csv"]].concat()), "");
    assert_eq!(folder.read("rows.txt"), "desk,ccy,pnl\nFX,EUR,1.5\nFX,USD,3.0\nFX,EUR,4.0");
    assert_eq!(folder.shown(&[&drill[..], &["--format", "table", "--limit", "1"]].concat()), "");
    assert_eq!(folder.read("rows.txt"), "desk  ccy  pnl\n----  ---  ---\nFX    EUR  1.5");
    let path = folder.path("rows.parquet");
    let drill = ["--measures", "pnl", "--drill-through", "-o", &path];
    folder.shown(&drill);
    let select = format!("SELECT count(*) AS n FROM '{path}'");
    assert_eq!(text(&filbert(&["sql", &select, "--format", "csv"]).stdout), "n\n4");
    // Programs may read columns from a pipe, which is no file that could be replaced.
    let (_, bytes, _) = folder.cube(&[&BY_DESK[..], &["--format", "arrow"]].concat());
    assert!(bytes.starts_with("ARROW1"), "{bytes}");
    assert_eq!(folder.shown(&[&BY_DESK[..], &["-o", "/dev/stdout", "--format", "csv"]].concat()), csv);
}

/// It is written in parts, and signals are looked at between them.
#[test]
fn a_long_answer_is_whole_in_every_format() {
    let folder = Folder::new();
    let forest = folder.path("risk.toml");
    let table = "SELECT concat('n', value) AS name, 0.5 AS pnl FROM generate_series(1, 40000)";
    let words = ["cube", "--forest", &forest, "--table", table, "--measures", "pnl", "--by", "name", "-o"];
    for ending in ["csv", "json", "ndjson", "arrow", "parquet"] {
        let path = folder.path(&format!("long.{ending}"));
        let ran = filbert(&[&words[..], &[&path]].concat());
        assert_eq!(ran.status.code(), Some(0), "{ending}: {}", text(&ran.stderr));
        if ending == "json" {
            let rows: Vec<serde_json::Value> = serde_json::from_str(&folder.read("long.json")).unwrap();
            assert_eq!(rows.len(), 40_000);
            continue;
        }
        let select =
            format!("SELECT count(DISTINCT name) AS names, count(*) AS rows, sum(pnl) AS pnl FROM '{path}'");
        let read = text(&filbert(&["sql", &select, "--format", "csv"]).stdout);
        assert_eq!(read, "names,rows,pnl\n40000,40000,20000.0", "{ending}");
    }
}

/// A query that fails leaves the answer of yesterday, and nothing else.
#[test]
fn a_file_is_there_when_it_is_whole() {
    let folder = Folder::failing();
    std::fs::write(folder.path("report.csv"), "yesterday\n").unwrap();
    let before = folder.names();
    let (path, xlsx, none) = (folder.path("report.csv"), folder.path("a.xlsx"), folder.path("none/a.csv"));
    let here = folder.path("");
    for (words, said) in [
        (&["--measures", "large", "-o", &path][..], "does not fit"),
        (&["--measures", "large", "-o", &path, "--errors-as-values"], "measure \"large\" failed"),
        (&["--measures", "pnl", "--by", "dsk", "-o", &path], "is it \"desk\"?"),
        (&["--measures", "pln", "--drill-through", "-o", &path], "is it \"pnl\"?"),
        (
            &["--measures", "pnl", "-o", &xlsx],
            "take .csv, .json, .ndjson, .jsonl, .arrow, .ipc, .feather or .parquet",
        ),
        (&["--measures", "pnl", "-o", &none], "none/a.csv: No such file or directory"),
        (&["--measures", "pnl", "-o", &here, "--format", "csv"], "it is a folder; name a file in it"),
    ] {
        let (status, shown, told) = folder.cube(words);
        assert_eq!((status, shown.as_str()), (Some(1), ""), "{words:?}: {told}");
        assert!(told.contains(said), "{words:?}: {told}");
        assert_eq!(
            (folder.read("report.csv").as_str(), folder.names()),
            ("yesterday", before.clone()),
            "{words:?}"
        );
    }
    // A link leads to what is replaced.
    let link = folder.path("link.csv");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    folder.shown(&["--measures", "pnl", "-o", &link]);
    assert_eq!(folder.read("report.csv"), "pnl\n4.0");
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
}

/// A link to a file that was not there yet became a file itself.
#[test]
fn a_link_that_leads_nowhere_leads_to_the_new_file() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("reports")).unwrap();
    let links = [("first.csv", "reports/second.csv"), ("reports/second.csv", "today.csv")];
    for (link, to) in links {
        std::os::unix::fs::symlink(to, folder.path(link)).unwrap();
    }
    folder.shown(&["--measures", "pnl", "-o", &folder.path("first.csv")]);
    assert_eq!(folder.read("reports/today.csv"), "pnl\n10.5");
    for (link, to) in links {
        assert_eq!(std::fs::read_link(folder.path(link)).unwrap().to_str(), Some(to));
    }
    // In circles, or to a folder that is not there, is told.
    std::os::unix::fs::symlink("circle.csv", folder.path("circle.csv")).unwrap();
    std::os::unix::fs::symlink("none/a.csv", folder.path("astray.csv")).unwrap();
    for (name, said) in
        [("circle.csv", "Too many levels of symbolic links"), ("astray.csv", "No such file or directory")]
    {
        let (status, _, told) = folder.cube(&["--measures", "pnl", "-o", &folder.path(name)]);
        assert!(status == Some(1) && told.contains(name) && told.contains(said), "{told}");
        assert!(std::fs::symlink_metadata(folder.path(name)).unwrap().is_symlink());
    }
}

/// What only its owner could read was there for all to read after the next answer.
#[test]
fn a_file_keeps_its_permissions() {
    let folder = Folder::new();
    let path = folder.path("report.csv");
    std::fs::write(&path, "yesterday\n").unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    folder.shown(&["--measures", "pnl", "-o", &path]);
    assert_eq!(folder.read("report.csv"), "pnl\n10.5");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Where every measure failed there was an empty table and status 0, and nobody said why.
#[test]
fn measures_that_failed_are_told_in_every_format() {
    let folder = Folder::failing();
    for format in ["table", "csv", "json", "ndjson"] {
        let words = ["--format", format, "--errors-as-values", "--measures"];
        let by = ["--by", "desk", "--totals", "desk"];
        // At one level, and beside a measure that did not fail.
        for measures in ["large", "large,pnl"] {
            let (status, shown, said) = folder.cube(&[&words[..], &[measures], &by].concat());
            assert_eq!((status, said.lines().count()), (Some(0), 1), "{format}: {said}");
            assert!(said.starts_with("filbert: measure \"large\" failed: "), "{said}");
            assert!(
                shown.contains("does not fit") && shown.contains("9223372036854775807"),
                "{format}: {shown}"
            );
        }
        // Everywhere.
        for more in [&[][..], &["--where", "ccy = 'EUR'"]] {
            let (status, shown, said) = folder.cube(&[&words[..], &["large"], more].concat());
            assert_eq!(status, Some(1), "{format}: {shown}");
            assert!(
                said.contains("measure \"large\" failed: ") && said.ends_with("every measure failed"),
                "{said}"
            );
            match format {
                "json" => {
                    let rows: serde_json::Value = serde_json::from_str(&shown).unwrap();
                    assert!(rows[0]["large"].as_str().unwrap().starts_with("error: "), "{shown}");
                }
                "csv" => assert!(shown.starts_with("large\n") && shown.lines().count() == 2, "{shown}"),
                _ => assert!(shown.contains("error: "), "{shown}"),
            }
        }
    }
}

#[test]
fn values_are_shown_as_what_they_are() {
    let folder = Folder::new();
    let trades = "desk,ccy,pnl\n\"a\nb\u{1b}[2J\",*,1\nFX,,2\nFX,EUR,4\n";
    std::fs::write(folder.path("trades.csv"), trades).unwrap();
    let words = ["--measures", "pnl", "--by", "desk,ccy", "--totals", "ccy"];
    let pivot = folder.shown(&words);
    let expected = "desk           '*'  EUR  (none)  *\n-------------  ---  ---  ------  -\nFX                    4       2  6\na\\nb\\u{1b}[2J    1               1";
    assert_eq!(pivot, expected);
    let csv = folder.shown(&[&words[..], &["--format", "csv"]].concat());
    let odd = "\"a\nb\u{1b}[2J\"";
    assert_eq!(csv, format!("desk,ccy,pnl\nFX,,2\nFX,EUR,4\nFX,*,6\n{odd},'*',1\n{odd},*,1"));
    let json = folder.shown(&[&words[..], &["--format", "json"]].concat());
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(rows[3], serde_json::json!({ "desk": "a\nb\u{1b}[2J", "ccy": "'*'", "pnl": 1 }));
    let (status, _, said) = folder.cube(&["--measures", "pnl", "--by", "pnl", "--format", "json"]);
    assert!(
        status == Some(1) && said.contains("\"pnl\" is a measure and a column that it groups by"),
        "{said}"
    );
}

/// A draft took the place of the file that the shell wrote to, and what came before and after was gone.
#[test]
fn the_standard_output_is_not_replaced_where_it_is_a_file() {
    let folder = Folder::new();
    let log = folder.path("log.txt");
    std::fs::write(&log, "before\n").unwrap();
    for name in ["/dev/stdout", "-"] {
        let out = std::fs::OpenOptions::new().append(true).open(&log).unwrap();
        let (forest, table) = (folder.path("risk.toml"), folder.path("trades.csv"));
        let words = ["cube", "--forest", &forest, "--table", &table, "--format", "csv", "-o", name];
        let status = std::process::Command::new(env!("CARGO_BIN_EXE_filbert"))
            .args([&words[..], &BY_DESK].concat())
            .stdout(out)
            .status();
        assert!(status.unwrap().success(), "{name}");
    }
    let csv = "desk,pnl\nFX,8.5\nRates,2.0\n";
    assert_eq!(std::fs::read_to_string(&log).unwrap(), format!("before\n{csv}{csv}"));
}

#[test]
fn what_is_read_is_not_replaced_by_the_answer() {
    let folder = Folder::new();
    for (name, what) in [("trades.csv", "the table that is read"), ("risk.toml", "the forest")] {
        let before = folder.read(name);
        let path = folder.path(name);
        let words = [&BY_DESK[..], &["--format", "csv", "-o", &path]].concat();
        let (status, _, said) = folder.cube(&words);
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains(what) && said.contains("name another file"), "{said}");
        assert_eq!(folder.read(name), before);
    }
}
