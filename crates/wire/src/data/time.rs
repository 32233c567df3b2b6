//! Dates and times as Hazelcast stores them: fields, not instants.
//!
//! Four small types of our own, always valid: a calendar library was rejected, because users bring the one they like, and each
//! converts from these fields in a line.

use super::{DecodeError, EncodeError, Input, Output, payload::Payload};
use std::{cmp::Ordering, fmt};

/// The years that Java's calendar knows lie between minus and plus this.
const MAX_YEAR: i32 = 999_999_999;

/// Offsets from UTC are less than a day.
const MAX_OFFSET: i32 = 24 * 60 * 60 - 1;

/// A date in the proleptic Gregorian calendar.
///
/// ```
/// use filbert_wire::LocalDate;
///
/// let leap_day = LocalDate::new(2024, 2, 29).unwrap();
/// assert_eq!((leap_day.to_string(), leap_day.epoch_day()), ("2024-02-29".to_owned(), 19_782));
/// assert_eq!(LocalDate::new(2023, 2, 29), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalDate {
    year: i32,
    month: u8,
    day: u8,
}

impl LocalDate {
    /// The date, if there is one: month from 1, day from 1.
    pub fn new(year: i32, month: u8, day: u8) -> Option<Self> {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 => 28 + u8::from(leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        let known = (-MAX_YEAR..=MAX_YEAR).contains(&year) && (1..=days).contains(&day);
        known.then_some(Self { year, month, day })
    }

    /// The date so many days after 1970-01-01, if the calendar goes that far.
    ///
    /// ```
    /// # use filbert_wire::LocalDate;
    /// assert_eq!(LocalDate::of_epoch_day(19_782), LocalDate::new(2024, 2, 29));
    /// assert_eq!(LocalDate::of_epoch_day(i64::MAX), None);
    /// ```
    pub fn of_epoch_day(day: i64) -> Option<Self> {
        // The inverse of `epoch_day`, in eras of 400 years, which all have as many days.
        let day = day.checked_add(719_468)?;
        let (era, day_of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = era.checked_mul(400)?.checked_add(year_of_era + i64::from(month <= 2))?;
        let day = day_of_year - (153 * march_month + 2) / 5 + 1;
        Self::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?)
    }

    /// The year; 0 is the year before year 1.
    pub const fn year(self) -> i32 {
        self.year
    }

    /// The month, from 1.
    pub const fn month(self) -> u8 {
        self.month
    }

    /// The day of the month, from 1.
    pub const fn day(self) -> u8 {
        self.day
    }

    /// Days since 1970-01-01.
    pub fn epoch_day(self) -> i64 {
        // Years that begin in March put the leap day last, which makes the days of the months before it regular.
        let march_month = (i64::from(self.month) + 9) % 12;
        let year = i64::from(self.year) - i64::from(self.month <= 2);
        let day_of_year = (153 * march_month + 2) / 5 + i64::from(self.day) - 1;
        let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        year * 365 + leap_days + day_of_year - 719_468
    }
}

impl fmt::Display for LocalDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day } = self;
        let sign = if *year < 0 { "-" } else { "" };
        write!(f, "{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
    }
}

/// A time of the day, to the nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalTime {
    hour: u8,
    minute: u8,
    second: u8,
    nano: u32,
}

impl LocalTime {
    /// The time, if there is one.
    pub fn new(hour: u8, minute: u8, second: u8, nano: u32) -> Option<Self> {
        let known = hour < 24 && minute < 60 && second < 60 && nano < 1_000_000_000;
        known.then_some(Self { hour, minute, second, nano })
    }

    /// The hour, 0 to 23.
    pub const fn hour(self) -> u8 {
        self.hour
    }

    /// The minute.
    pub const fn minute(self) -> u8 {
        self.minute
    }

    /// The second.
    pub const fn second(self) -> u8 {
        self.second
    }

    /// The nanosecond within the second.
    pub const fn nano(self) -> u32 {
        self.nano
    }

    /// The time so many nanoseconds after midnight, if that is on the same day.
    pub fn of_nano_of_day(nanos: u64) -> Option<Self> {
        let (seconds, nano) = (nanos / 1_000_000_000, (nanos % 1_000_000_000) as u32);
        let hour = u8::try_from(seconds / 3_600).ok()?;
        Self::new(hour, (seconds / 60 % 60) as u8, (seconds % 60) as u8, nano)
    }

