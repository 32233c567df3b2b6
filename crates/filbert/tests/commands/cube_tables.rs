//! The tables of `filbert cube`, and the reasons that are told when they have no row.

use crate::cube::{FOREST, Folder};

/// Measures with formats, over values whose last digits nobody wants to see.
fn folder() -> Folder {
    let folder = Folder::new();
    let formats = FOREST
        .replace("column = \"pnl\"\n", "column = \"pnl\"\nformat = \"#,##0.00\"\n")
        .replace("expression = \"pnl / trades\" }", "expression = \"pnl / 1000000\" }\nformat = \"0.0%\"");
    std::fs::write(folder.path("risk.toml"), formats).unwrap();
    let trades =
        "desk,ccy,pnl\nFX,EUR,-56721927.1\nFX,USD,-0.16\nRates,EUR,86156.77350000001\nRates,,1234.5\n";
    std::fs::write(folder.path("trades.csv"), trades).unwrap();
    folder
}

/// Every measure had a head of its own, `NULL pnl  NULL trades`, and 17 digits.
#[test]
fn measures_stand_below_values_and_have_their_formats() {
    let folder = folder();
    let pivot = folder.shown(&["--measures", "pnl,trades,each", "--by", "desk,ccy"]);
    assert_eq!(
        pivot.lines().next().map(|head| head.split_whitespace().collect::<Vec<_>>()),
        Some(vec!["EUR", "USD", "(none)"])
    );
    let names: Vec<&str> = pivot.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(names, ["desk", "pnl", "trades", "each", "pnl", "trades", "each", "pnl", "trades", "each"]);
    for part in ["-56,721,927.10", "86,156.77", "1,234.50", "-5672.2%", "8.6%", "0.1%", " 0.0%"] {
        assert!(pivot.contains(part), "{part} is not in\n{pivot}");
    }
    // Missing values come behind the others.
    let flat = folder.shown(&["--measures", "pnl", "--by", "desk,ccy", "--flat"]);
    let lines: Vec<&str> = flat.lines().collect();
    assert_eq!(lines[4..], ["Rates  EUR          86,156.77", "Rates  (none)        1,234.50"], "{flat}");
}

/// One cell had other last digits when totals or other measures were asked for.
#[test]
fn a_value_is_written_in_one_way() {
    let folder = folder();
    std::fs::write(folder.path("risk.toml"), FOREST).unwrap();
    let plain = ["--measures", "pnl", "--by", "desk"];
    assert_eq!(
        folder.shown(&plain),
        "desk            pnl\n-----  ------------\nFX     -56721927.26\nRates      87391.27"
    );
    for more in [&["--totals"][..], &["--totals", "desk"]] {
        let shown = folder.shown(&[&plain[..], more].concat());
        assert!(shown.contains("\nFX     -56721927.26\nRates      87391.27\n*      -56634535.99"), "{shown}");
    }
    let shown = folder.shown(&["--measures", "pnl,each", "--by", "desk"]);
    assert!(shown.contains("-56721927.26") && shown.contains("87391.27"), "{shown}");
}

