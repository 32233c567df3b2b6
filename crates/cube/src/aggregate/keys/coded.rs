//! Direct addressing: rows of a block whose key columns have few possible values, each distinct key found without a hash.
//!
//! A dictionary's codes, a boolean and an integer in a narrow range are numbers below a small bound. Several of them make one number, and a
//! plain array says which distinct key of the block that is. Only the distinct keys are then encoded, hashed and looked up.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type,
};

/// The most keys that a block's columns may have together.
const MOST: usize = 1 << 16;

/// Blocks with fewer rows are not worth it.
const FEWEST_ROWS: usize = 512;

/// How many values are looked at before all are.
const PROBE: usize = 64;

const NONE: u32 = u32::MAX;

/// The rows of a block by distinct key.
pub(super) struct Coded {
    /// Which distinct key each row has.
    pub(super) codes: Vec<u32>,
    /// A row of each distinct key.
    pub(super) first_rows: Vec<u32>,
}

impl Coded {
    /// The codes of a block, unless its keys have too many possible values.
    pub(super) fn of(columns: &[ArrayRef], rows: usize) -> Option<Self> {
        if rows < FEWEST_ROWS || rows > NONE as usize || columns.is_empty() {
            return None;
        }
        let mut room = MOST.min(rows);
        let mut domains = Vec::with_capacity(columns.len());
        for column in columns {
            let domain = Domain::of(column, room)?;
            room /= domain.size();
            domains.push(domain);
        }
        let mut numbers = vec![0_u32; rows];
        let mut size = 1;
        for (column, domain) in columns.iter().zip(&domains) {
            domain.add(column, &mut numbers);
            size *= domain.size();
        }
        let mut code_of = vec![NONE; size];
        let mut first_rows = Vec::new();
        for (row, number) in numbers.iter_mut().enumerate() {
            let code = &mut code_of[*number as usize];
            if *code == NONE {
                *code = first_rows.len() as u32;
                first_rows.push(row as u32);
            }
            *number = *code;
        }
        Some(Self { codes: numbers, first_rows })
    }
}

/// The possible values of one column; the last one stands for NULL.
enum Domain {
    Dictionary(usize),
    Boolean,
    Integers { least: i64, size: usize },
}

/// Calls a generic function with the type of an integer column.
macro_rules! with_integers {
    ($column:expr, $body:ident ( $($argument:expr),* )) => {
        match $column.data_type() {
            DataType::Int8 => $body::<Int8Type>($column, $($argument),*),
            DataType::Int16 => $body::<Int16Type>($column, $($argument),*),
            DataType::Int32 => $body::<Int32Type>($column, $($argument),*),
            DataType::Int64 => $body::<Int64Type>($column, $($argument),*),
            DataType::UInt8 => $body::<UInt8Type>($column, $($argument),*),
            DataType::UInt16 => $body::<UInt16Type>($column, $($argument),*),
            DataType::UInt32 => $body::<UInt32Type>($column, $($argument),*),
            DataType::Date32 => $body::<Date32Type>($column, $($argument),*),
            _ => None,
        }
    };
}

impl Domain {
    /// The domain of a column, when it has at most `room` values.
    fn of(column: &ArrayRef, room: usize) -> Option<Self> {
        let domain = if let Some(dictionary) = column.as_any_dictionary_opt() {
            Domain::Dictionary(dictionary.values().len() + 1)
        } else if *column.data_type() == DataType::Boolean {
            Domain::Boolean
        } else {
            with_integers!(column, integers(room))?
        };
        (domain.size() <= room).then_some(domain)
    }

    fn size(&self) -> usize {
        match self {
            Domain::Dictionary(size) | Domain::Integers { size, .. } => *size,
            Domain::Boolean => 3,
        }
    }

    /// Makes this column part of every row's number.
    fn add(&self, column: &ArrayRef, numbers: &mut [u32]) {
        let size = self.size() as u32;
        match self {
            Domain::Dictionary(_) => {
                let keys = column.as_any_dictionary().normalized_keys();
                let each = keys.iter().map(|key| *key as u32);
                append(numbers, size, each, column);
            }
            Domain::Boolean => {
                append(numbers, size, column.as_boolean().values().iter().map(u32::from), column);
            }
            Domain::Integers { least, .. } => {
                let _: Option<()> = with_integers!(column, add_integers(numbers, size, *least));
            }
        }
    }
}

/// `numbers * size + value`, where a NULL has the last value.
fn append(numbers: &mut [u32], size: u32, values: impl Iterator<Item = u32>, column: &ArrayRef) {
    match column.nulls() {
        None => {
            for (number, value) in numbers.iter_mut().zip(values) {
                *number = *number * size + value;
            }
        }
        Some(nulls) => {
            for ((number, value), is_valid) in numbers.iter_mut().zip(values).zip(nulls) {
                *number = *number * size + if is_valid { value } else { size - 1 };
            }
        }
    }
}

fn add_integers<T: ArrowPrimitiveType>(
    column: &ArrayRef,
    numbers: &mut [u32],
    size: u32,
    least: i64,
) -> Option<()>
where
    T::Native: Into<i64>,
{
    let values = column.as_primitive::<T>().values();
    // What stands at a NULL may be anything; it is not used.
    let offset = |value: &T::Native| (*value).into().wrapping_sub(least) as u32;
    append(numbers, size, values.iter().map(offset), column);
    Some(())
}

/// The range of an integer column, if it is narrow. The first values tell most of those that are not.
fn integers<T: ArrowPrimitiveType>(column: &ArrayRef, room: usize) -> Option<Domain>
where
    T::Native: Into<i64>,
{
    let array = column.as_primitive::<T>();
    let size = |least: i64, most: i64| {
        let distance = usize::try_from(most.checked_sub(least)?).ok()?;
        distance.checked_add(2).filter(|size| *size <= room)
    };
    if array.null_count() == 0 {
        let probe = &array.values()[..array.len().min(PROBE)];
        let ends = ends(probe.iter().map(|value| (*value).into()))?;
        size(ends.0, ends.1)?;
        let ends = self::ends(array.values().iter().map(|value| (*value).into()))?;
        return Some(Domain::Integers { least: ends.0, size: size(ends.0, ends.1)? });
    }
    let (least, most) = ends(array.iter().flatten().map(Into::into)).unwrap_or((0, 0));
    Some(Domain::Integers { least, size: size(least, most)? })
}

fn ends(values: impl Iterator<Item = i64>) -> Option<(i64, i64)> {
    let (mut least, mut most, mut any) = (i64::MAX, i64::MIN, false);
    for value in values {
        (least, most, any) = (least.min(value), most.max(value), true);
    }
    any.then_some((least, most))
}
