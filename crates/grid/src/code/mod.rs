//! User code that clients call by name: registered with the member, looked up where an operation runs.
//!
//! No code travels. An operation carries a [`Code`]: a name, or the factory and class id of an `IdentifiedDataSerializable`, and an
//! argument. So the same operation means the same on another member, and a Python or Node.js client calls what was written in Rust.
//!
//! A client that has no class for the code writes an `IdentifiedDataSerializable` of factory [`NAMED_FACTORY`] and class
//! [`NAMED_CLASS`] with two fields: the name (`write_string`) and the argument (`write_object`).

mod adapter;
mod entry;
mod function;
mod interceptor;
mod processor;
mod registry;
mod store;
mod task;

pub use entry::{Entry, EntryChange, EntryProcessor};
pub(crate) use function::Called;
pub use function::{Function, FunctionError};
pub(crate) use interceptor::Guarded;
pub use interceptor::Interceptor;
pub(crate) use processor::Processor;
pub use registry::Registry;
pub use store::MapStore;
pub(crate) use store::StoreCalls;
pub(crate) use task::TASK;
pub use task::{ExecutorTask, TaskContext};

use filbert_wire::Data;
use serde::{Deserialize, Serialize};

/// The factory id under which clients call code by its name.
pub const NAMED_FACTORY: i32 = 0x4642;

/// The class id of a call by name: a string, the name; then an object, the argument.
pub const NAMED_CLASS: i32 = 1;

/// The type id of an `IdentifiedDataSerializable`.
const IDENTIFIED: i32 = -2;

/// Says which code, and what to give to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Code {
    /// Code that was registered by name.
    Named {
        /// Its name.
        name: String,
        /// What it is made from.
        argument: Data,
    },
    /// Code that was registered by the ids of an `IdentifiedDataSerializable`.
    Class {
        /// The factory id.
        factory: i32,
        /// The class id.
        class: i32,
        /// Its fields, as the client wrote them.
        fields: Vec<u8>,
    },
    /// A task that gives nothing, whatever its code gives: what Java calls a runnable.
    Runnable(Box<Code>),
}

/// A value that says no code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the value does not say which code to run: {problem}")]
pub struct NotCode {
    /// What is wrong with it.
    pub problem: String,
}

impl Code {
    /// Code by its name.
    pub fn named(name: impl Into<String>, argument: Data) -> Self {
        Code::Named { name: name.into(), argument }
    }

    /// What a client sent as an object to run; what Hazelcast's clients put around a task is taken off.
    pub fn from_data(data: &Data) -> Result<Self, NotCode> {
        Self::read(data, None)
    }

    /// The same for a scheduled task, which may be wrapped together with its name.
    pub fn from_named_task(data: &Data, name: &str) -> Result<Self, NotCode> {
        Self::read(data, Some(name))
    }

    fn read(data: &Data, task_name: Option<&str>) -> Result<Self, NotCode> {
        let object = adapter::unwrapped(data, task_name)?;
        let code = Self::of_object(&object)?;
        Ok(if object.is_runnable { Code::Runnable(Box::new(code)) } else { code })
    }

    fn of_object(object: &adapter::Object<'_>) -> Result<Self, NotCode> {
        let problem = |problem: String| NotCode { problem };
        let short = || problem("it ends before its fields do".to_owned());
        let (factory, class, mut rest) = (object.factory, object.class, object.fields);
        if (factory, class) != (NAMED_FACTORY, NAMED_CLASS) {
            return Ok(Code::Class { factory, class, fields: rest.to_vec() });
        }
        let length = i32::from_be_bytes(take(&mut rest).ok_or_else(short)?);
        let length = usize::try_from(length).map_err(|_| problem("the name is null".to_owned()))?;
        let name = rest.get(..length).ok_or_else(short)?;
        let name = std::str::from_utf8(name).map_err(|_| problem("the name is not UTF-8".to_owned()))?;
        // An object is a type id and its payload: a value without its partition hash.
        let argument = [&[0; 4], &rest[length..]].concat();
        let argument = Data::from_bytes(argument).map_err(|_| short())?;
        Ok(Code::Named { name: name.to_owned(), argument })
    }
}

impl Code {
    /// A hash of what the code is given; the same on every member.
    pub(crate) fn argument_hash(&self) -> i32 {
        let argument = match self {
            Code::Named { argument, .. } => argument.payload(),
            Code::Class { fields, .. } => fields,
            Code::Runnable(inside) => return inside.argument_hash(),
        };
        Data::new(0, argument).partition_hash()
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Code::Named { name, .. } => f.write_str(name),
            Code::Class { factory, class, .. } => write!(f, "factory {factory} class {class}"),
            Code::Runnable(inside) => inside.fmt(f),
        }
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn identified(factory: i32, class: i32, fields: &[u8]) -> Data {
        let header = [&[1], &factory.to_be_bytes()[..], &class.to_be_bytes()].concat();
        Data::new(IDENTIFIED, &[&header, fields].concat())
    }

    #[test]
    fn a_client_calls_by_name_or_by_class() {
        let class = Code::from_data(&identified(66, 1, b"abc")).unwrap();
        assert_eq!(class, Code::Class { factory: 66, class: 1, fields: b"abc".to_vec() });
        let argument = Data::new(-7, &5_i32.to_be_bytes());
        let fields = [&3_i32.to_be_bytes(), &b"add"[..], argument.identity()].concat();
        let named = Code::from_data(&identified(NAMED_FACTORY, NAMED_CLASS, &fields)).unwrap();
        assert_eq!(named, Code::named("add", argument));
    }

    /// As the Java client sends `named("nap", runnable)`: an adapter around a decorator around the task.
    #[test]
    fn what_clients_put_around_a_task_is_taken_off() {
        let task = identified(66, 5, b"abc");
        let object = |data: &Data| data.identity().to_vec();
        let expected = Code::Class { factory: 66, class: 5, fields: b"abc".to_vec() };
        let runnable = identified(-7, 2, &object(&task));
        assert_eq!(Code::from_data(&runnable), Ok(Code::Runnable(Box::new(expected.clone()))));
        let named =
            identified(-27, 5, &[object(&task), 3_i32.to_be_bytes().to_vec(), b"nap".to_vec()].concat());
        let both = identified(-27, 4, &object(&identified(-27, 30, &object(&named))));
        for (wrapped, expected) in [(&named, expected.clone()), (&both, Code::Runnable(Box::new(expected)))] {
            assert_eq!(Code::from_named_task(wrapped, "nap"), Ok(expected));
            assert!(Code::from_named_task(wrapped, "other").is_err());
            assert!(Code::from_data(wrapped).is_err());
        }
        let mut deep = task;
        for _ in 0..100 {
            deep = identified(-27, 4, &object(&deep));
        }
        assert!(Code::from_data(&deep).unwrap_err().to_string().contains("around"));
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(
            payload in prop::collection::vec(any::<u8>(), 0..40),
            ids in prop::sample::select(&[(NAMED_FACTORY, NAMED_CLASS), (-27, 4), (-27, 5), (-7, 2), (0, 0)][..]),
        ) {
            let (factory, class) = ids;
            let data = if factory == 0 { Data::new(IDENTIFIED, &payload) } else { identified(factory, class, &payload) };
            let _ = Code::from_data(&data);
            let _ = Code::from_named_task(&data, "n");
        }
    }
}
