//! Combinations of cells as a program over registers: one pass per block of slices, whatever the number of combinations.
//!
//! A register is an Arrow array of one block. It is free again after its last reader, so a chain of thousands of combinations needs two.

use crate::error::CubeError;
use crate::exact_sum;
use crate::expression::{Arithmetic, Operand, arithmetic, numeric, promoted};
use crate::plan::{Cells, Named, Operation, Step, StepId};
use crate::quantile;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Float64Array, Int64Array};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::compute::kernels::{numeric as kernels, zip::zip};
use arrow::compute::{cast, is_not_null};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use filbert_pool::caught;
use foldhash::{HashMap, HashMapExt};
use std::sync::Arc;

/// What fused combinations do, in order.
pub(super) struct Program {
    instructions: Vec<Instruction>,
    registers: usize,
    /// The register of each output, and its measure.
    outputs: Vec<usize>,
}

struct Instruction {
    measure: Arc<str>,
    cells: Cells,
    reads: Vec<usize>,
    writes: usize,
    /// Registers that nobody reads later.
    frees: Vec<usize>,
}

/// Cells of a block, or why there are none.
pub(super) type Register = Result<ArrayRef, CubeError>;

impl Program {
    /// The program of some combinations; the inputs are in the first registers.
    pub(super) fn new(steps: &[Step], members: &[StepId], inputs: &[StepId], outputs: &[StepId]) -> Self {
        let mut last_reader: HashMap<StepId, usize> = HashMap::new();
        for (position, member) in members.iter().enumerate() {
            steps[member.0].inputs().into_iter().for_each(|input| {
                last_reader.insert(input, position);
            });
        }
        let mut register_of: HashMap<StepId, usize> =
            inputs.iter().enumerate().map(|(register, input)| (*input, register)).collect();
        let (mut registers, mut free) = (inputs.len(), Vec::new());
        let mut instructions = Vec::with_capacity(members.len());
        for (position, member) in members.iter().enumerate() {
            let step = &steps[member.0];
            let Operation::Combine { cells, inputs: read } = &step.operation else { continue };
            let reads = read.iter().map(|input| register_of[input]).collect();
            let writes = free.pop().unwrap_or_else(|| {
                registers += 1;
                registers - 1
            });
            register_of.insert(*member, writes);
            let mut frees: Vec<usize> = read
                .iter()
                .filter(|input| last_reader[*input] == position && !outputs.contains(input))
                .map(|input| register_of[input])
                .collect();
            frees.sort_unstable();
            frees.dedup();
            free.extend(&frees);
            instructions.push(Instruction {
                measure: Arc::clone(&step.measure),
                cells: cells.clone(),
                reads,
                writes,
                frees,
            });
        }
        Self { instructions, registers, outputs: outputs.iter().map(|output| register_of[output]).collect() }
    }

    /// The outputs of a block, given its inputs.
    pub(super) fn run(&self, inputs: Vec<Register>, rows: usize) -> Vec<Register> {
        let nothing = || Err(CubeError::Cancelled);
        let mut registers: Vec<Register> = inputs;
        registers.resize_with(self.registers, nothing);
        for instruction in &self.instructions {
            let read: Read = instruction.reads.iter().map(|register| registers[*register].clone()).collect();
            let made = read.and_then(|read| {
                let place = &*instruction.measure;
                let panicked = |message| Err(CubeError::Panicked { measure: place.to_owned(), message });
                caught(|| combine(&instruction.cells, &read, rows))
                    .unwrap_or_else(panicked)
                    .map_err(|error| at(error, place))
            });
            for register in &instruction.frees {
                registers[*register] = nothing();
            }
            registers[instruction.writes] = made;
        }
        self.outputs.iter().map(|register| registers[*register].clone()).collect()
    }
}

type Read = Result<Vec<ArrayRef>, CubeError>;

/// An error of a formula or of Arrow, told as one of the measure.
fn at(error: CubeError, measure: &str) -> CubeError {
    let place = format!("measure {measure:?}");
    match error {
        CubeError::Computation { message, .. } => CubeError::Computation { place, message },
        CubeError::UnsupportedType { problem, .. } => CubeError::UnsupportedType { place, problem },
        other => other,
    }
}

