//! `filbert cube --example`: trades and measures to try cubes with, and the commands to type.
//!
//! The trades are those of the example `market_risk`, the same on every machine, as a file that people can read.

use super::super::Outcome;
use super::super::sql::print::{CsvPrinter, PrintError, Printer, Summary};
use super::market_risk;
use std::error::Error;
use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The measures.
const FOREST: &str = include_str!("example.toml");

/// So many trades, each with a row for today and for each of 100 scenarios.
const TRADES: i64 = 48;

/// Writes both files into a folder, which is made if it is not there, and then says what to type.
pub(super) fn write(folder: &Path, out: &mut dyn Write) -> Outcome {
    let told =
        |path: &Path, problem: &dyn std::fmt::Display| format!("cannot write {}: {problem}", path.display());
    std::fs::create_dir_all(folder).map_err(|error| told(folder, &error))?;
    let (trades, forest) = (folder.join("trades.csv"), folder.join("risk.toml"));
    for path in [&trades, &forest] {
        if path.symlink_metadata().is_ok() {
            return Err(told(path, &"it is there already; name another folder").into());
        }
    }
    let mut file = BufWriter::new(OpenOptions::new().write(true).create_new(true).open(&trades)?);
    csv(&mut file).map_err(|error| told(&trades, &error))?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(&forest)?;
    file.write_all(FOREST.as_bytes()).map_err(|error| told(&forest, &error))?;
    tell(folder, out)?;
    Ok(())
}

fn csv(file: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let rows = market_risk::scenarios(TRADES)?;
    let mut printer = CsvPrinter::new(&rows.schema());
    printer.batch(&rows, file).map_err(PrintError::plainly)?;
    printer
        .end(&Summary { rows: rows.num_rows() as u64, elapsed: None }, file)
        .map_err(PrintError::plainly)?;
    Ok(file.flush()?)
}

/// Prints what to type, with the paths of the folder as a shell takes them.
fn tell(folder: &Path, out: &mut dyn Write) -> std::io::Result<()> {
    let named = |name: &str| quoted(&folder.join(name).to_string_lossy());
    let (trades, forest) = (named("trades.csv"), named("risk.toml"));
    let rows = TRADES * 101;
    writeln!(out, "{trades}: {TRADES} trades today and in 100 scenarios, {rows} rows")?;
    writeln!(out, "{forest}: measures over them, such as pnl and var95\n\nTry:")?;
    for question in [
        "--measures pnl,var95 --by desk --totals",
        "--measures var95 --by desk,ccy --totals",
        "--measures pnl,var95 --by desk,ccy",
        "--measures var95,contribution --where \"desk = 'FX'\"",
        "--measures var95 --by desk --explain",
        "--measures pnl,var95 --by desk,ccy -o report.csv",
        "--interactive",
    ] {
        writeln!(out, "  filbert cube --forest {forest} --table {trades} {question}")?;
    }
    Ok(())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-".contains(letter);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_words_of_a_shell() {
        assert_eq!(quoted("risk/trades.csv"), "risk/trades.csv");
        assert_eq!(quoted("my risk's"), "'my risk'\\''s'");
    }
}