#[test]
fn decimals_are_chosen_for_tables_and_programs() {
    let folder = folder();
    let by = ["--measures", "pnl,each,trades", "--by", "desk"];
    let with = |words: &[&'static str]| folder.shown(&[&by[..], words].concat());
    let shown = with(&["--digits", "0"]);
    assert!(shown.contains("-56,721,927") && shown.contains("-5672%") && !shown.contains('.'), "{shown}");
    let all = with(&["--format", "csv"]);
    assert!(all.contains("FX,-56721927.26,-56.72192726,2\nRates,87391.2735"), "{all}");
    assert_eq!(
        with(&["--format", "csv", "--digits", "2"]),
        "desk,pnl,each,trades\nFX,-56721927.26,-56.72,2\nRates,87391.27,0.09,2"
    );
    let (status, _, said) = folder.cube(&[&by[..], &["--digits", "16"]].concat());
    assert!(status == Some(2) && said.contains("0..=15"), "{said}");
}

#[test]
fn totals_alone_are_over_all_columns() {
    let folder = Folder::new();
    let by = ["--measures", "pnl", "--by", "desk,ccy"];
    let all = folder.shown(&[&by[..], &["--totals", "desk,ccy"]].concat());
    assert_eq!(folder.shown(&[&by[..], &["--totals"]].concat()), all);
    assert!(all.contains("\n*      7.5  3.0  10.5"), "{all}");
    let (status, _, said) = folder.cube(&["--measures", "pnl", "--totals"]);
    assert!(status == Some(2) && said.contains("--by"), "{said}");
}

/// There was a bare head, and nobody knew why.
#[test]
fn an_empty_answer_has_a_reason() {
    let folder = Folder::new();
    let asked = |filter: &str| folder.cube(&["--measures", "pnl", "--by", "desk", "--where", filter]);
    for (filter, why) in [
        ("desk = 'FXX'", "no row passes the filter; there is no 'FXX' in desk; is it 'FX'?"),
        (
            "ccy in ('CHF') and desk = 'FX'",
            "no row passes the filter; there is no 'CHF' in ccy; there are: EUR, USD",
        ),
        ("desk = 'Rates' and ccy = 'USD'", "no row passes the filter"),
        ("pnl > 100", "no row passes the filter"),
    ] {
        let (status, shown, said) = asked(filter);
        assert_eq!((status, shown.as_str()), (Some(0), "desk  pnl\n----  ---\n(0 rows)"), "{said}");
        assert_eq!(said, format!("filbert: {why}"), "{filter}");
    }
    std::fs::write(folder.path("trades.csv"), "desk,ccy,pnl\nFX,EUR,\nRates,EUR,2\n").unwrap();
    let (_, _, said) = asked("desk = 'FX'");
    assert_eq!(said, "filbert: no measure has a value in the rows that count");
}

#[test]
fn mistakes_in_filters_and_forests_are_shown() {
    let folder = Folder::new();
    let (status, _, said) = folder.cube(&["--where", "desk = FX and ccy = 'EUR'"]);
    assert_eq!(status, Some(1));
    assert_eq!(
        said,
        "filbert: filter: a text stands in single quotes: 'FX'\n  desk = FX and ccy = 'EUR'\n         ^"
    );
    let broken = |from: &str, to: &str| {
        std::fs::write(folder.path("risk.toml"), FOREST.replacen(from, to, 1)).unwrap();
        folder.cube(&[]).2
    };
    let said = broken("\"aggregator\"", "\"agregator\"");
    assert!(
        said.contains("line 4") && said.contains("\"agregator\" is not known here; is it \"aggregator\"?"),
        "{said}"
    );
    let said = broken("column =", "colum =");
    assert!(
        said.contains("measure \"pnl\", line 3: there is no key \"colum\" here; is it \"column\"?"),
        "{said}"
    );
    let said = broken("column = \"pnl\"", "column = \"pnl\"\nformat = \"$0\"");
    assert!(
        said.contains("line 6") && said.contains("the format \"$0\" is not known; write 0, 0.00"),
        "{said}"
    );
    let said = broken("[[measure]]", "[[mesure]]");
    assert!(said.contains("there is no key \"mesure\" here; is it \"measure\"?"), "{said}");
}

/// Bytes were not readable, and words such as "skew" stood nowhere else.
#[test]
fn an_explanation_is_readable() {
    let folder = Folder::new();
    let how = folder.shown(&["--measures", "each", "--by", "desk", "--explain"]);
    for part in
        ["each by desk\n", " ms", " of memory", "2 groups, ", "the rows of one desk", "Each line is a step"]
    {
        assert!(how.contains(part), "{part:?} is not in\n{how}");
    }
    for part in ["skew", "slices", "where true", "us (", " bytes held"] {
        assert!(!how.contains(part), "{part:?} is in\n{how}");
    }
}
