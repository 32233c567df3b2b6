//! What an index is of, and what it is called.

use crate::query::attribute::Attribute;
use crate::query::error::QueryError;
use serde::{Deserialize, Serialize};

/// How many attributes an index may have.
const MAX_ATTRIBUTES: usize = 255;

/// How an index keeps its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexKind {
    /// In order: for equality and ranges.
    Sorted,
    /// By hash: for equality only, and faster there.
    Hash,
}

impl IndexKind {
    /// The kind with this number in messages; Hazelcast's bitmap indexes are not served.
    pub fn of_number(number: i32) -> Result<Self, QueryError> {
        match number {
            0 => Ok(IndexKind::Sorted),
            1 => Ok(IndexKind::Hash),
            2 => Err(QueryError::Unsupported { what: "a bitmap index; use a hash index".to_owned() }),
            _ => Err(bad(format!("{number} is no kind; 0 (sorted) and 1 (hash) are"))),
        }
    }

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            IndexKind::Sorted => "sorted",
            IndexKind::Hash => "hash",
        }
    }
}

fn bad(problem: String) -> QueryError {
    QueryError::BadArgument { what: "index", problem }
}

/// What an index is of, and what it is called. Two with the same name are the same.
///
/// ```
/// use filbert_grid::query::{IndexKind, IndexSettings};
///
/// let settings = IndexSettings::new("people", IndexKind::Sorted, None, ["this.age", "name"])?;
/// assert_eq!(settings.name(), "people_sorted_age_name");
/// # Ok::<(), filbert_grid::query::QueryError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Plain", into = "Plain")]
pub struct IndexSettings {
    name: String,
    kind: IndexKind,
    attributes: Vec<Attribute>,
}

impl IndexSettings {
    /// An index of these attributes of a map's entries. Without a name it is called after map, kind and attributes.
    pub fn new<A: AsRef<str>>(
        map: &str,
        kind: IndexKind,
        name: Option<&str>,
        attributes: impl IntoIterator<Item = A>,
    ) -> Result<Self, QueryError> {
        let attributes = attributes
            .into_iter()
            .map(|attribute| attribute.as_ref().trim().parse())
            .collect::<Result<Vec<Attribute>, _>>()?;
        let generated = || {
            let parts = attributes.iter().map(Attribute::as_str);
            [map, kind.as_str()].into_iter().chain(parts).collect::<Vec<_>>().join("_")
        };
        let name = name.filter(|name| !name.trim().is_empty()).map_or_else(generated, str::to_owned);
        Self::checked(name, kind, attributes)
    }

    fn checked(name: String, kind: IndexKind, attributes: Vec<Attribute>) -> Result<Self, QueryError> {
        if attributes.is_empty() || attributes.len() > MAX_ATTRIBUTES {
            return Err(bad(format!(
                "it has {} attributes; 1 to {MAX_ATTRIBUTES} are possible",
                attributes.len()
            )));
        }
        for (number, attribute) in attributes.iter().enumerate() {
            if attributes[..number].contains(attribute) {
                return Err(bad(format!("it names the attribute {attribute} twice")));
            }
            if attributes.len() > 1 && attribute.is_multiple() {
                return Err(bad(format!(
                    "{attribute} leads to several values; such an attribute needs an index of its own"
                )));
            }
        }
        Ok(Self { name, kind, attributes })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it keeps its keys.
    pub fn kind(&self) -> IndexKind {
        self.kind
    }

    /// What it is of.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }
}

/// The settings as they travel.
#[derive(Serialize, Deserialize)]
struct Plain {
    name: String,
    kind: IndexKind,
    attributes: Vec<String>,
}

impl From<IndexSettings> for Plain {
    fn from(settings: IndexSettings) -> Self {
        let attributes = settings.attributes.iter().map(|attribute| attribute.as_str().to_owned()).collect();
        Self { name: settings.name, kind: settings.kind, attributes }
    }
}

impl TryFrom<Plain> for IndexSettings {
    type Error = QueryError;

    fn try_from(plain: Plain) -> Result<Self, QueryError> {
        let attributes =
            plain.attributes.iter().map(|attribute| attribute.parse()).collect::<Result<_, _>>()?;
        Self::checked(plain.name, plain.kind, attributes)
    }
}
