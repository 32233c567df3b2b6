//! User code that clients call by name: registered with the member, looked up where an operation runs.
//!
//! No code travels. An operation carries a [`Code`]: a name, or the factory and class id of an `IdentifiedDataSerializable`, and an
//! argument. So the same operation means the same on another member, and a Python or Node.js client calls what was written in Rust.
//!
//! A client that has no class for the code writes an `IdentifiedDataSerializable` of factory [`NAMED_FACTORY`] and class
//! [`NAMED_CLASS`] with two fields: the name (`write_string`) and the argument (`write_object`).

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

    /// What a client sent as an object to run.
    pub fn from_data(data: &Data) -> Result<Self, NotCode> {
        let problem = |problem: String| NotCode { problem };
        if data.type_id() != IDENTIFIED {
            let type_id = data.type_id();
            return Err(problem(format!(
                "type id {type_id} is not that of an IdentifiedDataSerializable ({IDENTIFIED})"
            )));
        }
        let mut rest = data.payload();
        // Bit 0 says that ids follow and not a class name, bit 1 that a version follows the fields.
        let [flags] = take(&mut rest).ok_or_else(|| problem("it has no fields".to_owned()))?;
        if flags & 1 == 0 {
            return Err(problem("it names a Java class instead of factory and class id".to_owned()));
        }
        let short = || problem("it ends before its fields do".to_owned());
        let factory = i32::from_be_bytes(take(&mut rest).ok_or_else(short)?);
        let class = i32::from_be_bytes(take(&mut rest).ok_or_else(short)?);
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
        };
        Data::new(0, argument).partition_hash()
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Code::Named { name, .. } => f.write_str(name),
            Code::Class { factory, class, .. } => write!(f, "factory {factory} class {class}"),
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

    proptest! {
        #[test]
        fn no_bytes_break_it(payload in prop::collection::vec(any::<u8>(), 0..40), named in any::<bool>()) {
            let data = if named { identified(NAMED_FACTORY, NAMED_CLASS, &payload) } else { Data::new(IDENTIFIED, &payload) };
            let _ = Code::from_data(&data);
        }
    }
}
