//! Fused combinations: partitions of the same level, brought to the same slices, through one program, block by block. Small partitions share
//! blocks: what an instruction costs beside its rows is then paid once.

use super::Run;
use super::program::{Program, Register};
use super::tasks::{Made, Results};
use crate::cuboid::{Aligned, Cuboid, Part, Slices, align};
use crate::error::CubeError;
use crate::memory::{Reservation, bytes_of};
use crate::plan::StepId;
use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::{cast, concat};
use arrow::datatypes::DataType;
use std::ops::Range;
use std::sync::Arc;

/// The outputs of a program in one partition.
type Outputs = Vec<Result<Part, CubeError>>;

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
        let bundles = self.bundles(&read, rows);
        let made = self.each_partition(&place, bundles.len(), rows * members.len(), |bundle| {
            self.combine_bundle(&program, &read, bundles[bundle].clone())
        })?;
        // Turned from outputs by partition to partitions by output.
        let mut turned: Vec<Result<Vec<Part>, CubeError>> = outputs.iter().map(|_| Ok(Vec::new())).collect();
        let (made, held): (Vec<_>, Vec<Reservation>) = made.into_iter().unzip();
        for of_partition in made.into_iter().flatten() {
            for (made, part) in turned.iter_mut().zip(of_partition) {
                match (made.as_mut(), part) {
                    (Ok(parts), Ok(part)) => parts.push(part),
                    (Ok(_), Err(error)) => *made = Err(error),
                    (Err(_), _) => {}
                }
            }
        }
        // From here on the cuboids count them.
        drop(held);
        let made = turned.into_iter().map(|parts| match parts {
            Ok(parts) => Ok(Ok(Cuboid::new(level, one_type(parts)?, &self.memory)?)),
            Err(error) => Ok(Err(error)),
        });
        made.collect()
    }

    /// Partitions that go through a program together: small ones share its blocks, as long as all workers have some.
    fn bundles(&self, read: &[Made], rows: usize) -> Vec<Range<usize>> {
        let most = rows.div_ceil(self.parallelism).min(BLOCK);
        let of = |partition: usize| {
            read.iter().flatten().map(|cuboid| cuboid.parts[partition].slices.rows).max().unwrap_or(0)
        };
        let (mut bundles, mut first, mut taken) = (Vec::new(), 0, 0);
        for partition in 0..self.partitions {
            let more = of(partition);
            if partition > first && taken + more > most {
                bundles.push(first..partition);
                (first, taken) = (partition, 0);
            }
            taken += more;
        }
        bundles.push(first..self.partitions);
        bundles
    }

    /// The outputs of each of some partitions, and what they hold.
    fn combine_bundle(
        &self,
        program: &Program,
        read: &[Made],
        partitions: Range<usize>,
    ) -> Result<(Vec<Outputs>, Reservation), CubeError> {
        let outputs = self.outputs_of(program, read, partitions)?;
        let made = outputs.iter().flatten().flatten();
        let held = self.memory.try_reserve(made.map(|part| bytes_of(&part.values)).sum())?;
        Ok((outputs, held))
    }

    fn outputs_of(
        &self,
        program: &Program,
        read: &[Made],
        partitions: Range<usize>,
    ) -> Result<Vec<Outputs>, CubeError> {
        let mut bundle = Vec::with_capacity(partitions.len());
        for partition in partitions {
            let parts: Vec<&Part> = read.iter().flatten().map(|cuboid| &cuboid.parts[partition]).collect();
            bundle.push(align(&parts, &self.memory)?);
        }
        let filled: Vec<&Vec<ArrayRef>> =
            bundle.iter().filter(|of| of.slices.rows > 0).map(|of| &of.values).collect();
        let types = |values: &[ArrayRef]| values.iter().map(|of| of.data_type().clone()).collect::<Vec<_>>();
        let are_alike = filled.windows(2).all(|pair| types(pair[0]) == types(pair[1]));
        if filled.len() < 2 || !are_alike {
            let alone = |Aligned { slices, values, held: _held }: Aligned| {
                let outputs = self.run_program(program, read, values, slices.rows)?;
                Ok(parts_of(&outputs, &slices, 0))
            };
            return bundle.into_iter().map(alone).collect();
        }
        let inputs = (0..filled[0].len()).map(|input| {
            let pieces: Vec<&dyn Array> = filled.iter().map(|values| &*values[input]).collect();
            concat(&pieces).map_err(|error| CubeError::arrow("combination", &error))
        });
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let rows = bundle.iter().map(|of| of.slices.rows).sum();
        let outputs = self.run_program(program, read, inputs, rows)?;
        let mut start = 0;
        let parts = bundle.iter().map(|Aligned { slices, .. }| {
            let parts = parts_of(&outputs, slices, start);
            start += slices.rows;
            parts
        });
        Ok(parts.collect())
    }

    /// The outputs of a program, given the values of those inputs that did not fail.
    fn run_program(
        &self,
        program: &Program,
        read: &[Made],
        values: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<Vec<Register>, CubeError> {
        let mut values = values.into_iter();
        let inputs: Vec<Register> = read
            .iter()
            .map(|made| match made {
                Ok(_) => values.next().ok_or(CubeError::Cancelled),
                Err(error) => Err(error.clone()),
            })
            .collect();
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
        Ok(outputs.into_iter().map(|output| output.and_then(joined)).collect())
    }
}

/// The part of each output that these slices are, which begin at a row of it.
fn parts_of(outputs: &[Register], slices: &Arc<Slices>, start: usize) -> Vec<Result<Part, CubeError>> {
    let part =
        |values: &ArrayRef| Part { slices: Arc::clone(slices), values: values.slice(start, slices.rows) };
    outputs.iter().map(|output| output.as_ref().map(part).map_err(Clone::clone)).collect()
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
