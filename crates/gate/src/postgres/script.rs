//! A text taken apart: its statements, each answered by the session or in the engine's words.
//!
//! Short texts are taken apart where they arrive; long ones on stage `fragment`, for the io loop has other connections.

use super::dialect::Dialect;
use super::failure::Failure;
use super::host::Host;
use super::local::{Local, local};
use super::startup::Guest;
use filbert_sql::SqlError;

/// Texts up to this are taken apart at once: that takes some ten microseconds.
const SHORT_BYTES: usize = 4 << 10;

/// A statement of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Local(Local),
    Sql(String),
}

/// The statements of a text, in order.
pub(super) async fn steps(host: &Host, guest: &Guest, text: String) -> Result<Vec<Step>, Failure> {
    let process = guest.place.process;
    if text.len() <= SHORT_BYTES {
        let dialect = Dialect { variables: &guest.variables, user: &guest.user, process };
        return Ok(split(&text, &dialect));
    }
    let (variables, user) = (guest.variables.clone(), guest.user.clone());
    let elsewhere = host.fragment.spawn("split", async move {
        split(&text, &Dialect { variables: &variables, user: &user, process })
    });
    elsewhere.map_err(SqlError::from)?.await.map_err(|error| SqlError::from(error).into())
}

fn split(text: &str, dialect: &Dialect<'_>) -> Vec<Step> {
    let step = |text: &str| match local(text) {
        Some(known) => Step::Local(known),
        None => Step::Sql(dialect.adapted(text).into_owned()),
    };
    filbert_sql::statements(text).into_iter().map(step).collect()
}
