//! The columns that Dispatchors make. A table does not have them, so their types come from what they are told to make.

use super::linear;
use crate::coordinate::{Coordinate, logical_type};
use crate::forest::{Decomposition, Forest, Measure};
use arrow::datatypes::DataType;
use std::collections::BTreeMap;

/// The columns that Dispatchors make, with their types.
pub(super) fn dispatched_columns(forest: &Forest) -> BTreeMap<String, DataType> {
    let mut dispatched = BTreeMap::new();
    for measure in forest.names().filter_map(|name| forest.measure(name)) {
        if let Measure::Dispatchor(dispatchor) = measure
            && dispatchor.decomposition != Decomposition::Cumulating
        {
            let output = output_type(&dispatchor.decomposition, forest);
            // Two Dispatchors may go to one column; what is a text for one of them is a text for both.
            let known = dispatched.insert(dispatchor.to.clone(), output.clone());
            if known.is_some_and(|known| known != output) {
                dispatched.insert(dispatchor.to.clone(), DataType::Utf8);
            }
        }
    }
    dispatched
}

/// The type of the column that a decomposition goes to: whole numbers if all targets are, else texts.
fn output_type(decomposition: &Decomposition, forest: &Forest) -> DataType {
    let of = |targets: &mut dyn Iterator<Item = &Coordinate>| {
        let (mut are_ints, mut is_empty) = (true, true);
        targets.for_each(|target| {
            are_ints &= matches!(target, Coordinate::Int(_));
            is_empty = false;
        });
        if are_ints && !is_empty { DataType::Int64 } else { DataType::Utf8 }
    };
    match decomposition {
        Decomposition::Pairs(pairs) => of(&mut pairs.iter().map(|(_, to)| to)),
        Decomposition::Weights(weights) => of(&mut weights.iter().map(|(_, to, _)| to)),
        Decomposition::Duplicating(all) => of(&mut all.iter()),
        Decomposition::Linear(numbers) => linear::output_type(numbers),
        // Its column is there already.
        Decomposition::Cumulating => DataType::Utf8,
        Decomposition::Function(name) => {
            let function = forest.registry().decompositions.get(name);
            function.map_or(DataType::Utf8, |function| logical_type(&function.output))
        }
    }
}
