//! A page of a query's rows, by column.
//!
//! Columns of fixed-size values are one frame each: a byte that says whether all, none or some are null, a count, and the values that
//! are not null, in the last case with a byte of marks before every eight rows. Other columns are lists. Nulls cost next to no bytes,
//! so the number of them that a page may announce is bounded by a budget.

mod values;

pub use values::{SqlDate, SqlDateTime, SqlDecimal, SqlOffsetDateTime, SqlTime};

use crate::Data;
use crate::field::{Field, FieldReader, FieldType, Text};
use crate::frame::{Flags, FrameWriter};
use crate::message::{Fault, What};
use crate::messages::structures::JsonValue;

/// Null rows that a page may always have; beyond, eight for each of its bytes.
const NULLS: usize = 1 << 16;

/// Some rows of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Whether no more rows follow.
    pub last: bool,
    /// The columns, all of the same length.
    pub columns: Vec<Column>,
}

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident = $number:literal: $value:ty, $read:ident, $write:ident;)*) => {
        /// The types of columns, by the protocol's numbers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum ColumnType {
            $($(#[$doc])* $name = $number,)*
            /// No type but null.
            Null = 14,
        }

        impl ColumnType {
            /// The type of that number.
            pub const fn from_number(number: i32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    14 => Some(Self::Null),
                    _ => None,
                }
            }
        }

        /// The values of one column of a page.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Column {
            $($(#[$doc])* $name(Vec<Option<$value>>),)*
            /// So many nulls.
            Null(usize),
        }

        impl Column {
            /// What it holds.
            pub const fn kind(&self) -> ColumnType {
                match self {
                    $(Self::$name(_) => ColumnType::$name,)*
                    Self::Null(_) => ColumnType::Null,
                }
            }

            /// How many rows it has.
            pub const fn rows(&self) -> usize {
                match self {
                    $(Self::$name(values) => values.len(),)*
                    Self::Null(rows) => *rows,
                }
            }

            fn read(kind: ColumnType, fields: &mut FieldReader<'_, '_>, budget: &mut usize) -> Result<Self, Fault> {
                Ok(match kind {
                    $(ColumnType::$name => Self::$name($read(fields, budget)?),)*
                    ColumnType::Null => Self::Null(read_null(fields, budget)?),
                })
            }

            fn write(&self, out: &mut FrameWriter<'_>) {
                match self {
                    $(Self::$name(values) => $write(values, out),)*
                    Self::Null(rows) => out.frame(Flags::NONE, &wire_count(*rows)),
                }
            }
        }
    };
}

columns! {
    /// Text.
    Varchar = 0: Text, read_list, write_list;
    /// A flag.
    Boolean = 1: bool, read_packed, write_packed;
    /// A byte.
    TinyInt = 2: i8, read_packed, write_packed;
    /// Two bytes.
    SmallInt = 3: i16, read_packed, write_packed;
    /// Four bytes.
    Integer = 4: i32, read_packed, write_packed;
    /// Eight bytes.
    BigInt = 5: i64, read_packed, write_packed;
    /// Any precision.
    Decimal = 6: SqlDecimal, read_list, write_list;
    /// Four bytes, floating.
    Real = 7: f32, read_packed, write_packed;
    /// Eight bytes, floating.
    Double = 8: f64, read_packed, write_packed;
    /// A day.
    Date = 9: SqlDate, read_packed, write_packed;
    /// A time of day.
    Time = 10: SqlTime, read_packed, write_packed;
    /// A day and a time, nowhere in particular.
    Timestamp = 11: SqlDateTime, read_packed, write_packed;
    /// A day and a time, somewhere.
    TimestampWithTimeZone = 12: SqlOffsetDateTime, read_packed, write_packed;
    /// A serialized value.
    Object = 13: Data, read_list, write_list;
    /// JSON.
    Json = 15: Text, read_json, write_json;
}

impl Field for Page {
    const TYPE: FieldType = FieldType::Page;
    const FIXED: usize = 0;

    fn decode(fields: &mut FieldReader<'_, '_>) -> Result<Self, Fault> {
        let mut budget = NULLS.saturating_add(fields.frames().remaining().saturating_mul(8));
        fields.frames().begin()?;
        let last = fields.frames().plain()?.payload().first() == Some(&1);
        let at = fields.frames().offset();
        let mut columns = Vec::new();
        for number in Vec::<i32>::decode(fields)? {
            let kind = ColumnType::from_number(number)
                .ok_or_else(|| Fault::new(at, What::Unknown { kind: "type of column", found: number }))?;
            columns.push(Column::read(kind, fields, &mut budget)?);
        }
        fields.frames().skip_to_end()?;
        Ok(Self { last, columns })
    }

