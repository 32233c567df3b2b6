//! Prints what happens to a structure, until Ctrl-C or for so many events.

use super::super::Outcome;
use super::super::interruption::Interrupted;
use super::super::tell::tell;
use super::context::Context;
use filbert_wire::message::{Raises, Record, Request};
use filbert_wire::messages::answers::{Flag, Registered};
use std::error::Error;
use uuid::Uuid;

/// The number of events after which a watch ends.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct WatchLimit {
    /// Ends after so many.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

/// Watches: `show` prints each event; `end` makes the request that ends the registration.
pub(super) fn watch<R, E, U>(
    context: &mut Context,
    what: &str,
    request: &R,
    limit: WatchLimit,
    end: impl FnOnce(Uuid) -> U,
    mut show: impl FnMut(&mut Context, E) -> Outcome,
) -> Outcome
where
    R: Request<Response = Registered> + Raises<E>,
    E: Record,
    U: Request<Response = Flag>,
{
    let registration = context.client()?.subscribe(request)?.registration;
    tell(format_args!("watching {what}; Ctrl-C ends it"));
    let mut left = limit.limit;
    let ended = loop {
        if left == Some(0) {
            break Ok(());
        }
        match next::<R, E>(context) {
            Ok(event) => {
                show(context, event)?;
                // Who reads along sees it now.
                context.flush()?;
            }
            Err(error) => break Err(error),
        }
        left = left.map(|left| left - 1);
    };
    let is_interrupted = ended.as_ref().is_err_and(|error| error.is::<Interrupted>());
    if !is_interrupted {
        ended?;
    }
    let client = context.client()?;
    // The signal has had its effect.
    client.forget_interruption();
    client.call(&end(registration)).map(drop)
}

/// Waits for an event on the connection that asked for them: another one would get none.
fn next<R: Raises<E>, E: Record>(context: &mut Context) -> Result<E, Box<dyn Error>> {
    context.watching_client()?.event::<R, E>()
}
