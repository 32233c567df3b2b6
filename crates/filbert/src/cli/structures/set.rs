//! `filbert set`: items that are there once.

use super::super::Outcome;
use super::context::Context;
use super::items::{ask_flag, clear, items, print_flag, size};
use super::kind::Kind;
use super::limit::LimitOption;
use super::options::{Named, Options, WithValue};
use super::question::Consent;
use filbert_wire::messages::set as s;

/// The options of `filbert set`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in super::super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    options: Options,
}

const EXAMPLES: &str = "Examples:
  filbert set list
  filbert set add tags red
  filbert set contains tags red
  filbert set items tags --json
  filbert set remove tags red";

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Prints the names of all sets, with their items.
    List,
    /// Puts an item in; says whether it is new.
    Add(WithValue),
    /// Says whether an item is there.
    Contains(WithValue),
    /// Takes an item away; says whether it was there.
    Remove(WithValue),
    /// Prints the items, in no order.
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
        let (kind, json) = (Kind::Set, self.options.json);
        match &self.verb {
            Verb::List => kind.list(context, json),
            Verb::Add(WithValue { name, value }) => {
                let add = s::Add { name: name.as_str().into(), value: self.options.value(value)? };
                let is_added = context.client()?.call(&add)?.value;
                print_flag(context, json, "added", is_added)
            }
            Verb::Contains(WithValue { name, value }) => {
                let contains = s::Contains { name: name.as_str().into(), value: self.options.value(value)? };
                ask_flag(context, (kind, name), &contains, (json, "contains"))
            }
            Verb::Remove(WithValue { name, value }) => {
                let remove = s::Remove { name: name.as_str().into(), value: self.options.value(value)? };
                ask_flag(context, (kind, name), &remove, (json, "removed"))
            }
            Verb::Items { of: Named { name }, limit } => {
                items(context, (kind, name), &s::GetAll { name: name.as_str().into() }, *limit, json)
            }
            Verb::Size(Named { name }) => size(context, kind, name, json),
            Verb::Clear { of: Named { name }, consent } => {
                clear(context, (kind, name), &s::Clear { name: name.as_str().into() }, *consent, json)
            }
        }
    }
}
