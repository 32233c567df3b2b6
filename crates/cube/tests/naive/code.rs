//! Code that random forests use, registered in the cube and called by the naive evaluator: the two share what a user writes, and nothing else.

use arrow::array::{ArrayRef, AsArray, Float64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use filbert_cube::aggregate::{Carriers, CustomAggregate, Values};
use filbert_cube::{Coordinate, CubeError, CustomMeasure, ForestBuilder, Position};
use std::any::Any;
use std::sync::Arc;

/// Registers all of it.
pub(crate) fn register(builder: ForestBuilder) -> ForestBuilder {
    builder
        .route_function("route", route)
        .shift_function("turn", turn)
        .decomposition("letters", DataType::Utf8, letters)
        .cell_function("blend", blend)
        .aggregation("spread", Spread)
        .custom("doubled", Doubled)
}

/// The calculated columns, of which the second is made of the first.
pub(crate) fn register_columns(builder: ForestBuilder) -> ForestBuilder {
    builder
        .column("z", "coalesce(x, 0) + d".parse().unwrap())
        .column("w", "if(z > 2, 'many', 'few')".parse().unwrap())
        .cell_function("half", |cells| Some(cells[0]? / 2.0))
        .column_function("h", "half", &["y"])
}

/// Chooses by the number of columns, up to 2.
fn route(position: &Position) -> Option<String> {
    let columns = position.group_by.len();
    (columns < 3).then(|| format!("m{columns}"))
}

/// The letter after it, and the first after the last.
pub(crate) fn turn(from: &Coordinate) -> Coordinate {
    match from {
        Coordinate::Text(text) => match &**text {
            "p" => "q".into(),
            "q" => "r".into(),
            _ => "p".into(),
        },
        _ => Coordinate::Null,
    }
}

/// Where cells of a letter go: a half to each of two, all to one, nowhere.
pub(crate) fn letters(from: &Coordinate) -> Vec<(Coordinate, f64)> {
    match from {
        Coordinate::Text(text) if **text == *"p" => vec![("g0".into(), 0.5), ("g1".into(), 0.5)],
        Coordinate::Text(text) if **text == *"q" => vec![("g2".into(), 1.0)],
        _ => Vec::new(),
    }
}

/// Has a value only where the first one has.
pub(crate) fn blend(cells: &[Option<f64>]) -> Option<f64> {
    Some(cells[0]? * 2.0 - cells[1].unwrap_or(1.0))
}

/// From the least to the greatest number.
#[derive(Debug)]
struct Spread;

#[derive(Default)]
struct Spreads(Vec<Option<(f64, f64)>>);

impl Spreads {
    fn add(&mut self, group: u32, (least, most): (f64, f64)) {
        let known = &mut self.0[group as usize];
        let (from, to) = known.unwrap_or((least, most));
        *known = Some((from.min(least), to.max(most)));
    }
}

impl CustomAggregate for Spread {
    fn carriers(&self, _input: &DataType) -> Result<Box<dyn Carriers>, CubeError> {
        Ok(Box::<Spreads>::default())
    }
}

impl Carriers for Spreads {
    fn grow(&mut self, groups: usize) {
        self.0.resize(groups, None);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let numbers = cast(&values.array().expect("there is an input"), &DataType::Float64).unwrap();
        let numbers = numbers.as_primitive::<Float64Type>();
        values.for_each_selected(|row| self.add(groups[row], (numbers.value(row), numbers.value(row))));
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = (from as &dyn Any).downcast_ref::<Self>().expect("of the same aggregate");
        for (group, row) in groups.iter().zip(rows) {
            if let Some(more) = from.0[*row as usize] {
                self.add(*group, more);
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        let each = self.0.iter().map(|known| known.map(|(least, most)| most - least));
        Ok(Arc::new(each.collect::<Float64Array>()))
    }

    fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Option<(f64, f64)>>()
    }
}

/// Twice its underlying.
struct Doubled;

impl CustomMeasure for Doubled {
    fn produce(&self, position: &Position, inputs: &[RecordBatch]) -> Result<RecordBatch, String> {
        let (keys, values) = inputs[0].columns().split_at(position.group_by.len());
        let values = cast(&values[0], &DataType::Float64).map_err(|error| error.to_string())?;
        let doubled: Float64Array = values.as_primitive::<Float64Type>().unary(|value| value * 2.0);
        let names = position.group_by.iter().map(String::as_str).chain(["value"]);
        let columns = keys.iter().cloned().chain([Arc::new(doubled) as ArrayRef]);
        let columns = names.zip(columns).map(|(name, column)| (name, column, true));
        RecordBatch::try_from_iter_with_nullable(columns).map_err(|error| error.to_string())
    }
}
