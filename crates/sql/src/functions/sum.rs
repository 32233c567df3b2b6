//! `sum` of whole numbers and decimals that ends with an error where its result does not fit.
//!
//! DataFusion's own wraps around without a word. Here numbers are added in 128 bits, and only what is given must fit its type. So whether a
//! sum fits depends on the numbers alone, not on how they are shared out or in which order they come; a sum of whole numbers never
//! leaves 128 bits on its way. All else (numbers with a fraction, durations) is left to DataFusion.

use super::checked::word;
use crate::error::SqlError;
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, PrimitiveArray,
};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal32Type, Decimal64Type, Decimal128Type, Field, FieldRef,
    Int64Type, UInt64Type,
};
use datafusion::common::{HashMap, Result, internal_err};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, GroupsAccumulator, ReversedUDAF,
    SetMonotonicity, Signature, StatisticsArgs,
};
use datafusion::scalar::ScalarValue;
use std::hash::Hash;
use std::sync::Arc;

/// The function, under the name of the one that it takes the place of.
pub(crate) fn checked_sum() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(CheckedSum { inner: sum_udaf() }))
}

/// Runs `$with!(type)` for the types that are added in 128 bits, and `$else` for others.
macro_rules! by_type {
    ($kind:expr, $with:ident, $else:expr) => {
        match $kind {
            DataType::Int64 => $with!(Int64Type),
            DataType::UInt64 => $with!(UInt64Type),
            DataType::Decimal32(_, _) => $with!(Decimal32Type),
            DataType::Decimal64(_, _) => $with!(Decimal64Type),
            DataType::Decimal128(_, _) => $with!(Decimal128Type),
            _ => $else,
        }
    };
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedSum {
    inner: Arc<AggregateUDF>,
}

/// The type of a sum on its way; nothing where the sum is DataFusion's.
fn wide_type(sum: &DataType) -> Option<DataType> {
    match sum {
        DataType::Int64 | DataType::UInt64 => Some(DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0)),
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) | DataType::Decimal128(_, scale) => {
            Some(DataType::Decimal128(DECIMAL128_MAX_PRECISION, *scale))
        }
        _ => None,
    }
}

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let sum = args.return_field.data_type().clone();
        macro_rules! with {
            ($t:ty) => {
                match args.is_distinct {
                    true => Ok(Box::new(DistinctSum::<$t>::new(sum))),
                    false => Ok(Box::new(RunningSum::<$t>::new(sum))),
                }
            };
        }
        by_type!(sum, with, self.inner.accumulator(args))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let sum = args.return_field.data_type().clone();
        macro_rules! with {
            ($t:ty) => {
                match args.is_distinct {
                    true => Ok(Box::new(DistinctSum::<$t>::new(sum))),
                    false => Ok(Box::new(RunningSum::<$t>::new(sum))),
                }
            };
        }
        by_type!(sum, with, self.inner.create_sliding_accumulator(args))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let Some(wide) = wide_type(args.return_type()) else { return self.inner.state_fields(args) };
        if args.is_distinct {
            let name = format_state_name(args.name, "sum distinct");
            let element = Field::new_list_field(args.return_type().clone(), true);
            return Ok(vec![Arc::new(Field::new_list(name, element, false))]);
        }
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "sum"), wide, true))])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        let sum = args.return_field.data_type().clone();
        macro_rules! with {
            ($t:ty) => {
                Ok(Box::new(GroupSums::<$t>::new(sum)))
            };
        }
        by_type!(sum, with, self.inner.create_groups_accumulator(args))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn set_monotonicity(&self, kind: &DataType) -> SetMonotonicity {
        self.inner.inner().set_monotonicity(kind)
    }

    /// Sums in statistics may have wrapped.
    fn value_from_stats(&self, args: &StatisticsArgs) -> Option<ScalarValue> {
        wide_type(args.return_type).is_none().then(|| self.inner.value_from_stats(args)).flatten()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

/// A type whose numbers fit 128 bits.
trait Summed: ArrowPrimitiveType<Native: Hash + Eq> {
    fn wide(number: Self::Native) -> i128;

    /// Nothing when it does not fit.
    fn narrow(sum: i128) -> Option<Self::Native>;
}

macro_rules! summed {
    ($($kind:ty),*) => {
        $(impl Summed for $kind {
            fn wide(number: Self::Native) -> i128 {
                i128::from(number)
            }

            fn narrow(sum: i128) -> Option<Self::Native> {
                Self::Native::try_from(sum).ok()
            }
        })*
    };
}

summed!(Int64Type, UInt64Type, Decimal32Type, Decimal64Type, Decimal128Type);

fn out_of_range(kind: &DataType) -> SqlError {
    SqlError::OutOfRange { operator: "sum".to_owned(), kind: word(kind) }
}

fn add(sum: i128, more: i128, kind: &DataType) -> Result<i128> {
    sum.checked_add(more).ok_or_else(|| out_of_range(kind).into_plan())
}

/// A sum as it is given.
fn given<T: Summed>(sum: i128, kind: &DataType) -> Result<T::Native> {
    let has_room = match kind {
        DataType::Decimal32(digits, _) | DataType::Decimal64(digits, _) | DataType::Decimal128(digits, _) => {
            10_u128.checked_pow(u32::from(*digits)).is_none_or(|most| sum.unsigned_abs() < most)
        }
        _ => true,
    };
    let narrow = if has_room { T::narrow(sum) } else { None };
    narrow.ok_or_else(|| out_of_range(kind).into_plan())
}

fn scalar<T: Summed>(sum: Option<i128>, kind: &DataType) -> Result<ScalarValue> {
    let sum = sum.map(|sum| given::<T>(sum, kind)).transpose()?;
    ScalarValue::new_primitive::<T>(sum, kind)
}

/// The numbers of a column that are there.
fn numbers<T: Summed>(column: &PrimitiveArray<T>) -> impl Iterator<Item = T::Native> {
    let nulls = column.nulls();
    let values = column.values().iter().enumerate();
    values.filter(move |(row, _)| nulls.is_none_or(|nulls| nulls.is_valid(*row))).map(|(_, number)| *number)
}

/// The sum of a column.
fn sum_of<T: Summed>(column: &PrimitiveArray<T>, kind: &DataType) -> Result<i128> {
    numbers(column).try_fold(0_i128, |sum, number| add(sum, T::wide(number), kind))
}

fn column<T: Summed>(of: &[ArrayRef]) -> Result<&PrimitiveArray<T>> {
    match of.first().and_then(|column| column.as_primitive_opt::<T>()) {
        Some(column) => Ok(column),
        None => internal_err!("sum gets one column of numbers"),
    }
}

/// The sum of all rows, or of those in a frame that slides.
#[derive(Debug)]
struct RunningSum<T> {
    kind: DataType,
    sum: i128,
    count: u64,
    numbers: std::marker::PhantomData<fn(T)>,
}

impl<T> RunningSum<T> {
    fn new(kind: DataType) -> Self {
        Self { kind, sum: 0, count: 0, numbers: std::marker::PhantomData }
    }

    fn found(&self) -> Option<i128> {
        (self.count > 0).then_some(self.sum)
    }
}

impl<T: Summed + std::fmt::Debug> Accumulator for RunningSum<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let column = column::<T>(values)?;
        self.sum = add(self.sum, sum_of(column, &self.kind)?, &self.kind)?;
        self.count += (column.len() - column.null_count()) as u64;
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let column = column::<T>(values)?;
        let less = sum_of(column, &self.kind)?;
        self.sum = self.sum.checked_sub(less).ok_or_else(|| out_of_range(&self.kind).into_plan())?;
        self.count -= (column.len() - column.null_count()) as u64;
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let sums = column::<Decimal128Type>(states)?;
        self.sum = add(self.sum, sum_of(sums, &self.kind)?, &self.kind)?;
        self.count += (sums.len() - sums.null_count()) as u64;
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        scalar::<T>(self.found(), &self.kind)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let Some(wide) = wide_type(&self.kind) else { return internal_err!("{} has no sum here", self.kind) };
        Ok(vec![ScalarValue::new_primitive::<Decimal128Type>(self.found(), &wide)?])
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The sum of different numbers. How often each is there matters to a frame that slides alone.
#[derive(Debug)]
struct DistinctSum<T: Summed> {
    kind: DataType,
    counts: HashMap<T::Native, u64>,
}

impl<T: Summed> DistinctSum<T> {
    fn new(kind: DataType) -> Self {
        Self { kind, counts: HashMap::default() }
    }
}

impl<T: Summed + std::fmt::Debug> Accumulator for DistinctSum<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for number in numbers(column::<T>(values)?) {
            *self.counts.entry(number).or_insert(0) += 1;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for number in numbers(column::<T>(values)?) {
            if let Some(count) = self.counts.get_mut(&number) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&number);
                }
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states.first().and_then(|state| state.as_list_opt::<i32>()) else {
            return internal_err!("sum of different numbers gets one column of lists");
        };
        lists.iter().flatten().try_for_each(|list| self.update_batch(&[list]))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let all = self.counts.keys();
        let sum = all.map(|number| T::wide(*number)).try_fold(0, |sum, more| add(sum, more, &self.kind))?;
        scalar::<T>((!self.counts.is_empty()).then_some(sum), &self.kind)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let numbers = PrimitiveArray::<T>::from_iter_values(self.counts.keys().copied());
        let numbers = numbers.with_data_type(self.kind.clone());
        let list = datafusion::common::utils::SingleRowListArrayBuilder::new(Arc::new(numbers));
        Ok(vec![list.build_list_scalar()])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.capacity() * (size_of::<(T::Native, u64)>() + 1)
    }
}

