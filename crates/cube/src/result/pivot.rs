//! Results as a pivot: the values of one column become columns.

use super::CubeResult;
use super::text::{MISSING, NO_VALUE, cells, head, table};
use crate::error::CubeError;
use arrow::row::Row;
use std::collections::{BTreeMap, BTreeSet};

/// More columns than a person, or a terminal, can take in.
const MOST_COLUMNS: usize = 200;

/// A line of a pivot.
struct Line {
    /// A row of the result that has its coordinates.
    at: usize,
    /// The row of the result that it has below each head.
    rows: Vec<Option<usize>>,
}

impl CubeResult {
    /// How many columns a pivot over `column` would have beside those that stay: its values, times the measures. At most 200 values are
    /// counted.
    ///
    /// Refused when `column` was not grouped by.
    pub fn pivot_columns(&self, column: &str) -> Result<usize, CubeError> {
        let coordinates = self.coordinates(&[self.across(column)?])?;
        let mut values = BTreeSet::new();
        for value in &coordinates {
            values.insert(value);
            if values.len() > MOST_COLUMNS {
                break;
            }
        }
        Ok(values.len() * (self.batch.num_columns() - self.keys.len()))
    }

    /// The position of a column that was grouped by.
    fn across(&self, column: &str) -> Result<usize, CubeError> {
        let schema = self.batch.schema();
        let across = schema.fields()[..self.keys.len()].iter().position(|field| field.name() == column);
        across.ok_or_else(|| CubeError::InvalidQuery {
            problem: format!("a pivot over {column:?} needs it among the columns that are grouped by"),
        })
    }

    /// The rows as an aligned table in which each value of `column` is a column of its own, for each measure. Lines and columns are in the
    /// order of their values, missing ones (`NULL`) first, totals (`*`) last.
    ///
    /// Refused when `column` was not grouped by, or has more than 200 values.
    pub fn to_pivot(&self, column: &str) -> Result<String, CubeError> {
        let across = self.across(column)?;
        let down: Vec<usize> = (0..self.keys.len()).filter(|position| *position != across).collect();
        let (heads_of, lines_of) = (self.coordinates(&[across])?, self.coordinates(&down)?);
        // Each with a row that has it.
        let mut heads: BTreeMap<Row<'_>, usize> = BTreeMap::new();
        for (row, head) in heads_of.iter().enumerate() {
            heads.entry(head).or_insert(row);
            if heads.len() > MOST_COLUMNS {
                let problem =
                    format!("a pivot over {column:?} has more than {MOST_COLUMNS} columns; filter it");
                return Err(CubeError::InvalidQuery { problem });
            }
        }
        let heads: Vec<(Row<'_>, usize)> = heads.into_iter().collect();
        let mut lines: BTreeMap<Row<'_>, Line> = BTreeMap::new();
        for (row, (head, line)) in heads_of.iter().zip(&lines_of).enumerate() {
            let line = lines.entry(line).or_insert_with(|| Line { at: row, rows: vec![None; heads.len()] });
            if let Ok(position) = heads.binary_search_by(|(known, _)| known.cmp(&head)) {
                line.rows[position] = Some(row);
            }
        }
        let heads: Vec<usize> = heads.into_iter().map(|(_, row)| row).collect();
        self.laid_out(across, &down, &heads, &lines.into_values().collect::<Vec<_>>())
    }

    /// The text of a pivot: `heads` are rows of the result that have the values side by side.
    fn laid_out(
        &self,
        across: usize,
        down: &[usize],
        heads: &[usize],
        lines: &[Line],
    ) -> Result<String, CubeError> {
        let schema = self.batch.schema();
        let name = |position: usize| head(schema.field(position).name());
        let mut names: Vec<String> = down.iter().map(|position| name(*position)).collect();
        let mut columns: Vec<(bool, Vec<String>)> = Vec::new();
        for position in down {
            let texts = cells(self.batch.column(*position).as_ref(), MISSING)?;
            columns.push((false, lines.iter().map(|line| texts[line.at].clone()).collect()));
        }
        let values = cells(self.batch.column(across).as_ref(), MISSING)?;
        let mut measures = Vec::new();
        for position in self.keys.len()..self.batch.num_columns() {
            let column = self.batch.column(position);
            measures.push((
                name(position),
                column.data_type().is_numeric(),
                cells(column.as_ref(), NO_VALUE)?,
            ));
        }
        for (number, row) in heads.iter().enumerate() {
            for (measure, is_number, texts) in &measures {
                let value = &values[*row];
                names.push(match measures.len() {
                    1 => value.clone(),
                    _ => format!("{value} {measure}"),
                });
                let cell = |line: &Line| line.rows[number].map_or_else(String::new, |row| texts[row].clone());
                columns.push((*is_number, lines.iter().map(cell).collect()));
            }
        }
        Ok(table(&names, &columns))
    }
}
