//! `Array`: a list of one type as a Java array, which names the type once instead of once per item.

use super::{DecodeError, EncodeError, FromData, Input, Output, ToData, output::Fixed, type_id::*};

/// Items that Java keeps in an array of their own: `boolean[]`, `short[]`, `int[]`, `long[]`, `float[]`, `double[]`, `String[]`.
/// A `byte[]` is a `Vec<u8>`; a plain `Vec` is an ArrayList.
///
/// ```
/// use filbert_wire::{Array, FromData, ToData};
///
/// let data = Array(vec![1, 2, 3]).to_data()?;
/// assert_eq!((data.type_id(), data.payload().len()), (-16, 16));
/// assert_eq!(Vec::<i64>::from_data(&data)?, [1, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Array<T>(
    /// The items.
    pub Vec<T>,
);

macro_rules! fixed_arrays {
    ($($type:ty = $type_id:expr;)*) => {$(
        impl ToData for Array<$type> {
            fn type_id(&self) -> i32 {
                $type_id
            }

            fn payload_size(&self) -> usize {
                4 + self.0.len() * <$type>::SIZE
            }

            fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
                out.array(&self.0)
            }
        }
    )*};
}

fixed_arrays! {
    bool = BOOLEAN_ARRAY;
    i16 = SHORT_ARRAY;
    i32 = INTEGER_ARRAY;
    i64 = LONG_ARRAY;
    f32 = FLOAT_ARRAY;
    f64 = DOUBLE_ARRAY;
}

impl ToData for Array<String> {
    fn type_id(&self) -> i32 {
        STRING_ARRAY
    }

    fn payload_size(&self) -> usize {
        4 + self.0.iter().map(|item| 4 + item.len()).sum::<usize>()
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        out.length(self.0.len())?;
        self.0.iter().try_for_each(|item| out.prefixed(item.as_bytes()))
    }
}

impl<T> FromData for Array<T>
where
    Vec<T>: FromData,
{
    fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
        Vec::read_payload(type_id, input).map(Self)
    }
}