    /// Seconds since midnight.
    pub fn second_of_day(self) -> u32 {
        u32::from(self.hour) * 3600 + u32::from(self.minute) * 60 + u32::from(self.second)
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hour, minute, second, nano } = self;
        write!(f, "{hour:02}:{minute:02}:{second:02}")?;
        if *nano == 0 { Ok(()) } else { write!(f, ".{nano:09}") }
    }
}

/// A date and a time, in no particular time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalDateTime {
    /// The date.
    pub date: LocalDate,
    /// The time on that date.
    pub time: LocalTime,
}

impl fmt::Display for LocalDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T{}", self.date, self.time)
    }
}

/// A date and a time at an offset from UTC: a moment. Moments are ordered by when they are, then by how they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OffsetDateTime {
    local: LocalDateTime,
    offset_s: i32,
}

impl OffsetDateTime {
    /// The moment at which clocks `offset_s` seconds ahead of UTC show `local`, if the offset is less than a day.
    pub fn new(local: LocalDateTime, offset_s: i32) -> Option<Self> {
        (-MAX_OFFSET..=MAX_OFFSET).contains(&offset_s).then_some(Self { local, offset_s })
    }

    /// Date and time as written.
    pub const fn local(self) -> LocalDateTime {
        self.local
    }

    /// Seconds ahead of UTC.
    pub const fn offset_s(self) -> i32 {
        self.offset_s
    }

    /// Seconds since 1970-01-01T00:00:00Z.
    pub fn epoch_second(self) -> i64 {
        let seconds = i64::from(self.local.time.second_of_day()) - i64::from(self.offset_s);
        self.local.date.epoch_day() * 24 * 60 * 60 + seconds
    }
}

impl Ord for OffsetDateTime {
    fn cmp(&self, other: &Self) -> Ordering {
        let moment = |value: &Self| (value.epoch_second(), value.local.time.nano, value.local);
        moment(self).cmp(&moment(other))
    }
}

impl PartialOrd for OffsetDateTime {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for OffsetDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.offset_s.unsigned_abs();
        let sign = if self.offset_s < 0 { '-' } else { '+' };
        write!(f, "{}{sign}{:02}:{:02}", self.local, size / 3600, size / 60 % 60)?;
        if size.is_multiple_of(60) { Ok(()) } else { write!(f, ":{:02}", size % 60) }
    }
}

impl Payload for LocalDate {
    const NAME: &'static str = "a date";

    fn size(&self) -> usize {
        6
    }

    fn write(&self, out: &mut Output) -> Result<(), EncodeError> {
        out.put(self.year);
        out.bytes(&[self.month, self.day]);
        Ok(())
    }

    fn read(input: &mut Input<'_>) -> Result<Self, DecodeError> {
        let found = Self::new(input.get()?, input.get()?, input.get()?);
        found.ok_or(DecodeError::Invalid { what: "date", offset: input.offset() })
    }
}

impl Payload for LocalTime {
    const NAME: &'static str = "a time";

    fn size(&self) -> usize {
        7
    }

    fn write(&self, out: &mut Output) -> Result<(), EncodeError> {
        out.bytes(&[self.hour, self.minute, self.second]);
        // Below 10^9, so the sign bit is free.
        out.put(self.nano as i32);
        Ok(())
    }

    fn read(input: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (hour, minute, second) = (input.get()?, input.get()?, input.get()?);
        let nano: i32 = input.get()?;
        let found = u32::try_from(nano).ok().and_then(|nano| Self::new(hour, minute, second, nano));
        found.ok_or(DecodeError::Invalid { what: "time", offset: input.offset() })
    }
}

impl Payload for LocalDateTime {
    const NAME: &'static str = "a date and time";

    fn size(&self) -> usize {
        self.date.size() + self.time.size()
    }

    fn write(&self, out: &mut Output) -> Result<(), EncodeError> {
        self.date.write(out)?;
        self.time.write(out)
    }

    fn read(input: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok(Self { date: LocalDate::read(input)?, time: LocalTime::read(input)? })
    }
}

impl Payload for OffsetDateTime {
    const NAME: &'static str = "a date and time with offset";

    fn size(&self) -> usize {
        self.local.size() + 4
    }

    fn write(&self, out: &mut Output) -> Result<(), EncodeError> {
        self.local.write(out)?;
        out.put(self.offset_s);
        Ok(())
    }

    fn read(input: &mut Input<'_>) -> Result<Self, DecodeError> {
        let found = Self::new(LocalDateTime::read(input)?, input.get()?);
        found.ok_or(DecodeError::Invalid { what: "offset from UTC", offset: input.offset() })
    }
}
