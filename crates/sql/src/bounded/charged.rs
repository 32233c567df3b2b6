//! Arrays that hold what they cost: the charge ends when the last array that shares the buffer is gone, however it was sliced, or with the query.

use crate::query::LentCharge;
use bytes::Bytes;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, LargeStringArray, ListArray, PrimitiveArray, StringArray, StringViewArray,
    downcast_primitive_array,
};
use datafusion::arrow::buffer::{Buffer, ScalarBuffer};
use datafusion::arrow::datatypes::{ArrowPrimitiveType, DataType};
use std::sync::Arc;

/// A buffer, and its charge.
struct Charged {
    buffer: Buffer,
    _held: Arc<LentCharge>,
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        self.buffer.as_slice()
    }
}

fn charged(buffer: Buffer, held: Arc<LentCharge>) -> Buffer {
    if buffer.is_empty() {
        return buffer;
    }
    Buffer::from(Bytes::from_owner(Charged { buffer, _held: held }))
}

/// The same values; those that cannot hold a charge are no longer charged.
pub(super) fn holding(array: ArrayRef, held: Arc<LentCharge>) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8 => {
            let (offsets, values, nulls) = array.as_string::<i32>().clone().into_parts();
            StringArray::try_new(offsets, charged(values, held), nulls).map_or(array, |array| Arc::new(array))
        }
        DataType::LargeUtf8 => {
            let (offsets, values, nulls) = array.as_string::<i64>().clone().into_parts();
            let charged = LargeStringArray::try_new(offsets, charged(values, held), nulls);
            charged.map_or(array, |array| Arc::new(array))
        }
        DataType::Utf8View => {
            let (views, values, nulls) = array.as_string_view().clone().into_parts();
            let views_held = charged(views.into_inner(), held);
            let rows = array.len();
            let views = ScalarBuffer::new(views_held, 0, rows);
            StringViewArray::try_new(views, values, nulls).map_or(array, |array| Arc::new(array))
        }
        DataType::List(_) => {
            let (field, offsets, values, nulls) = array.as_list::<i32>().clone().into_parts();
            let charged = ListArray::try_new(field, offsets, holding(values, held), nulls);
            charged.map_or(array, |array| Arc::new(array))
        }
        _ => {
            let array_ref = array.as_ref();
            downcast_primitive_array!(
                array_ref => return primitive(array_ref, held),
                _ => {}
            );
            array
        }
    }
}

fn primitive<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, held: Arc<LentCharge>) -> ArrayRef {
    let (data_type, values, nulls) = array.clone().into_parts();
    let rows = values.len();
    let values = ScalarBuffer::new(charged(values.into_inner(), held), 0, rows);
    Arc::new(PrimitiveArray::<T>::new(values, nulls).with_data_type(data_type))
}

/// Bytes of the rows of an array.
pub(super) fn bytes_of(array: &ArrayRef) -> u64 {
    array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size()) as u64
}