/// The sums of many groups.
#[derive(Debug)]
struct GroupSums<T> {
    kind: DataType,
    sums: Vec<i128>,
    /// Groups that have a number.
    seen: Vec<bool>,
    numbers: std::marker::PhantomData<fn(T)>,
}

impl<T: Summed> GroupSums<T> {
    fn new(kind: DataType) -> Self {
        Self { kind, sums: Vec::new(), seen: Vec::new(), numbers: std::marker::PhantomData }
    }

    fn add<N: Summed>(
        &mut self,
        column: &PrimitiveArray<N>,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.sums.resize(total, 0);
        self.seen.resize(total, false);
        let rows = column.values().iter().zip(groups);
        if filter.is_none() && column.null_count() == 0 {
            for (number, group) in rows {
                self.sums[*group] = add(self.sums[*group], N::wide(*number), &self.kind)?;
                self.seen[*group] = true;
            }
            return Ok(());
        }
        for (row, (number, group)) in rows.enumerate() {
            let is_taken = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if is_taken && column.is_valid(row) {
                self.sums[*group] = add(self.sums[*group], N::wide(*number), &self.kind)?;
                self.seen[*group] = true;
            }
        }
        Ok(())
    }

    /// The sums of some groups, and which of them there are.
    fn take(&mut self, emit_to: EmitTo) -> (Vec<i128>, NullBuffer) {
        let sums = emit_to.take_needed(&mut self.sums);
        let seen = emit_to.take_needed(&mut self.seen);
        (sums, NullBuffer::new(BooleanBuffer::from(seen)))
    }
}

