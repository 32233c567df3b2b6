//! Values of a page's columns that nothing else in a message has.

use crate::field::{Field, FieldReader, FieldType};
use crate::frame::{Flags, FrameWriter};
use crate::message::{Fault, What};
use bytes::Bytes;

macro_rules! moment {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty),* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $kind,)*
        }

        impl Field for $name {
            const TYPE: FieldType = FieldType::Moment(Self::FIXED);
            const FIXED: usize = 0 $(+ <$kind as Field>::FIXED)*;

            fn decode(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault> {
                Ok(Self { $($field: fields.read()?,)* })
            }

            fn put_fixed(&self, out: &mut FrameWriter<'_>) {
                $(self.$field.put_fixed(out);)*
            }
        }
    };
}

moment! {
    /// A day.
    SqlDate {
        /// The year.
        year: i32,
        /// 1 to 12.
        month: i8,
        /// 1 to 31.
        day: i8
    }
}

moment! {
    /// A time of day.
    SqlTime {
        /// 0 to 23.
        hour: i8,
        /// 0 to 59.
        minute: i8,
        /// 0 to 59.
        second: i8,
        /// 0 to 999,999,999.
        nanos: i32
    }
}

moment! {
    /// A day and a time, nowhere in particular.
    SqlDateTime {
        /// The day.
        date: SqlDate,
        /// The time.
        time: SqlTime
    }
}

moment! {
    /// A day and a time, somewhere.
    SqlOffsetDateTime {
        /// The day.
        date: SqlDate,
        /// The time.
        time: SqlTime,
        /// Ahead of UTC.
        offset_seconds: i32
    }
}

/// A number of any precision: `unscaled / 10^scale`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SqlDecimal {
    /// The digits, as a big-endian two's complement number.
    pub unscaled: Bytes,
    /// How many of them stand behind the point.
    pub scale: i32,
}

impl Field for SqlDecimal {
    const TYPE: FieldType = FieldType::Bytes;
    const FIXED: usize = 0;

    fn decode(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault> {
        let frame = fields.frames().plain()?;
        let bytes = frame.bytes();
        let short = || Fault::new(frame.offset(), What::Truncated);
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
        let length = usize::try_from(i32::from_le_bytes(*length)).map_err(|_| short())?;
        let scale = rest.get(length..).and_then(|rest| rest.first_chunk::<4>()).ok_or_else(short)?;
        Ok(Self { unscaled: bytes.slice(4..4 + length), scale: i32::from_le_bytes(*scale) })
    }

    fn put_frames(&self, out: &mut FrameWriter<'_>) {
        out.begin(Flags::NONE);
        let length = i32::try_from(self.unscaled.len()).expect("a number has fewer than 2 GB of digits");
        length.put_fixed(out);
        out.put(&self.unscaled);
        self.scale.put_fixed(out);
        out.end();
    }
}
