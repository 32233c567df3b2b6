//! Carriers: what is known of every group while rows still come, one array per aggregate and not one object per group.
//!
//! A carrier can be merged with another of the same group and finished into a value. Rows are added block by block, carriers of a range of
//! rows are merged into those of all rows in the order of the ranges; so what comes out does not depend on who ran when.
//!
//! Threads: carriers belong to one task at a time.

mod average;
mod count;
mod distinct;
mod distinct_texts;
mod extreme;
mod float_sum;
mod lane;
mod number_set;
mod product;
mod saved;
mod seen;
mod sum;
mod text;

use super::function::Function;
use super::values::{Kind, Values};
use crate::error::CubeError;
use crate::exact_sum::is_state;
use crate::value_type::{is_text, plain};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use float_sum::Told;
use std::any::Any;
use std::fmt::Debug;

/// The intermediate states of one aggregate for all groups of a table.
///
/// Groups are numbered from 0 without gaps. [`Carriers::grow`] comes before numbers that are new.
pub trait Carriers: Any + Send + Sync {
    /// There are now `groups` groups; new ones have seen nothing.
    fn grow(&mut self, groups: usize);

    /// Adds rows: row `i` of `values`, if it counts, to group `groups[i]`.
    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError>;

    /// Merges group `rows[i]` of `from`, which was made by the same aggregate, into group `groups[i]`. `from` saw later rows.
    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError>;

    /// The values, one for each group; NULL for a group that has none.
    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError>;

    /// What they have allocated, in bytes.
    fn bytes(&self) -> usize;

    /// The states of some groups as columns, all as long as there are groups, so that they can be written to disk; nothing when they cannot.
    fn save(&self, _groups: &[u32]) -> Result<Option<Vec<ArrayRef>>, CubeError> {
        Ok(None)
    }

    /// Carriers of no group yet take back the groups that were saved, in their order.
    fn load(&mut self, _columns: &[ArrayRef]) -> Result<(), CubeError> {
        Err(CubeError::Computation {
            place: "aggregate".to_owned(),
            message: "its carriers are saved and cannot be loaded; implement both, or neither".to_owned(),
        })
    }
}

/// An associative aggregate of one's own.
///
/// ```
/// use arrow::array::{Array, ArrayRef, AsArray, StringArray};
/// use arrow::datatypes::DataType;
/// use filbert_cube::aggregate::{Carriers, CustomAggregate, Values};
/// use filbert_cube::CubeError;
/// use std::any::Any;
/// use std::sync::Arc;
///
/// /// The first text of each group.
/// #[derive(Debug)]
/// struct First;
///
/// struct Firsts(Vec<Option<String>>);
///
/// impl CustomAggregate for First {
///     fn carriers(&self, _input: &DataType) -> Result<Box<dyn Carriers>, CubeError> {
///         Ok(Box::new(Firsts(Vec::new())))
///     }
/// }
///
/// impl Carriers for Firsts {
///     fn grow(&mut self, groups: usize) {
///         self.0.resize(groups, None);
///     }
///
///     fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
///         let array = values.array().expect("there is an input");
///         let texts = array.as_string::<i32>();
///         values.for_each_selected(|row| {
///             self.0[groups[row] as usize].get_or_insert_with(|| texts.value(row).to_owned());
///         });
///         Ok(())
///     }
///
///     fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
///         let from = (from as &dyn Any).downcast_ref::<Firsts>().expect("of the same aggregate");
///         for (group, row) in groups.iter().zip(rows) {
///             let mine = &mut self.0[*group as usize];
///             *mine = mine.take().or_else(|| from.0[*row as usize].clone());
///         }
///         Ok(())
///     }
///
///     fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
///         Ok(Arc::new(StringArray::from(self.0)))
///     }
///
///     fn bytes(&self) -> usize {
///         self.0.capacity() * size_of::<Option<String>>()
///     }
/// }
/// ```
pub trait CustomAggregate: Debug + Send + Sync {
    /// Carriers of no group yet, for an input of this type.
    fn carriers(&self, input: &DataType) -> Result<Box<dyn Carriers>, CubeError>;
}

/// Carriers of no group yet.
pub(super) fn carriers_of(function: &Function, input: &DataType) -> Result<Box<dyn Carriers>, CubeError> {
    let number = plain(input);
    let kind = || {
        Kind::of(number).ok_or_else(|| CubeError::UnsupportedType {
            place: format!("aggregate {function}"),
            problem: format!("{input} is no number; count it, or aggregate a number"),
        })
    };
    Ok(match function {
        Function::Count => Box::new(count::Counts::default()),
        Function::CountDistinct if is_text(number) => distinct_texts::of(),
        Function::CountDistinct => distinct::of(input)?,
        Function::Custom(custom) => custom.carriers(input)?,
        Function::Sum => sum::of(kind()?, number),
        Function::ExactSum if is_state(input) => float_sum::sums(Told::Exact),
        Function::ExactSum => match kind()? {
            Kind::Float => float_sum::sums(Told::Exact),
            Kind::Int | Kind::Wide => sum::of(kind()?, number),
        },
        Function::Min if is_text(number) => text::of::<false>(),
        Function::Max if is_text(number) => text::of::<true>(),
        Function::Min => extreme::of::<false>(kind()?, number),
        Function::Max => extreme::of::<true>(kind()?, number),
        Function::Avg => average::of(kind()?, number),
        Function::Product => product::of(kind()?, number),
    })
}

/// Another's carriers, of one's own type.
pub(super) fn same<T: Carriers>(from: &dyn Carriers) -> Result<&T, CubeError> {
    (from as &dyn Any).downcast_ref().ok_or_else(|| CubeError::Computation {
        place: "aggregate".to_owned(),
        message: "carriers of different aggregates cannot be merged".to_owned(),
    })
}
