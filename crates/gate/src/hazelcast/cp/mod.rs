//! The structures of the CP subsystem. A message says the group and the name, which together are the structure's name: `name` in the group
//! that is meant when none is said, `name@group` otherwise.
//!
//! There is one member, so a group is only a name: nothing has to be made for it, and its structures are as linearizable as the strand that
//! each lives on.

mod atomics;
mod owned;
mod sessions;

pub(super) use atomics::*;
pub(super) use owned::*;
pub(super) use sessions::*;

use super::call::Call;
use super::failure::{Failure, Handled};
use super::structures;
use filbert_grid::Action;
use filbert_wire::field::Text;
use filbert_wire::messages::answers::Done;
use filbert_wire::messages::cp::group as g;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::structures::RaftGroupId;
use std::borrow::Cow;
use std::time::Duration;

/// The group of a name that says none.
const DEFAULT: &str = "default";
/// A group that is Hazelcast's own.
const METADATA: &str = "metadata";

/// What the structure of that name in that group is called.
pub(super) fn structure_name<'n>(group: &RaftGroupId, name: &'n str) -> Cow<'n, str> {
    if group.name.is_empty() || group.name.eq_ignore_ascii_case(DEFAULT) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("{name}@{}", group.name))
    }
}

/// The group that a name says.
fn group_of(proxy_name: &str) -> Result<RaftGroupId, Failure> {
    let wrong = |problem: &str| {
        let text = format!("{proxy_name:?} names no structure of the CP subsystem: {problem}");
        Failure::new(ErrorCode::IllegalArgument, text)
    };
    let (name, group) = match proxy_name.split_once('@') {
        None => (proxy_name, DEFAULT),
        Some((name, group)) => (name, group.trim()),
    };
    if name.trim().is_empty() || group.is_empty() {
        return Err(wrong("it is \"name\" or \"name@group\""));
    }
    if group.contains('@') {
        return Err(wrong("it has more than one group"));
    }
    if group.eq_ignore_ascii_case(METADATA) {
        return Err(wrong("no structure can be in the group METADATA"));
    }
    Ok(RaftGroupId { name: Text::from(group), seed: 0, id: 0 })
}

pub(super) fn create_cp_group(call: Call<'_, g::CreateCpGroup>, request: g::CreateCpGroup) -> Handled {
    let group = group_of(&request.proxy_name)?;
    call.now(g::CpGroup { group })
}

pub(super) fn destroy_cp_object(call: Call<'_, g::DestroyCpObject>, request: g::DestroyCpObject) -> Handled {
    let service = structures::service_of(&request.service_name)?;
    let name = structure_name(&request.group, &request.object_name);
    let actions = call.desk.actions(service, &name);
    call.desk.check(actions, Action::Destroy, service, &name)?;
    structures::destroy(&call.desk.host, service, &name)?;
    call.now(Done {})
}

/// A time-out as clients say it: negative is for ever.
fn timeout(timeout_ms: i64) -> Option<Duration> {
    u64::try_from(timeout_ms).ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_its_group() {
        let named =
            |proxy_name: &str| group_of(proxy_name).map(|group| structure_name(&group, "n").into_owned());
        assert_eq!(named("n"), Ok("n".to_owned()));
        assert_eq!(named("n@default"), Ok("n".to_owned()));
        assert_eq!(named("n@ mine "), Ok("n@mine".to_owned()));
        for wrong in ["", "@g", "n@", "n@a@b", "n@METADATA"] {
            assert_eq!(named(wrong).unwrap_err().code(), ErrorCode::IllegalArgument, "{wrong}");
        }
    }
}
