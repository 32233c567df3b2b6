//! Says when an entry expires, and sets it.

use super::super::super::Outcome;
use super::super::super::client::Client;
use super::super::context::Context;
use super::super::kind::Kind;
use super::NO_THREAD;
use filbert_wire::Data;
use filbert_wire::messages::map::{GetEntryView, SetTtl};
use serde_json::json;
use std::str::FromStr;

/// The time that an entry may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeToLive {
    /// It does not expire.
    Never,
    /// It expires after so many seconds.
    Seconds(u32),
}

impl FromStr for TimeToLive {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("never", _) => Ok(Self::Never),
            // The member reads none as never, which is not what a person means by it.
            (_, Ok(seconds)) if seconds > 0 => Ok(Self::Seconds(seconds)),
            _ => Err("write whole seconds, or never".to_owned()),
        }
    }
}

impl TimeToLive {
    fn millis(self) -> i64 {
        match self {
            Self::Never => 0,
            Self::Seconds(seconds) => i64::from(seconds) * 1_000,
        }
    }
}

/// Sets the time to live of an entry, if one is given, and prints what holds then.
pub(super) fn ttl(
    context: &mut Context,
    (map, key): (&str, Data),
    set: Option<TimeToLive>,
    json: bool,
    none: impl FnOnce(&mut Client) -> String,
) -> Outcome {
    let client = context.client()?;
    Kind::Map.check_is_there(client, map)?;
    if let Some(set) = set {
        client.call(&SetTtl { name: map.into(), key: key.clone(), ttl_ms: set.millis() })?;
    }
    let answer = client.call(&GetEntryView { name: map.into(), key, thread_id: NO_THREAD })?;
    let Some(view) = answer.view else { return Err(none(client).into()) };
    let set = |ms: i64| (ms > 0 && ms < i64::MAX).then_some(ms);
    let now = i64::try_from(client.unix_ms()).unwrap_or(i64::MAX);
    let left_ms = set(view.expiration_time_ms).map(|ends| ends.saturating_sub(now).max(0));
    let idle_ms = set(answer.max_idle_ms);
    let object = json!({ "expires_in_ms": left_ms, "ttl_ms": set(view.ttl_ms), "max_idle_ms": idle_ms });
    let line = match (left_ms, idle_ms) {
        (None, _) => "never expires".to_owned(),
        (Some(left), None) => format!("expires in {}", seconds(left)),
        (Some(left), Some(idle)) => {
            format!("expires in {}; each use gives it {} more", seconds(left), seconds(idle))
        }
    };
    context.line_or(json, &object, line)
}

/// Writes milliseconds as seconds; short times have a fraction.
fn seconds(ms: i64) -> String {
    if ms < 10_000 { format!("{}.{} s", ms / 1_000, ms % 1_000 / 100) } else { format!("{} s", ms / 1_000) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_live_is_seconds_or_never() {
        assert_eq!("never".parse(), Ok(TimeToLive::Never));
        assert_eq!("60".parse::<TimeToLive>().map(TimeToLive::millis), Ok(60_000));
        for wrong in ["0", "-1", "1.5", "soon"] {
            assert!(wrong.parse::<TimeToLive>().unwrap_err().contains("never"), "{wrong}");
        }
    }

    #[test]
    fn short_times_have_a_fraction() {
        assert_eq!([950, 9_999, 10_000, 61_500].map(seconds), ["0.9 s", "9.9 s", "10 s", "61 s"]);
    }
}
