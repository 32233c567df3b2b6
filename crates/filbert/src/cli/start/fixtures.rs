//! Code that clients' tests call: entry processors, tasks and a comparator under the ids that Hazelcast keeps for the tests of its
//! clients. Registered only when the settings ask for it.

use filbert_grid::query::EntryComparator;
use filbert_grid::{Entry, EntryProcessor, ExecutorTask, Grid, TaskContext};
use filbert_wire::{Data, FromData, Input, ToData, Value};
use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

/// The factory of most of them.
const CLIENT_TESTS: i32 = 66;
/// The factory of those that came first.
const OLDER: i32 = 666;

/// Registers all.
pub(super) fn register(grid: &Grid) {
    let registry = grid.registry();
    registry.add_processor_class(CLIENT_TESTS, 1, |fields| {
        Ok(SetValue(Fields(fields).text()?.to_data().map_err(words)?))
    });
    for (class, absent) in [(3, Some(-1)), (7, None)] {
        registry.add_processor_class(OLDER, class, move |fields| {
            Ok(MultiplyKey { by: Fields(fields).int()?, absent, pause: Duration::ZERO })
        });
    }
    registry.add_processor_class(OLDER, 8, |fields| {
        let mut fields = Fields(fields);
        let pause = Duration::from_millis(u64::try_from(fields.int()?).unwrap_or(0));
        Ok(MultiplyKey { by: fields.int()?, absent: Some(-1), pause })
    });
    registry.add_task_class(CLIENT_TESTS, 5, |fields| Ok(Task::Append(Fields(fields).text()?)));
    registry.add_task_class(CLIENT_TESTS, 6, |fields| Ok(Task::Sleep(Fields(fields).long()?)));
    registry.add_task_class(CLIENT_TESTS, 7, |_| Ok(Task::Fail));
    registry.add_task_class(CLIENT_TESTS, 8, |_| Ok(Task::Member));
    registry.add_task_class(CLIENT_TESTS, 10, |_| Ok(Task::Nothing));
    grid.catalog().add_comparator(CLIENT_TESTS, 2, |object| {
        // Behind the flag byte and the two ids.
        let mut fields = Fields(object.payload().get(9..).unwrap_or_default());
        Ok(Arc::new(OrderEntries { order: fields.int()?, by: fields.int()? }))
    });
}

fn words(error: impl ToString) -> String {
    error.to_string()
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
        let text = self.0.get(..length).ok_or("its text ends too early")?;
        self.0 = &self.0[length..];
        String::from_utf8(text.to_vec()).map_err(words)
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
            Some(_) => Some(i32::from_data(&entry.key()).map_err(words)?.wrapping_mul(self.by)),
        };
        product.map(|product| product.to_data().map_err(words)).transpose()
    }

    fn is_offloadable(&self) -> bool {
        !self.pause.is_zero()
    }
}

/// What an executor runs.
enum Task {
    Append(String),
    Sleep(i64),
    Fail,
    Member,
    Nothing,
}

impl ExecutorTask for Task {
    fn run(&self, context: &TaskContext<'_>) -> Result<Option<Data>, String> {
        let given = match self {
            Task::Append(message) => format!("{message}:CallableResult").to_data(),
            Task::Sleep(millis) => {
                sleep(Duration::from_millis(u64::try_from(*millis).unwrap_or(0)));
                true.to_data()
            }
            Task::Fail => return Err("IllegalStateException".to_owned()),
            Task::Member => context.grid().member().to_data(),
            Task::Nothing => return Ok(None),
        };
        given.map(Some).map_err(words)
    }
}

#[expect(clippy::disallowed_methods, reason = "code that blocks its thread is what these tests ask for")]
fn sleep(duration: Duration) {
    // sleeps because that is what a test asked for
    std::thread::sleep(duration);
}

/// Orders entries by the text of their keys, values or both.
struct OrderEntries {
    order: i32,
    by: i32,
}

impl OrderEntries {
    fn text(&self, (key, value): (&Data, &Data)) -> String {
        match self.by {
            0 => text(key),
            1 => text(value),
            _ => text(key) + &text(value),
        }
    }
}

impl EntryComparator for OrderEntries {
    fn compare(&self, left: (&Data, &Data), right: (&Data, &Data)) -> Ordering {
        let (left, right) = (self.text(left), self.text(right));
        let by_units = || left.encode_utf16().cmp(right.encode_utf16());
        match self.order {
            0 => by_units(),
            1 => by_units().reverse(),
            _ => left.encode_utf16().count().cmp(&right.encode_utf16().count()),
        }
    }
}

/// What Java's `toString` gives of numbers and texts.
fn text(data: &Data) -> String {
    match Value::read_payload(data.type_id(), &mut Input::new(data.payload())) {
        Ok(Value::String(text)) => text.to_string(),
        Ok(Value::Int(number)) => number.to_string(),
        Ok(Value::Long(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}
