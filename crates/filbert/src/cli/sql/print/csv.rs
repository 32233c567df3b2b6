//! Rows as comma-separated values, RFC 4180. Written by hand because the crates that write CSV cannot tell NULL from an empty text.

use super::{PrintError, Printer, Summary, written};
use filbert::arrow::array::{Array, RecordBatch};
use filbert::arrow::datatypes::{DataType, Schema};
use filbert::arrow::util::display::ArrayFormatter;
use filbert::cube::cell::csv_line;
use std::io::Write;

/// Prints a header, and a line for each row.
pub(in crate::cli) struct CsvPrinter {
    /// Until it is written.
    header: Option<String>,
}

impl CsvPrinter {
    pub(in crate::cli) fn new(schema: &Schema) -> Self {
        let names = schema.fields().iter().map(|field| Some(field.name().clone()));
        Self { header: (!schema.fields().is_empty()).then(|| csv_line(names)) }
    }

    fn write_header(&mut self, out: &mut dyn Write) -> Result<(), PrintError> {
        if let Some(header) = self.header.take() {
            writeln!(out, "{header}")?;
        }
        Ok(())
    }
}

impl Printer for CsvPrinter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), PrintError> {
        self.write_header(out)?;
        let options = written();
        let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
        let columns: Vec<ArrayFormatter<'_>> = columns.collect::<Result<_, _>>()?;
        for row in 0..batch.num_rows() {
            let mut cells = Vec::with_capacity(columns.len());
            for (column, array) in columns.iter().zip(batch.columns()) {
                // An array of nulls keeps no list of them.
                let is_null = array.is_null(row) || *array.data_type() == DataType::Null;
                cells.push((!is_null).then(|| column.value(row).try_to_string()).transpose()?);
            }
            writeln!(out, "{}", csv_line(cells))?;
        }
        Ok(())
    }

    fn end(&mut self, _: &Summary, out: &mut dyn Write) -> Result<(), PrintError> {
        self.write_header(out)
    }

    fn has_written(&self) -> bool {
        self.header.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::tests::{batch, printed};

    #[test]
    fn null_is_nothing_and_an_empty_text_is_quoted() {
        let expected = "n,text,n\n-7,\"a,\"\"b\"\"\nc\",0.5\n,\"\",NaN\n100,,1e300\n";
        assert_eq!(printed(Format::Csv, &[batch()]), expected);
        assert_eq!(printed(Format::Csv, &[]), "n,text,n\n");
    }
}
