//! What a user may do with which structures. What is not allowed is refused.
//!
//! A right is one line: `map/orders*: read, put`. Before the colon stands the kind and the name, where a star at the end stands for
//! anything; behind it the actions, all of them when there is no colon. `*` alone is everything. With any right on a structure a client
//! opens it; `create` or `put` make one that is not there.

use filbert_grid::{Action, Service};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The actions that rights can name, with their words.
const ACTIONS: [(Action, &str); 10] = [
    (Action::Create, "create"),
    (Action::Destroy, "destroy"),
    (Action::Read, "read"),
    (Action::Put, "put"),
    (Action::Remove, "remove"),
    (Action::Lock, "lock"),
    (Action::Listen, "listen"),
    (Action::Index, "index"),
    (Action::Execute, "execute"),
    (Action::Intercept, "intercept"),
];

/// A set of actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Actions(u16);

impl Actions {
    const ALL: Self = Self((1 << ACTIONS.len()) - 1);

    /// True when there is one at all.
    pub(super) fn any(self) -> bool {
        self.0 != 0
    }

    /// True when a structure that is not there yet may be made: whoever may put something into it may.
    pub(super) fn may_make(self) -> bool {
        self.has(Action::Create) || self.has(Action::Put)
    }

    #[inline]
    pub(crate) fn has(self, action: Action) -> bool {
        self.0 & bit(action) != 0
    }
}

/// What an action is called in the settings.
pub(crate) fn word(action: Action) -> &'static str {
    ACTIONS.iter().find(|(known, _)| *known == action).map_or("do that", |(_, word)| word)
}

/// An action that is not known here is in no set: refused.
#[inline]
const fn bit(action: Action) -> u16 {
    match action {
        Action::Create => 1,
        Action::Destroy => 1 << 1,
        Action::Read => 1 << 2,
        Action::Put => 1 << 3,
        Action::Remove => 1 << 4,
        Action::Lock => 1 << 5,
        Action::Listen => 1 << 6,
        Action::Index => 1 << 7,
        Action::Execute => 1 << 8,
        Action::Intercept => 1 << 9,
        _ => 0,
    }
}

/// One line of rights.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Right {
    /// None stands for all kinds.
    service: Option<Service>,
    name: String,
    /// The name is only the beginning.
    prefix: bool,
    actions: Actions,
}

/// What a user may do: see `Rights::from_str`.
///
/// ```
/// use filbert_gate::hazelcast::Rights;
///
/// let rights: Rights = ["map/orders*: read, put", "topic/*"].into_iter().map(str::parse).collect::<Result<_, _>>()?;
/// assert_ne!(rights, Rights::everything());
/// # Ok::<(), filbert_gate::hazelcast::RightsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Rights {
    rights: Vec<Right>,
}

/// A line of rights that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{line:?} is no right: {problem}; write for instance \"map/orders*: read, put\", or \"*\" for everything"
)]
#[non_exhaustive]
pub struct RightsError {
    /// The line.
    pub line: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Rights {
    /// Everything.
    pub fn everything() -> Self {
        let all = Right { service: None, name: String::new(), prefix: true, actions: Actions::ALL };
        Self { rights: vec![all] }
    }

    /// True when nothing is refused.
    pub(crate) fn are_everything(&self) -> bool {
        let is_all = |right: &Right| right.service.is_none() && right.prefix && right.name.is_empty();
        self.rights.iter().any(|right| is_all(right) && right.actions == Actions::ALL)
    }

    /// True when there is a right to any action on any structure of that kind.
    pub(crate) fn any_of(&self, service: Service) -> bool {
        let fits = |right: &Right| right.service.is_none_or(|known| known == service) && right.actions.any();
        self.rights.iter().any(fits)
    }

    /// What may be done with that structure.
    pub(crate) fn of(&self, service: Service, name: &str) -> Actions {
        let fits = |right: &&Right| {
            right.service.is_none_or(|known| known == service)
                && if right.prefix { name.starts_with(&right.name) } else { name == right.name }
        };
        Actions(self.rights.iter().filter(fits).fold(0, |all, right| all | right.actions.0))
    }
}

impl Rights {
    /// What may be done with every structure of that kind, whatever its name.
    pub(crate) fn of_all(&self, service: Service) -> Actions {
        let fits = |right: &&Right| {
            right.service.is_none_or(|known| known == service) && right.prefix && right.name.is_empty()
        };
        Actions(self.rights.iter().filter(fits).fold(0, |all, right| all | right.actions.0))
    }
}

impl FromStr for Rights {
    type Err = RightsError;

