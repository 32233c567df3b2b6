//! `filbert map`: looks into the maps of a running member, and changes them.

mod form;

use super::Outcome;
use super::client::{Client, Whom};
use super::table::Table;
use clap::ValueEnum;
use filbert_pool::settings_fields::nearest;
use filbert_wire::Data;
use filbert_wire::messages::client::GetDistributedObjects;
use filbert_wire::messages::map::{Clear, ContainsKey, EntrySet, Get, KeySet, Put, Remove, Size};
use form::Form;
pub(super) use form::Shown;
use serde_json::json;
use std::error::Error;
use std::io::{IsTerminal, Write};

/// The options of `filbert map`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    whom: Whom,
    /// How keys on the command line are meant.
    #[arg(long, value_enum, value_name = "FORM", default_value_t, global = true)]
    key_as: Form,
    /// How values on the command line are meant.
    #[arg(long, value_enum, value_name = "FORM", default_value_t, global = true)]
    value_as: Form,
    /// JSON: one object per line.
    #[arg(long, global = true)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  filbert map put cities Oslo 709000 --value-as long
  filbert map get cities Oslo
  filbert map put people 7 '{\"name\": \"Ann\"}' --key-as int --value-as json
  filbert map entries people --json
  filbert map size cities --address localhost:5702
  filbert map keys cities --address db.example.org:5701 --ca ca.pem --user ann";

#[derive(Debug, clap::Subcommand)]
enum Command {
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
    /// Prints all keys.
    Keys(Whole),
    /// Prints all entries, with what their keys and values are.
    Entries(Whole),
    /// Removes all entries.
    Clear(Whole),
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

/// What Hazelcast calls maps.
const MAPS: &str = "hz:impl:mapService";

/// Maps that are listed for somebody who looks for another one.
const MOST_LISTED: usize = 20;

/// No thread of a command holds locks.
const NO_THREAD: i64 = 1;

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let out = &mut std::io::stdout().lock();
    let Arguments { command, whom: Whom { address, login }, key_as: key_form, value_as: value_form, json } =
        arguments;
    // Only what writes makes a map: one whose name is not spelled right must not be there afterwards.
    let to = |map: &str| -> Result<Client, Box<dyn Error>> {
        let mut client = Client::connect(address, login)?;
        check_is_there(&mut client, map)?;
        Ok(client)
    };
    let key_of = |text: &str| key_form.read("key", text);
    // A person's terminal is not what a value may write to; a program gets it as it is.
    let is_terminal = std::io::stdout().is_terminal();
    let print_found = |out: &mut std::io::StdoutLock<'_>, found: Option<Data>| -> Outcome {
        match (found.as_ref().map(Shown::of), json) {
            (Some(value), false) if is_terminal => writeln!(out, "{}", value.line())?,
            (Some(value), false) => writeln!(out, "{}", value.text())?,
            (Some(value), true) => writeln!(out, "{}", json!({ "value": value.json, "type": value.kind }))?,
            (None, false) => writeln!(out, "(none)")?,
            (None, true) => writeln!(out, "{}", json!({ "value": null, "type": null }))?,
        }
        Ok(())
    };
    match command {
        Command::Get(OneKey { map, key }) => {
            let get = Get { name: map.as_str().into(), key: key_of(key)?, thread_id: NO_THREAD };
            let mut client = to(map)?;
            let found = client.call(&get)?.value;
            let is_there = found.is_some();
            if is_there || *json {
                print_found(out, found)?;
            }
            if !is_there {
                return Err(not_there(&mut client, map, key, *key_form).into());
            }
        }
        Command::Put { at: OneKey { map, key }, value, ttl_seconds } => {
            let ttl_ms = ttl_seconds.map_or(-1, |seconds| i64::from(seconds) * 1_000);
            let (key, value) = (key_of(key)?, value_form.read("value", value)?);
            let put = Put { name: map.as_str().into(), key, value, thread_id: NO_THREAD, ttl_ms };
            print_found(out, Client::connect(address, login)?.call(&put)?.value)?;
        }
        Command::Remove(OneKey { map, key }) => {
            let remove = Remove { name: map.as_str().into(), key: key_of(key)?, thread_id: NO_THREAD };
            print_found(out, to(map)?.call(&remove)?.value)?;
        }
        Command::Contains(OneKey { map, key }) => {
            let contains = ContainsKey { name: map.as_str().into(), key: key_of(key)?, thread_id: NO_THREAD };
            let found = to(map)?.call(&contains)?.value;
            if *json { writeln!(out, "{}", json!({ "contains": found }))? } else { writeln!(out, "{found}")? }
        }
        Command::Size(Whole { map }) => {
            let size = to(map)?.call(&Size { name: map.as_str().into() })?.value;
            if *json { writeln!(out, "{}", json!({ "size": size }))? } else { writeln!(out, "{size}")? }
        }
        Command::Keys(Whole { map }) => {
            let keys = to(map)?.call(&KeySet { name: map.as_str().into() })?.values;
            for key in keys.iter().map(Shown::of) {
                if *json {
                    writeln!(out, "{}", json!({ "key": key.json, "key_type": key.kind }))?;
                } else {
                    writeln!(out, "{}", key.line())?;
                }
            }
        }
        Command::Entries(Whole { map }) => {
            let entries = to(map)?.call(&EntrySet { name: map.as_str().into() })?.entries;
            let mut table = Table::new(&["key", "type", "value", "type"]);
            for (key, value) in entries {
                let (key, value) = (Shown::of(&key), Shown::of(&value));
                if *json {
                    let entry = json!({
                        "key": key.json, "key_type": key.kind, "value": value.json, "value_type": value.kind
                    });
                    writeln!(out, "{entry}")?;
                } else {
                    table.row([key.line(), key.kind, value.line(), value.kind]);
                }
            }
            if !json {
                table.write(out, "")?;
            }
        }
        Command::Clear(Whole { map }) => {
            to(map)?.call(&Clear { name: map.as_str().into() })?;
            if *json {
                writeln!(out, "{}", json!({ "cleared": map }))?
            } else {
                writeln!(out, "cleared {map}")?
            }
        }
    }
    Ok(())
}

/// Refuses a map that is not there, and names the one that may be meant.
fn check_is_there(client: &mut Client, map: &str) -> Outcome {
    let objects = client.call(&GetDistributedObjects {})?.objects;
    let maps: Vec<&str> =
        objects.iter().filter(|object| *object.service_name == *MAPS).map(|object| &*object.name).collect();
    if maps.contains(&map) {
        return Ok(());
    }
    let hint = match nearest(map, maps.iter().copied()) {
        Some(near) => format!("is it {near:?}?"),
        None if maps.is_empty() => "there are none that you may see; `filbert map put` makes one".to_owned(),
        None => format!("there are: {}", maps.into_iter().take(MOST_LISTED).collect::<Vec<_>>().join(", ")),
    };
    Err(format!("there is no map {map:?}; {hint}").into())
}

/// That a key is not there, how it was read, and how it would be found if it is there in another form.
fn not_there(client: &mut Client, map: &str, key: &str, form: Form) -> String {
    let mut is_there_as = |other: &Form| {
        let Ok(key) = other.read("key", key) else { return false };
        // A hint is no reason to fail: who may not ask gets none.
        client
            .call(&ContainsKey { name: map.into(), key, thread_id: NO_THREAD })
            .is_ok_and(|contains| contains.value)
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
