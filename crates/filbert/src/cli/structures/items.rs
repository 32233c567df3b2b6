//! The parts that commands on queues, lists and sets share: values one by one.

use super::super::Outcome;
use super::super::form::{Shown, escaped};
use super::super::text::counted;
use super::context::Context;
use super::kind::Kind;
use super::limit::{LimitOption, say_left_out};
use super::question::Consent;
use filbert_wire::Data;
use filbert_wire::message::Request;
use filbert_wire::messages::answers::{Done, Flag, Items};
use serde_json::json;
use std::error::Error;

/// Prints a value that was found; a terminal gets it on one line.
pub(super) fn print_found(context: &mut Context, found: Option<&Data>, json: bool) -> Outcome {
    let is_terminal = context.is_terminal();
    match found.map(Shown::of) {
        // A person's terminal is not what a value may write to; a program gets it as it is.
        Some(value) if !json && is_terminal => context.line(value.line()),
        Some(value) => {
            context.line_or(json, &json!({ "value": value.json, "type": value.kind }), value.text())
        }
        None => context.line_or(json, &json!({ "value": null, "type": null }), "(none)"),
    }
}

/// Prints a value, or fails with that sentence when there is none; `--json` has an object either way.
pub(super) fn print_or_fail(
    context: &mut Context,
    found: Option<&Data>,
    json: bool,
    none: String,
) -> Outcome {
    if found.is_some() || json {
        print_found(context, found, json)?;
    }
    if found.is_some() { Ok(()) } else { Err(none.into()) }
}

/// Prints whether something is so, under that name in JSON.
pub(super) fn print_flag(context: &mut Context, json: bool, name: &str, flag: bool) -> Outcome {
    context.line_or(json, &json!({ name: flag }), flag)
}

/// Sends a request about a structure that has to be there.
pub(super) fn ask<R: Request>(
    context: &mut Context,
    kind: Kind,
    name: &str,
    request: &R,
) -> Result<R::Response, Box<dyn Error>> {
    let client = context.client()?;
    kind.check_is_there(client, name)?;
    client.call(request)
}

/// Asks whether something is so, and prints it under that name in JSON.
pub(super) fn ask_flag(
    context: &mut Context,
    (kind, name): (Kind, &str),
    request: &impl Request<Response = Flag>,
    (json, said): (bool, &str),
) -> Outcome {
    let flag = ask(context, kind, name, request)?.value;
    print_flag(context, json, said, flag)
}

/// Prints the number of items.
pub(super) fn size(context: &mut Context, kind: Kind, name: &str, json: bool) -> Outcome {
    let client = context.client()?;
    kind.check_is_there(client, name)?;
    let size = kind.size(client, name)?.unwrap_or_default();
    context.line_or(json, &json!({ "size": size }), size)
}

/// Prints the items, a line each.
pub(super) fn items(
    context: &mut Context,
    (kind, name): (Kind, &str),
    request: &impl Request<Response = Items>,
    limit: LimitOption,
    json: bool,
) -> Outcome {
    let items = ask(context, kind, name, request)?.values;
    let most = limit.most(context, json);
    for item in items.iter().take(most).map(Shown::of) {
        context.line_or(json, &json!({ "value": item.json, "type": item.kind }), item.line())?;
    }
    say_left_out(context, kind, kind.parts(), (most, items.len()))
}

/// Removes everything, when somebody agrees.
pub(super) fn clear(
    context: &mut Context,
    (kind, name): (Kind, &str),
    request: &impl Request<Response = Done>,
    consent: Consent,
    json: bool,
) -> Outcome {
    let client = context.client()?;
    kind.check_is_there(client, name)?;
    let (one, many) = kind.parts();
    let size = u64::try_from(kind.size(client, name)?.unwrap_or_default()).unwrap_or_default();
    let size = counted(size, one, many);
    consent.to(&format!("clear {} {name:?} with {size}", kind.word()))?;
    // The connection may have been closed while somebody thought about the question.
    context.client()?.call(request)?;
    context.line_or(json, &json!({ "cleared": name }), format_args!("cleared {}", escaped(name)))
}
