//! Keys and values as text on the command line.

use filbert_wire::{Data, FromData, Json, ToData, Value};
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
    /// The value that `text` stands for; `what` it is goes into the error.
    pub(super) fn read(self, what: &str, text: &str) -> Result<Data, String> {
        let wrong = |error: &dyn fmt::Display| format!("the {what} {text:?} is not a {self}: {error}");
        let data = match self {
            Form::String => text.to_data(),
            Form::Int => text.parse::<i32>().map_err(|error| wrong(&error))?.to_data(),
            Form::Long => text.parse::<i64>().map_err(|error| wrong(&error))?.to_data(),
            Form::Double => text.parse::<f64>().map_err(|error| wrong(&error))?.to_data(),
            Form::Bool => text.parse::<bool>().map_err(|error| wrong(&error))?.to_data(),
            Form::Uuid => text.parse::<Uuid>().map_err(|error| wrong(&error))?.to_data(),
            Form::Json => {
                Json(serde_json::from_str::<serde_json::Value>(text).map_err(|error| wrong(&error))?)
                    .to_data()
            }
        };
        data.map_err(|error| wrong(&error))
    }
}

/// A value as JSON, as near as JSON comes to it.
pub(super) fn shown_json(data: &Data) -> serde_json::Value {
    match Value::from_data(data) {
        Ok(value) => as_json(&value),
        Err(error) => serde_json::json!({ "unreadable": error.to_string() }),
    }
}

/// A value as text for people.
pub(super) fn shown(data: &Data) -> String {
    match shown_json(data) {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    }
}

fn as_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Byte(value) => (*value).into(),
        Value::Short(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Long(value) => (*value).into(),
        Value::Float(value) => f64::from(*value).into(),
        Value::Double(value) => (*value).into(),
        Value::String(value) => value.as_str().into(),
        Value::Uuid(value) => value.to_string().into(),
        Value::Json(text) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
        Value::List(items) => items.iter().map(as_json).collect(),
        other => format!("{other:?}").into(),
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
            assert_eq!(shown(&form.read("value", text).unwrap()), text);
        }
        let wrong = Form::Int.read("key", "Oslo").unwrap_err();
        assert!(wrong.contains("the key \"Oslo\" is not a int"), "{wrong}");
    }
}
