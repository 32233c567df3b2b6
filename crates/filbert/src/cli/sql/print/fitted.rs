//! Rows as a table that fits a terminal: the first and the last of many, columns as far as there is room, types below the names.
//!
//! ```text
//! rows --> head (Cells) --> tail (the last batches) --> Fit --> lines
//!          the first 20     the last 20 rows            widths
//! ```
//!
//! A result of any length takes the memory of a few batches.

use super::expanded::record;
use super::fit::{Cell, Fit, Head};
use super::value::{Values, shown, type_of};
use super::view::{Expanded, View};
use super::{LOOKED_AT, PrintError, Printer, Summary, time};
use crate::cli::text::grouped;
use filbert::arrow::array::RecordBatch;
use filbert::arrow::datatypes::{Field, Schema, SchemaRef};
use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

/// Prints a table as far as it has room.
pub(super) struct FittedPrinter {
    view: View,
    columns: SchemaRef,
    head: Head,
    /// The first rows.
    first: Vec<Vec<Cell>>,
    /// Batches with the last rows, when there are more than the first.
    last: VecDeque<RecordBatch>,
    /// Rows in them.
    last_rows: usize,
    /// Known once rows are written as they come.
    written: Option<Written>,
}

/// The form of rows that are written.
struct Written {
    /// None where each value has a line.
    fit: Option<Fit>,
    rows: u64,
}

impl FittedPrinter {
    pub(super) fn new(columns: &SchemaRef, view: View) -> Self {
        Self {
            view,
            columns: Arc::clone(columns),
            head: Head::of(columns),
            first: Vec::new(),
            last: VecDeque::new(),
            last_rows: 0,
            written: None,
        }
    }

    /// How many rows are kept from the begin, and from the end.
    fn kept(&self) -> (usize, usize) {
        self.view.rows.map_or((LOOKED_AT, 0), |rows| (rows.div_ceil(2), rows / 2))
    }

    fn cells(&self, batch: &RecordBatch, from: usize) -> Result<Vec<Vec<Cell>>, PrintError> {
        let columns = self.columns.fields().iter().zip(batch.columns());
        let columns: Vec<Values<'_>> =
            columns.map(|(field, array)| Values::of(field, array)).collect::<Result<_, _>>()?;
        let row = |row| columns.iter().map(|column| column.cell(row)).collect::<Result<Vec<Cell>, _>>();
        Ok((from..batch.num_rows()).map(row).collect::<Result<_, _>>()?)
    }

    /// Keeps the last rows of what came.
    fn keep_last(&mut self, batch: RecordBatch) {
        let (_, most) = self.kept();
        self.last_rows += batch.num_rows();
        self.last.push_back(batch);
        while let Some(oldest) = self.last.front() {
            let without = self.last_rows - oldest.num_rows();
            if without < most {
                break;
            }
            self.last_rows = without;
            self.last.pop_front();
        }
    }

    /// The last rows that are shown.
    fn last_cells(&self) -> Result<Vec<Vec<Cell>>, PrintError> {
        let mut cells = Vec::new();
        for batch in &self.last {
            cells.extend(self.cells(batch, 0)?);
        }
        let (_, most) = self.kept();
        Ok(cells.split_off(cells.len().saturating_sub(most)))
    }

    /// Chooses the form for these rows, and writes what stands above them.
    fn begin(&self, rows: &[&[Cell]], out: &mut dyn Write) -> Result<Written, PrintError> {
        let fit = Fit::of(&self.head, rows, self.view.width);
        let is_expanded = match self.view.expanded {
            Expanded::Off => false,
            Expanded::On => true,
            Expanded::Auto => !fit.is_whole(&self.head, rows),
        };
        if is_expanded {
            return Ok(Written { fit: None, rows: 0 });
        }
        write!(out, "{}", fit.head(&self.head, self.view.paint))?;
        Ok(Written { fit: Some(fit), rows: 0 })
    }

    fn row(&self, written: &mut Written, cells: &[Cell], out: &mut dyn Write) -> Result<(), PrintError> {
        written.rows += 1;
        let line = match &written.fit {
            Some(fit) => fit.row(cells, self.view.paint),
            None => record(written.rows, &self.head.names, cells, self.view.paint),
        };
        Ok(out.write_all(line.as_bytes())?)
    }

