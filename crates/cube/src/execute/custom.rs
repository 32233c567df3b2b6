//! Custom measures: cuboids out as batches, a batch back in as a cuboid.

use super::Run;
use super::combine::one_type;
use crate::aggregate::{Aggregate, Block, Carriers, CustomAggregate, Function, Grouping, Values};
use crate::cuboid::{Cuboid, Part, Slices};
use crate::error::CubeError;
use crate::memory::bytes_of;
use crate::plan::{CustomCode, Level};
use crate::query::Position;
use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow::compute::SortColumn;
use arrow::compute::{
    cast, concat, filter_record_batch, is_not_null, lexsort_to_indices, take, take_record_batch,
};
use arrow::datatypes::{DataType, Field, Schema};
use filbert_pool::caught;
use std::any::Any;
use std::sync::Arc;

impl Run {
    pub(super) fn custom(
        &self,
        place: &str,
        level: &Level,
        position: &Position,
        code: &CustomCode,
        inputs: &[Cuboid],
    ) -> Result<Cuboid, CubeError> {
        let produce = |inputs: &[Cuboid]| {
            let batches: Result<Vec<RecordBatch>, CubeError> =
                inputs.iter().map(|cuboid| self.batch(cuboid, "value")).collect();
            let batches = batches?;
            let bytes = batches.iter().flat_map(RecordBatch::columns).map(bytes_of).sum();
            let _held = self.memory.try_reserve(bytes)?;
            caught(|| code.0.produce(position, &batches))
                .map_err(|message| CubeError::Panicked { measure: place.to_owned(), message })?
                .map_err(|message| CubeError::Computation { place: format!("measure {place:?}"), message })
        };
        let made = match self.shares_of(level, code, inputs)? {
            None => self.side_by_side(place, 1, 1, |_| produce(inputs))?,
            Some(shares) => {
                self.side_by_side(place, self.parallelism, shares.len(), |share| produce(&shares[share]))?
            }
        };
        self.cuboid_of(place, level, &made)
    }

    /// The inputs by partitions, where code may compute each partition apart; none where it wants all at once.
    fn shares_of(
        &self,
        level: &Level,
        code: &CustomCode,
        inputs: &[Cuboid],
    ) -> Result<Option<Vec<Vec<Cuboid>>>, CubeError> {
        let count = inputs.first().map_or(0, |input| input.parts.len());
        let lie_alike = inputs.iter().all(|input| input.level == *level && input.parts.len() == count);
        if !code.0.is_slice_by_slice() || !lie_alike {
            return Ok(None);
        }
        let parts: Result<Vec<Vec<Part>>, CubeError> =
            inputs.iter().map(|input| one_type(input.parts.to_vec())).collect();
        let parts = parts?;
        let has_slices = |partition: &usize| parts.iter().any(|parts| parts[*partition].slices.rows > 0);
        let share = |partition| parts.iter().map(|parts| Cuboid::part(level, &parts[partition])).collect();
        let shares: Vec<Vec<Cuboid>> = (0..count).filter(has_slices).map(share).collect();
        Ok((shares.len() > 1).then_some(shares))
    }

    /// A cuboid as a batch: its columns, and the values last; in the order of the keys, without slices that have no value.
    pub(crate) fn batch(&self, cuboid: &Cuboid, name: &str) -> Result<RecordBatch, CubeError> {
        let arrow = |error| CubeError::arrow("slices", &error);
        let mut columns = Vec::with_capacity(cuboid.level.len() + 1);
        let mut fields = Vec::with_capacity(cuboid.level.len() + 1);
        for (position, column) in cuboid.level.iter().enumerate() {
            let pieces: Vec<&dyn Array> =
                cuboid.parts.iter().map(|part| part.slices.keys[position].as_ref()).collect();
            let decoded = self.keys.decode(column, &concat(&pieces).map_err(arrow)?)?;
            columns.push(cast(&decoded, &self.keys.logical(column)).map_err(arrow)?);
            fields.push(Field::new(&**column, self.keys.logical(column), true));
        }
        let values = self.values_as_one(cuboid)?;
        fields.push(Field::new(name, values.data_type().clone(), true));
        columns.push(values);
        let rows = columns.last().map_or(0, |values| values.len());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
            .map_err(arrow)?;
        let present = is_not_null(batch.column(batch.num_columns() - 1)).map_err(arrow)?;
        let batch = filter_record_batch(&batch, &present).map_err(arrow)?;
        sorted(&batch, cuboid.level.len())
    }

    /// The values of all partitions, one after the other.
    pub(super) fn values_as_one(&self, cuboid: &Cuboid) -> Result<ArrayRef, CubeError> {
        let parts = one_type(cuboid.parts.to_vec())?;
        let values: Vec<&dyn Array> =
            parts.iter().filter(|part| part.slices.rows > 0).map(|part| part.values.as_ref()).collect();
        if values.is_empty() {
            let data_type = parts.first().map_or(&DataType::Null, |part| part.values.data_type());
            return Ok(new_null_array(data_type, 0));
        }
        concat(&values).map_err(|error| CubeError::arrow("slices", &error))
    }

