//! Results as a pivot: the values of one column become columns.

use super::CubeResult;
use super::text::{cells, table};
use crate::error::CubeError;
use std::collections::{BTreeMap, BTreeSet};

/// More columns than a person, or a terminal, can take in.
const MOST_COLUMNS: usize = 200;

impl CubeResult {
    /// How many columns a pivot over `column` would have beside those that stay: its values, times the measures. At most 200 values are
    /// counted.
    ///
    /// Refused when `column` was not grouped by.
    pub fn pivot_columns(&self, column: &str) -> Result<usize, CubeError> {
        let mut values = BTreeSet::new();
        for value in cells(self.batch.column(self.across(column)?).as_ref())? {
            values.insert(value);
            if values.len() > MOST_COLUMNS {
                break;
            }
        }
        Ok(values.len() * (self.batch.num_columns() - self.columns))
    }

    /// The position of a column that was grouped by.
    fn across(&self, column: &str) -> Result<usize, CubeError> {
        let schema = self.batch.schema();
        let across = schema.fields()[..self.columns].iter().position(|field| field.name() == column);
        across.ok_or_else(|| CubeError::InvalidQuery {
            problem: format!("a pivot over {column:?} needs it among the columns that are grouped by"),
        })
    }

    /// The rows as an aligned table in which each value of `column` is a column of its own, for each measure.
    ///
    /// Refused when `column` was not grouped by, or has more than 200 values.
    pub fn to_pivot(&self, column: &str) -> Result<String, CubeError> {
        let schema = self.batch.schema();
        let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        let invalid = |problem: String| CubeError::InvalidQuery { problem };
        let across = self.across(column)?;
        let mut texts = Vec::with_capacity(names.len());
        for column in self.batch.columns() {
            texts.push(cells(column.as_ref())?);
        }
        let down: Vec<usize> = (0..self.columns).filter(|position| *position != across).collect();
        let measures: Vec<usize> = (self.columns..names.len()).collect();
        let mut heads_across: Vec<&String> = Vec::new();
        let mut rows: BTreeMap<usize, Vec<Option<String>>> = BTreeMap::new();
        let mut row_of: BTreeMap<Vec<&String>, usize> = BTreeMap::new();
        for (row, value) in texts[across].iter().enumerate() {
            if !heads_across.contains(&value) {
                if heads_across.len() == MOST_COLUMNS {
                    return Err(invalid(format!(
                        "a pivot over {column:?} has more than {MOST_COLUMNS} columns; filter it"
                    )));
                }
                heads_across.push(value);
            }
            let key: Vec<&String> = down.iter().map(|position| &texts[*position][row]).collect();
            let next = row_of.len();
            row_of.entry(key).or_insert(next);
        }
        heads_across.sort_by_key(|head| (head.as_str() == "*", (*head).clone()));
        let width = heads_across.len() * measures.len();
        for (row, value) in texts[across].iter().enumerate() {
            let key: Vec<&String> = down.iter().map(|position| &texts[*position][row]).collect();
            let head = heads_across.iter().position(|head| *head == value).unwrap_or(0);
            let line = rows.entry(row_of[&key]).or_insert_with(|| vec![None; width]);
            for (offset, measure) in measures.iter().enumerate() {
                line[head * measures.len() + offset] = Some(texts[*measure][row].clone());
            }
        }
        let mut heads: Vec<String> = down.iter().map(|position| names[*position].clone()).collect();
        for head in &heads_across {
            for measure in &measures {
                let name = names[*measure];
                heads.push(if measures.len() == 1 { (*head).clone() } else { format!("{head} {name}") });
            }
        }
        let mut keys: Vec<(usize, Vec<&String>)> = row_of.into_iter().map(|(key, row)| (row, key)).collect();
        keys.sort();
        let mut columns: Vec<(bool, Vec<String>)> = Vec::with_capacity(heads.len());
        for position in 0..down.len() {
            columns.push((false, keys.iter().map(|(_, key)| key[position].clone()).collect()));
        }
        for position in 0..width {
            let is_number = self.batch.column(measures[position % measures.len()]).data_type().is_numeric();
            let cells = keys.iter().map(|(row, _)| rows[row][position].clone().unwrap_or_default());
            columns.push((is_number, cells.collect()));
        }
        Ok(table(&heads, &columns))
    }
}
