//! `filbert list`: items by their place.

use super::super::Outcome;
use super::context::Context;
use super::items::{ask, ask_flag, clear, items, print_flag, print_found, print_or_fail, size};
use super::kind::Kind;
use super::limit::LimitOption;
use super::options::{Named, Options, WithValue};
use super::question::Consent;
use filbert_wire::messages::list as l;

/// The options of `filbert list`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in super::super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    options: Options,
}

const EXAMPLES: &str = "Examples:
  filbert list list
  filbert list add todo 'buy nuts'
  filbert list get todo 0                       the first item
  filbert list set todo 0 'buy almonds'
  filbert list items todo --json
  filbert list remove todo 'buy almonds'
  filbert list remove-at todo 0";

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Prints the names of all lists, with their items.
    List,
    /// Puts an item at the end.
    Add(WithValue),
    /// Prints the item at a place.
    Get(Place),
    /// Replaces the item at a place, and prints the one that was there.
    Set {
        #[command(flatten)]
        at: Place,
        /// The value; it may begin with a hyphen.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Prints the items in order.
    Items {
        #[command(flatten)]
        of: Named,
        #[command(flatten)]
        limit: LimitOption,
    },
    /// Says whether an item is there.
    Contains(WithValue),
    /// Takes the first item away that has this value; says whether there was one.
    Remove(WithValue),
    /// Takes the item at a place away, and prints it.
    RemoveAt(Place),
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

/// A place in a list.
#[derive(Debug, clap::Args)]
struct Place {
    /// The name.
    name: String,
    /// The place; the first is 0.
    #[arg(value_parser = clap::value_parser!(i32).range(0..))]
    index: i32,
}

impl Arguments {
    pub(super) fn run(&self, context: &mut Context) -> Outcome {
        let (kind, json) = (Kind::List, self.options.json);
        match &self.verb {
            Verb::List => kind.list(context, json),
            Verb::Add(WithValue { name, value }) => {
                let add = l::Add { name: name.as_str().into(), value: self.options.value(value)? };
                let is_added = context.client()?.call(&add)?.value;
                print_flag(context, json, "added", is_added)
            }
            Verb::Get(Place { name, index }) => {
                let get = l::Get { name: name.as_str().into(), index: *index };
                let found = ask(context, kind, name, &get)?.value;
                print_or_fail(context, found.as_ref(), json, format!("list {name:?} has no item {index}"))
            }
            Verb::Set { at: Place { name, index }, value } => {
                let value = self.options.value(value)?;
                let set = l::Set { name: name.as_str().into(), index: *index, value };
                let before = ask(context, kind, name, &set)?.value;
                print_found(context, before.as_ref(), json)
            }
            Verb::Items { of: Named { name }, limit } => {
                items(context, (kind, name), &l::GetAll { name: name.as_str().into() }, *limit, json)
            }
            Verb::Contains(WithValue { name, value }) => {
                let contains = l::Contains { name: name.as_str().into(), value: self.options.value(value)? };
                ask_flag(context, (kind, name), &contains, (json, "contains"))
            }
            Verb::Remove(WithValue { name, value }) => {
                let remove = l::Remove { name: name.as_str().into(), value: self.options.value(value)? };
                ask_flag(context, (kind, name), &remove, (json, "removed"))
            }
            Verb::RemoveAt(Place { name, index }) => {
                let remove = l::RemoveWithIndex { name: name.as_str().into(), index: *index };
                let removed = ask(context, kind, name, &remove)?.value;
                print_found(context, removed.as_ref(), json)
            }
            Verb::Size(Named { name }) => size(context, kind, name, json),
            Verb::Clear { of: Named { name }, consent } => {
                clear(context, (kind, name), &l::Clear { name: name.as_str().into() }, *consent, json)
            }
        }
    }
}
