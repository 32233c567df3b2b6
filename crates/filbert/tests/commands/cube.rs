//! `filbert cube`.

use crate::{await_handler, command, filbert, signal, text};
use std::process::Stdio;

/// Measures over the trades.
pub(crate) const FOREST: &str = r#"
[[measure]]
name = "pnl"
kind = "aggregator"
column = "pnl"

[[measure]]
name = "trades"
kind = "aggregator"
aggregation = "count"

[[measure]]
name = "each"
kind = "combinator"
combination = { expression = "pnl / trades" }
"#;

const TRADES: &str = "desk,ccy,pnl\nFX,EUR,1.5\nRates,EUR,2\nFX,USD,3\nFX,EUR,4\n";

/// A folder with measures and trades.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        std::fs::write(folder.path("risk.toml"), FOREST).unwrap();
        std::fs::write(folder.path("trades.csv"), TRADES).unwrap();
        folder
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    /// Runs `filbert cube` over the trades: its status, output, and what it said of mistakes.
    pub(crate) fn cube(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let (forest, table) = (self.path("risk.toml"), self.path("trades.csv"));
        let ran = filbert(&[&["cube", "--forest", &forest, "--table", &table], words].concat());
        (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
    }

    pub(crate) fn shown(&self, words: &[&str]) -> String {
        let (status, shown, said) = self.cube(words);
        assert_eq!(status, Some(0), "{said}");
        shown
    }
}

#[test]
fn a_pivot_is_shown() {
    let folder = Folder::new();
    let pivot = "desk   EUR  USD\n-----  ---  ---\nFX     5.5  3.0\nRates  2.0";
    assert_eq!(folder.shown(&["--measures", "pnl", "--by", "desk,ccy"]), pivot);
    assert_eq!(folder.shown(&["--measures", " pnl ", "--by", "desk, ccy"]), pivot);
    let across = "ccy   FX  Rates\n---  ---  -----\nEUR  5.5    2.0\nUSD  3.0";
    assert_eq!(folder.shown(&["--measures", "pnl", "--by", "desk,ccy", "--across", "desk"]), across);
    let flat = "desk   ccy  pnl\n-----  ---  ---\nFX     EUR  5.5\nFX     USD  3.0\nRates  EUR  2.0";
    assert_eq!(folder.shown(&["--measures", "pnl", "--by", "desk,ccy", "--flat"]), flat);
    let words = ["--measures", "pnl,each", "--by", "desk", "--where", "not ccy = 'USD'", "--totals", "desk"];
    let totals = "desk   pnl  each\n-----  ---  ----\nFX     5.5  2.75\nRates  2.0  2.0\n*      7.5  2.5";
    assert_eq!(folder.shown(&words), totals);
}

#[test]
fn programs_read_csv_and_json() {
    let folder = Folder::new();
    // Without measures: all of them, in the order of the forest.
    let csv = folder.shown(&["--by", "desk", "--format", "csv", "--parallelism", "1", "--memory-mb", "64"]);
    assert_eq!(csv, "desk,pnl,trades,each\nFX,8.5,3,2.8333333333333335\nRates,2.0,1,2.0");
    let json = folder.shown(&["--measures", "trades", "--by", "ccy", "--format", "json"]);
    let expected = serde_json::json!([{ "ccy": "EUR", "trades": 3 }, { "ccy": "USD", "trades": 1 }]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), expected);
}

