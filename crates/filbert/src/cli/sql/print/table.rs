//! Rows as a table. How wide columns are is what the first rows need; further ones are written as they come, so that a result of any
//! length takes the memory of a few.

use super::super::super::table::{Layout, Table};
use super::super::super::text::grouped;
use super::value::{Values, shown};
use super::{LOOKED_AT, PrintError, Printer, Summary};
use filbert::StatementKind;
use filbert::arrow::array::{AsArray, RecordBatch};
use filbert::arrow::datatypes::{Schema, UInt64Type};
use std::io::Write;

/// Prints a table, then how many rows there were.
pub(super) struct TablePrinter {
    begin: Table,
    /// Known when the begin has been written.
    layout: Option<Layout>,
    /// What was done, by a statement that does something; its rows are no table.
    done: Option<Done>,
}

#[derive(Clone, Copy)]
struct Done {
    /// The end of a sentence that begins with their number, or all of it; nothing where the number is said as that of a result.
    word: &'static str,
    counted: Option<u64>,
}

impl TablePrinter {
    pub(super) fn new(schema: &Schema, kind: &StatementKind) -> Self {
        let word = match kind {
            StatementKind::Insert => Some("inserted"),
            StatementKind::Update => Some("updated"),
            StatementKind::Delete => Some("deleted"),
            StatementKind::Copy => Some("written"),
            StatementKind::CreateTableAs => Some(""),
            _ => schema.fields().is_empty().then_some("done"),
        };
        let fields = schema.fields();
        let header = fields.iter().map(|field| shown(field.name())).collect();
        let right = fields.iter().map(|field| field.data_type().is_numeric()).collect();
        let done = word.map(|word| Done { word, counted: None });
        Self { begin: Table::ruled(header, right), layout: None, done }
    }
}

/// The number of a statement that counts what it changed.
fn count(batch: &RecordBatch) -> Option<u64> {
    let counts = batch.columns().first()?.as_primitive_opt::<UInt64Type>()?;
    (!counts.is_empty()).then(|| counts.value(0))
}

