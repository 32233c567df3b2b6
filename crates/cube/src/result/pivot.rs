//! Results as a pivot: the values of one column become columns, or groups of columns where there are several measures.

use super::CubeResult;
use super::flat::name;
use super::grid::{Column, Grid, Group};
use super::layout::TableLayout;
use super::number::{MISSING, cells};
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

    /// Makes a pivot: each value of `column` is a column of its own, or a group of them if there are several measures. Lines and columns are
    /// in the order of their values, then come missing ones, then totals.
    pub(super) fn pivot(&self, column: &str, layout: &TableLayout) -> Result<Grid, CubeError> {
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
        self.laid_out((across, &down), &heads, &lines.into_values().collect::<Vec<_>>(), layout)
    }

    /// Lays out a pivot: `heads` are rows of the result that have the values side by side.
    fn laid_out(
        &self,
        (across, down): (usize, &[usize]),
        heads: &[usize],
        lines: &[Line],
        layout: &TableLayout,
    ) -> Result<Grid, CubeError> {
        let mut keys = Vec::with_capacity(down.len());
        for position in down {
            let texts = cells(self.batch.column(*position).as_ref(), MISSING)?;
            let texts = lines.iter().map(|line| texts[line.at].clone()).collect();
            keys.push(Column::new(name(&self.batch, *position), false, texts));
        }
        let values = cells(self.batch.column(across).as_ref(), MISSING)?;
        let mut measures = Vec::new();
        for position in self.keys.len()..self.batch.num_columns() {
            measures.push(self.measure(&self.batch, position, layout)?);
        }
        let group = |(number, row): (usize, &usize)| {
            let value = &values[*row];
            let column = |measure: &Column| {
                let cell = |line: &Line| {
                    line.rows[number].map_or_else(String::new, |row| measure.cells[row].trim_end().to_owned())
                };
                let name = if measures.len() == 1 { value } else { &measure.name };
                Column::new(name.clone(), measure.is_number, lines.iter().map(cell).collect())
            };
            let head = (measures.len() > 1).then(|| value.clone());
            let is_total = self.is_total(*row, across);
            Group { head, is_total, columns: measures.iter().map(column).collect() }
        };
        let groups = heads.iter().enumerate().map(group).collect();
        Ok(Grid { keys, groups, rows: lines.len() })
    }
}