#[test]
fn queries_are_tables_and_plans_are_shown() {
    let folder = Folder::new();
    std::fs::write(folder.path("regions.csv"), "ccy,region\nEUR,Europe\nUSD,America\n").unwrap();
    let joined = format!(
        "(SELECT * FROM '{}' JOIN '{}' USING (ccy))",
        folder.path("trades.csv"),
        folder.path("regions.csv")
    );
    let forest = folder.path("risk.toml");
    let words = [
        "cube",
        "--forest",
        &forest,
        "--table",
        &joined,
        "--measures",
        "pnl",
        "--by",
        "region",
        "--format",
        "csv",
    ];
    assert_eq!(text(&filbert(&words).stdout), "region,pnl\nAmerica,3.0\nEurope,7.5");
    // Parentheses are not needed.
    let bare = words.map(|word| word.trim_start_matches('(').trim_end_matches("))"));
    let bare = bare.map(|word| if word.ends_with("(ccy") { format!("{word})") } else { word.to_owned() });
    let bare: Vec<&str> = bare.iter().map(String::as_str).collect();
    assert_eq!(text(&filbert(&bare).stdout), "region,pnl\nAmerica,3.0\nEurope,7.5");
    let plan = folder.shown(&["--measures", "each", "--by", "desk", "--where", "ccy = 'EUR'", "--explain"]);
    assert!(plan.contains("WHERE \"ccy\" = 'EUR'") && plan.contains("3 rows"), "{plan}");
    let chart = folder.shown(&["--measures", "each", "--explain", "mermaid"]);
    assert!(chart.starts_with("flowchart") && chart.contains("each"), "{chart}");
}

#[test]
fn markers_choose_and_errors_stand_in_their_column() {
    let folder = Folder::new();
    let more = r#"
[[measure]]
name = "shown"
kind = "routing"
default = "pnl"
rules = [{ to = "trades", marker = "count" }]

[[measure]]
name = "large"
kind = "aggregator"
column = "large"

[[measure]]
name = "too large"
kind = "partitionor"
underlyings = ["large"]
by = ["desk"]
combination = "sum"
"#;
    std::fs::write(folder.path("risk.toml"), [FOREST, more].concat()).unwrap();
    let large = i64::MAX;
    std::fs::write(folder.path("trades.csv"), format!("desk,pnl,large\nFX,1.5,{large}\nRates,2.5,{large}\n"))
        .unwrap();
    assert_eq!(folder.shown(&["--measures", "shown", "--format", "csv"]), "shown\n4.0");
    assert_eq!(folder.shown(&["--measures", "shown", "--format", "csv", "--marker", "count"]), "shown\n2");
    let words = ["--measures", "pnl,too large", "--format", "csv"];
    let (status, _, said) = folder.cube(&words);
    assert!(status != Some(0) && said.contains("does not fit"), "{said}");
    let shown = folder.shown(&[&words[..], &["--errors-as-values"]].concat());
    assert!(shown.starts_with("pnl,too large\n4.0,") && shown.contains("does not fit"), "{shown}");
    let unknown = ["--measures", "pnl,none", "--format", "csv", "--unknown-measures-as-empty"];
    assert_eq!(folder.shown(&unknown), "pnl,none\n4.0,");
    let spread = ["--measures", "pnl", "--by", "desk", "--partitions", "3", "--shard-by", "desk"];
    assert!(folder.shown(&[&spread[..], &["--explain"]].concat()).contains("3 partitions by desk"));
    let debug = folder.shown(&["--measures", "large", "--by", "desk", "--explain", "debug"]);
    assert!(debug.contains(&large.to_string()), "{debug}");
}