    /// Says how many rows are not shown.
    fn gap(&self, written: &mut Written, rows: u64, out: &mut dyn Write) -> Result<(), PrintError> {
        let text = format!("… {} more {} …", grouped(rows), if rows == 1 { "row" } else { "rows" });
        let wide = written.fit.as_ref().map_or(0, Fit::width);
        let before = " ".repeat(wide.saturating_sub(text.chars().count()) / 2);
        writeln!(out, "{before}{}", self.view.paint.faint(&text))?;
        written.rows += rows;
        Ok(())
    }

    /// Says how much of the result was shown.
    fn foot(&self, written: &Written, shown: u64, summary: &Summary) -> String {
        let named =
            |count: u64, one: &str| format!("{} {one}{}", grouped(count), if count == 1 { "" } else { "s" });
        let (all, columns) = (summary.rows, self.head.names.len() as u64);
        let hides_rows = shown < all;
        let rows = match hides_rows {
            true => format!("{} of {}", grouped(shown), named(all, "row")),
            false => named(all, "row"),
        };
        let columns = match &written.fit {
            Some(fit) if (fit.shown() as u64) < columns => {
                let and = if hides_rows { " and" } else { "," };
                format!("{and} {} of {} shown", fit.shown(), named(columns, "column"))
            }
            _ if hides_rows => " shown".to_owned(),
            _ => String::new(),
        };
        let elapsed = summary.elapsed.map(|elapsed| format!(", {}", time(elapsed)));
        format!("({rows}{columns}{})", elapsed.unwrap_or_default())
    }
}

impl Head {
    fn of(columns: &Schema) -> Self {
        let fields = columns.fields();
        let one_line = |text: &str| shown(text).replace('\n', "\\n");
        Self {
            names: fields.iter().map(|field| one_line(field.name())).collect(),
            types: fields.iter().map(|field| one_line(&type_of(field))).collect(),
            numbers: fields.iter().map(|field| is_number(field)).collect(),
        }
    }
}

/// True for a column of numbers, also where a member sends them as text.
fn is_number(field: &Field) -> bool {
    field.data_type().is_numeric() || type_of(field).starts_with("DECIMAL")
}

impl Printer for FittedPrinter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), PrintError> {
        let (most, _) = self.kept();
        let mut from = 0;
        if self.written.is_none() && self.first.len() < most {
            from = batch.num_rows().min(most - self.first.len());
            let cells = self.cells(&batch.slice(0, from), 0)?;
            self.first.extend(cells);
        }
        if self.view.rows.is_some() {
            if from < batch.num_rows() {
                self.keep_last(batch.slice(from, batch.num_rows() - from));
            }
            return Ok(());
        }
        if self.written.is_none() && self.first.len() >= most {
            let first = std::mem::take(&mut self.first);
            let rows: Vec<&[Cell]> = first.iter().map(Vec::as_slice).collect();
            let mut written = self.begin(&rows, out)?;
            for cells in &rows {
                self.row(&mut written, cells, out)?;
            }
            self.written = Some(written);
        }
        if let Some(mut written) = self.written.take() {
            for cells in self.cells(batch, from)? {
                self.row(&mut written, &cells, out)?;
            }
            self.written = Some(written);
        }
        Ok(())
    }

    fn end(&mut self, summary: &Summary, out: &mut dyn Write) -> Result<(), PrintError> {
        let written = match self.written.take() {
            Some(written) => written,
            None => {
                let last = self.last_cells()?;
                let rows: Vec<&[Cell]> = self.first.iter().chain(&last).map(Vec::as_slice).collect();
                let mut written = self.begin(&rows, out)?;
                let hidden = summary.rows.saturating_sub(rows.len() as u64);
                for (number, cells) in rows.iter().enumerate() {
                    if number == self.first.len() && hidden > 0 {
                        self.gap(&mut written, hidden, out)?;
                    }
                    self.row(&mut written, cells, out)?;
                }
                // With one row there is nothing behind the gap.
                if last.is_empty() && hidden > 0 {
                    self.gap(&mut written, hidden, out)?;
                }
                let shown = rows.len() as u64;
                writeln!(out, "{}", self.foot(&written, shown, summary))?;
                return Ok(());
            }
        };
        writeln!(out, "{}", self.foot(&written, written.rows, summary))?;
        self.written = Some(written);
        Ok(())
    }

    fn has_written(&self) -> bool {
        self.written.is_some()
    }
}

#[cfg(test)]
mod tests;
