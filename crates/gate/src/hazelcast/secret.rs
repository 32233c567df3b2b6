//! A password or token: compared without telling how much of it was right, and never shown.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use subtle::ConstantTimeEq;

/// A password or token. It is not printed, and compared in a time that depends on its length alone.
///
/// ```
/// use filbert_gate::hazelcast::Secret;
///
/// let secret = Secret::from("open sesame");
/// assert!(secret.is(b"open sesame") && !secret.is(b"open simsim"));
/// assert_eq!(format!("{secret:?}"), "Secret(..)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// True when `given` is this secret.
    pub fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }

    /// For those who compute something else of it, such as a door that never sees the client's password.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// What is no text is not shown either: it may be the secret, without its quotes.
impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer);
        text.map(Self).map_err(|_| D::Error::custom("a password or token must be a text in quotes"))
    }
}

/// Settings are printed for people: what is secret stays so.
impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("(secret)")
    }
}