    fn put_frames(&self, out: &mut FrameWriter<'_>) {
        out.mark(Flags::BEGIN_DATA);
        out.frame(Flags::NONE, &[u8::from(self.last)]);
        out.begin(Flags::NONE);
        self.columns.iter().for_each(|column| out.put(&(column.kind() as i32).to_le_bytes()));
        out.end();
        self.columns.iter().for_each(|column| column.write(out));
        out.mark(Flags::END_DATA);
    }
}

/// All rows of the column are null.
const ALL_NULL: i8 = 1;
/// None is.
const NO_NULL: i8 = 2;
/// Some are: before every eight rows stands a byte with a bit for each that is not, the first row's the lowest.
const SOME_NULL: i8 = 3;

fn read_packed<T: Field>(
    fields: &mut FieldReader<'_, '_>,
    budget: &mut usize,
) -> Result<Vec<Option<T>>, Fault> {
    let frame = fields.frames().plain()?;
    let length = frame.payload().len();
    let mut packed = FieldReader::new(frame.payload(), frame.offset(), fields.frames());
    let (form, count) = (packed.read::<i8>()?, packed.read::<i32>()?);
    match form {
        NO_NULL => {
            let count = checked(&packed, count, length / T::FIXED)?;
            (0..count).map(|_| packed.read().map(Some)).collect()
        }
        ALL_NULL => {
            let count = spent(&packed, count, budget)?;
            Ok((0..count).map(|_| None).collect())
        }
        SOME_NULL => {
            let count = spent(&packed, count, budget)?;
            let mut values = Vec::new();
            let mut marks = 0;
            for row in 0..count {
                if row % 8 == 0 {
                    marks = packed.read::<i8>()?;
                }
                let there = marks & (1 << (row % 8)) != 0;
                values.push(if there { Some(packed.read()?) } else { None });
            }
            Ok(values)
        }
        found => {
            Err(Fault::new(frame.offset(), What::Unknown { kind: "form of a column", found: found.into() }))
        }
    }
}

fn write_packed<T: Field>(values: &[Option<T>], out: &mut FrameWriter<'_>) {
    let there = values.iter().flatten().count();
    let form = match there {
        0 => ALL_NULL,
        all if all == values.len() => NO_NULL,
        _ => SOME_NULL,
    };
    out.begin(Flags::NONE);
    form.put_fixed(out);
    out.put(&wire_count(values.len()));
    for eight in values.chunks(8) {
        if form == SOME_NULL {
            let marks = eight.iter().rev().fold(0, |marks, value| marks << 1 | u8::from(value.is_some()));
            out.put(&[marks]);
        }
        eight.iter().flatten().for_each(|value| value.put_fixed(out));
    }
    out.end();
}

fn read_list<T: Field>(fields: &mut FieldReader<'_, '_>, _: &mut usize) -> Result<Vec<Option<T>>, Fault> {
    fields.read()
}

fn write_list<T: Field>(values: &[Option<T>], out: &mut FrameWriter<'_>) {
    out.mark(Flags::BEGIN_DATA);
    values.iter().for_each(|value| value.put_frames(out));
    out.mark(Flags::END_DATA);
}

fn read_json(fields: &mut FieldReader<'_, '_>, _: &mut usize) -> Result<Vec<Option<Text>>, Fault> {
    let values = fields.read::<Vec<Option<JsonValue>>>()?;
    Ok(values.into_iter().map(|json| json.map(|json| json.value)).collect())
}

fn write_json(values: &[Option<Text>], out: &mut FrameWriter<'_>) {
    out.mark(Flags::BEGIN_DATA);
    for value in values {
        value.clone().map(|value| JsonValue { value }).put_frames(out);
    }
    out.mark(Flags::END_DATA);
}

fn read_null(fields: &mut FieldReader<'_, '_>, budget: &mut usize) -> Result<usize, Fault> {
    let frame = fields.frames().plain()?;
    let mut packed = FieldReader::new(frame.payload(), frame.offset(), fields.frames());
    let count = packed.read()?;
    spent(&packed, count, budget)
}

/// A count within `limit`.
fn checked(at: &FieldReader<'_, '_>, count: i32, limit: usize) -> Result<usize, Fault> {
    usize::try_from(count)
        .ok()
        .filter(|count| *count <= limit)
        .ok_or_else(|| at.fault(What::Count { count: count.into(), limit }))
}

/// A count of rows that take no bytes of their own, within what is left of the budget for these.
fn spent(at: &FieldReader<'_, '_>, count: i32, budget: &mut usize) -> Result<usize, Fault> {
    let count = checked(at, count, *budget)?;
    *budget -= count;
    Ok(count)
}

fn wire_count(count: usize) -> [u8; 4] {
    i32::try_from(count).expect("a page has fewer than 2^31 rows").to_le_bytes()
}
