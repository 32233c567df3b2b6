//! The kinds of fields that a Compact object can have.

use std::fmt;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $word:literal, $size:expr;)*) => {
        /// What a field of a Compact object holds.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum FieldKind {
            $($(#[$doc])* $name = $code,)*
        }

        impl FieldKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The kind of that number, as schemas on the wire have it.
            pub const fn from_code(code: i32) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// How many bytes it takes in every object; `None` when that depends on the value. Booleans take a bit.
            pub(super) const fn fixed_size(self) -> Option<usize> {
                match self {
                    $(Self::$name => $size,)*
                }
            }

            const fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }
        }
    };
}

kinds! {
    /// A boolean.
    Boolean = 1, "a boolean", Some(0);
    /// Booleans, a bit each.
    ArrayOfBoolean = 2, "an array of boolean", None;
    /// 8 bits.
    Int8 = 3, "an int8", Some(1);
    /// Bytes.
    ArrayOfInt8 = 4, "an array of int8", None;
    /// 16 bits.
    Int16 = 7, "an int16", Some(2);
    /// Numbers of 16 bits.
    ArrayOfInt16 = 8, "an array of int16", None;
    /// 32 bits.
    Int32 = 9, "an int32", Some(4);
    /// Numbers of 32 bits.
    ArrayOfInt32 = 10, "an array of int32", None;
    /// 64 bits.
    Int64 = 11, "an int64", Some(8);
    /// Numbers of 64 bits.
    ArrayOfInt64 = 12, "an array of int64", None;
    /// 32 bits of floating point.
    Float32 = 13, "a float32", Some(4);
    /// Floating-point numbers of 32 bits.
    ArrayOfFloat32 = 14, "an array of float32", None;
    /// 64 bits of floating point.
    Float64 = 15, "a float64", Some(8);
    /// Floating-point numbers of 64 bits.
    ArrayOfFloat64 = 16, "an array of float64", None;
    /// Text; may be null, as all kinds below.
    String = 17, "a string", None;
    /// Texts.
    ArrayOfString = 18, "an array of string", None;
    /// A decimal number.
    Decimal = 19, "a decimal", None;
    /// Decimal numbers.
    ArrayOfDecimal = 20, "an array of decimal", None;
    /// A time of the day.
    Time = 21, "a time", None;
    /// Times.
    ArrayOfTime = 22, "an array of time", None;
    /// A date.
    Date = 23, "a date", None;
    /// Dates.
    ArrayOfDate = 24, "an array of date", None;
    /// Date and time.
    Timestamp = 25, "a timestamp", None;
    /// Dates with times.
    ArrayOfTimestamp = 26, "an array of timestamp", None;
    /// Date and time with offset.
    TimestampWithTimezone = 27, "a timestamp with time zone", None;
    /// Dates with times and offsets.
    ArrayOfTimestampWithTimezone = 28, "an array of timestamp with time zone", None;
    /// Another Compact object.
    Compact = 29, "a Compact object", None;
    /// Compact objects, all of one type.
    ArrayOfCompact = 30, "an array of Compact objects", None;
    /// A boolean or null.
    NullableBoolean = 33, "a nullable boolean", None;
    /// Booleans or nulls.
    ArrayOfNullableBoolean = 34, "an array of nullable boolean", None;
    /// 8 bits or null.
    NullableInt8 = 35, "a nullable int8", None;
    /// Numbers of 8 bits or nulls.
    ArrayOfNullableInt8 = 36, "an array of nullable int8", None;
    /// 16 bits or null.
    NullableInt16 = 37, "a nullable int16", None;
    /// Numbers of 16 bits or nulls.
    ArrayOfNullableInt16 = 38, "an array of nullable int16", None;
    /// 32 bits or null.
    NullableInt32 = 39, "a nullable int32", None;
    /// Numbers of 32 bits or nulls.
    ArrayOfNullableInt32 = 40, "an array of nullable int32", None;
    /// 64 bits or null.
    NullableInt64 = 41, "a nullable int64", None;
    /// Numbers of 64 bits or nulls.
    ArrayOfNullableInt64 = 42, "an array of nullable int64", None;
    /// 32 bits of floating point or null.
    NullableFloat32 = 43, "a nullable float32", None;
    /// Floating-point numbers of 32 bits or nulls.
    ArrayOfNullableFloat32 = 44, "an array of nullable float32", None;
    /// 64 bits of floating point or null.
    NullableFloat64 = 45, "a nullable float64", None;
    /// Floating-point numbers of 64 bits or nulls.
    ArrayOfNullableFloat64 = 46, "an array of nullable float64", None;
}

impl FieldKind {
    /// The number that schemas on the wire have for it.
    pub const fn code(self) -> i32 {
        self as i32
    }
}

impl fmt::Display for FieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
