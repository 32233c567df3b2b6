//! Slices of a finer level aggregated to a coarser one: what Partitionors do, and leaves that are induced from others.

use super::Run;
use super::group::Rows;
use crate::cuboid::Cuboid;
use crate::error::CubeError;
use crate::filter::{ColumnSource, Filter, Matcher, take_or};
use crate::forest::Aggregation;
use crate::plan::Level;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt32Type};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The slices of a partition as columns that a filter can look at.
struct SliceColumns<'a> {
    run: &'a Run,
    level: &'a Level,
    keys: &'a [ArrayRef],
    rows: usize,
    wanted: &'a WantedTexts,
}

/// Which texts the conditions of a filter want, by their codes: told once for all partitions.
type WantedTexts = BTreeMap<(Arc<str>, Matcher), BooleanArray>;

impl SliceColumns<'_> {
    fn position(&self, name: &str) -> Result<usize, CubeError> {
        let position = self.level.iter().position(|column| &**column == name);
        position.ok_or_else(|| CubeError::InvalidFilter {
            at: 0,
            problem: format!("{name:?} is not a column of these slices"),
        })
    }
}

impl ColumnSource for SliceColumns<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn column(&self, name: &str) -> Result<ArrayRef, CubeError> {
        let position = self.position(name)?;
        self.run.keys.decode(&self.level[position], &self.keys[position])
    }

    /// A dictionary may have many more texts than there are slices: only those are looked at that a slice has, or all of them once.
    fn matching(&self, name: &str, matcher: &Matcher) -> Result<BooleanArray, CubeError> {
        let position = self.position(name)?;
        let column = &self.level[position];
        if self.run.keys.logical(column) != DataType::Utf8 {
            return matcher.mask(&self.column(name)?);
        }
        let codes = self.keys[position].as_primitive::<UInt32Type>();
        let is_null = *matcher == Matcher::Null;
        if let Some(wanted) = self.wanted.get(&(Arc::clone(column), matcher.clone())) {
            return take_or(wanted, codes, is_null);
        }
        let mut used: Vec<u32> = codes.iter().flatten().collect();
        used.sort_unstable();
        used.dedup();
        let used = UInt32Array::from(used);
        let texts =
            cast(&self.run.keys.decode(column, &(Arc::new(used.clone()) as ArrayRef))?, &DataType::Utf8);
        let wanted = matcher.mask(&texts.map_err(|error| CubeError::arrow(name, &error))?)?;
        let number = |code: u32| used.values().binary_search(&code).map_or(0, |number| number as u32);
        take_or(&wanted, &codes.unary::<_, UInt32Type>(number), is_null)
    }
}

impl Run {
    /// What the conditions of a filter want of those columns whose texts are fewer than the slices of a cuboid.
    fn wanted_texts(&self, from: &Cuboid, keep: &Filter) -> Result<WantedTexts, CubeError> {
        let mut wanted = WantedTexts::new();
        let mut left = vec![keep];
        while let Some(filter) = left.pop() {
            match filter {
                Filter::Column(name, matcher) if self.keys.logical(name) == DataType::Utf8 => {
                    let dictionary = self.keys.dictionaries.of(name);
                    let key = (Arc::clone(name), matcher.clone());
                    if dictionary.len() <= from.rows() && !wanted.contains_key(&key) {
                        wanted.insert(key, matcher.mask(&(dictionary.texts() as ArrayRef))?);
                    }
                }
                Filter::Not(inner) => left.push(inner),
                Filter::And(all) | Filter::Or(all) => left.extend(all),
                Filter::All | Filter::None | Filter::Column(..) => {}
            }
        }
        Ok(wanted)
    }

    /// Slices of a finer level, those that `keep` wants, aggregated.
    pub(super) fn roll_up(
        &self,
        place: &str,
        from: &Cuboid,
        to: &Level,
        keep: &Filter,
        aggregation: &Aggregation,
    ) -> Result<Cuboid, CubeError> {
        let positions: Vec<usize> =
            to.iter().filter_map(|column| from.level.iter().position(|known| known == column)).collect();
        let wanted = self.cpu.run(|| self.wanted_texts(from, keep))?;
        self.aggregate(place, (from, from.rows()), to, aggregation, |partition| {
            let part = &from.parts[partition];
            let slices = &part.slices;
            let mut keys: Vec<ArrayRef> =
                positions.iter().map(|position| Arc::clone(&slices.keys[*position])).collect();
            let mut values = Arc::clone(&part.values);
            if *values.data_type() == DataType::Null {
                values =
                    cast(&values, &DataType::Float64).map_err(|error| CubeError::arrow(place, &error))?;
            }
            if *keep != Filter::All {
                let (level, rows) = (&from.level, slices.rows);
                let columns = SliceColumns { run: self, level, keys: &slices.keys, rows, wanted: &wanted };
                let mask = keep.mask(&columns)?;
                let filter = |array: &ArrayRef| {
                    arrow::compute::filter(array, &mask).map_err(|error| CubeError::arrow(place, &error))
                };
                keys = keys.iter().map(filter).collect::<Result<_, _>>()?;
                values = filter(&values)?;
            }
            Ok(Rows { keys, values, held: self.memory.try_reserve(0)? })
        })
    }
}
