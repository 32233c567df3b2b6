//! Keys and values as text on the command line.

use super::text::counted;
use filbert_wire::type_id;
use filbert_wire::{Data, FromData, LocalDate, LocalDateTime, LocalTime, ToData, Value};
use serde_json::Value as Json;
use std::fmt;
use uuid::Uuid;

/// What a text on the command line stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Form {
    /// The text itself.
    #[default]
    String,
    /// A whole number of 32 bits.
    Int,
    /// A whole number of 64 bits.
    Long,
    /// A number with a fraction.
    Double,
    /// true or false.
    Bool,
    /// A UUID.
    Uuid,
    /// A JSON value.
    Json,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Form::String => "string",
            Form::Int => "int",
            Form::Long => "long",
            Form::Double => "double",
            Form::Bool => "bool",
            Form::Uuid => "uuid",
            Form::Json => "json",
        })
    }
}

impl Form {
    /// With its article, for sentences.
    pub(super) fn with_article(self) -> String {
        let article = if self == Form::Int { "an" } else { "a" };
        format!("{article} {self}")
    }

    /// The value that `text` stands for; `what` it is goes into the error.
    pub(super) fn read(self, what: &str, text: &str) -> Result<Data, String> {
        let wrong =
            |error: &dyn fmt::Display| format!("the {what} {text:?} is not {}: {error}", self.with_article());
        let data = match self {
            Form::String => text.to_data(),
            Form::Int => text.parse::<i32>().map_err(|error| wrong(&error))?.to_data(),
            Form::Long => text.parse::<i64>().map_err(|error| wrong(&error))?.to_data(),
            Form::Double => text.parse::<f64>().map_err(|error| wrong(&error))?.to_data(),
            Form::Bool => text.parse::<bool>().map_err(|error| wrong(&error))?.to_data(),
            Form::Uuid => text.parse::<Uuid>().map_err(|error| wrong(&error))?.to_data(),
            Form::Json => {
                filbert_wire::Json(serde_json::from_str::<Json>(text).map_err(|error| wrong(&error))?)
                    .to_data()
            }
        };
        data.map_err(|error| wrong(&error))
    }
}

