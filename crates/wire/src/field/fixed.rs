//! Fields of fixed size.

use super::{Field, FieldReader, FieldType};
use crate::frame::FrameWriter;
use crate::message::{Fault, What};
use uuid::Uuid;

macro_rules! number {
    ($($number:ty: $kind:ident),*) => {$(
        impl Field for $number {
            const TYPE: FieldType = FieldType::$kind(size_of::<$number>());
            const FIXED: usize = size_of::<$number>();

            #[inline]
            fn decode(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault> {
                fields.fixed().map(<$number>::from_le_bytes)
            }

            #[inline]
            fn put_fixed(&self, out: &mut FrameWriter<'_>) {
                out.put(&self.to_le_bytes());
            }
        }
    )*};
}

number!(i8: Int, i16: Int, i32: Int, i64: Int, f32: Float, f64: Float);

impl Field for bool {
    const TYPE: FieldType = FieldType::Bool;
    const FIXED: usize = 1;

    #[inline]
    fn decode(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault> {
        fields.fixed().map(|[byte]| byte == 1)
    }

    #[inline]
    fn put_fixed(&self, out: &mut FrameWriter<'_>) {
        out.put(&[u8::from(*self)]);
    }
}

/// The bytes of a UUID: a flag that says whether it is null, the high half and the low half.
const UUID: usize = 17;

impl Field for Uuid {
    const TYPE: FieldType = FieldType::Uuid;
    const FIXED: usize = UUID;

    fn decode(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault> {
        Self::decode_nullable(fields)?.ok_or_else(|| fields.fault(What::Null))
    }

    fn decode_nullable(fields: &mut FieldReader<'_, '_>) -> Result<Option<Self>, Fault> {
        let [null, halves @ ..] = fields.fixed::<UUID>()?;
        let (halves, _) = halves.as_chunks::<8>();
        let [high, low] = [u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1])];
        Ok((null != 1).then(|| Self::from_u64_pair(high, low)))
    }

    fn put_fixed(&self, out: &mut FrameWriter<'_>) {
        let (high, low) = self.as_u64_pair();
        out.put(&[0]);
        out.put(&high.to_le_bytes());
        out.put(&low.to_le_bytes());
    }

    fn put_fixed_null(out: &mut FrameWriter<'_>) {
        let mut null = [0; UUID];
        null[0] = 1;
        out.put(&null);
    }
}
