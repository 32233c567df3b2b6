//! `filbert queue`: items in order, taken from the front.

use super::super::Outcome;
use super::context::Context;
use super::items::{ask, clear, items, print_flag, print_or_fail, size};
use super::kind::Kind;
use super::limit::LimitOption;
use super::options::{Named, Options, WithValue};
use super::question::Consent;
use filbert_wire::messages::queue as q;
use std::time::Duration;

/// The options of `filbert queue`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in super::super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    options: Options,
}

const EXAMPLES: &str = "Examples:
  filbert queue list
  filbert queue offer jobs 'send mail'
  filbert queue offer jobs '{\"to\": \"Ann\"}' --value-as json
  filbert queue peek jobs
  filbert queue poll jobs                       takes the first item
  filbert queue poll jobs --wait 20             waits for one, 20 seconds at most
  filbert queue items jobs --limit 10 --json";

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Prints the names of all queues, with their items.
    List,
    /// Puts an item at the end; ends with status 1 when there is no room.
    #[command(visible_alias = "put")]
    Offer(WithValue),
    /// Takes the first item and prints it; ends with status 1 when there is none.
    Poll {
        #[command(flatten)]
        of: Named,
        /// Waits so many seconds at most for an item.
        #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=86_400))]
        wait: u32,
    },
    /// Prints the first item and leaves it; ends with status 1 when there is none.
    Peek(Named),
    /// Prints the items in order, and leaves them.
    Items {
        #[command(flatten)]
        of: Named,
        #[command(flatten)]
        limit: LimitOption,
    },
    /// Prints the number of items.
    Size(Named),
    /// Removes all items; asks first.
    Clear {
        #[command(flatten)]
        of: Named,
        #[command(flatten)]
        consent: Consent,
    },
}

impl Arguments {
    pub(super) fn run(&self, context: &mut Context) -> Outcome {
        let (kind, json) = (Kind::Queue, self.options.json);
        let none = |name: &str| format!("queue {name:?} is empty");
        match &self.verb {
            Verb::List => kind.list(context, json),
            Verb::Offer(WithValue { name, value }) => {
                let value = self.options.value(value)?;
                let offer = q::Offer { name: name.as_str().into(), value, timeout_ms: 0 };
                let is_in = context.client()?.call(&offer)?.value;
                if is_in || json {
                    print_flag(context, json, "offered", is_in)?;
                }
                if is_in { Ok(()) } else { Err(format!("queue {name:?} is full; nothing was put in").into()) }
            }
            Verb::Poll { of: Named { name }, wait } => {
                let wait = Duration::from_secs((*wait).into());
                let timeout_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
                let client = context.client()?;
                kind.check_is_there(client, name)?;
                let poll = q::Poll { name: name.as_str().into(), timeout_ms };
                let found = client.call_held(wait, &poll)?.value;
                print_or_fail(context, found.as_ref(), json, none(name))
            }
            Verb::Peek(Named { name }) => {
                let found = ask(context, kind, name, &q::Peek { name: name.as_str().into() })?.value;
                print_or_fail(context, found.as_ref(), json, none(name))
            }
            Verb::Items { of: Named { name }, limit } => {
                items(context, (kind, name), &q::Iterator { name: name.as_str().into() }, *limit, json)
            }
            Verb::Size(Named { name }) => size(context, kind, name, json),
            Verb::Clear { of: Named { name }, consent } => {
                clear(context, (kind, name), &q::Clear { name: name.as_str().into() }, *consent, json)
            }
        }
    }
}