    /// One line.
    fn from_str(line: &str) -> Result<Self, RightsError> {
        let wrong = |problem: String| RightsError { line: line.to_owned(), problem };
        let (structure, actions) = match line.split_once(": ") {
            Some((structure, actions)) => (structure.trim(), Some(actions)),
            None => (line.trim(), None),
        };
        let (service, name) = match structure.split_once('/') {
            None if structure == "*" => (None, "*"),
            None => return Err(wrong("there is no kind with a slash before the name".to_owned())),
            Some(("*", name)) => (None, name),
            Some((word, name)) => {
                let known = Service::ALL.iter().copied().find(|service| service.as_str() == word);
                let kinds = || Service::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
                (Some(known.ok_or_else(|| wrong(format!("{word:?} is none of {}", kinds())))?), name)
            }
        };
        let mut set = Actions::default();
        for word in actions.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let known = ACTIONS.iter().find(|(_, known)| *known == word);
            let words = || ACTIONS.map(|(_, word)| word).join(", ");
            let (action, _) = known.ok_or_else(|| wrong(format!("{word:?} is none of {}", words())))?;
            set.0 |= bit(*action);
        }
        let tail = name.rsplit_once(':').map_or("", |(_, tail)| tail).trim();
        let is_action = |part: &str| ACTIONS.iter().any(|(_, word)| *word == part.trim());
        if actions.is_none() && tail.split(',').any(is_action) {
            return Err(wrong(format!(
                "{tail:?} looks like actions, which stand behind a colon and a space"
            )));
        }
        if name.strip_suffix('*').unwrap_or(name).contains('*') {
            return Err(wrong("a star stands at the end of a name, and nowhere else".to_owned()));
        }
        let actions = if actions.is_none() { Actions::ALL } else { set };
        let prefix = name.ends_with('*');
        let name = name.strip_suffix('*').unwrap_or(name).to_owned();
        Ok(Self { rights: vec![Right { service, name, prefix, actions }] })
    }
}

impl FromIterator<Rights> for Rights {
    fn from_iter<I: IntoIterator<Item = Rights>>(lines: I) -> Self {
        Self { rights: lines.into_iter().flat_map(|line| line.rights).collect() }
    }
}

impl TryFrom<Vec<String>> for Rights {
    type Error = RightsError;

    fn try_from(lines: Vec<String>) -> Result<Self, RightsError> {
        lines.iter().map(|line| line.parse()).collect()
    }
}

impl From<Rights> for Vec<String> {
    fn from(rights: Rights) -> Self {
        rights.rights.iter().map(ToString::to_string).collect()
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.prefix { "*" } else { "" };
        write!(f, "{}/{}{star}", self.service.map_or("*", Service::as_str), self.name)?;
        if self.actions != Actions::ALL {
            let words: Vec<_> = ACTIONS
                .iter()
                .filter(|(action, _)| self.actions.has(*action))
                .map(|(_, word)| *word)
                .collect();
            write!(f, ": {}", words.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(lines: &[&str]) -> Rights {
        lines.iter().map(|line| line.parse::<Rights>().unwrap()).collect()
    }

    #[test]
    fn what_is_not_allowed_is_refused() {
        let some = rights(&["map/orders*: read, put", "map/orders-eu: remove", "*/log"]);
        let orders = some.of(Service::Map, "orders-eu");
        assert!(orders.has(Action::Read) && orders.has(Action::Put) && orders.has(Action::Remove));
        assert!(!orders.has(Action::Destroy) && !orders.has(Action::Lock));
        assert_eq!(some.of(Service::Queue, "log"), Actions::ALL);
        assert_eq!(some.of(Service::Queue, "logs"), Actions::default());
        assert_eq!(some.of(Service::List, "orders-eu"), Actions::default());
        assert_eq!(Rights::default().of(Service::Map, ""), Actions::default());
        assert_eq!(Rights::everything().of(Service::Executor, "any"), Actions::ALL);
        assert_eq!(rights(&["*"]).of(Service::Executor, "any"), Actions::ALL);
        assert!(Rights::everything().are_everything() && rights(&["*"]).are_everything());
        assert!(!rights(&["map/*", "*/*: read", "*/a*"]).are_everything());
    }

    #[test]
    fn a_right_is_written_as_it_is_read() {
        for line in ["map/orders*: read, put", "topic/*", "*/*", "queue/a:b: lock"] {
            assert_eq!(Vec::from(rights(&[line])), [line]);
        }
    }

    #[test]
    fn a_wrong_line_says_what_is_wrong() {
        for (line, word) in [
            ("orders", "slash"),
            ("heap/a", "heap"),
            ("map/a: reed", "reed"),
            // Else everything on a map that is called "a:read, put".
            ("map/a:read, put", "space"),
            ("map/a*b: read", "star"),
        ] {
            let said = line.parse::<Rights>().unwrap_err().to_string();
            assert!(said.contains(word), "{said}");
        }
    }
}
