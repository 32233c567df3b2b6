//! Prints what happens to the entries of a map.

use super::super::super::Outcome;
use super::super::super::form::Shown;
use super::super::context::Context;
use super::super::kind::Kind;
use super::super::watch::{WatchLimit, watch};
use filbert_wire::messages::map::{AddEntryListener, EntryEvent, RemoveEntryListener};
use serde_json::json;

/// The events that people are told, by their bits.
const EVENTS: [(i32, &str); 9] = [
    (1, "added"),
    (2, "removed"),
    (4, "updated"),
    (8, "evicted"),
    (16, "expired"),
    (32, "all evicted"),
    (64, "cleared"),
    (128, "merged"),
    (512, "loaded"),
];

/// Watches a map.
pub(super) fn watch_entries(context: &mut Context, map: &str, limit: WatchLimit, json: bool) -> Outcome {
    Kind::Map.check_is_there(context.client()?, map)?;
    let request = AddEntryListener {
        name: map.into(),
        include_value: true,
        listener_flags: EVENTS.iter().map(|(bit, _)| bit).sum(),
        local_only: false,
    };
    let end = |registration_id| RemoveEntryListener { name: map.into(), registration_id };
    watch(context, &format!("map {map:?}"), &request, limit, end, |context, event: EntryEvent| {
        context.line(if json { object(&event) } else { line(&event) })
    })
}

fn word(event: &EntryEvent) -> &'static str {
    EVENTS.iter().find(|(bit, _)| *bit == event.event_type).map_or("changed", |(_, word)| word)
}

fn line(event: &EntryEvent) -> String {
    let word = word(event);
    let Some(key) = &event.key else {
        return format!("{word} ({})", event.number_of_affected_entries);
    };
    let key = Shown::of(key).line();
    let [value, old] =
        [&event.value, &event.old_value].map(|value| value.as_ref().map(|value| Shown::of(value).line()));
    match (value, old) {
        (Some(value), Some(old)) => format!("{word:<7}  {key}  {value} (was {old})"),
        (Some(value), None) | (None, Some(value)) => format!("{word:<7}  {key}  {value}"),
        (None, None) => format!("{word:<7}  {key}"),
    }
}

fn object(event: &EntryEvent) -> String {
    let Some(key) = &event.key else {
        return json!({ "event": word(event), "entries": event.number_of_affected_entries }).to_string();
    };
    let key = Shown::of(key);
    let [value, old] = [&event.value, &event.old_value].map(|value| value.as_ref().map(Shown::of));
    json!({
        "event": word(event),
        "key": key.json,
        "key_type": key.kind,
        "value": value.as_ref().map(|value| &value.json),
        "value_type": value.as_ref().map(|value| &value.kind),
        "old_value": old.as_ref().map(|old| &old.json),
        "old_type": old.as_ref().map(|old| &old.kind),
    })
    .to_string()
}
