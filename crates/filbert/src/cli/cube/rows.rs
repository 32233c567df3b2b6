//! The rows behind cells: `filbert cube --drill-through`.
//!
//! Lines for programs are written as rows come; a table for people wants to know all of its rows first.

use super::super::Outcome;
use super::{Arguments, Format, Watch, rows_read};
use filbert::arrow::array::RecordBatch;
use filbert::arrow::{csv, json};
use filbert::cube::{Coordinate, Cube, DrillRows, DrillThrough, Query};
use std::error::Error;
use std::io::Write;

/// Reads rows and writes them.
pub(super) fn write(arguments: &Arguments, watch: &Watch<'_>, cube: &Cube, query: Query) -> Outcome {
    let rows = cube.drill_through(through(arguments, query)?)?;
    let has_more = match arguments.format {
        Format::Table => {
            let seen = rows.progress();
            let rows = watch.wait("read rows", rows.collect(), || rows_read(&seen))??;
            let mut out = std::io::stdout().lock();
            write!(out, "{}", rows.to_text()?)?;
            out.flush()?;
            rows.has_more()
        }
        Format::Csv => {
            let mut writer = csv::WriterBuilder::new().with_header(true).build(std::io::stdout().lock());
            each(watch, rows, |batch| Ok(writer.write(batch)?))?
        }
        Format::Json => {
            let mut writer = json::ArrayWriter::new(std::io::stdout().lock());
            let has_more = each(watch, rows, |batch| Ok(writer.write(batch)?))?;
            writer.finish()?;
            writeln!(writer.into_inner())?;
            has_more
        }
    };
    if has_more {
        eprintln!("filbert: there are more than {} rows; --limit raises that", arguments.limit);
    }
    Ok(())
}

/// What is asked for.
fn through(arguments: &Arguments, query: Query) -> Result<DrillThrough, Box<dyn Error>> {
    let mut through = DrillThrough::new(query);
    for coordinate in &arguments.cell {
        let (column, value) = coordinate
            .split_once('=')
            .ok_or_else(|| format!("--cell {coordinate:?} is no coordinate; write it as column=value"))?;
        let value = (!value.is_empty()).then_some(value);
        through = through.cell(column, Coordinate::from(value));
    }
    if !arguments.columns.is_empty() {
        through = through.columns(arguments.columns.clone());
    }
    Ok(if arguments.limit > 0 { through.limit(arguments.limit) } else { through })
}

/// Writes batch after batch; true when there are rows beyond the limit.
fn each(
    watch: &Watch<'_>,
    mut rows: DrillRows,
    mut write: impl FnMut(&RecordBatch) -> Outcome,
) -> Result<bool, Box<dyn Error>> {
    let seen = rows.progress();
    loop {
        let taking = async move {
            let batch = rows.next().await;
            (batch, rows)
        };
        let (batch, left) = watch.wait("read rows", taking, || rows_read(&seen))?;
        rows = left;
        match batch {
            Some(batch) => write(&batch?)?,
            None => return Ok(rows.has_more()),
        }
        // The line would stand among the rows.
        watch.progress.end();
    }
}
