//! Code that the tests of clients call: entry processors, interceptors, functions and tasks under the ids that Hazelcast keeps for them. The table of their fields
//! and behaviour is `../../remote_controller/fixtures.md`.

use crate::order_entries::OrderEntries;
use filbert::grid::query::Catalog;
use filbert::grid::{ExecutorTask, Function, FunctionError, MapStore, TaskContext};
use filbert::{Data, Entry, EntryProcessor, FromData, Interceptor, Registry, ToData};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// The factory of most fixtures.
const CLIENT_TESTS: i32 = 66;
/// The factory of the older ones.
const OLDER: i32 = 666;
/// What stands before the fields of an identified object: a flag byte and two ids.
const BEFORE_FIELDS: usize = 9;

/// A registry with the entry processors, interceptors, functions and tasks.
pub(crate) fn registry() -> Registry {
    let multiply = |absent| {
        move |fields: &[u8]| Ok(MultiplyKey { by: Fields(fields).int()?, absent, pause: Duration::ZERO })
    };
    Registry::new()
        .with_processor_class(CLIENT_TESTS, 1, |fields| Ok(SetValue(data(&Fields(fields).text()?)?)))
        .with_processor_class(OLDER, 3, multiply(Some(-1)))
        .with_processor_class(OLDER, 7, multiply(None))
        .with_processor_class(OLDER, 8, |fields| {
            let mut fields = Fields(fields);
            let pause = millis(fields.int()?.into());
            Ok(MultiplyKey { by: fields.int()?, absent: Some(-1), pause })
        })
        .with_interceptor_class(OLDER, 6, |fields| Ok(PrefixOnGet(Fields(fields).text()?)))
        .with_function_class(OLDER, 14, |fields| Ok(HasPrefix(Fields(fields).text()?)))
        .with_function_class(CLIENT_TESTS, 16, |fields| Ok(Multiply(Fields(fields).long()?)))
        .with_function_class(CLIENT_TESTS, 17, |fields| Ok(AppendText(Fields(fields).text()?)))
        .with_task_class(CLIENT_TESTS, 5, |fields| Ok(Task::Append(Fields(fields).text()?)))
        .with_task_class(CLIENT_TESTS, 6, |fields| Ok(Task::Sleep(millis(Fields(fields).long()?))))
        .with_task_class(CLIENT_TESTS, 7, |_| Ok(Task::Fail))
        .with_task_class(CLIENT_TESTS, 8, |_| Ok(Task::MemberUuid))
        .with_task_class(CLIENT_TESTS, 10, |_| Ok(Task::ReturnNull))
        .with_map_store("com.hazelcast.client.test.SampleMapStore", |_| Ok(MemoryStore::default()))
}

/// The comparators of paging predicates.
pub(crate) fn add_comparators(catalog: &Catalog) {
    catalog.add_comparator(CLIENT_TESTS, 2, |object| {
        let mut fields = Fields(object.payload().get(BEFORE_FIELDS..).unwrap_or_default());
        Ok(Arc::new(OrderEntries { order: fields.int()?, by: fields.int()? }))
    });
}

fn data(value: &(impl ToData + ?Sized)) -> Result<Data, String> {
    value.to_data().map_err(|error| error.to_string())
}

/// A pause of that many milliseconds, none for a negative number.
fn millis(number: i64) -> Duration {
    Duration::from_millis(u64::try_from(number).unwrap_or(0))
}

/// The fields of an object, one after the other.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (taken, rest) = self.0.split_first_chunk().ok_or("its fields end too early")?;
        self.0 = rest;
        Ok(*taken)
    }

    fn int(&mut self) -> Result<i32, String> {
        self.take().map(i32::from_be_bytes)
    }

    fn long(&mut self) -> Result<i64, String> {
        self.take().map(i64::from_be_bytes)
    }

    fn text(&mut self) -> Result<String, String> {
        let length = usize::try_from(self.int()?).map_err(|_| "its text is null")?;
        let (text, rest) = self.0.split_at_checked(length).ok_or("its text ends too early")?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).map_err(|error| error.to_string())
    }
}

/// The value that a function is given, of the type that it takes.
fn argument<T: FromData>(value: Option<&Data>) -> Result<T, FunctionError> {
    let value = value.ok_or("there is no value")?;
    T::from_data(value).map_err(|error| FunctionError::OtherType(error.to_string()))
}

