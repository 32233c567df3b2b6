//! A text taken apart: its statements, each answered by the session or in the engine's words.
//!
//! Short texts are taken apart where they arrive; long ones on stage `fragment`, for the io loop has other connections.

use super::copy::Source;
use super::cursor::Declaration;
use super::dialect::{Dialect, catalog_types};
use super::failure::Failure;
use super::host::Host;
use super::local::{Local, local};
use super::named::{Call, Preparation};
use super::startup::Guest;
use std::borrow::Cow;

/// Texts and values up to this are taken apart at once: that takes some ten microseconds.
pub(super) const SHORT_BYTES: usize = 4 << 10;

/// A statement of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Local(Local),
    /// A statement of the engine, and the types that it says of its parameters in words which only PostgreSQL has; 0 for the others.
    Sql(String, Vec<u32>),
}

/// The statements of a text, in order.
pub(super) async fn steps(host: &Host, guest: &Guest, text: String) -> Result<Vec<Step>, Failure> {
    let process = guest.place.process;
    if text.len() <= SHORT_BYTES {
        let dialect = Dialect { variables: &guest.variables, user: &guest.user, process };
        return Ok(split(&text, &dialect));
    }
    let (variables, user) = (guest.variables.clone(), guest.user.clone());
    let work = move || split(&text, &Dialect { variables: &variables, user: &user, process });
    host.elsewhere("split", work).await
}

fn split(text: &str, dialect: &Dialect<'_>) -> Vec<Step> {
    let adapted = |text: &str| dialect.adapted(text).into_owned();
    let step = |text: &str| match local(text) {
        // What is prepared must be a statement of the engine.
        Some(Local::Prepare(prepare)) if local(&prepare.text).is_some() => {
            Step::Local(Local::Malformed("PREPARE"))
        }
        Some(Local::Prepare(prepare)) => {
            let text = adapted(&prepare.text);
            Step::Local(Local::Prepare(Preparation { text, ..prepare }))
        }
        Some(Local::Declare(declared)) if local(&declared.text).is_some() => {
            Step::Local(Local::Malformed("DECLARE"))
        }
        Some(Local::Declare(declared)) => {
            let text = adapted(&declared.text);
            Step::Local(Local::Declare(Declaration { text, ..declared }))
        }
        Some(Local::Copy(mut copy)) => {
            if !copy.is_in {
                let query = copy.query();
                if local(&query).is_some() {
                    return Step::Local(Local::Malformed("COPY"));
                }
                copy.source = Source::Query(adapted(&query));
            }
            Step::Local(Local::Copy(copy))
        }
        Some(Local::Execute(call)) => {
            let select = adapted(&call.select);
            Step::Local(Local::Execute(Call { select, ..call }))
        }
        Some(known) => Step::Local(known),
        None => match dialect.adapted(text) {
            Cow::Borrowed(text) => Step::Sql(text.to_owned(), Vec::new()),
            Cow::Owned(changed) => Step::Sql(changed, catalog_types(text)),
        },
    };
    filbert_sql::statements(text).into_iter().map(step).collect()
}