/// Writes a text on one line: what would move the cursor or command the terminal is shown as it is written in code.
pub(super) fn escaped(text: &str) -> String {
    let escaped = |letter: char| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// A value as people and programs are shown it.
pub(super) struct Shown {
    /// The word of its [`Form`] where it has one, else words for what it is.
    pub(super) kind: String,
    /// The value as JSON, as near as JSON comes to it.
    pub(super) json: Json,
    /// The length of what only its own program can read.
    opaque_bytes: Option<usize>,
}

impl Shown {
    pub(super) fn of(data: &Data) -> Self {
        match Value::from_data(data) {
            Ok(value) => {
                let opaque_bytes = match &value {
                    Value::Opaque(data) => Some(data.payload().len()),
                    _ => None,
                };
                Self { kind: kind(&value), json: as_json(&value), opaque_bytes }
            }
            Err(error) => {
                Self { kind: "unreadable".to_owned(), json: error.to_string().into(), opaque_bytes: None }
            }
        }
    }

    /// As text for people.
    pub(super) fn text(&self) -> String {
        match &self.json {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// Returns the text on one line, as [`escaped`] writes it.
    pub(super) fn line(&self) -> String {
        escaped(&self.text())
    }

    /// Returns the line beside which its kind stands, so that it is not said twice.
    pub(super) fn cell(&self) -> String {
        self.opaque_bytes.map_or_else(|| self.line(), |bytes| format!("({})", in_bytes(bytes)))
    }
}

/// A length in words.
fn in_bytes(bytes: usize) -> String {
    counted(bytes as u64, "byte", "bytes")
}

/// Names a value that only its own program can read.
fn opaque_kind(data: &Data) -> String {
    let (words, number) = (type_id::describe(data.type_id()), data.type_id());
    let words = words.split_once(' ').map_or(words, |(_, noun)| noun);
    // A number alone tells the others apart.
    if words.ends_with("serializer") { format!("{words}, type {number}") } else { words.to_owned() }
}

fn kind(value: &Value) -> String {
    match value {
        Value::String(_) => "string".to_owned(),
        Value::Opaque(data) => opaque_kind(data),
        // The name of the variant: what stands before its parts.
        other => {
            let mut name = format!("{other:?}");
            name.truncate(name.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(name.len()));
            name.to_lowercase()
        }
    }
}

fn as_json(value: &Value) -> Json {
    fn all<T: Copy + Into<Json>>(items: &[T]) -> Json {
        items.iter().map(|item| (*item).into()).collect()
    }
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => (*value).into(),
        Value::Byte(value) => (*value).into(),
        Value::Short(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Long(value) => (*value).into(),
        Value::Float(value) => float(f64::from(*value), value),
        Value::Double(value) => float(*value, value),
        Value::String(value) => value.as_str().into(),
        Value::Uuid(value) => value.to_string().into(),
        Value::Json(text) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
        Value::ByteArray(items) => all(items),
        Value::BoolArray(items) => all(items),
        Value::ShortArray(items) => all(items),
        Value::IntArray(items) => all(items),
        Value::LongArray(items) => all(items),
        Value::StringArray(items) => items.iter().map(|item| Json::from(item.as_deref())).collect(),
        Value::FloatArray(items) => items.iter().map(|item| float(f64::from(*item), item)).collect(),
        Value::DoubleArray(items) => items.iter().map(|item| float(*item, item)).collect(),
        Value::List(items) => items.iter().map(as_json).collect(),
        Value::Char(unit) => utf16(&[*unit]),
        Value::CharArray(units) => utf16(units),
        // As numbers of any size are not read by every reader of JSON.
        Value::BigInteger(value) => value.to_string().into(),
        Value::Decimal(value) => value.to_string().into(),
        Value::LocalDate(value) => value.to_string().into(),
        Value::LocalTime(value) => value.to_string().into(),
        Value::LocalDateTime(value) => value.to_string().into(),
        Value::OffsetDateTime(value) => value.to_string().into(),
        Value::Date(millis) => {
            moment(*millis).map_or_else(|| (*millis).into(), |moment| format!("{moment}Z").into())
        }
        Value::Opaque(data) => format!("({}, {})", opaque_kind(data), in_bytes(data.payload().len())).into(),
        // A kind that this program does not know yet.
        _ => Json::Null,
    }
}

/// Text in UTF-16; half a pair is shown as what stands for the unknown.
fn utf16(units: &[u16]) -> Json {
    String::from_utf16_lossy(units).into()
}

/// The moment so many milliseconds after 1970, in UTC, if the calendar goes that far.
fn moment(millis: i64) -> Option<LocalDateTime> {
    const DAY: i64 = 24 * 60 * 60 * 1_000;
    let nanos = u64::try_from(millis.rem_euclid(DAY)).ok()? * 1_000_000;
    Some(LocalDateTime {
        date: LocalDate::of_epoch_day(millis.div_euclid(DAY))?,
        time: LocalTime::of_nano_of_day(nanos)?,
    })
}

/// A number as it is written; JSON has no others than finite ones, so these are texts.
fn float(value: f64, written: &dyn fmt::Display) -> Json {
    let written = written.to_string();
    match written.parse::<f64>() {
        Ok(number) if value.is_finite() => number.into(),
        _ => written.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_shown_again() {
        let same = [
            (Form::String, "Oslo"),
            (Form::Int, "7"),
            (Form::Long, "-7000000000"),
            (Form::Double, "1.5"),
            (Form::Bool, "true"),
            (Form::Uuid, "67e55044-10b1-426f-9247-bb680e5fe0c8"),
            (Form::Json, "{\"name\":\"Ann\"}"),
        ];
        for (form, text) in same {
            let shown = Shown::of(&form.read("value", text).unwrap());
            assert_eq!((shown.text(), shown.kind), (text.to_owned(), form.to_string()));
        }
        let wrong = Form::Int.read("key", "Oslo").unwrap_err();
        assert!(wrong.contains("the key \"Oslo\" is not an int"), "{wrong}");
    }

    #[test]
    fn values_of_others_are_shown_as_what_they_are() {
        let shown = |value: &dyn Fn() -> Data| {
            let shown = Shown::of(&value());
            (shown.kind.clone(), shown.json.to_string())
        };
        let of = |kind: &str, json: &str| (kind.to_owned(), json.to_owned());
        assert_eq!(shown(&|| 0.1_f32.to_data().unwrap()), of("float", "0.1"));
        assert_eq!(shown(&|| f64::NAN.to_data().unwrap()), of("double", "\"NaN\""));
        assert_eq!(shown(&|| Value::IntArray(vec![1, -2]).to_data().unwrap()), of("intarray", "[1,-2]"));
        assert_eq!(shown(&|| Value::Null.to_data().unwrap()), of("null", "null"));
        assert_eq!(shown(&|| Value::Char(0xe9).to_data().unwrap()), of("char", "\"é\""));
        assert_eq!(
            shown(&|| Value::Date(-1).to_data().unwrap()),
            of("date", "\"1969-12-31T23:59:59.999000000Z\"")
        );
        let day = LocalDate::new(2024, 2, 29).unwrap();
        assert_eq!(shown(&|| Value::LocalDate(day).to_data().unwrap()), of("localdate", "\"2024-02-29\""));
        let said = [
            (-120, "pickled Python object"),
            (-100, "Java Serializable object"),
            (-1, "Portable object"),
            (-2, "IdentifiedDataSerializable object"),
            (-110, ".NET object"),
            (-140, "Go object"),
            (-55, "Compact object"),
            (77, "object of a custom serializer, type 77"),
            (-77, "object of an unknown serializer, type -77"),
        ];
        for (number, words) in said {
            let json = format!("\"({words}, 3 bytes)\"");
            assert_eq!(shown(&|| Data::new(number, &[1, 2, 3])), of(words, &json));
        }
        assert_eq!(Shown::of(&Data::new(-120, &[1, 2, 3])).cell(), "(3 bytes)");
        assert_eq!(Shown::of(&7_i32.to_data().unwrap()).cell(), "7");
    }

    #[test]
    fn a_line_stays_a_line() {
        let shown = Shown::of(&"a\nb\u{1b}[2Jc".to_data().unwrap());
        assert_eq!(shown.line(), "a\\nb\\u{1b}[2Jc");
        assert_eq!(shown.text(), "a\nb\u{1b}[2Jc");
    }
}