/// Whether a text begins with another one.
struct HasPrefix(String);

impl Function for HasPrefix {
    fn apply(&self, value: Option<&Data>) -> Result<Option<Data>, FunctionError> {
        Ok(Some(data(&argument::<String>(value)?.starts_with(&self.0))?))
    }
}

/// Multiplies a number.
struct Multiply(i64);

impl Function for Multiply {
    fn apply(&self, value: Option<&Data>) -> Result<Option<Data>, FunctionError> {
        Ok(Some(data(&argument::<i64>(value)?.wrapping_mul(self.0))?))
    }
}

/// Puts a text behind a text.
struct AppendText(String);

impl Function for AppendText {
    fn apply(&self, value: Option<&Data>) -> Result<Option<Data>, FunctionError> {
        Ok(Some(data(&(argument::<String>(value)? + &self.0))?))
    }
}

/// A store that is a map in memory.
#[derive(Default)]
struct MemoryStore(Mutex<HashMap<Data, Data>>);

impl MemoryStore {
    fn entries(&self) -> MutexGuard<'_, HashMap<Data, Data>> {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

impl MapStore for MemoryStore {
    fn load(&self, key: &Data) -> Result<Option<Data>, String> {
        Ok(self.entries().get(key).cloned())
    }

    fn load_all_keys(&self) -> Result<Vec<Data>, String> {
        Ok(self.entries().keys().cloned().collect())
    }

    fn store(&self, key: &Data, value: &Data) -> Result<(), String> {
        self.entries().insert(key.clone(), value.clone());
        Ok(())
    }

    fn delete(&self, key: &Data) -> Result<(), String> {
        self.entries().remove(key);
        Ok(())
    }
}

/// Gives an entry a value.
struct SetValue(Data);

impl EntryProcessor for SetValue {
    fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
        entry.set_value(self.0.clone());
        Ok(Some(self.0.clone()))
    }
}

/// Gives a multiple of the key, or what stands for an entry that is not there; perhaps after a pause.
struct MultiplyKey {
    by: i32,
    absent: Option<i32>,
    pause: Duration,
}

impl EntryProcessor for MultiplyKey {
    fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
        if !self.pause.is_zero() {
            sleep(self.pause);
        }
        let product = match entry.value_bytes() {
            None => self.absent,
            Some(_) => {
                let key = i32::from_data(&entry.key()).map_err(|error| error.to_string())?;
                Some(key.wrapping_mul(self.by))
            }
        };
        product.map(|product| data(&product)).transpose()
    }

    fn is_offloadable(&self) -> bool {
        !self.pause.is_zero()
    }
}

/// Puts a text before every text that is read; a key that is not there has the empty one.
struct PrefixOnGet(String);

impl Interceptor for PrefixOnGet {
    fn intercept_get(&self, value: Option<&Data>) -> Result<Option<Data>, String> {
        let text = match value {
            None => String::new(),
            Some(value) => String::from_data(value).map_err(|error| error.to_string())?,
        };
        data(&(self.0.clone() + &text)).map(Some)
    }
}

/// What an executor runs.
enum Task {
    Append(String),
    Sleep(Duration),
    Fail,
    MemberUuid,
    ReturnNull,
}

impl ExecutorTask for Task {
    fn run(&self, context: &TaskContext<'_>) -> Result<Option<Data>, String> {
        match self {
            Task::Append(message) => data(&format!("{message}:CallableResult")).map(Some),
            Task::Sleep(pause) => {
                sleep(*pause);
                data(&true).map(Some)
            }
            Task::Fail => Err("IllegalStateException".to_owned()),
            Task::MemberUuid => data(&context.grid().member()).map(Some),
            Task::ReturnNull => Ok(None),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "code that blocks its thread is what these fixtures are for")]
fn sleep(pause: Duration) {
    // sleeps because a test asks for code that takes long
    std::thread::sleep(pause);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_end_too_early_are_errors() {
        let mut fields = Fields(&[0, 0, 0, 2, b'a', b'b', 0, 0, 0, 7]);
        assert_eq!(fields.text().as_deref(), Ok("ab"));
        assert_eq!(fields.int(), Ok(7));
        assert!(fields.int().is_err());
        assert!(Fields(&[0, 0, 0, 3, b'a']).text().is_err());
        assert!(Fields(&(-1_i32).to_be_bytes()).text().is_err());
    }
}
