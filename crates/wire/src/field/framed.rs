//! Fields that take frames, and those made of others.

use super::{Field, FieldReader, FieldType, Text};
use crate::Data;
use crate::frame::{Flags, FrameWriter};
use crate::message::{Fault, What};
use bytes::Bytes;
use uuid::Uuid;

impl Field for Text {
    const TYPE: FieldType = FieldType::Text;
    const FIXED: usize = 0;

    fn decode(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault> {
        let frame = fields.frames().plain()?;
        Self::try_from(frame.bytes()).map_err(|_| Fault::new(frame.offset(), What::NotUtf8))
    }

    fn put_frames(&self, out: &mut FrameWriter<'_>) {
        out.frame(Flags::NONE, self.as_bytes());
    }
}

impl Field for Bytes {
    const TYPE: FieldType = FieldType::Bytes;
    const FIXED: usize = 0;

    fn decode(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault> {
        Ok(fields.frames().plain()?.bytes())
    }

    fn put_frames(&self, out: &mut FrameWriter<'_>) {
        out.frame(Flags::NONE, self);
    }
}

impl Field for Data {
    const TYPE: FieldType = FieldType::Data;
    const FIXED: usize = 0;

    fn decode(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault> {
        let frame = fields.frames().plain()?;
        Self::from_bytes(frame.bytes()).map_err(|error| Fault::new(frame.offset(), error.into()))
    }

    fn put_frames(&self, out: &mut FrameWriter<'_>) {
        out.frame(Flags::NONE, self.as_bytes());
    }
}

impl<T: Field> Field for Option<T> {
    const TYPE: FieldType = FieldType::Nullable(&T::TYPE);
    const FIXED: usize = {
        assert!(
            matches!(T::TYPE, FieldType::Uuid) || T::FIXED == 0,
            "of the fixed-size fields only a UUID has a null"
        );
        T::FIXED
    };

    #[inline]
    fn decode(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault> {
        T::decode_nullable(fields)
    }

    #[inline]
    fn put_fixed(&self, out: &mut FrameWriter<'_>) {
        match self {
            Some(value) => value.put_fixed(out),
            None => T::put_fixed_null(out),
        }
    }

    #[inline]
    fn put_frames(&self, out: &mut FrameWriter<'_>) {
        match self {
            Some(value) => value.put_frames(out),
            None if T::FIXED == 0 => out.mark(Flags::NULL),
            None => {}
        }
    }
}

impl<T: Field> Field for Vec<T> {
    const TYPE: FieldType = FieldType::List(&T::TYPE);
    const FIXED: usize = 0;

    fn decode(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault> {
        let frames = fields.frames();
        if T::FIXED > 0 {
            let frame = frames.plain()?;
            let length = frame.payload().len();
            if !length.is_multiple_of(T::FIXED) {
                return Err(Fault::new(frame.offset(), What::Ragged { length, item: T::FIXED }));
            }
            let mut packed = FieldReader::new(frame.payload(), frame.offset(), frames);
            return (0..length / T::FIXED).map(|_| T::decode(&mut packed)).collect();
        }
        frames.begin()?;
        let mut items = Self::new();
        // Each item takes a frame at least, so the list grows with the bytes that are there.
        while !fields.frames().at_end() {
            items.push(T::decode(fields)?);
        }
        fields.frames().next()?;
        Ok(items)
    }

    fn put_frames(&self, out: &mut FrameWriter<'_>) {
        if T::FIXED > 0 {
            out.begin(Flags::NONE);
            self.iter().for_each(|item| item.put_fixed(out));
            out.end();
        } else {
            out.mark(Flags::BEGIN_DATA);
            self.iter().for_each(|item| item.put_frames(out));
            out.mark(Flags::END_DATA);
        }
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    const TYPE: FieldType = FieldType::Pair(&A::TYPE, &B::TYPE);
    const FIXED: usize = {
        assert!((A::FIXED > 0) == (B::FIXED > 0), "a pair is of fixed size, or each of the two takes frames");
        A::FIXED + B::FIXED
    };

    fn decode(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault> {
        Ok((A::decode(fields)?, B::decode(fields)?))
    }

    fn put_fixed(&self, out: &mut FrameWriter<'_>) {
        self.0.put_fixed(out);
        self.1.put_fixed(out);
    }

    fn put_frames(&self, out: &mut FrameWriter<'_>) {
        self.0.put_frames(out);
        self.1.put_frames(out);
    }
}

/// UUIDs, each with a list of numbers, such as the partitions of each member. The lists come first, then all UUIDs in one frame.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Keyed(pub Vec<(Uuid, Vec<i32>)>);

impl Field for Keyed {
    const TYPE: FieldType = FieldType::Keyed;
    const FIXED: usize = 0;

    fn decode(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault> {
        let values = Vec::<Vec<i32>>::decode(fields)?;
        let at = fields.frames().offset();
        let keys = Vec::<Uuid>::decode(fields)?;
        if keys.len() != values.len() {
            return Err(Fault::new(at, What::Unequal { keys: keys.len(), values: values.len() }));
        }
        Ok(Self(keys.into_iter().zip(values).collect()))
    }

    fn put_frames(&self, out: &mut FrameWriter<'_>) {
        out.mark(Flags::BEGIN_DATA);
        self.0.iter().for_each(|(_, values)| values.put_frames(out));
        out.mark(Flags::END_DATA);
        out.begin(Flags::NONE);
        self.0.iter().for_each(|(key, _)| key.put_fixed(out));
        out.end();
    }
}