fn combine(cells: &Cells, inputs: &[ArrayRef], rows: usize) -> Register {
    let operand = |array: &ArrayRef| Operand::rows(Arc::clone(array));
    let fold = |each: fn(&ArrayRef, &ArrayRef) -> Register| {
        let mut inputs = inputs.iter().cloned();
        let first = match inputs.next() {
            None => arrow::array::new_null_array(&DataType::Float64, rows),
            Some(first) => numeric(&Operand::rows(first))?.array,
        };
        inputs.try_fold(first, |made, next| each(&made, &next))
    };
    match cells {
        Cells::Sum => fold(sum),
        Cells::Product => fold(|a, b| {
            Ok(arithmetic(Arithmetic::Multiply, &Operand::rows(a.clone()), &Operand::rows(b.clone()))?.array)
        }),
        Cells::Subtraction => fold(difference),
        Cells::Divide => {
            let float = |array: &ArrayRef| numeric(&operand(array))?.cast(&DataType::Float64);
            let (numerator, denominator) = (float(&inputs[0])?, float(&inputs[1])?);
            kernels::div(&numerator.array, &denominator.array)
                .map_err(|error| CubeError::arrow("divide", &error))
        }
        Cells::Coalesce => {
            let mut made = Arc::clone(&inputs[0]);
            for next in &inputs[1..] {
                made = coalesce(&made, next)?;
            }
            Ok(made)
        }
        Cells::Round => exact_sum::rounded_of(&inputs[0]),
        Cells::Quantile(part) => quantile::values_of(&inputs[0], *part),
        Cells::Expression(expression, names) => {
            let made = expression.evaluate(&Named { names, arrays: inputs, rows })?;
            where_any(made, inputs)
        }
        Cells::Function(function) => {
            let made = function(inputs)
                .map_err(|message| CubeError::Computation { place: String::new(), message })?;
            if made.len() != rows {
                let message = format!("it gave {} cells for {rows} slices", made.len());
                return Err(CubeError::Computation { place: String::new(), message });
            }
            where_any(made, inputs)
        }
    }
}

/// Values only where at least one input has one: a slice that is there for the sake of another measure has none.
fn where_any(made: ArrayRef, inputs: &[ArrayRef]) -> Register {
    let mut any: Option<arrow::buffer::BooleanBuffer> = None;
    for input in inputs {
        let Some(nulls) = input.logical_nulls() else { return Ok(made) };
        any = Some(match any {
            None => nulls.inner().clone(),
            Some(any) => &any | nulls.inner(),
        });
    }
    let Some(any) = any else { return Ok(made) };
    let missing = arrow::array::BooleanArray::new(!&any, None);
    arrow::compute::nullif(&made, &missing).map_err(|error| CubeError::arrow("combination", &error))
}

fn coalesce(first: &ArrayRef, second: &ArrayRef) -> Register {
    let arrow = |error| CubeError::arrow("coalesce", &error);
    let (first, second) = if first.data_type() == second.data_type() {
        (Arc::clone(first), Arc::clone(second))
    } else {
        match promoted(&Operand::rows(first.clone()), &Operand::rows(second.clone())) {
            Ok((first, second)) => (first.array, second.array),
            Err(_) => {
                (cast(first, &DataType::Utf8).map_err(arrow)?, cast(second, &DataType::Utf8).map_err(arrow)?)
            }
        }
    };
    if first.null_count() == 0 {
        return Ok(first);
    }
    let present = is_not_null(&first).map_err(arrow)?;
    zip(&present, &first, &second).map_err(arrow)
}

fn sum(a: &ArrayRef, b: &ArrayRef) -> Register {
    or_zero(a, b, i64::checked_add, |a, b| a + b)
}

fn difference(a: &ArrayRef, b: &ArrayRef) -> Register {
    or_zero(a, b, i64::checked_sub, |a, b| a - b)
}

/// Both, with 0 for one that is missing; missing where both are.
fn or_zero(
    a: &ArrayRef,
    b: &ArrayRef,
    ints: impl Fn(i64, i64) -> Option<i64>,
    floats: impl Fn(f64, f64) -> f64,
) -> Register {
    let (a, b) = promoted(&Operand::rows(a.clone()), &Operand::rows(b.clone()))?;
    let nulls = match (a.array.nulls(), b.array.nulls()) {
        (Some(a), Some(b)) => Some(NullBuffer::new(a.inner() | b.inner())),
        _ => None,
    };
    match a.array.data_type() {
        DataType::Int64 => {
            let (a, b) = (whole::<Int64Type>(&a.array), whole::<Int64Type>(&b.array));
            let values: Option<Vec<i64>> = a.iter().zip(&*b).map(|(a, b)| ints(*a, *b)).collect();
            let values = values.ok_or_else(|| CubeError::Computation {
                place: String::new(),
                message: "a whole number is too large; make one of its inputs a float".to_owned(),
            })?;
            Ok(Arc::new(Int64Array::new(values.into(), nulls)))
        }
        _ => {
            let (a, b) = (whole::<Float64Type>(&a.array), whole::<Float64Type>(&b.array));
            let values: Vec<f64> = a.iter().zip(&*b).map(|(a, b)| floats(*a, *b)).collect();
            Ok(Arc::new(Float64Array::new(values.into(), nulls)))
        }
    }
}

/// The values, with 0 for those that are missing.
fn whole<T: ArrowPrimitiveType>(array: &ArrayRef) -> ScalarBuffer<T::Native> {
    let array = array.as_primitive::<T>();
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => array.values().clone(),
        Some(nulls) => {
            let zero = T::Native::default();
            let each = array
                .values()
                .iter()
                .zip(nulls)
                .map(|(value, is_there)| if is_there { *value } else { zero });
            each.collect::<Vec<_>>().into()
        }
    }
}
