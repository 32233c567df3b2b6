//! `filbert cube --example` and `filbert cube --interactive`, as somebody types them who tries cubes.

use crate::shell::Shell;
use crate::{command, filbert, text};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes the example into a folder below this one.
fn example(folder: &Path) -> String {
    let risk = folder.join("risk");
    let written = filbert(&["cube", "--example", &risk.to_string_lossy()]);
    assert!(written.status.success(), "{}", text(&written.stderr));
    text(&written.stdout)
}

/// Types these lines into a pipe: the status, what was written, and what was said of mistakes.
fn piped(folder: &Path, lines: &str) -> (Option<i32>, String, String) {
    let words = ["cube", "--forest", "risk/risk.toml", "--table", "risk/trades.csv", "--interactive"];
    let mut child = command(&words)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    (ended.status.code(), text(&ended.stdout), text(&ended.stderr))
}

/// The commands that are printed were typed by nobody.
#[test]
fn the_example_is_written_once_and_its_commands_work() {
    let folder = tempfile::tempdir().unwrap();
    let shown = example(folder.path());
    let commands: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("  filbert ")).collect();
    assert!(commands.len() >= 6, "{shown}");
    for line in commands {
        let ran = Command::new("sh")
            .args(["-c", &format!("{} {line}", env!("CARGO_BIN_EXE_filbert"))])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = text(&ran.stderr);
        assert!(ran.status.success() && said.is_empty(), "{line}: {said}");
        let is_quiet = line.contains("--interactive") || line.contains("-o report.csv");
        assert_eq!(ran.stdout.is_empty(), is_quiet, "{line}");
    }
    assert!(folder.path().join("report.csv").is_file());
    let again = filbert(&["cube", "--example", &folder.path().join("risk").to_string_lossy()]);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        text(&again.stderr).contains("it is there already; name another folder"),
        "{}",
        text(&again.stderr)
    );
    let both = filbert(&["cube", "--example", "x", "--by", "desk"]);
    assert_eq!(both.status.code(), Some(2), "{}", text(&both.stderr));
}

#[test]
fn lines_of_a_pipe_are_answered_as_the_command_line_does() {
    let folder = tempfile::tempdir().unwrap();
    example(folder.path());
    let place = ["cube", "--forest", "risk/risk.toml", "--table", "risk/trades.csv"];
    for (line, words) in [
        ("pnl, var95 by desk totals", &["--measures", "pnl,var95", "--by", "desk", "--totals"][..]),
        (
            "var95 by desk ccy pivot desk where ccy <> 'JPY'",
            &["--measures", "var95", "--by", "desk,ccy", "--across", "desk", "--where", "ccy <> 'JPY'"],
        ),
        (
            "pnl by book --format csv --digits 1",
            &["--measures", "pnl", "--by", "book", "--format", "csv", "--digits", "1"],
        ),
        (
            "pnl by desk --drill-through --cell desk=FX --limit 2",
            &["--measures", "pnl", "--by", "desk", "--drill-through", "--cell", "desk=FX", "--limit", "2"],
        ),
    ] {
        let alone = command(&[&place[..], words].concat()).current_dir(folder.path()).output().unwrap();
        let (status, shown, said) = piped(folder.path(), line);
        assert_eq!((status, said), (Some(0), text(&alone.stderr)), "{line}");
        assert_eq!(shown, text(&alone.stdout), "{line}");
    }
}

/// A mistake ends its line only, and a script can see that there was one.
#[test]
fn mistakes_end_nothing_but_their_line() {
    let folder = tempfile::tempdir().unwrap();
    example(folder.path());
    let lines = "export a.csv\npln by desk\npnl by dsk\npnl where desk = FX\npnl --nonsense\npnl where desk = 'FXX'\n\
                 digits 0\ntrades\nexport risk/trades.csv\nexport a.csv\nquit\nnever\n";
    let (status, shown, said) = piped(folder.path(), lines);
    assert_eq!(status, Some(1));
    assert!(shown.ends_with("trades\n------\n    48"), "{shown}");
    for part in [
        "line 1: there is no answer yet",
        "line 2: there is no measure \"pln\"; is it \"pnl\"?",
        "line 3: table \"risk/trades.csv\" has no column \"dsk\"",
        "line 4: filter: a text stands in single quotes: 'FX'",
        "line 5: unexpected argument '--nonsense'",
        "there is no 'FXX' in desk; is it 'FX'?",
        "line 9: --output risk/trades.csv is the table that is read",
        "filbert: 6 lines failed",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    assert!(!said.contains("never"), "{said}");
    let exported = std::fs::read_to_string(folder.path().join("a.csv")).unwrap();
    assert_eq!(exported, "trades\n48\n");
}

#[test]
fn commands_of_the_prompt_tell_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    example(folder.path());
    let (status, shown, said) = piped(
        folder.path(),
        "help\nmeasures\ncolumns\nvalues desk\nexplain on\nvar95 by desk\nexplain off\ndigits 3\npnl\n",
    );
    assert_eq!((status, said.as_str()), (Some(0), ""));
    for part in [
        "explain on|off",
        "contribution",
        "partitionor",
        "0.0%",
        "scenario",
        "Credit\nEquity\nFX\nRates\n",
        "Each line is a step",
        "3 decimals",
    ] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    let last = shown.lines().last().unwrap();
    assert_eq!(last.rsplit('.').next().map(str::len), Some(3), "{shown}");
}

/// The table was read for every question.
#[test]
fn the_table_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    example(folder.path());
    let shell = |shell: &mut Shell| {
        let said = shell.ask("trades");
        assert!(said.contains("\n    48"), "{said}");
    };
    let words = "cube --forest risk/risk.toml --table risk/trades.csv";
    let mut prompt = Shell::open(folder.path(), 80, words, "cube> ");
    shell(&mut prompt);
    std::fs::remove_file(folder.path().join("risk/trades.csv")).unwrap();
    shell(&mut prompt);
    // As wide as the terminal; what has no room is counted.
    let said = prompt.ask("pnl var95 worst by desk ccy totals");
    assert!(said.contains("(6 of 12 columns have room; --flat has a line for each value"), "{said}");
    assert!(said.lines().skip(1).all(|line| line.starts_with('(') || line.chars().count() <= 80), "{said}");
    // Tab completes measures, columns and values.
    let said = prompt.ask("dive\t by des\t where desk = 'F\t");
    assert!(said.contains("diversification by desk where desk = 'FX'") && said.contains("\nFX "), "{said}");
    let said = prompt.ask("nonsense");
    assert!(said.contains("error: there is no measure \"nonsense\""), "{said}");
    prompt.end("quit");
    let kept = std::fs::read_to_string(folder.path().join("filbert/cube_history")).unwrap();
    assert!(kept.contains("nonsense"), "{kept}");
}
