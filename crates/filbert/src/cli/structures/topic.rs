//! `filbert topic`: messages for those who listen.

use super::super::Outcome;
use super::super::form::{Shown, escaped};
use super::context::Context;
use super::kind::Kind;
use super::options::{Named, Options};
use super::watch::{WatchLimit, watch};
use filbert_wire::messages::topic::{AddMessageListener, MessageEvent, Publish, RemoveMessageListener};
use serde_json::json;

/// The options of `filbert topic`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in super::super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    options: Options,
}

const EXAMPLES: &str = "Examples:
  filbert topic watch news                      prints messages until Ctrl-C
  filbert topic watch news --limit 1 --json     waits for one message
  filbert topic publish news 'it works'
  filbert topic publish news 7 --value-as int
  filbert topic list";

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Prints the names of all topics.
    List,
    /// Sends a message to all who listen now.
    Publish {
        /// The name.
        name: String,
        /// The message; it may begin with a hyphen.
        #[arg(allow_hyphen_values = true)]
        message: String,
    },
    /// Prints messages as they come; the topic is made if it is not there.
    #[command(visible_alias = "subscribe")]
    Watch {
        #[command(flatten)]
        of: Named,
        #[command(flatten)]
        limit: WatchLimit,
    },
}

impl Arguments {
    pub(super) fn run(&self, context: &mut Context) -> Outcome {
        let json = self.options.json;
        match &self.verb {
            Verb::List => Kind::Topic.list(context, json),
            Verb::Publish { name, message } => {
                let message = self.options.value_as.read("message", message)?;
                context.client()?.call(&Publish { name: name.as_str().into(), message })?;
                let said = format_args!("published to {}", escaped(name));
                context.line_or(json, &json!({ "published": name }), said)
            }
            Verb::Watch { of: Named { name }, limit } => {
                let request = AddMessageListener { name: name.as_str().into(), local_only: false };
                let end =
                    |registration_id| RemoveMessageListener { name: name.as_str().into(), registration_id };
                let what = format!("topic {name:?}");
                watch(context, &what, &request, *limit, end, |context, event: MessageEvent| {
                    let message = Shown::of(&event.item);
                    let object = json!({
                        "message": message.json, "type": message.kind, "published_ms": event.publish_time_ms
                    });
                    context.line_or(json, &object, message.line())
                })
            }
        }
    }
}
