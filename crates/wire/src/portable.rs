//! Portable: Hazelcast's older form of objects with named fields, read field by field as queries do.
//!
//! Written by clients whose code knows the class; here no class is known, and none is needed, since each field says its name and type:
//!
//! ```text
//! record: version i32 | end i32 | count i32 | offset i32 x (count + 1) | fields
//! field:  length i16, name | type u8 | value
//! ```
//!
//! Offsets count from the first byte of the whole `Data`, header included, and may point anywhere, also twice at the same bytes. So all
//! reads of one object are paid from one budget, that of the [`Input`], and a record is only a position. A copy in another place has
//! other offsets: `embed.rs` makes such copies.

mod embed;

pub(crate) use embed::append;

use crate::data::{Decimal, DecodeError, Input, LocalDate, LocalDateTime, LocalTime, OffsetDateTime};
use crate::data::{FromData, Payload, Value, type_id};

/// What stands before the payload of a `Data`.
const HEADER: usize = 8;

/// Type ids of the values of fields, by the field's type from 1 on; 0 and 10 are records.
const PLAIN: [i32; 20] = [
    type_id::NULL,
    type_id::BYTE,
    type_id::BOOLEAN,
    type_id::CHAR,
    type_id::SHORT,
    type_id::INTEGER,
    type_id::LONG,
    type_id::FLOAT,
    type_id::DOUBLE,
    type_id::STRING,
    type_id::NULL,
    type_id::BYTE_ARRAY,
    type_id::BOOLEAN_ARRAY,
    type_id::CHAR_ARRAY,
    type_id::SHORT_ARRAY,
    type_id::INTEGER_ARRAY,
    type_id::LONG_ARRAY,
    type_id::FLOAT_ARRAY,
    type_id::DOUBLE_ARRAY,
    type_id::STRING_ARRAY,
];

/// Reads fields of one Portable object and of the objects within. Its budget is enough to follow one path to all its ends; for another
/// path, take another reader.
///
/// ```
/// use filbert_wire::portable::{PortableField, PortableReader};
/// use filbert_wire::{Data, Value, type_id};
///
/// // Factory 1, class 1, version 0; ends at 42; one field, at 36, and no raw data: `f`, an int.
/// let numbers = [1, 1, 0, 42, 1, 36, 0].map(i32::to_be_bytes).concat();
/// let data = Data::new(type_id::PORTABLE, &[&numbers[..], &[0, 1, b'f', 5, 0, 0, 0, 7]].concat());
/// let mut reader = PortableReader::new(data.as_bytes());
/// let object = reader.root()?;
/// assert_eq!(reader.field(object, "f")?, Some(PortableField::Value(Value::Int(7))));
/// assert_eq!(reader.field(object, "g")?, None);
/// # Ok::<(), filbert_wire::DecodeError>(())
/// ```
#[derive(Debug)]
pub struct PortableReader<'a> {
    input: Input<'a>,
    bytes: &'a [u8],
}

/// Where an object stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortableRecord {
    start: usize,
    /// Where the ids of its class stand.
    class: usize,
}

/// What a field holds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PortableField {
    /// A plain value, an array of them, or null.
    Value(Value),
    /// An object.
    Record(PortableRecord),
    /// An array of objects.
    Records(Vec<PortableRecord>),
}

impl<'a> PortableReader<'a> {
    /// Reads from the bytes of a whole `Data`, header included.
    pub fn new(data: &'a [u8]) -> Self {
        Self { input: Input::new(data), bytes: data }
    }

    /// The object itself.
    pub fn root(&mut self) -> Result<PortableRecord, DecodeError> {
        // Behind factory and class.
        let start = HEADER + 8;
        self.within(start, |input| input.get::<i32>().map(|_version| PortableRecord { start, class: HEADER }))
    }

