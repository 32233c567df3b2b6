//! The settings of a set of stages: values for the keys of one [table], from code or TOML, checked before anything
//! starts.

pub mod fields;
mod nearest;
pub mod table;

#[cfg(test)]
mod tests;

use crate::rules::StageKind;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use table::{Setting, Standard};

/// What was wrong with the settings; every problem found, not only the first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the settings of the stages are not usable; nothing was started:\n{}", .problems.join("\n"))]
pub struct SettingsError {
    /// One line each: the setting, what is wrong with it, what would be right.
    pub problems: Vec<String>,
}

/// The value of one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingValue {
    /// A number.
    Number(u64),
    /// A word.
    Word(String),
}

/// Values for settings; what is not set has its default.
///
/// ```
/// use filbert_pool::Settings;
/// let mut settings = Settings::from_toml("[partition]\nthreads = 8\n[executor.reports]\nthreads = 4")?;
/// settings.set("event.capacity", 10_000);
/// assert_eq!(settings.number("partition.threads"), 8);
/// # Ok::<(), filbert_pool::SettingsError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Settings {
    numbers: BTreeMap<String, u64>,
    words: BTreeMap<String, String>,
    executors: BTreeSet<String>,
    problems: Vec<String>,
    cores: Option<u64>,
}

impl Settings {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a TOML text: a table per stage, `[executor.<name>]` for executors.
    pub fn from_toml(text: &str) -> Result<Self, SettingsError> {
        let mut settings = Self::new();
        settings.merge_toml(text);
        settings.check()?;
        Ok(settings)
    }

    /// Adds what a TOML text says; problems are kept for [`Settings::check`].
    pub(crate) fn merge_toml(&mut self, text: &str) {
        match text.parse::<toml::Table>() {
            Ok(table) => self.read("", &table),
            Err(error) => {
                self.problems.push(format!("the text is not TOML: {}", error.to_string().trim_end()))
            }
        }
    }

    fn read(&mut self, prefix: &str, table: &toml::Table) {
        for (name, value) in table {
            let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            match value {
                toml::Value::Table(inner) => {
                    if prefix == "executor" {
                        self.add_executor(name);
                    }
                    self.read(&key, inner);
                }
                toml::Value::Integer(number) => match u64::try_from(*number) {
                    Ok(number) => self.set(&key, number),
                    Err(_) => self.problems.push(format!("{key} = {number}: must not be negative")),
                },
                toml::Value::String(word) => self.set_word(&key, word),
                other => {
                    let shown = fields::shown(other);
                    self.problems.push(format!("{key}{shown}: must be a whole number or a word in quotes"))
                }
            }
        }
    }

    /// Sets a number.
    pub fn set(&mut self, key: &str, value: u64) {
        match self.row(key) {
            Some(setting) if setting.words.is_empty() => {
                let (least, most) = setting.range;
                if !(least..=most).contains(&value) {
                    let about = setting.about;
                    self.problems.push(format!("{key} = {value}: must be {least} to {most} ({about})"));
                }
                self.numbers.insert(key.to_owned(), value);
            }
            Some(setting) => {
                self.problems.push(format!("{key} = {value}: must be one of {}", quoted(setting.words)))
            }
            None => {}
        }
    }

    /// Sets a word.
    pub fn set_word(&mut self, key: &str, value: &str) {
        match self.row(key) {
            Some(setting) if setting.words.is_empty() => {
                self.problems.push(format!("{key} = \"{value}\": must be a whole number"));
            }
            Some(setting) if setting.words.contains(&value) => {
                self.words.insert(key.to_owned(), value.to_owned());
            }
            Some(setting) => {
                self.problems.push(format!("{key} = \"{value}\": must be one of {}", quoted(setting.words)));
            }
            None => {}
        }
    }

