//! The rows behind cells: `filbert cube --drill-through`.
//!
//! What programs read is written as rows come; a table for people wants to know all of its rows first.

use super::super::Outcome;
use super::super::sql::print::{PrintError, Printer, Summary};
use super::super::tell::tell;
use super::super::text::counted;
use super::destination::Destination;
use super::{Arguments, Format, Watch, rows_read};
use filbert::cube::cell::on_terminal;
use filbert::cube::{Coordinate, Cube, DrillRows, DrillThrough, Query};
use std::error::Error;
use std::io::Write;

/// Reads rows and writes them.
pub(super) fn write(
    (arguments, format): (&Arguments, Format),
    watch: &Watch<'_>,
    cube: &Cube,
    query: Query,
    out: &mut Destination,
) -> Outcome {
    let rows = cube.drill_through(through(arguments, query)?)?;
    let (count, has_more) = match format {
        Format::Table => {
            let seen = rows.progress();
            let rows = watch.wait("read rows", rows.collect(), || rows_read(&seen))??;
            write!(out, "{}", rows.to_text()?)?;
            (rows.rows() as u64, rows.has_more())
        }
        _ => streamed(format, watch, rows, out)?,
    };
    if count == 0 && !arguments.cell.is_empty() {
        // A filter may well match nothing. A cell that somebody names was seen somewhere, or is a slip.
        let filter = arguments.filter.as_ref().map(|filter| format!(" where {filter}")).unwrap_or_default();
        let cell = arguments.cell.join(", ");
        tell(format_args!("filbert: {}", on_terminal(&format!("no row matches the cell {cell}{filter}"))));
    }
    if has_more {
        let rows = counted(arguments.limit as u64, "row", "rows");
        tell(format_args!("filbert: there are more than {rows}; --limit raises that"));
    }
    Ok(())
}

/// What is asked for.
fn through(arguments: &Arguments, query: Query) -> Result<DrillThrough, Box<dyn Error>> {
    let mut through = DrillThrough::new(query);
    for text in &arguments.cell {
        for (column, value) in coordinates(text)? {
            through = through.cell(&column, Coordinate::from(value));
        }
    }
    if !arguments.columns.is_empty() {
        through = through.columns(arguments.columns.clone());
    }
    Ok(if arguments.limit > 0 { through.limit(arguments.limit) } else { through })
}

/// The coordinates of a text: `desk=FX, book='a, b', ccy=`.
fn coordinates(text: &str) -> Result<Vec<(String, Option<String>)>, String> {
    let (mut parts, mut begin, mut is_quoted) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            // Quotes stand around a value; inside of one that has none around it, it is a letter.
            '\'' if is_quoted || text[begin..at].trim_end().ends_with('=') => is_quoted = !is_quoted,
            // Two of them are one in the value.
            '\'' if text[..at].ends_with('\'') && text[begin..at].contains("='") => is_quoted = true,
            ',' if !is_quoted => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts.into_iter().map(|part| coordinate(part.trim())).collect()
}

fn coordinate(text: &str) -> Result<(String, Option<String>), String> {
    let wrong = || {
        format!(
            "--cell: {text:?} is no coordinate; write column=value, and column='a, b' for a value with a comma"
        )
    };
    let (column, value) = text.split_once('=').ok_or_else(wrong)?;
    let (column, value) = (column.trim(), value.trim());
    if column.is_empty() {
        return Err(wrong());
    }
    let value = match value.strip_prefix('\'') {
        Some(rest) => Some(rest.strip_suffix('\'').ok_or_else(wrong)?.replace("''", "'")),
        None => (!value.is_empty()).then(|| value.to_owned()),
    };
    Ok((column.to_owned(), value))
}

/// Writes batch after batch: how many rows there were, and whether there are others beyond the limit.
fn streamed(
    format: Format,
    watch: &Watch<'_>,
    mut rows: DrillRows,
    out: &mut Destination,
) -> Result<(u64, bool), Box<dyn Error>> {
    let (seen, mut count) = (rows.progress(), 0);
    // Known with the first batch, which comes also where there is no row.
    let mut printer: Option<Box<dyn Printer>> = None;
    loop {
        let taking = async move {
            let batch = rows.next().await;
            (batch, rows)
        };
        let (batch, left) = watch.wait("read rows", taking, || rows_read(&seen))?;
        rows = left;
        let Some(batch) = batch.transpose()? else { break };
        if printer.is_none() {
            printer = format.printer(&batch.schema()).map_err(PrintError::plainly)?;
        }
        if let Some(printer) = &mut printer {
            printer.batch(&batch, out).map_err(PrintError::plainly)?;
        }
        count += batch.num_rows() as u64;
        if out.is_terminal {
            // The line would stand among the rows.
            watch.progress.end();
        }
    }
    if let Some(printer) = &mut printer {
        printer.end(&Summary { rows: count, elapsed: None }, out).map_err(PrintError::plainly)?;
    }
    Ok((count, rows.has_more()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_read_with_commas_in_quotes() {
        let read = |text: &str| -> Result<String, String> {
            let each = coordinates(text)?.into_iter().map(|(column, value)| format!("{column}={value:?}"));
            Ok(each.collect::<Vec<_>>().join(" "))
        };
        assert_eq!(read("desk=FX, ccy=").as_deref(), Ok("desk=Some(\"FX\") ccy=None"));
        let quoted = read("book='a, b',desk='it''s'");
        assert_eq!(quoted.as_deref(), Ok("book=Some(\"a, b\") desk=Some(\"it's\")"));
        assert_eq!(read("desk=''").as_deref(), Ok("desk=Some(\"\")"));
        let letters = read("desk=O'Brien,ccy=EUR, book='it''s, it',x= 'y'");
        let expected = "desk=Some(\"O'Brien\") ccy=Some(\"EUR\") book=Some(\"it's, it\") x=Some(\"y\")";
        assert_eq!(letters.as_deref(), Ok(expected));
        for wrong in ["desk", "book=a, b", "=x", "book='a", ""] {
            assert!(read(wrong).unwrap_err().contains("is no coordinate"), "{wrong}");
        }
    }
}