/// Sums on their way to where they are added up.
fn states(sums: Vec<i128>, nulls: Option<NullBuffer>, kind: &DataType) -> Result<Vec<ArrayRef>> {
    let Some(wide) = wide_type(kind) else { return internal_err!("{kind} has no sum here") };
    let sums = Decimal128Array::try_new(ScalarBuffer::from(sums), nulls)?.with_data_type(wide);
    Ok(vec![Arc::new(sums)])
}

impl<T: Summed> GroupsAccumulator for GroupSums<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.add(column::<T>(values)?, group_indices, opt_filter, total_num_groups)
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.add(column::<Decimal128Type>(values)?, group_indices, None, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (sums, nulls) = self.take(emit_to);
        let sums = sums.into_iter().map(|sum| given::<T>(sum, &self.kind));
        let sums: Vec<T::Native> = sums.collect::<Result<_>>()?;
        let sums = PrimitiveArray::<T>::try_new(ScalarBuffer::from(sums), Some(nulls))?;
        Ok(Arc::new(sums.with_data_type(self.kind.clone())))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (sums, nulls) = self.take(emit_to);
        states(sums, Some(nulls), &self.kind)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let column = column::<T>(values)?;
        let sums = column.values().iter().map(|number| T::wide(*number)).collect();
        let taken = opt_filter.map(|filter| {
            let is_true = filter.values().clone();
            NullBuffer::new(match filter.nulls() {
                Some(nulls) => &is_true & nulls.inner(),
                None => is_true,
            })
        });
        states(sums, NullBuffer::union(column.nulls(), taken.as_ref()), &self.kind)
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<i128>() + self.seen.capacity()
    }
}
