//! What an index is of, and what it is called.

use crate::query::attribute::Attribute;
use crate::query::error::QueryError;
use serde::{Deserialize, Serialize};

/// How many attributes an index may have.
const MAX_ATTRIBUTES: usize = 255;

/// How an index keeps its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IndexKind {
    /// In order: for equality and ranges.
    Sorted,
    /// By hash: for equality only, and faster there.
    Hash,
    /// As sets of entries: for equality, also where it is combined by AND, OR and NOT; of one attribute with few values.
    Bitmap,
}

/// How Hazelcast makes a number of the unique key of a bitmap index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum UniqueKeyTransformation {
    /// Any object.
    #[default]
    Object,
    /// A whole number, or what can be made one.
    Long,
    /// A whole number as it is.
    Raw,
}

impl UniqueKeyTransformation {
    /// The transformation with this number in messages.
    pub fn of_number(number: i32) -> Result<Self, QueryError> {
        match number {
            0 => Ok(Self::Object),
            1 => Ok(Self::Long),
            2 => Ok(Self::Raw),
            _ => Err(bad(format!(
                "{number} is no transformation of a unique key; 0 (object), 1 (long) and 2 (raw) are"
            ))),
        }
    }

    /// Its word.
    pub const fn as_word(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Long => "long",
            Self::Raw => "raw",
        }
    }

    /// The transformation of that word, in any case.
    pub fn of_word(word: &str) -> Result<Self, QueryError> {
        let known = ["object", "long", "raw"].into_iter().position(|known| word.eq_ignore_ascii_case(known));
        let number = known.ok_or_else(|| bad(format!("{word:?} is none of OBJECT, LONG and RAW")))?;
        Self::of_number(number as i32)
    }
}

/// What tells the entries of a bitmap index apart in Hazelcast. Here entries have numbers of their own, so it is only kept.
#[derive(Debug, Clone, PartialEq)]
pub struct BitmapOptions {
    /// The attribute that is unique.
    pub unique_key: Attribute,
    /// How a number is made of it.
    pub transformation: UniqueKeyTransformation,
}

impl IndexKind {
    /// The kind with this number in messages.
    pub fn of_number(number: i32) -> Result<Self, QueryError> {
        match number {
            0 => Ok(IndexKind::Sorted),
            1 => Ok(IndexKind::Hash),
            2 => Ok(IndexKind::Bitmap),
            _ => Err(bad(format!("{number} is no kind; 0 (sorted), 1 (hash) and 2 (bitmap) are"))),
        }
    }

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            IndexKind::Sorted => "sorted",
            IndexKind::Hash => "hash",
            IndexKind::Bitmap => "bitmap",
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
    bitmap: Option<BitmapOptions>,
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
        if kind == IndexKind::Bitmap && attributes.len() > 1 {
            return Err(bad(
                "a bitmap index has one attribute; make one for each, they are used together".to_owned()
            ));
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
        Ok(Self { name, kind, attributes, bitmap: None })
    }

    /// The same with what tells entries apart; for a bitmap index, whose unique key is the map's key unless this says otherwise.
    pub fn with_bitmap_options(mut self, options: BitmapOptions) -> Result<Self, QueryError> {
        if self.kind != IndexKind::Bitmap {
            return Err(bad(format!("a {} index has no unique key; a bitmap index has", self.kind.as_str())));
        }
        if options.unique_key.is_multiple() {
            return Err(bad(format!("{} leads to several values; a unique key is one", options.unique_key)));
        }
        self.bitmap = Some(options);
        Ok(self)
    }

    /// What tells the entries of a bitmap index apart, if that was said.
    pub fn bitmap_options(&self) -> Option<&BitmapOptions> {
        self.bitmap.as_ref()
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
    #[serde(default)]
    bitmap: Option<(String, UniqueKeyTransformation)>,
}

impl From<IndexSettings> for Plain {
    fn from(settings: IndexSettings) -> Self {
        let attributes = settings.attributes.iter().map(|attribute| attribute.as_str().to_owned()).collect();
        let bitmap =
            settings.bitmap.map(|bitmap| (bitmap.unique_key.as_str().to_owned(), bitmap.transformation));
        Self { name: settings.name, kind: settings.kind, attributes, bitmap }
    }
}

impl TryFrom<Plain> for IndexSettings {
    type Error = QueryError;

    fn try_from(plain: Plain) -> Result<Self, QueryError> {
        let attributes =
            plain.attributes.iter().map(|attribute| attribute.parse()).collect::<Result<_, _>>()?;
        let settings = Self::checked(plain.name, plain.kind, attributes)?;
        match plain.bitmap {
            Some((unique_key, transformation)) => {
                let unique_key = unique_key.parse()?;
                settings.with_bitmap_options(BitmapOptions { unique_key, transformation })
            }
            None => Ok(settings),
        }
    }
}
