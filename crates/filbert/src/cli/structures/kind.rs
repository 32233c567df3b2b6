//! The kinds of structures that there are commands for, and which structures a member has.

use super::super::Outcome;
use super::super::client::Client;
use super::super::form::escaped;
use super::super::table::Table;
use super::context::Context;
use filbert_pool::settings_fields::nearest;
use filbert_wire::messages::client::GetDistributedObjects;
use filbert_wire::messages::{list, map, queue, set};
use serde_json::{Map as JsonObject, Value as Json, json};
use std::error::Error;

/// The structures that are named for somebody who looks for another one.
const MOST_NAMED: usize = 20;

/// A kind of structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    /// Entries by their keys.
    Map,
    /// Items in order, taken from the front.
    Queue,
    /// Messages for those who listen.
    Topic,
    /// Items by their place.
    List,
    /// Items that are there once.
    Set,
}

impl Kind {
    /// Returns the word for one of them, which is the word of its command too.
    pub(in super::super) fn word(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Queue => "queue",
            Self::Topic => "topic",
            Self::List => "list",
            Self::Set => "set",
        }
    }

    /// Returns the kind that a command is about.
    pub(in super::super) fn of_word(word: &str) -> Option<Self> {
        [Self::Map, Self::Queue, Self::Topic, Self::List, Self::Set]
            .into_iter()
            .find(|kind| kind.word() == word)
    }

    /// Returns the name that Hazelcast has for the kind.
    fn service(self) -> String {
        format!("hz:impl:{}Service", self.word())
    }

    /// Returns the verb that makes one.
    fn making_verb(self) -> &'static str {
        match self {
            Self::Map => "put",
            Self::Queue => "offer",
            Self::Topic => "publish",
            Self::List | Self::Set => "add",
        }
    }

    /// Returns the word for what it holds, for one and for many; topics hold nothing.
    pub(super) fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::Map => ("entry", "entries"),
            _ => ("item", "items"),
        }
    }

    /// Returns the names of all that the user may see, sorted.
    pub(in super::super) fn names(self, client: &mut Client) -> Result<Vec<String>, Box<dyn Error>> {
        let (objects, service) = (client.call(&GetDistributedObjects {})?.objects, self.service());
        let mut names: Vec<String> = objects
            .into_iter()
            .filter(|object| *object.service_name == *service)
            .map(|object| object.name.to_string())
            .collect();
        names.sort();
        Ok(names)
    }

    /// Returns how much is in one of them; topics hold nothing.
    pub(super) fn size(self, client: &mut Client, name: &str) -> Result<Option<i32>, Box<dyn Error>> {
        let name = name.into();
        Ok(Some(match self {
            Self::Map => client.call(&map::Size { name })?.value,
            Self::Queue => client.call(&queue::Size { name })?.value,
            Self::List => client.call(&list::Size { name })?.value,
            Self::Set => client.call(&set::Size { name })?.value,
            Self::Topic => return Ok(None),
        }))
    }

    /// Refuses a name that no structure of the kind has, and says which one may be meant. Only what writes makes a structure: one
    /// whose name is not spelled right must not be there afterwards.
    pub(super) fn check_is_there(self, client: &mut Client, name: &str) -> Outcome {
        let names = self.names(client)?;
        if names.iter().any(|known| known == name) {
            return Ok(());
        }
        let hint = match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("is it {near:?}?"),
            None if names.is_empty() => format!(
                "there are none that you may see; `filbert {} {}` makes one",
                self.word(),
                self.making_verb()
            ),
            None => {
                let named =
                    names.iter().take(MOST_NAMED).map(|name| escaped(name)).collect::<Vec<_>>().join(", ");
                let left = names.len().saturating_sub(MOST_NAMED);
                match left {
                    0 => format!("there are: {named}"),
                    left => {
                        format!("there are: {named} and {left} more; `filbert {} list` has all", self.word())
                    }
                }
            }
        };
        Err(format!("there is no {} {name:?}; {hint}", self.word()).into())
    }

    /// Prints the names of all that the user may see, with what is in them where the user may know that.
    pub(super) fn list(self, context: &mut Context, json: bool) -> Outcome {
        let (_, parts) = self.parts();
        let header: &[&str] = if self == Self::Topic { &["name"] } else { &["name", parts] };
        let mut table = Table::new(header);
        let names = self.names(context.client()?)?;
        for name in &names {
            // Its name may be all that the user has a right to.
            let size = self.size(context.client()?, name).ok().flatten();
            if json {
                let mut object = JsonObject::from_iter([("name".to_owned(), Json::from(name.as_str()))]);
                if self != Self::Topic {
                    object.insert(parts.to_owned(), json!(size));
                }
                context.line(Json::Object(object))?;
            } else {
                let size = size.map_or_else(|| "-".to_owned(), |size| size.to_string());
                table.row([escaped(name), size].into_iter().take(header.len()));
            }
        }
        match (json, names.is_empty()) {
            (true, _) => Ok(()),
            (false, false) => Ok(table.write(&mut context.out(), "")?),
            (false, true) => context.remark(format_args!(
                "there are no {}s that you may see; `filbert {} {}` makes one",
                self.word(),
                self.word(),
                self.making_verb()
            )),
        }
    }
}
