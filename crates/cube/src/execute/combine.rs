//! Fused combinations: partitions of the same level, brought to the same slices, through one program, block by block.

use super::Run;
use super::program::{Program, Register};
use super::tasks::{Made, Results};
use crate::cuboid::{Cuboid, Part, align};
use crate::error::CubeError;
use crate::plan::StepId;
use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::{cast, concat};
use arrow::datatypes::DataType;
use std::sync::Arc;

/// So many slices go through the program together: its registers stay in the cache.
const BLOCK: usize = 4_096;

impl Run {
    /// Makes the outputs of fused combinations. An output whose code fails is told alone when errors are values.
    pub(super) fn combine(
        &self,
        members: &[StepId],
        inputs: &[StepId],
        outputs: &[StepId],
        results: &Results,
    ) -> Result<Vec<Made>, CubeError> {
        let program = Program::new(&self.plan.steps, members, inputs, outputs);
        let read: Vec<Made> = inputs.iter().map(|input| results.get(*input)).collect::<Result<_, _>>()?;
        let level = &self.plan.steps[members[0].0].level;
        let rows = read.iter().flatten().map(Cuboid::rows).max().unwrap_or(0);
        let place = self.plan.steps[outputs.first().unwrap_or(&members[0]).0].measure.to_string();
        let partitions = self.each_partition(&place, self.partitions, rows * members.len(), |partition| {
            self.combine_partition(&program, &read, partition)
        })?;
        // Turned from outputs by partition to partitions by output.
        let mut made: Vec<Result<Vec<Part>, CubeError>> = outputs.iter().map(|_| Ok(Vec::new())).collect();
        for of_partition in partitions {
            for (made, part) in made.iter_mut().zip(of_partition) {
                match (made.as_mut(), part) {
                    (Ok(parts), Ok(part)) => parts.push(part),
                    (Ok(_), Err(error)) => *made = Err(error),
                    (Err(_), _) => {}
                }
            }
        }
        let made = made.into_iter().map(|parts| match parts {
            Ok(parts) => Ok(Ok(Cuboid::new(level, one_type(parts)?, &self.memory)?)),
            Err(error) => Ok(Err(error)),
        });
        made.collect()
    }

    fn combine_partition(
        &self,
        program: &Program,
        read: &[Made],
        partition: usize,
    ) -> Result<Vec<Result<Part, CubeError>>, CubeError> {
        let parts: Vec<&Part> = read.iter().flatten().map(|cuboid| &cuboid.parts[partition]).collect();
        let (slices, aligned) = align(&parts, &self.memory)?;
        let mut aligned = aligned.into_iter();
        let inputs: Vec<Register> = read
            .iter()
            .map(|made| match made {
                Ok(_) => aligned.next().ok_or(CubeError::Cancelled),
                Err(error) => Err(error.clone()),
            })
            .collect();
        let rows = slices.rows;
        let blocks = rows.div_ceil(BLOCK).max(1);
        let mut outputs: Vec<Result<Vec<ArrayRef>, CubeError>> = Vec::new();
        for block in 0..blocks {
            self.cancel.check()?;
            let (start, length) = (block * BLOCK, BLOCK.min(rows - block * BLOCK));
            let sliced = inputs
                .iter()
                .map(|input| input.as_ref().map(|input| input.slice(start, length)).map_err(Clone::clone));
            let made = program.run(sliced.collect(), length);
            if outputs.is_empty() {
                outputs = made.iter().map(|_| Ok(Vec::with_capacity(blocks))).collect();
            }
            for (output, made) in outputs.iter_mut().zip(made) {
                match (output.as_mut(), made) {
                    (Ok(pieces), Ok(piece)) => pieces.push(piece),
                    (Ok(_), Err(error)) => *output = Err(error),
                    (Err(_), _) => {}
                }
            }
        }
        let part = |pieces: Vec<ArrayRef>| {
            let values = joined(pieces)?;
            Ok(Part { slices: Arc::clone(&slices), values })
        };
        Ok(outputs.into_iter().map(|output| output.and_then(part)).collect())
    }
}

fn joined(mut pieces: Vec<ArrayRef>) -> Result<ArrayRef, CubeError> {
    if pieces.len() == 1 {
        return Ok(pieces.remove(0));
    }
    let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
    concat(&pieces).map_err(|error| CubeError::arrow("combination", &error))
}

/// Parts of one type: where a partition has no values at all, a formula may not know their type.
pub(super) fn one_type(parts: Vec<Part>) -> Result<Vec<Part>, CubeError> {
    let types = || parts.iter().filter(|part| part.slices.rows > 0).map(|part| part.values.data_type());
    if types().next().is_none() {
        return Ok(parts);
    }
    // Arrow does not count what has no type as missing; values do.
    let data_type =
        types().find(|data_type| **data_type != DataType::Null).cloned().unwrap_or(DataType::Float64);
    parts
        .into_iter()
        .map(|part| {
            if *part.values.data_type() == data_type {
                return Ok(part);
            }
            let values = match part.slices.rows {
                0 => new_null_array(&data_type, 0),
                _ => {
                    cast(&part.values, &data_type).map_err(|error| CubeError::arrow("combination", &error))?
                }
            };
            Ok(Part { slices: part.slices, values })
        })
        .collect()
}