    /// The value of a field; `None` when there is no such field.
    pub fn field(
        &mut self,
        record: PortableRecord,
        name: &str,
    ) -> Result<Option<PortableField>, DecodeError> {
        let table = record.start + 12;
        let count = self.within(record.start + 8, |input| input.length("fields of a Portable object", 4))?;
        for number in 0..count.unwrap_or(0) {
            let Some(position) = self.position(table + number * 4)? else { continue };
            let found = self.within(position, |input| {
                let length = input.get::<i16>()?;
                let length = usize::try_from(length).map_err(|_| DecodeError::BadLength {
                    what: "the name of a Portable field",
                    offset: position,
                    length: length.into(),
                    left: input.left(),
                })?;
                let here = input.bytes("the name of a Portable field", length)?;
                (here == name.as_bytes()).then(|| value(input)).transpose()
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// An object within as a value of its own.
    pub fn opaque(&mut self, record: PortableRecord) -> Result<Value, DecodeError> {
        let end = self.position(record.start + 4)?.unwrap_or(self.bytes.len());
        // Paid for, as all that is read.
        self.input.within(record.start, end, |input| input.bytes("a Portable object", input.left()))?;
        let wrong = DecodeError::Invalid { what: "class of a Portable object", offset: record.class };
        embed::taken_out(self.bytes, record, end).map(Value::Opaque).ok_or(wrong)
    }

    /// The position that stands there; `None` when it is 0, which no field has.
    fn position(&mut self, at: usize) -> Result<Option<usize>, DecodeError> {
        self.within(at, |input| position(input))
            .map(|position| Some(position).filter(|position| *position != 0))
    }

    fn within<T>(
        &mut self,
        start: usize,
        read: impl FnOnce(&mut Input<'a>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        self.input.within(start, self.bytes.len(), read)
    }
}

fn position(input: &mut Input<'_>) -> Result<usize, DecodeError> {
    let (offset, found) = (input.offset(), input.get::<i32>()?);
    usize::try_from(found).map_err(|_| DecodeError::BadLength {
        what: "a position in a Portable object",
        offset,
        length: found.into(),
        left: input.left(),
    })
}

/// The type of a field and its value.
fn value(input: &mut Input<'_>) -> Result<PortableField, DecodeError> {
    const RECORD: u8 = 0;
    const RECORDS: u8 = 10;

    let kind: u8 = input.get()?;
    let found = match kind {
        RECORD => {
            let is_null = input.get::<bool>()?;
            let class = class(input)?;
            return Ok(if is_null {
                PortableField::Value(Value::Null)
            } else {
                PortableField::Record(PortableRecord { start: input.offset(), class })
            });
        }
        RECORDS => {
            let count = input.length("an array of Portable objects", 4)?;
            let class = class(input)?;
            return Ok(match count {
                None => PortableField::Value(Value::Null),
                Some(count) => PortableField::Records(
                    (0..count)
                        .map(|_| position(input).map(|start| PortableRecord { start, class }))
                        .collect::<Result<_, _>>()?,
                ),
            });
        }
        20 => one(input, Decimal::read)?.map(Value::Decimal),
        21 => many(input, |input| Decimal::read(input).map(Value::Decimal))?,
        22 => one(input, LocalTime::read)?.map(Value::LocalTime),
        23 => many(input, |input| LocalTime::read(input).map(Value::LocalTime))?,
        24 => one(input, date)?.map(Value::LocalDate),
        25 => many(input, |input| date(input).map(Value::LocalDate))?,
        26 => one(input, date_time)?.map(Value::LocalDateTime),
        27 => many(input, |input| date_time(input).map(Value::LocalDateTime))?,
        28 => one(input, offset_date_time)?.map(Value::OffsetDateTime),
        29 => many(input, |input| offset_date_time(input).map(Value::OffsetDateTime))?,
        _ => {
            let type_id = PLAIN.get(usize::from(kind)).copied();
            let wrong = DecodeError::Invalid { what: "type of a Portable field", offset: input.offset() };
            Some(Value::read_payload(type_id.ok_or(wrong)?, input)?)
        }
    };
    Ok(PortableField::Value(found.unwrap_or(Value::Null)))
}

/// Goes over the ids of an object's class; where they stand.
fn class(input: &mut Input<'_>) -> Result<usize, DecodeError> {
    let at = input.offset();
    input.bytes("the class of a Portable object", 8).map(|_| at)
}

/// A value that may be null.
fn one<T>(
    input: &mut Input<'_>,
    read: impl FnOnce(&mut Input<'_>) -> Result<T, DecodeError>,
) -> Result<Option<T>, DecodeError> {
    if input.get::<bool>()? { Ok(None) } else { read(input).map(Some) }
}

/// An array of values, each at a position of its own.
fn many(
    input: &mut Input<'_>,
    mut read: impl FnMut(&mut Input<'_>) -> Result<Value, DecodeError>,
) -> Result<Option<Value>, DecodeError> {
    let Some(count) = input.length("an array of a Portable object", 4)? else { return Ok(None) };
    let end = input.offset() + input.left();
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        let start = position(input)?;
        items.push(input.within(start, end, &mut read)?);
    }
    Ok(Some(Value::List(items)))
}

/// A date, whose year has 16 bits here.
fn date(input: &mut Input<'_>) -> Result<LocalDate, DecodeError> {
    let (year, month, day) = (input.get::<i16>()?, input.get()?, input.get()?);
    let wrong = DecodeError::Invalid { what: LocalDate::NAME, offset: input.offset() };
    LocalDate::new(year.into(), month, day).ok_or(wrong)
}

fn date_time(input: &mut Input<'_>) -> Result<LocalDateTime, DecodeError> {
    Ok(LocalDateTime { date: date(input)?, time: LocalTime::read(input)? })
}

fn offset_date_time(input: &mut Input<'_>) -> Result<OffsetDateTime, DecodeError> {
    let (local, offset_s) = (date_time(input)?, input.get()?);
    let wrong = DecodeError::Invalid { what: OffsetDateTime::NAME, offset: input.offset() };
    OffsetDateTime::new(local, offset_s).ok_or(wrong)
}