impl Printer for TablePrinter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), PrintError> {
        if let Some(done) = &mut self.done {
            done.counted = done.counted.or_else(|| count(batch));
            return Ok(());
        }
        let columns = batch.schema_ref().fields().iter().zip(batch.columns());
        let columns: Vec<Values<'_>> =
            columns.map(|(field, array)| Values::of(field, array)).collect::<Result<_, _>>()?;
        for row in 0..batch.num_rows() {
            let cells = columns.iter().map(|column| column.cell(row));
            let cells: Vec<String> = cells
                .map(|cell| cell.map(|cell| cell.unwrap_or_else(|| "NULL".to_owned())))
                .collect::<Result<_, _>>()?;
            match &self.layout {
                Some(layout) => layout.write_row(out, "", &cells)?,
                None => self.begin.row(cells),
            }
            if self.layout.is_none() && self.begin.len() >= LOOKED_AT {
                self.layout = Some(self.begin.begin(out, "")?);
            }
        }
        Ok(())
    }

    fn end(&mut self, summary: &Summary, out: &mut dyn Write) -> Result<(), PrintError> {
        if let Some(Done { word: "", counted }) = self.done {
            writeln!(out, "{}", Summary { rows: counted.unwrap_or_default(), ..*summary })?;
            return Ok(());
        }
        if let Some(Done { word, counted }) = self.done {
            let count = counted.map(|count| format!("{} ", grouped(count))).unwrap_or_default();
            let time = summary.elapsed.map(|elapsed| format!(" ({})", super::time(elapsed)));
            writeln!(out, "{count}{word}{}", time.unwrap_or_default())?;
            return Ok(());
        }
        if self.layout.is_none() {
            self.layout = Some(self.begin.begin(out, "")?);
        }
        writeln!(out, "{summary}")?;
        Ok(())
    }

    fn has_written(&self) -> bool {
        self.layout.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::tests::{batch, printed, printed_as};
    use super::*;
    use filbert::arrow::array::{DurationSecondArray, TimestampSecondArray, UInt64Array};
    use filbert::arrow::datatypes::{DataType, Field, TimeUnit};
    use std::sync::Arc;

    #[test]
    fn numbers_go_to_the_right_and_null_is_shown() {
        let expected = "   n  text       n\n----  -----  -----\n  -7  a,\"b\"    0.5\n      c\nNULL           NaN\n 100  NULL   1e300\n(3 rows)\n";
        assert_eq!(printed(Format::Table, &[batch()]), expected);
        assert_eq!(printed(Format::Table, &[]), "n  text  n\n-  ----  -\n(0 rows)\n");
    }

    #[test]
    fn moments_and_intervals_are_written_as_on_a_terminal() {
        let schema = Schema::new(vec![
            Field::new("t", DataType::Timestamp(TimeUnit::Second, None), true),
            Field::new("i", DataType::Duration(TimeUnit::Second), true),
        ]);
        let moments = TimestampSecondArray::from(vec![Some(1_719_430_738), None]);
        let times = DurationSecondArray::from(vec![Some(31_535_911), None]);
        let schema = Arc::new(schema);
        let rows = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(moments), Arc::new(times)]);
        let said = printed_as(StatementKind::Rows, &schema, Format::Table, &[rows.unwrap()]);
        assert!(said.contains("2024-06-26 19:38:58  364 days 23:58:31"), "{said}");
        assert!(said.contains("NULL                 NULL"), "{said}");
    }

    #[test]
    fn a_statement_that_changes_something_says_what() {
        let schema = Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]));
        let counts =
            RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(UInt64Array::from(vec![1_200]))]);
        let counts = [counts.unwrap()];
        let said = |kind, format| printed_as(kind, &schema, format, &counts);
        assert_eq!(said(StatementKind::Insert, Format::Table), "1,200 inserted\n");
        assert_eq!(said(StatementKind::Delete, Format::Table), "1,200 deleted\n");
        assert_eq!(said(StatementKind::Copy, Format::Table), "1,200 written\n");
        assert_eq!(said(StatementKind::CreateTableAs, Format::Table), "(1,200 rows)\n");
        assert_eq!(said(StatementKind::Update, Format::Csv), "count\n1200\n");
        assert_eq!(said(StatementKind::Update, Format::Ndjson), "{\"count\":1200}\n");
        let none = Arc::new(Schema::empty());
        let view = || StatementKind::Other("CREATE VIEW".to_owned());
        assert_eq!(printed_as(view(), &none, Format::Table, &[]), "done\n");
        for format in [Format::Csv, Format::Json, Format::Ndjson] {
            assert_eq!(printed_as(view(), &none, format, &[]), "");
        }
    }

    #[test]
    fn a_terminal_is_not_what_a_value_may_write_to() {
        assert_eq!(shown("a\nb\u{1b}[2Jc\t\r\u{9b}"), "a\nb\\u{1b}[2Jc\\t\\r\\u{9b}");
    }

    /// Kept until the end, a long result would take as much memory as it has rows.
    #[test]
    fn rows_are_written_as_they_come_once_the_columns_are_known() {
        let mut printer = TablePrinter::new(&batch().schema(), &StatementKind::Rows);
        let mut out = Vec::new();
        let few = LOOKED_AT / batch().num_rows();
        for _ in 0..few {
            printer.batch(&batch(), &mut out).unwrap();
        }
        assert!(out.is_empty() && !printer.has_written());
        for _ in 0..2 {
            let before = out.len();
            printer.batch(&batch(), &mut out).unwrap();
            assert!(out.len() > before && printer.has_written());
        }
        assert!(printer.begin.len() <= LOOKED_AT);
        printer.end(&Summary { rows: 1, elapsed: None }, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().filter(|line| line.contains("a,\"b\"")).count(), few + 2);
    }
}
