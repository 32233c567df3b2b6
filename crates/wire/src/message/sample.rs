//! Valid messages made from the table alone.
//!
//! A second encoder, which knows nothing of the structs: what the declared codecs read and write is checked against it, and mutated
//! messages for hostile tests, against this crate or a whole member, start from it.

use super::{FieldRow, PartRow, Version};
use crate::field::{Field, FieldType};
use crate::frame::{Flags, FrameWriter};
use crate::messages::page::{Column, Page, SqlDate, SqlDateTime, SqlDecimal, SqlOffsetDateTime, SqlTime};
use bytes::BytesMut;

/// Appends a message of the given row to `out`, its contents drawn from `random`; as of that version.
pub fn sample(
    part: &PartRow,
    version: Version,
    correlation: i64,
    random: &mut dyn FnMut() -> u64,
    out: &mut BytesMut,
) {
    let mut sampler = Sampler { out: FrameWriter::new(out, version), random };
    let event = if part.id & 0xff > 1 { Flags::EVENT } else { Flags::NONE };
    sampler.out.begin(Flags::UNFRAGMENTED.with(event));
    sampler.out.put(&part.id.to_le_bytes());
    sampler.out.put(&correlation.to_le_bytes());
    sampler.out.put(if part.id & 0xff == 1 { &[0] } else { &[0xff; 4] });
    sampler.fixed_fields(part.fields);
    sampler.out.end();
    sampler.framed_fields(part.fields);
    sampler.out.finish();
}

struct Sampler<'r, 'o> {
    out: FrameWriter<'o>,
    random: &'r mut dyn FnMut() -> u64,
}

impl Sampler<'_, '_> {
    fn below(&mut self, bound: u64) -> u64 {
        (self.random)() % bound
    }

    fn fixed_fields(&mut self, fields: &[FieldRow]) {
        for field in fields.iter().filter(|field| field.kind.fixed() > 0) {
            if field.since.is_none_or(|since| self.out.writes(since)) {
                self.fixed(&field.kind);
            }
        }
    }

    fn framed_fields(&mut self, fields: &[FieldRow]) {
        for field in fields.iter().filter(|field| field.kind.fixed() == 0) {
            if field.since.is_none_or(|since| self.out.writes(since)) {
                self.framed(&field.kind);
            }
        }
    }

    fn fixed(&mut self, kind: &FieldType) {
        match kind {
            FieldType::Bool => {
                let flag = self.below(2) as u8;
                self.out.put(&[flag]);
            }
            FieldType::Uuid => {
                self.out.put(&[0]);
                self.random_bytes(16);
            }
            FieldType::Nullable(_) if self.below(2) == 0 => {
                let mut null = [0; 17];
                null[0] = 1;
                self.out.put(&null);
            }
            FieldType::Nullable(inner) => self.fixed(inner),
            FieldType::Pair(first, second) => {
                self.fixed(first);
                self.fixed(second);
            }
            // Not a number: equal to nothing, so no good for comparisons.
            FieldType::Float(4) => {
                let number = self.below(1000) as f32 / 8.0;
                self.out.put(&number.to_le_bytes());
            }
            FieldType::Float(_) => {
                let number = self.below(1000) as f64 / 8.0;
                self.out.put(&number.to_le_bytes());
            }
            other => self.random_bytes(other.fixed()),
        }
    }

