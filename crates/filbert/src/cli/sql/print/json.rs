//! Rows as JSON objects: one array for the whole result, or one object on each line.

use super::{PrintError, Printer, Summary};
use filbert::arrow::array::RecordBatch;
use filbert::arrow::datatypes::{Field, Schema, SchemaRef};
use filbert::arrow::json::WriterBuilder;
use filbert::arrow::json::writer::LineDelimited;
use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;

/// Prints an object for each row, NULLs included unless they are to be left out.
pub(in crate::cli) struct JsonPrinter {
    schema: SchemaRef,
    is_array: bool,
    has_nulls: bool,
    has_written: bool,
}

impl JsonPrinter {
    pub(in crate::cli) fn array(schema: &Schema) -> Self {
        Self { schema: Arc::new(distinct(schema)), is_array: true, has_nulls: true, has_written: false }
    }

    pub(in crate::cli) fn lines(schema: &Schema) -> Self {
        Self { is_array: false, ..Self::array(schema) }
    }

    /// An object has no member where a value is missing.
    pub(in crate::cli) fn without_nulls(self) -> Self {
        Self { has_nulls: false, ..self }
    }
}

impl Printer for JsonPrinter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), PrintError> {
        if self.schema.fields().is_empty() || batch.num_rows() == 0 {
            return Ok(());
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec())?;
        // By way of memory, so that an error of `out` stays what it is.
        let mut lines = Vec::new();
        let mut writer =
            WriterBuilder::new().with_explicit_nulls(self.has_nulls).build::<_, LineDelimited>(&mut lines);
        writer.write(&batch)?;
        writer.finish()?;
        if !self.is_array {
            out.write_all(&lines)?;
        } else {
            for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                out.write_all(if self.has_written { b",\n " } else { b"[" })?;
                out.write_all(line)?;
                self.has_written = true;
            }
        }
        self.has_written = true;
        Ok(())
    }

    fn end(&mut self, _: &Summary, out: &mut dyn Write) -> Result<(), PrintError> {
        if self.is_array && !self.schema.fields().is_empty() {
            out.write_all(if self.has_written { b"]\n" } else { b"[]\n" })?;
        }
        Ok(())
    }

    fn has_written(&self) -> bool {
        self.has_written
    }
}

/// The same columns, a further one of the same name with a number: an object has each name once.
fn distinct(schema: &Schema) -> Schema {
    let mut taken: HashSet<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut seen = HashSet::new();
    let renamed = schema.fields().iter().map(|field| {
        if seen.insert(field.name().clone()) {
            return Field::clone(field);
        }
        let mut names = (2..).map(|number: usize| format!("{}_{number}", field.name()));
        let name = names.find(|name| taken.insert(name.clone())).unwrap_or_default();
        Field::clone(field).with_name(name)
    });
    Schema::new(renamed.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::tests::{batch, printed};
    use super::*;
    use filbert::arrow::datatypes::DataType;

    #[test]
    fn every_row_is_an_object_with_each_name_once() {
        let rows = [
            "{\"n\":-7,\"text\":\"a,\\\"b\\\"\\nc\",\"n_2\":0.5}",
            "{\"n\":null,\"text\":\"\",\"n_2\":null}",
            "{\"n\":100,\"text\":null,\"n_2\":1.0e300}",
        ];
        assert_eq!(printed(Format::Ndjson, &[batch()]), rows.join("\n") + "\n");
        let twice = [rows.join(",\n "), rows.join(",\n ")].join(",\n ");
        let array = printed(Format::Json, &[batch(), batch()]);
        assert_eq!(array, format!("[{twice}]\n"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&array).unwrap().as_array().unwrap().len(), 6);
        assert_eq!(printed(Format::Json, &[]), "[]\n");
        assert_eq!(printed(Format::Ndjson, &[]), "");
    }

    #[test]
    fn a_number_is_not_taken_twice() {
        let names = ["a", "a", "a_2", "a"];
        let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Int8, true)).collect();
        let distinct = distinct(&Schema::new(fields));
        let names: Vec<&str> = distinct.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["a", "a_3", "a_2", "a_4"]);
    }
}