#[test]
fn rows_behind_cells_are_shown() {
    let folder = Folder::new();
    let drill = ["--measures", "each", "--by", "desk", "--drill-through"];
    let words = |more: &[&'static str]| [&drill[..], more].concat();
    let rows = "desk  ccy  pnl\n----  ---  ---\nFX    EUR  1.5\nFX    USD  3.0\nFX    EUR  4.0";
    assert_eq!(folder.shown(&words(&["--cell", "desk=FX"])), rows);
    let csv = ["--where", "ccy = 'EUR'", "--columns", "pnl,desk", "--format", "csv"];
    assert_eq!(folder.shown(&words(&csv)), "pnl,desk\n1.5,FX\n2.0,Rates\n4.0,FX");
    let (status, shown, said) =
        folder.cube(&words(&["--limit", "1", "--format", "json", "--columns", "pnl"]));
    assert_eq!((status, shown.as_str()), (Some(0), "[{\"pnl\":1.5}]"), "{said}");
    assert!(said.contains("more than 1 row; --limit"), "{said}");
    // Nothing is an answer, but nobody should have to guess why.
    let nobody = words(&["--limit", "4", "--cell", "desk=Equity", "--format", "csv"]);
    let (status, shown, said) = folder.cube(&nobody);
    assert_eq!((status, shown.as_str()), (Some(0), "desk,ccy,pnl"));
    assert_eq!(said, "filbert: no row matches the cell desk=Equity");
    let (status, _, said) = folder.cube(&words(&["--cell", "desk=Equity", "--where", "ccy = 'EUR'"]));
    assert_eq!(status, Some(0));
    assert_eq!(said, "filbert: no row matches the cell desk=Equity where ccy = 'EUR'");
    let (status, _, said) = folder.cube(&words(&["--where", "ccy = 'XX'"]));
    assert_eq!((status, said.as_str()), (Some(0), ""));
    let (status, _, said) = folder.cube(&words(&["--cell", "ccy=EUR"]));
    assert!(status == Some(1) && said.contains("\"ccy\", which is not grouped by"), "{said}");
}

/// What somebody wrote is told when it is wrong, and never answered by nothing.
#[test]
fn wrong_dates_and_cells_are_told() {
    let folder = Folder::new();
    let trades = "desk,day,lots\n\"FX, spot\",2026-03-30,1\nRates,2026-03-03,2\n";
    std::fs::write(folder.path("trades.csv"), trades).unwrap();
    std::fs::write(
        folder.path("risk.toml"),
        FOREST.replace("\"pnl\"\n", "\"lots\"\n").replace("pnl /", "lots /"),
    )
    .unwrap();
    let filtered = |filter: &str| folder.cube(&["--measures", "lots", "--where", filter, "--format", "csv"]);
    assert_eq!(filtered("day = '2026-03-03'").1, "lots\n2");
    for (filter, value) in [
        ("day = '2026-03-3x'", "'2026-03-3x'"),
        ("day = '2026-03-30x'", "'2026-03-30x'"),
        ("day = '2026-02-31'", "'2026-02-31'"),
        ("day = 20260330", "20260330"),
    ] {
        let (status, shown, said) = filtered(filter);
        let told = format!("column \"day\": {value} is no date; write dates like '2026-03-31'");
        assert!(status == Some(1) && said.contains(&told), "{filter}: {shown} {said}");
    }
    let drilled = |cell: &str| {
        let by =
            ["--measures", "lots", "--by", "desk,day", "--drill-through", "--format", "csv", "--cell", cell];
        folder.cube(&[&by[..], &["--columns", "lots"]].concat())
    };
    assert_eq!(drilled("desk='FX, spot', day=2026-03-30").1, "lots\n1");
    for (cell, told) in [
        ("desk=FX, spot", "\"spot\" is no coordinate; write column=value, and column='a, b'"),
        ("day=2026-03-3x", "'2026-03-3x' is no date"),
    ] {
        let (status, shown, said) = drilled(cell);
        assert!(status == Some(1) && said.contains(told), "{cell}: {shown} {said}");
    }
}

#[test]
fn mistakes_are_told() {
    let folder = Folder::new();
    std::fs::write(folder.path("cycle.toml"), FOREST.replace("pnl / trades", "each + 1")).unwrap();
    let (forest, cycle, table) =
        (folder.path("risk.toml"), folder.path("cycle.toml"), folder.path("trades.csv"));
    let missing = folder.path("missing.parquet");
    for (words, said) in [
        (&["--forest", &forest, "--table", &table, "--measures", "pln"][..], "is it \"pnl\"?"),
        (
            &["--forest", &forest, "--table", &table, "--by", "dsk"],
            "has no column \"dsk\"; it has: ccy, desk, pnl; is it \"desk\"?",
        ),
        (
            &["--forest", &forest, "--table", &table, "--where", "ccy ="],
            "filter: a number, a text in single quotes, true, false or null is expected here\n  ccy =\n       ^",
        ),
        (&["--forest", &forest, "--table", &missing], "no such file"),
        (&["--forest", &missing, "--table", &table], "missing.parquet"),
        (&["--forest", &cycle, "--table", &table], "cycle.toml: the measures form a cycle: each -> each"),
        (&["--forest", &forest, "--table", &table, "--by", "desk", "--across", "ccy"], "grouped by"),
    ] {
        let failed = filbert(&[&["cube"], words].concat());
        assert_eq!(failed.status.code(), Some(1), "{words:?}");
        assert!(text(&failed.stderr).contains(said), "{words:?}: {}", text(&failed.stderr));
    }
}

/// Whoever mixes up files, or asks for what is not done, is told so.
#[test]
fn files_and_options_that_do_not_belong_together_are_told() {
    let folder = Folder::new();
    let (forest, table) = (folder.path("risk.toml"), folder.path("trades.csv"));
    let large = folder.path("large.toml");
    std::fs::File::create(&large).unwrap().set_len(1 << 30).unwrap();
    let (both, sheet) = (folder.path("both.toml"), folder.path("trades.xlsx"));
    let unfiltrator =
        "kind = \"unfiltrator\"\nunderlying = \"pnl\"\nsuppress = [\"desk\"]\nretain = [\"ccy\"]\n";
    std::fs::write(&both, format!("{FOREST}\n[[measure]]\nname = \"all\"\n{unfiltrator}")).unwrap();
    std::fs::write(&sheet, TRADES).unwrap();
    let across = ["--forest", &forest, "--table", &table, "--by", "desk,ccy", "--across", "ccy"];
    for (words, said) in [
        (&["--forest", &large, "--table", &table][..], "large.toml: the forest has more than 16 MiB"),
        (
            &["--forest", &both, "--table", &table],
            "measure \"all\", line 18: it has both `suppress` and `retain`",
        ),
        (
            &["--forest", &forest, "--table", &forest],
            "risk.toml: this is a forest, which has measures and no rows",
        ),
        (
            &["--forest", &forest, "--table", &sheet],
            "no file with this ending is read as a table; those that are",
        ),
        (&["--forest", &forest, "--table", "none.toml"], "there is no table \"none.toml\""),
        (&["--forest", &forest, "--table", "none.toml"], "no file with this ending is read as a table"),
        (&[&across[..], &["--format", "csv"]].concat(), "--across puts values side by side in tables only"),
        (&[&across[..], &["-o", &folder.path("x.json")]].concat(), "--across puts values side by side"),
    ] {
        let failed = filbert(&[&["cube"], words].concat());
        assert_eq!(failed.status.code(), Some(1), "{words:?}");
        assert!(text(&failed.stderr).contains(said), "{words:?}: {}", text(&failed.stderr));
    }
}

#[test]
#[cfg(not(feature = "duckdb"))]
fn a_table_of_duckdb_says_what_it_takes() {
    let folder = Folder::new();
    let forest = folder.path("risk.toml");
    for (table, said) in
        [("duckdb:markets.duckdb#trades", "--features duckdb"), ("duckdb:markets.duckdb", "#SELECT")]
    {
        let failed = filbert(&["cube", "--forest", &forest, "--table", table]);
        assert_eq!(failed.status.code(), Some(1), "{table}");
        assert!(text(&failed.stderr).contains(said), "{table}: {}", text(&failed.stderr));
    }
}

/// More rows than anybody waits for.
pub(crate) const ENDLESS: &str = "(SELECT 'FX' AS desk, 1.0 AS pnl FROM generate_series(1, 10000000) AS a, generate_series(1, 10000000) AS b)";

#[test]
fn a_query_ends_in_time_or_when_it_is_told() {
    let folder = Folder::new();
    let forest = folder.path("risk.toml");
    let words = ["cube", "--forest", &forest, "--table", ENDLESS, "--measures", "pnl"];
    let late = filbert(&[&words[..], &["--timeout-ms", "200"]].concat());
    assert_eq!(late.status.code(), Some(1));
    assert!(text(&late.stderr).contains("200 ms"), "{}", text(&late.stderr));
    let child = command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    await_handler(child.id());
    signal(child.id(), "INT");
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", text(&ended.stderr));
}