    fn framed(&mut self, kind: &FieldType) {
        match kind {
            FieldType::Text => {
                let text: String = (0..self.below(12))
                    .map(|_| ['a', 'B', '7', '_', 'ü', '樹', '🌰'][self.below(7) as usize])
                    .collect();
                self.out.frame(Flags::NONE, text.as_bytes());
            }
            FieldType::Bytes => self.random_frame(0),
            FieldType::Data => self.random_frame(8),
            FieldType::Nullable(_) if self.below(2) == 0 => self.out.mark(Flags::NULL),
            FieldType::Nullable(inner) => self.framed(inner),
            FieldType::List(item) if item.fixed() > 0 => {
                self.out.begin(Flags::NONE);
                for _ in 0..self.below(4) {
                    self.fixed(item);
                }
                self.out.end();
            }
            FieldType::List(item) => {
                self.out.mark(Flags::BEGIN_DATA);
                for _ in 0..self.below(4) {
                    self.framed(item);
                }
                self.out.mark(Flags::END_DATA);
            }
            FieldType::Pair(first, second) => {
                self.framed(first);
                self.framed(second);
            }
            FieldType::Keyed => self.keyed(),
            FieldType::Custom(_, fields) => {
                self.out.mark(Flags::BEGIN_DATA);
                if fields.iter().any(|field| field.kind.fixed() > 0) {
                    self.out.begin(Flags::NONE);
                    self.fixed_fields(fields);
                    self.out.end();
                }
                self.framed_fields(fields);
                self.out.mark(Flags::END_DATA);
            }
            FieldType::Page => self.page().put_frames(&mut self.out),
            FieldType::Bool
            | FieldType::Int(_)
            | FieldType::Float(_)
            | FieldType::Moment(_)
            | FieldType::Uuid => {
                unreachable!("{kind} is of fixed size")
            }
        }
    }

    fn random_bytes(&mut self, count: usize) {
        for _ in 0..count {
            let byte = (self.random)() as u8;
            self.out.put(&[byte]);
        }
    }

    fn random_frame(&mut self, least: usize) {
        self.out.begin(Flags::NONE);
        let count = least + self.below(20) as usize;
        self.random_bytes(count);
        self.out.end();
    }

    fn keyed(&mut self) {
        let keys = self.below(4);
        self.out.mark(Flags::BEGIN_DATA);
        for _ in 0..keys {
            self.framed(&FieldType::List(&FieldType::Int(4)));
        }
        self.out.mark(Flags::END_DATA);
        self.out.begin(Flags::NONE);
        for _ in 0..keys {
            self.fixed(&FieldType::Uuid);
        }
        self.out.end();
    }

    /// A page with a column of each type. It has a codec of its own, so it cannot be made from a row.
    fn page(&mut self) -> Page {
        let rows = self.below(20) as usize;
        let columns = vec![
            Column::Varchar(self.column(rows, |n| format!("text {n}").into())),
            Column::Boolean(self.column(rows, |n| n % 2 == 0)),
            Column::TinyInt(self.column(rows, |n| n as i8)),
            Column::SmallInt(self.column(rows, |n| n as i16)),
            Column::Integer(self.column(rows, |n| n as i32)),
            Column::BigInt(self.column(rows, |n| n as i64)),
            Column::Decimal(self.column(rows, |n| SqlDecimal {
                unscaled: n.to_be_bytes().to_vec().into(),
                scale: (n % 30) as i32,
            })),
            Column::Real(self.column(rows, |n| (n % 1000) as f32 / 8.0)),
            Column::Double(self.column(rows, |n| (n % 1000) as f64 / 8.0)),
            Column::Date(self.column(rows, date)),
            Column::Time(self.column(rows, time)),
            Column::Timestamp(self.column(rows, |n| SqlDateTime { date: date(n), time: time(n) })),
            Column::TimestampWithTimeZone(self.column(rows, |n| SqlOffsetDateTime {
                date: date(n),
                time: time(n),
                offset_seconds: (n % 48) as i32 * 1800 - 43_200,
            })),
            Column::Object(self.column(rows, |n| crate::Data::new(-8, &n.to_be_bytes()))),
            Column::Json(self.column(rows, |n| format!("{{\"n\":{n}}}").into())),
            Column::Null(rows),
        ];
        Page { last: self.below(2) == 0, columns }
    }

    /// All null, none null, or some.
    fn column<T>(&mut self, rows: usize, value: impl Fn(u64) -> T) -> Vec<Option<T>> {
        let share = self.below(3);
        (0..rows).map(|_| (self.below(2) < share).then(|| value((self.random)()))).collect()
    }
}

fn date(n: u64) -> SqlDate {
    SqlDate { year: 1900 + (n % 200) as i32, month: 1 + (n % 12) as i8, day: 1 + (n % 28) as i8 }
}

fn time(n: u64) -> SqlTime {
    // Whole microseconds: the finest that Python's clock has.
    let nanos = (n % 1_000_000) as i32 * 1000;
    SqlTime { hour: (n % 24) as i8, minute: (n % 60) as i8, second: (n % 59) as i8, nanos }
}
