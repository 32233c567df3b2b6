//! `filbert map`: looks into the maps of a running member, and changes them.

mod form;

use super::Outcome;
use super::client::{Client, Whom};
use super::table::Table;
use filbert_wire::Data;
use filbert_wire::messages::map::{Clear, ContainsKey, EntrySet, Get, KeySet, Put, Remove, Size};
use form::{Form, shown, shown_json};
use serde_json::json;
use std::io::Write;

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
    Get { map: String, key: String },
    /// Writes a value, and prints the one that was there.
    Put {
        /// The map.
        map: String,
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// How long it lives, in seconds; the map's own setting when not given.
        #[arg(long)]
        ttl_seconds: Option<u32>,
    },
    /// Takes a key away, and prints its value.
    Remove { map: String, key: String },
    /// Says whether a key is there.
    Contains { map: String, key: String },
    /// Prints the number of entries.
    Size { map: String },
    /// Prints all keys.
    Keys { map: String },
    /// Prints all entries.
    Entries { map: String },
    /// Removes all entries.
    Clear { map: String },
}

/// No thread of a command holds locks.
const NO_THREAD: i64 = 1;

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let out = &mut std::io::stdout().lock();
    let Arguments { command, whom, key_as: key_form, value_as: value_form, json } = arguments;
    let key_of = |text: &str| key_form.read("key", text);
    let print_found = |out: &mut std::io::StdoutLock<'_>, found: Option<Data>| -> Outcome {
        match (found, json) {
            (Some(value), false) => writeln!(out, "{}", shown(&value))?,
            (Some(value), true) => writeln!(out, "{}", json!({ "value": shown_json(&value) }))?,
            (None, false) => writeln!(out, "(none)")?,
            (None, true) => writeln!(out, "{}", json!({ "value": null }))?,
        }
        Ok(())
    };
    match command {
        Command::Get { map, key } => {
            let get = Get { name: map.as_str().into(), key: key_of(key)?, thread_id: NO_THREAD };
            let found = Client::connect(whom)?.call(&get)?.value;
            let is_there = found.is_some();
            if is_there || *json {
                print_found(out, found)?;
            }
            if !is_there {
                let text = format!("map {map:?} has no key {key:?} (as {key_form}; --key-as says otherwise)");
                return Err(text.into());
            }
        }
        Command::Put { map, key, value, ttl_seconds } => {
            let ttl_ms = ttl_seconds.map_or(-1, |seconds| i64::from(seconds) * 1_000);
            let (key, value) = (key_of(key)?, value_form.read("value", value)?);
            let put = Put { name: map.as_str().into(), key, value, thread_id: NO_THREAD, ttl_ms };
            print_found(out, Client::connect(whom)?.call(&put)?.value)?;
        }
        Command::Remove { map, key } => {
            let remove = Remove { name: map.as_str().into(), key: key_of(key)?, thread_id: NO_THREAD };
            print_found(out, Client::connect(whom)?.call(&remove)?.value)?;
        }
        Command::Contains { map, key } => {
            let contains = ContainsKey { name: map.as_str().into(), key: key_of(key)?, thread_id: NO_THREAD };
            let found = Client::connect(whom)?.call(&contains)?.value;
            if *json { writeln!(out, "{}", json!({ "contains": found }))? } else { writeln!(out, "{found}")? }
        }
        Command::Size { map } => {
            let size = Client::connect(whom)?.call(&Size { name: map.as_str().into() })?.value;
            if *json { writeln!(out, "{}", json!({ "size": size }))? } else { writeln!(out, "{size}")? }
        }
        Command::Keys { map } => {
            let keys = Client::connect(whom)?.call(&KeySet { name: map.as_str().into() })?.values;
            for key in keys {
                if *json {
                    writeln!(out, "{}", json!({ "key": shown_json(&key) }))?;
                } else {
                    writeln!(out, "{}", shown(&key))?;
                }
            }
        }
        Command::Entries { map } => {
            let entries = Client::connect(whom)?.call(&EntrySet { name: map.as_str().into() })?.entries;
            let mut table = Table::new(&["key", "value"]);
            for (key, value) in entries {
                if *json {
                    writeln!(out, "{}", json!({ "key": shown_json(&key), "value": shown_json(&value) }))?;
                } else {
                    table.row([shown(&key), shown(&value)]);
                }
            }
            if !json {
                table.write(out, "")?;
            }
        }
        Command::Clear { map } => {
            Client::connect(whom)?.call(&Clear { name: map.as_str().into() })?;
            if *json {
                writeln!(out, "{}", json!({ "cleared": map }))?
            } else {
                writeln!(out, "cleared {map}")?
            }
        }
    }
    Ok(())
}
