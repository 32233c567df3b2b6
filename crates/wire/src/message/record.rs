//! Records: named fields in order, which messages and structures are made of.
//!
//! `record!` declares one: from the list of fields follow the struct, its codec and its rows of the table. `custom!` does the same for
//! a structure that is itself a field. A field that came with a later version is declared with that version and with what holds when
//! it is absent:
//!
//! ```text
//! routing_mode: i8 [since V2_8, else 0]
//! ```

use super::{Fault, FieldRow};
use crate::field::FieldReader;
use crate::frame::{Flags, FrameCursor, FrameWriter};

/// Named fields in order. The fixed-size ones stand together in one frame, the others in frames of their own behind it.
pub trait Record: Sized {
    /// The fields in their order.
    const FIELDS: &'static [FieldRow];
    /// The bytes of the fixed-size fields.
    const FIXED: usize;

    /// Reads all fields.
    fn read(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault>;

    /// Appends the fixed-size fields to the frame that was begun.
    fn put_fixed(&self, out: &mut FrameWriter<'_>);

    /// Appends the frames of the others.
    fn put_frames(&self, out: &mut FrameWriter<'_>);
}

/// Reads a structure: begin, the fixed-size fields if it has any, the others, whatever a newer sender added, end.
pub(crate) fn read_custom<R: Record>(frames: &mut FrameCursor<'_>) -> Result<R, Fault> {
    frames.begin()?;
    let (fixed, at) = if R::FIXED > 0 {
        let frame = frames.plain()?;
        (frame.payload(), frame.offset())
    } else {
        (&[][..], frames.offset())
    };
    let record = R::read(&mut FieldReader::new(fixed, at, frames))?;
    frames.skip_to_end()?;
    Ok(record)
}

/// Appends a structure.
pub(crate) fn write_custom<R: Record>(record: &R, out: &mut FrameWriter<'_>) {
    out.mark(Flags::BEGIN_DATA);
    if R::FIXED > 0 {
        out.begin(Flags::NONE);
        record.put_fixed(out);
        out.end();
    }
    record.put_frames(out);
    out.mark(Flags::END_DATA);
}

/// Declares a record: a struct with public fields, its codec, its rows.
macro_rules! record {
    (
        $(#[$doc:meta])*
        $name:ident {
            $( $(#[$field_doc:meta])* $field:ident : $kind:ty $([since $version:ident, else $default:expr])? ),* $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $(
                $(#[$field_doc])*
                #[doc = concat!("`", stringify!($kind), "`" $(, ", since ", stringify!($version), ", else `", stringify!($default), "`")?)]
                pub $field: $kind,
            )*
        }

        impl $crate::message::Record for $name {
            const FIELDS: &'static [$crate::message::FieldRow] = &[$(
                $crate::message::FieldRow {
                    name: stringify!($field),
                    kind: <$kind as $crate::field::Field>::TYPE,
                    since: $crate::message::record!(@since $($version)?),
                },
            )*];
            const FIXED: usize = 0 $(+ <$kind as $crate::field::Field>::FIXED)*;

            #[inline]
            #[allow(unused_variables, reason = "a record may have no fields")]
            fn read(
                fields: &mut $crate::field::FieldReader<'_, '_>,
            ) -> Result<Self, $crate::message::Fault> {
                Ok(Self {$(
                    $field: $crate::message::record!(@read fields, $kind $(, $default)?)
                        .map_err(|fault| fault.in_field(stringify!($field)))?,
                )*})
            }

            #[inline]
            #[allow(unused_variables, reason = "a record may have no fields")]
            fn put_fixed(&self, out: &mut $crate::frame::FrameWriter<'_>) {
                $( $crate::message::record!(@put self.$field, put_fixed, out $(, $version)?); )*
            }

            #[inline]
            #[allow(unused_variables, reason = "a record may have no fields")]
            fn put_frames(&self, out: &mut $crate::frame::FrameWriter<'_>) {
                $( $crate::message::record!(@put self.$field, put_frames, out $(, $version)?); )*
            }
        }
    };
    (@since) => { None };
    (@since $version:ident) => { Some($crate::message::Version::$version) };
    (@read $fields:ident, $kind:ty) => { $fields.read::<$kind>() };
    (@read $fields:ident, $kind:ty, $default:expr) => { $fields.read_or::<$kind>(|| $default) };
    (@put $value:expr, $put:ident, $out:ident) => { $crate::field::Field::$put(&$value, $out) };
    (@put $value:expr, $put:ident, $out:ident, $version:ident) => {
        if $out.writes($crate::message::Version::$version) {
            $crate::field::Field::$put(&$value, $out)
        }
    };
}

/// Declares a structure that is a field: a record between a begin and an end frame.
macro_rules! custom {
    ($(#[$doc:meta])* $name:ident { $($fields:tt)* }) => {
        $crate::message::record! { $(#[$doc])* $name { $($fields)* } }

        impl $crate::field::Field for $name {
            const TYPE: $crate::field::FieldType =
                $crate::field::FieldType::Custom(stringify!($name), <Self as $crate::message::Record>::FIELDS);
            const FIXED: usize = 0;

            fn decode(fields: &mut $crate::field::FieldReader<'_, '_>) -> Result<Self, $crate::message::Fault> {
                $crate::message::read_custom(fields.frames())
            }

            fn put_frames(&self, out: &mut $crate::frame::FrameWriter<'_>) {
                $crate::message::write_custom(self, out);
            }
        }
    };
}

pub(crate) use {custom, record};
