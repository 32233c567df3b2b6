//! `filbert map`: entries by their keys.

mod entries;
mod ttl;
mod watch;

use super::super::Outcome;
use super::super::client::Client;
use super::super::form::Form;
use super::context::Context;
use super::items::{ask, ask_flag, clear, print_found, print_or_fail, size};
use super::kind::Kind;
use super::limit::LimitOption;
use super::options::Options;
use super::question::Consent;
use super::watch::WatchLimit;
use clap::ValueEnum;
use filbert_wire::Data;
use filbert_wire::messages::map::{Clear, ContainsKey, Get, Put, Remove};

/// The options of `filbert map`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in super::super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    options: Options,
    /// How keys on the command line are meant.
    #[arg(long, value_enum, value_name = "FORM", default_value_t, global = true)]
    key_as: Form,
}

const EXAMPLES: &str = "Examples:
  filbert map list
  filbert map put cities Oslo 709000 --value-as long
  filbert map get cities Oslo
  filbert map put people 7 '{\"name\": \"Ann\"}' --key-as int --value-as json
  filbert map entries people --json
  filbert map ttl cities Oslo 60                from now on for a minute
  filbert map watch cities                      what happens to it, until Ctrl-C
  filbert map size cities --address localhost:5702
  filbert map keys cities --address db.example.org:5701 --ca ca.pem --user ann";

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Prints the names of all maps, with their entries.
    List,
    /// Prints the value of a key; ends with status 1 when there is none.
    Get(OneKey),
    /// Writes a value, and prints the one that was there.
    Put {
        #[command(flatten)]
        at: OneKey,
        /// The value.
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// How long it lives, in seconds; the map's own setting when not given.
        #[arg(long)]
        ttl_seconds: Option<u32>,
    },
    /// Takes a key away, and prints its value.
    Remove(OneKey),
    /// Says whether a key is there.
    Contains(OneKey),
    /// Prints the number of entries.
    Size(Whole),
    /// Prints the keys, in no order.
    Keys {
        #[command(flatten)]
        of: Whole,
        #[command(flatten)]
        limit: LimitOption,
    },
    /// Prints the entries, in no order, with what their keys and values are.
    Entries {
        #[command(flatten)]
        of: Whole,
        #[command(flatten)]
        limit: LimitOption,
    },
    /// Says how long an entry lives, or sets that.
    Ttl {
        #[command(flatten)]
        at: OneKey,
        /// From now on for so many seconds, or `never` to expire.
        lifetime: Option<ttl::TimeToLive>,
    },
    /// Prints what happens to the entries: added, updated, removed, evicted, expired.
    Watch {
        #[command(flatten)]
        of: Whole,
        #[command(flatten)]
        limit: WatchLimit,
    },
    /// Removes all entries; asks first.
    Clear {
        #[command(flatten)]
        of: Whole,
        #[command(flatten)]
        consent: Consent,
    },
}

/// A key of a map.
#[derive(Debug, clap::Args)]
struct OneKey {
    /// The map.
    map: String,
    /// The key; it may begin with a hyphen.
    #[arg(allow_hyphen_values = true)]
    key: String,
}

/// A map.
#[derive(Debug, clap::Args)]
struct Whole {
    /// The map.
    map: String,
}

/// No thread of a command holds locks.
const NO_THREAD: i64 = 1;

impl Arguments {
    pub(super) fn run(&self, context: &mut Context) -> Outcome {
        let json = self.options.json;
        match &self.verb {
            Verb::List => Kind::Map.list(context, json),
            Verb::Get(at) => self.get(context, at),
            Verb::Put { at: OneKey { map, key }, value, ttl_seconds } => {
                let ttl_ms = ttl_seconds.map_or(-1, |seconds| i64::from(seconds) * 1_000);
                let (key, value) = (self.key(key)?, self.options.value(value)?);
                let put = Put { name: map.as_str().into(), key, value, thread_id: NO_THREAD, ttl_ms };
                let before = context.client()?.call(&put)?.value;
                print_found(context, before.as_ref(), json)
            }
            Verb::Remove(OneKey { map, key }) => {
                let remove = Remove { name: map.as_str().into(), key: self.key(key)?, thread_id: NO_THREAD };
                let removed = ask(context, Kind::Map, map, &remove)?.value;
                print_found(context, removed.as_ref(), json)
            }
            Verb::Contains(OneKey { map, key }) => {
                let contains = contains(map, self.key(key)?);
                ask_flag(context, (Kind::Map, map), &contains, (json, "contains"))
            }
            Verb::Size(Whole { map }) => size(context, Kind::Map, map, json),
            Verb::Keys { of: Whole { map }, limit } => entries::keys(context, map, *limit, json),
            Verb::Entries { of: Whole { map }, limit } => entries::entries(context, map, *limit, json),
            Verb::Ttl { at, lifetime } => {
                let key = self.key(&at.key)?;
                let none = |client: &mut Client| not_there(client, &at.map, &at.key, self.key_as);
                ttl::ttl(context, (&at.map, key), *lifetime, json, none)
            }
            Verb::Watch { of: Whole { map }, limit } => watch::watch_entries(context, map, *limit, json),
            Verb::Clear { of: Whole { map }, consent } => {
                clear(context, (Kind::Map, map), &Clear { name: map.as_str().into() }, *consent, json)
            }
        }
    }

    fn key(&self, text: &str) -> Result<Data, String> {
        self.key_as.read("key", text)
    }

    fn get(&self, context: &mut Context, OneKey { map, key }: &OneKey) -> Outcome {
        let get = Get { name: map.as_str().into(), key: self.key(key)?, thread_id: NO_THREAD };
        let found = ask(context, Kind::Map, map, &get)?.value;
        let none = match found {
            Some(_) => String::new(),
            None => not_there(context.client()?, map, key, self.key_as),
        };
        print_or_fail(context, found.as_ref(), self.options.json, none)
    }
}

fn contains(map: &str, key: Data) -> ContainsKey {
    ContainsKey { name: map.into(), key, thread_id: NO_THREAD }
}

/// Says that a key is not there, how it was read, and how it would be found if it is there in another form.
fn not_there(client: &mut Client, map: &str, key: &str, form: Form) -> String {
    let mut is_there_as = |other: &Form| {
        let Ok(key) = other.read("key", key) else { return false };
        // A hint is no reason to fail: who may not ask gets none.
        client.call(&contains(map, key)).is_ok_and(|contains| contains.value)
    };
    let found = Form::value_variants()
        .iter()
        .filter(|other| **other != form)
        .copied()
        .find(|other| is_there_as(other));
    let hint = match found {
        Some(other) => format!("it has the {other} {key}: add --key-as {other}"),
        None => "--key-as reads it as something else".to_owned(),
    };
    format!("map {map:?} has no key {key:?}, read as {}; {hint}", form.with_article())
}
