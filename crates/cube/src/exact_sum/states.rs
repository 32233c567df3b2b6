//! Exact sums as a column of a cuboid or of a file on disk: a struct of the two doubles and, where there is more, the rest as bytes.

use super::superaccumulator::Superaccumulator;
use super::{ExactSums, Near};
use crate::error::CubeError;
use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, Float64Array, StructArray, new_null_array};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, Fields, Float64Type};
use std::sync::{Arc, LazyLock};

/// The columns of a state.
static FIELDS: LazyLock<Fields> = LazyLock::new(|| {
    Fields::from(vec![
        Field::new("high", DataType::Float64, false),
        Field::new("low", DataType::Float64, false),
        Field::new("far", DataType::Binary, true),
    ])
});

/// True for the type of a column of exact sums.
pub(crate) fn is_state(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Struct(fields) if *fields == *FIELDS)
}

/// A column of exact sums, taken apart.
struct States<'a> {
    high: &'a [f64],
    low: &'a [f64],
    far: &'a BinaryArray,
}

impl<'a> States<'a> {
    fn of(column: &'a dyn Array) -> Result<Self, CubeError> {
        let states = column.as_struct_opt().filter(|states| is_state(states.data_type()));
        let states = states.ok_or_else(|| CubeError::Computation {
            place: "sum".to_owned(),
            message: format!("a column of type {} is none of exact sums", column.data_type()),
        })?;
        Ok(Self {
            high: states.column(0).as_primitive::<Float64Type>().values(),
            low: states.column(1).as_primitive::<Float64Type>().values(),
            far: states.column(2).as_binary::<i32>(),
        })
    }

    fn far(&self, row: usize) -> Result<Option<Superaccumulator>, CubeError> {
        self.far.is_valid(row).then(|| Superaccumulator::decode(self.far.value(row))).transpose()
    }
}

impl ExactSums {
    /// Adds the sums of chosen rows of a column, each to the group that `group_of` tells.
    pub(crate) fn add_states(
        &mut self,
        column: &dyn Array,
        mut rows: impl FnMut(&mut dyn FnMut(usize)),
        group_of: impl Fn(usize) -> usize,
    ) -> Result<(), CubeError> {
        let states = States::of(column)?;
        let has_far = states.far.null_count() < states.far.len();
        let mut outcome = Ok(());
        rows(&mut |row| {
            let group = group_of(row);
            self.add(group, states.high[row]);
            self.add(group, states.low[row]);
            if !has_far {
                return;
            }
            match states.far(row) {
                Ok(None) => {}
                Ok(Some(far)) => self.far.entry(group as u32).or_default().merge(&far),
                Err(error) => outcome = Err(error),
            }
        });
        outcome
    }

    /// All sums as a column.
    pub(crate) fn into_states(self, nulls: Option<NullBuffer>) -> ArrayRef {
        let far = self.far_column(0..self.near.len());
        let high: ScalarBuffer<f64> = self.near.iter().map(|near| near.high).collect();
        let low: ScalarBuffer<f64> = self.near.iter().map(|near| near.low).collect();
        column(high, low, far, nulls)
    }

    /// The sums of some groups as a column.
    pub(crate) fn states_of(&self, groups: &[u32]) -> ArrayRef {
        let near = || groups.iter().map(|group| self.near[*group as usize]);
        let far = self.far_column(groups.iter().map(|group| *group as usize));
        column(near().map(|near| near.high).collect(), near().map(|near| near.low).collect(), far, None)
    }

    fn far_column(&self, groups: impl ExactSizeIterator<Item = usize>) -> ArrayRef {
        if self.far.is_empty() {
            return new_null_array(&DataType::Binary, groups.len());
        }
        let bytes = groups.map(|group| self.far.get(&(group as u32)).map(|far| far.encode()));
        Arc::new(bytes.collect::<BinaryArray>())
    }

    /// The sums of a column, a group for each row.
    pub(crate) fn of_states(column: &dyn Array) -> Result<Self, CubeError> {
        let states = States::of(column)?;
        let near = states.high.iter().zip(states.low).map(|(high, low)| Near { high: *high, low: *low });
        let mut sums = Self { near: near.collect(), ..Self::default() };
        for row in 0..states.far.len() {
            if let Some(far) = states.far(row)? {
                sums.far.insert(row as u32, Box::new(far));
            }
        }
        Ok(sums)
    }
}

fn column(
    high: ScalarBuffer<f64>,
    low: ScalarBuffer<f64>,
    far: ArrayRef,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Float64Array::new(high, None)), Arc::new(Float64Array::new(low, None)), far];
    Arc::new(StructArray::new(FIELDS.clone(), columns, nulls))
}

/// The doubles that are nearest to the sums of a column.
pub(crate) fn rounded_of(column: &ArrayRef) -> Result<ArrayRef, CubeError> {
    if !is_state(column.data_type()) {
        // A step without slices does not know the type of its values.
        return Ok(new_null_array(&DataType::Float64, column.len()));
    }
    let states = States::of(column)?;
    let has_far = states.far.null_count() < states.far.len();
    let rounded: ScalarBuffer<f64> = if has_far {
        let sums = ExactSums::of_states(column)?;
        (0..sums.len()).map(|group| sums.rounded(group)).collect()
    } else {
        states.high.iter().zip(states.low).map(|(high, low)| high + low).collect()
    };
    Ok(Arc::new(Float64Array::new(rounded, column.nulls().cloned())))
}
