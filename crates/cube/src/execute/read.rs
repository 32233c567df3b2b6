//! Columns of batches as a query wants them: in the types that the table said, with those that are calculated.

use crate::error::CubeError;
use crate::exact::{does_not_fit, strict};
use crate::filter::{ColumnSource, Filter};
use crate::forest::CalculatedColumn;
use crate::plan::CubeColumns;
use crate::value_type::{is_text, plain};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::filter;
use arrow::datatypes::DataType;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// So many rows are looked at as one task.
pub(crate) const PIECE: usize = 64 * 1024;

/// A dictionary stays beside the rows of a piece that are aggregated while it has at most so many entries for each: pieces that wait share it.
const MOST_ENTRIES: usize = 4;

/// Which columns are read, and which are calculated of them.
pub(crate) struct RowReader {
    pub(crate) columns: CubeColumns,
    /// Columns of the table.
    pub(crate) read: Vec<String>,
    pub(crate) calculated: Vec<CalculatedColumn>,
    /// Columns whose texts may stay codes of a dictionary.
    codes: BTreeSet<String>,
    /// The dictionary columns that are aggregated: they wait with their dictionary until they are.
    aggregated: BTreeSet<String>,
}

/// Columns of some rows, by name.
pub(crate) struct PieceColumns {
    pub(crate) columns: BTreeMap<String, ArrayRef>,
    pub(crate) rows: usize,
}

impl RowReader {
    /// A reader of all that these columns need.
    pub(crate) fn new<'a>(columns: &'a CubeColumns, named: impl IntoIterator<Item = &'a str>) -> Self {
        let (calculated, read) = columns.needed(named);
        let calculated = calculated.into_iter().cloned().collect();
        Self {
            columns: columns.clone(),
            read,
            calculated,
            codes: BTreeSet::new(),
            aggregated: BTreeSet::new(),
        }
    }

    /// The reader, which leaves texts as codes where a batch has them so: of all columns but `typed` and those that others are calculated
    /// of, whose types were said. Those that are `aggregated` are left so while the dictionary is not far larger than the piece.
    pub(crate) fn leaving_codes<'a>(
        mut self,
        typed: impl IntoIterator<Item = &'a str>,
        aggregated: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let others = self.calculated.iter().flat_map(CalculatedColumn::inputs);
        let typed: BTreeSet<String> = typed.into_iter().map(str::to_owned).chain(others).collect();
        self.codes = self.read.iter().filter(|column| !typed.contains(*column)).cloned().collect();
        self.aggregated = aggregated.into_iter().map(str::to_owned).collect();
        self
    }

    /// The columns of those rows of a batch that `wanted` wants.
    pub(crate) fn piece(&self, batch: &RecordBatch, wanted: &Filter) -> Result<PieceColumns, CubeError> {
        let mut columns: BTreeMap<String, ArrayRef> = BTreeMap::new();
        for name in &self.read {
            let column = batch.column_by_name(name).ok_or_else(|| CubeError::TableFailed {
                table: self.columns.table().to_owned(),
                message: format!("a batch has no column {name:?}, which was asked for"),
            })?;
            let declared = self.columns.table_type(name);
            let is_code =
                self.codes.contains(name) && declared.is_some_and(|of| are_codes(column.data_type(), of));
            let column = if is_code { Arc::clone(column) } else { typed(name, column, declared)? };
            columns.insert(name.clone(), column);
        }
        for column in &self.calculated {
            let inputs: Vec<ArrayRef> =
                column.inputs().iter().map(|input| Arc::clone(&columns[input])).collect();
            let values = self.columns.calculate(column, &inputs, batch.num_rows())?;
            let declared = self.columns.find(&column.name);
            columns.insert(column.name.clone(), typed(&column.name, &values, declared.as_ref())?);
        }
        let mut piece = PieceColumns { columns, rows: batch.num_rows() };
        if *wanted != Filter::All {
            let mask = wanted.mask(&piece)?;
            let rows = mask.true_count();
            if rows < piece.rows {
                for column in piece.columns.values_mut() {
                    *column = filter(column, &mask).map_err(|error| CubeError::arrow("table", &error))?;
                }
                piece.rows = rows;
            }
        }
        for name in &self.aggregated {
            let Some(column) = piece.columns.get_mut(name) else { continue };
            let entries = column.as_any_dictionary_opt().map_or(0, |rows| rows.values().len());
            if entries > MOST_ENTRIES * piece.rows {
                *column = typed(name, column, self.columns.table_type(name))?;
            }
        }
        Ok(piece)
    }
}

/// True for a dictionary of texts, where texts were declared.
fn are_codes(found: &DataType, declared: &DataType) -> bool {
    matches!(found, DataType::Dictionary(_, entries) if is_text(entries) && is_text(plain(declared)))
}

/// A column in the type that it was declared with; what that does not have is an error.
fn typed(name: &str, column: &ArrayRef, data_type: Option<&DataType>) -> Result<ArrayRef, CubeError> {
    match data_type {
        Some(data_type) => strict(column, data_type).map_err(|error| does_not_fit(name, error)),
        None => Ok(Arc::clone(column)),
    }
}

/// Batches in pieces, in order; nothing is copied.
pub(crate) fn pieces(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> + use<> {
    let (batch, rows) = (batch.clone(), batch.num_rows());
    (0..rows).step_by(PIECE).map(move |begin| batch.slice(begin, PIECE.min(rows - begin)))
}

impl ColumnSource for PieceColumns {
    fn rows(&self) -> usize {
        self.rows
    }

    fn column(&self, name: &str) -> Result<ArrayRef, CubeError> {
        self.columns.get(name).map(Arc::clone).ok_or_else(|| CubeError::InvalidFilter {
            at: 0,
            problem: format!("column {name:?} was not read"),
        })
    }
}