    fn row(&mut self, key: &str) -> Option<&'static Setting> {
        let found = table::find(key);
        if found.is_none() {
            let known = table::SETTINGS.iter().map(|setting| setting.key);
            let hint = nearest::nearest(key, known).map_or_else(
                || "`filbert stages --settings` lists them all".to_owned(),
                |nearest| format!("did you mean {nearest}?"),
            );
            self.problems.push(format!("{key}: no such setting; {hint}"));
        }
        found
    }

    /// Declares an executor.
    pub fn add_executor(&mut self, name: &str) {
        let letters = name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
        if name.is_empty() || name.len() > 64 || !letters {
            let rule = "a name has 1 to 64 letters, digits, - or _";
            self.problems.push(format!("executor {name:?}: {rule}"));
        }
        if !self.executors.insert(name.to_owned()) {
            self.problems
                .push(format!("executor.{name}: there are two executors of that name; each needs its own"));
        }
    }

    /// The executors declared, in alphabetical order.
    pub fn executors(&self) -> impl Iterator<Item = &str> {
        self.executors.iter().map(String::as_str)
    }

    /// Every problem there is, or none.
    pub fn check(&self) -> Result<(), SettingsError> {
        let mut problems = self.problems.clone();
        for key in self.numbers.keys().chain(self.words.keys()) {
            let executor = key.strip_prefix("executor.").and_then(|rest| rest.rsplit_once('.'));
            if let Some((name, _)) = executor
                && !self.executors.contains(name)
            {
                problems.push(format!("{key}: there is no executor {name}; declare it first"));
            }
        }
        let (capacity, reserved) = (self.number("event.capacity"), self.number("event.reserved_per_topic"));
        if self.numbers.contains_key("event.reserved_per_topic") && reserved > capacity {
            problems.push(format!(
                "event.reserved_per_topic = {reserved}: must not be more than event.capacity, which is {capacity}"
            ));
        }
        if problems.is_empty() { Ok(()) } else { Err(SettingsError { problems }) }
    }

    /// Every setting with its value, as set or by default; those of executors for each that is declared.
    pub fn values(&self) -> Vec<(String, SettingValue)> {
        let mut values = Vec::new();
        for setting in table::SETTINGS {
            let keys = match setting.key.split_once('*') {
                None => vec![setting.key.to_owned()],
                Some((before, after)) => {
                    self.executors().map(|name| format!("{before}{name}{after}")).collect()
                }
            };
            for key in keys {
                let value = match setting.standard {
                    Standard::Word(_) => SettingValue::Word(self.word(&key).to_owned()),
                    _ => SettingValue::Number(self.number(&key)),
                };
                values.push((key, value));
            }
        }
        values
    }

    /// The value of a number: as set, or the default.
    ///
    /// # Panics
    /// When the table has no such number: a typing error in code, not in a user's file.
    pub fn number(&self, key: &str) -> u64 {
        let Some(setting) = table::find(key) else { panic!("the table has no setting {key}") };
        self.numbers.get(key).copied().unwrap_or_else(|| match setting.standard {
            Standard::Number(number) => number,
            Standard::PerCore(factor) => factor * self.cores.unwrap_or_else(cores),
            Standard::Word(_) => panic!("setting {key} is a word"),
        })
    }

    /// The value of a word: as set, or the default.
    ///
    /// # Panics
    /// When the table has no such word.
    pub fn word(&self, key: &str) -> &str {
        match (self.words.get(key), table::find(key).map(|setting| setting.standard)) {
            (Some(word), _) => word,
            (None, Some(Standard::Word(word))) => word,
            _ => panic!("the table has no word {key}"),
        }
    }

    /// The same settings, with defaults as on a machine of that many cores.
    pub(crate) fn for_cores(mut self, cores: u64) -> Self {
        self.cores = Some(cores);
        self
    }

    /// A number as a size.
    pub(crate) fn size(&self, key: &str) -> usize {
        usize::try_from(self.number(key)).unwrap_or(usize::MAX)
    }

    /// A number of milliseconds, where 0 means "not at all".
    pub(crate) fn limit(&self, key: &str) -> Option<Duration> {
        Some(self.number(key)).filter(|millis| *millis > 0).map(Duration::from_millis)
    }

    /// The threads of a stage that has a fixed number of them.
    pub(crate) fn threads(&self, kind: StageKind) -> usize {
        self.size(&format!("{kind}.threads"))
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ")
}

/// The cores of this machine, as the operating system grants them to the process.
pub(crate) fn cores() -> u64 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64)
}
