//! What Hazelcast's clients put around a task before they send it: adapters that make a callable of a runnable, and decorators that say its
//! name or that nobody asks for its result. All of that is in the message too, so only the task inside counts.

use super::{IDENTIFIED, NotCode, take};
use filbert_wire::Data;

/// So many may be around a task: clients put three at most.
const MOST_AROUND: usize = 8;

/// What may be around a task, by factory and class.
const RUNNABLE: (i32, i32) = (-7, 2);
const SCHEDULED_RUNNABLE: (i32, i32) = (-27, 4);
const NAMED: (i32, i32) = (-27, 5);
const AUTO_DISPOSABLE: (i32, i32) = (-27, 30);

/// An `IdentifiedDataSerializable`.
pub(super) struct Object<'a> {
    pub(super) factory: i32,
    pub(super) class: i32,
    pub(super) fields: &'a [u8],
    /// It was inside of an adapter that makes a callable of a runnable.
    pub(super) is_runnable: bool,
}

/// The object that is inside of all adapters; `task_name` is what the message says.
pub(super) fn unwrapped<'a>(data: &'a Data, task_name: Option<&str>) -> Result<Object<'a>, NotCode> {
    let mut object = identified(data.type_id(), data.payload())?;
    let mut is_runnable = false;
    for _ in 0..MOST_AROUND {
        is_runnable |= matches!((object.factory, object.class), RUNNABLE | SCHEDULED_RUNNABLE);
        let mut inside = match (object.factory, object.class) {
            RUNNABLE | SCHEDULED_RUNNABLE | AUTO_DISPOSABLE => object.fields,
            NAMED => without_name(object.fields, task_name)?,
            _ => return Ok(Object { is_runnable, ..object }),
        };
        let type_id = i32::from_be_bytes(take(&mut inside).ok_or_else(short)?);
        object = identified(type_id, inside)?;
    }
    Err(NotCode { problem: format!("there are more than {MOST_AROUND} adapters around the task") })
}

fn short() -> NotCode {
    NotCode { problem: "it ends before its fields do".to_owned() }
}

fn identified(type_id: i32, payload: &[u8]) -> Result<Object<'_>, NotCode> {
    let problem = |problem: String| NotCode { problem };
    if type_id != IDENTIFIED {
        return Err(problem(format!(
            "type id {type_id} is not that of an IdentifiedDataSerializable ({IDENTIFIED})"
        )));
    }
    let mut rest = payload;
    // Bit 0 says that ids follow and not a class name, bit 1 that a version of two bytes follows the ids.
    let [flags] = take(&mut rest).ok_or_else(|| problem("it has no fields".to_owned()))?;
    if flags & 1 == 0 {
        return Err(problem("it names a Java class instead of factory and class id".to_owned()));
    }
    let factory = i32::from_be_bytes(take(&mut rest).ok_or_else(short)?);
    let class = i32::from_be_bytes(take(&mut rest).ok_or_else(short)?);
    if flags & 2 != 0 {
        take::<2>(&mut rest).ok_or_else(short)?;
    }
    Ok(Object { factory, class, fields: rest, is_runnable: false })
}

/// A decorator's fields are the task and its name, and the task does not say where it ends: the name that the message has must be behind it.
fn without_name<'a>(fields: &'a [u8], task_name: Option<&str>) -> Result<&'a [u8], NotCode> {
    let problem = || NotCode {
        problem: "the name around the task is not the one that it is scheduled with".to_owned(),
    };
    let name = task_name.ok_or_else(problem)?;
    let length = i32::try_from(name.len()).map_err(|_| problem())?;
    let before =
        fields.strip_suffix(name.as_bytes()).and_then(|rest| rest.strip_suffix(&length.to_be_bytes()));
    before.ok_or_else(problem)
}
