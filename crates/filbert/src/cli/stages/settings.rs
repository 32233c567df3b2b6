//! `filbert stages --settings`: every setting of the stages.

use super::super::Outcome;
use super::super::table::Table;
use filbert::{Settings, settings_table};
use serde_json::{Value, json};
use std::io::Write;

pub(super) fn write(out: &mut impl Write, json: bool) -> Outcome {
    let now = Settings::new();
    let mut table = Table::new(&["setting", "default", "range", "meaning"]);
    for setting in settings_table::SETTINGS {
        let (key, about) = (setting.key, setting.about);
        // Numbers stay numbers; a range is its ends, or the words to choose from.
        let (standard, range) = if setting.words.is_empty() {
            (Value::from(now.number(key)), json!([setting.range.0, setting.range.1]))
        } else {
            (Value::from(now.word(key)), json!(setting.words))
        };
        if json {
            let row = json!({ "setting": key, "default": standard, "range": range, "meaning": about });
            writeln!(out, "{row}")?;
            continue;
        }
        let (standard, range) = if setting.words.is_empty() {
            (standard.to_string(), format!("{} to {}", setting.range.0, setting.range.1))
        } else {
            (now.word(key).to_owned(), setting.words.join(", "))
        };
        table.row([key.to_owned(), standard, range, about.to_owned()]);
    }
    if !json {
        table.write(out, "")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_json_numbers_are_numbers_and_words_are_lists() {
        let mut out = Vec::new();
        write(&mut out, true).unwrap();
        let rows: Vec<Value> =
            String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let row = |key: &str| rows.iter().find(|row| row["setting"] == key).unwrap();
        assert_eq!(row("io.threads")["default"], 3);
        assert_eq!(row("io.threads")["range"], json!([1, 1024]));
        assert_eq!(row("generic.when_full")["range"], json!(["wait", "refuse"]));
    }
}