    /// Batches as a cuboid: each slice goes to its partition.
    pub(crate) fn cuboid_of(
        &self,
        place: &str,
        level: &Level,
        batches: &[RecordBatch],
    ) -> Result<Cuboid, CubeError> {
        let wrong = |message: String| CubeError::Computation { place: format!("measure {place:?}"), message };
        let mut keys = vec![Vec::with_capacity(batches.len()); level.len()];
        let mut values = Vec::with_capacity(batches.len());
        for batch in batches {
            if batch.num_columns() != level.len() + 1 {
                return Err(wrong(format!(
                    "it gave {} columns; expected are {} and its values",
                    batch.num_columns(),
                    if level.is_empty() { "none".to_owned() } else { level.join(", ") }
                )));
            }
            for ((column, given), keys) in level.iter().zip(batch.columns()).zip(&mut keys) {
                keys.push(self.keys.encode(column, given)?);
            }
            values.push(Arc::clone(batch.column(level.len())));
        }
        let keys: Result<Vec<ArrayRef>, CubeError> =
            keys.iter().map(|pieces| one_after_another(pieces)).collect();
        let values = one_after_another(&of_one_type(values).map_err(wrong)?)?;
        self.spread_anew(level, keys?, values).map_err(|error| match error {
            CubeError::Computation { message, .. } => wrong(message),
            other => other,
        })
    }

    /// Slices, each given once, in their partitions. Waits for `cpu`.
    pub(super) fn spread_anew(
        &self,
        level: &Level,
        keys: Vec<ArrayRef>,
        values: ArrayRef,
    ) -> Result<Cuboid, CubeError> {
        self.observed.note_spread_anew();
        let only = Aggregate::new(Function::Custom(Arc::new(Only)), 0, values.data_type().clone());
        let mut grouping =
            Grouping::new(self.key_types(level), vec![only], self.grouping_options(level, self.partitions))?;
        grouping.push(Block { rows: values.len(), keys, inputs: vec![values], filters: Vec::new() })?;
        let grouped = grouping.finish()?;
        let parts: Result<Vec<Part>, CubeError> = grouped
            .partitions
            .into_iter()
            .map(|partition| {
                let slices = Slices::new(partition.keys, partition.groups, &self.memory)?;
                Ok(Part { slices, values: Arc::clone(&partition.values[0]) })
            })
            .collect();
        Cuboid::new(level, parts?, &self.memory)
    }
}

/// The pieces as one array.
fn one_after_another(pieces: &[ArrayRef]) -> Result<ArrayRef, CubeError> {
    if let [only] = pieces {
        return Ok(Arc::clone(only));
    }
    let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
    concat(&pieces).map_err(|error| CubeError::arrow("slices", &error))
}

/// The pieces with the type that they have, but for those that know none.
fn of_one_type(mut pieces: Vec<ArrayRef>) -> Result<Vec<ArrayRef>, String> {
    let types = || pieces.iter().map(|piece| piece.data_type()).filter(|known| **known != DataType::Null);
    let Some(known) = types().next().cloned() else { return Ok(pieces) };
    if let Some(other) = types().find(|other| **other != known) {
        return Err(format!("it gave values of type {known} for some slices and {other} for others"));
    }
    for piece in pieces.iter_mut().filter(|piece| *piece.data_type() == DataType::Null) {
        *piece = new_null_array(&known, piece.len());
    }
    Ok(pieces)
}

/// The batch in the order of its first columns.
pub(crate) fn sorted(batch: &RecordBatch, columns: usize) -> Result<RecordBatch, CubeError> {
    if columns == 0 || batch.num_rows() < 2 {
        return Ok(batch.clone());
    }
    let arrow = |error| CubeError::arrow("slices", &error);
    let by: Vec<SortColumn> = batch.columns()[..columns]
        .iter()
        .map(|column| SortColumn { values: Arc::clone(column), options: None })
        .collect();
    let order = lexsort_to_indices(&by, None).map_err(arrow)?;
    take_record_batch(batch, &order).map_err(arrow)
}

/// The one value of each group; a second one is an error.
#[derive(Debug)]
struct Only;

struct OneEach {
    blocks: Vec<ArrayRef>,
    rows: usize,
    /// For each group the row of its value.
    of_group: Vec<Option<u32>>,
}

impl CustomAggregate for Only {
    fn carriers(&self, _input: &DataType) -> Result<Box<dyn Carriers>, CubeError> {
        Ok(Box::new(OneEach { blocks: Vec::new(), rows: 0, of_group: Vec::new() }))
    }
}

impl OneEach {
    fn put(&mut self, group: u32, row: u32) -> Result<(), CubeError> {
        if self.of_group[group as usize].replace(row).is_none() {
            return Ok(());
        }
        let message = "it gave two values for one slice; give each slice once".to_owned();
        Err(CubeError::Computation { place: String::new(), message })
    }
}

impl Carriers for OneEach {
    fn grow(&mut self, groups: usize) {
        self.of_group.resize(groups, None);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let Some(array) = values.array() else { return Ok(()) };
        let (begin, mut outcome) = (self.rows, Ok(()));
        self.rows += array.len();
        self.blocks.push(array);
        values.for_each_selected(|row| {
            if outcome.is_ok() {
                outcome = self.put(groups[row], (begin + row) as u32);
            }
        });
        outcome
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let Some(from) = (from as &dyn Any).downcast_ref::<Self>() else { return Ok(()) };
        let begin = self.rows as u32;
        self.blocks.extend(from.blocks.iter().cloned());
        self.rows += from.rows;
        for (group, row) in groups.iter().zip(rows) {
            if let Some(place) = from.of_group[*row as usize] {
                self.put(*group, begin + place)?;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        let arrow = |error| CubeError::arrow("slices", &error);
        let blocks: Vec<&dyn Array> = self.blocks.iter().map(AsRef::as_ref).collect();
        if blocks.is_empty() {
            return Ok(new_null_array(&DataType::Null, self.of_group.len()));
        }
        take(&concat(&blocks).map_err(arrow)?, &UInt32Array::from(self.of_group), None).map_err(arrow)
    }

    fn bytes(&self) -> usize {
        self.of_group.capacity() * 8 + self.blocks.iter().map(bytes_of).sum::<usize>()
    }
}
