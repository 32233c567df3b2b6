//! Changes of a journal as Hazelcast's clients read them: objects of its class, chosen by a filter and seen through a projection.
//!
//! A client sends both as objects. What Hazelcast's own sources send is known here by the names of their classes, though they are Java's
//! serialized objects; all other code is registered with the member as a [`Function`](crate::Function), which is given the change as that
//! object. Runs on the partition's strand.

use super::events::MapEventKind;
use super::journal::JournalEvent;
use crate::code::{Called, Code, NotCode, Registry};
use crate::error::GridResult;
use crate::query::QueryError;
use crate::query::identified::{MAPS, write_bytes, write_class};
use filbert_wire::{Data, EncodeError, Output, ToData, type_id};
use serde::{Deserialize, Serialize};

/// The class of a change, among those of maps.
const EVENT: i32 = 132;
/// Factory of what journals exchange beside it.
const JOURNALS: i32 = -33;
/// The class of an entry, there.
const ENTRY: i32 = 2;
/// The class of an entry that says whether changes before it were lost, there.
const ENTRY_WITH_LOSS: i32 = 3;

/// Which changes a reader wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum JournalFilter {
    /// Those that gave a key a value.
    Puts,
    /// Those for which a registered function gives true.
    Code(Code),
}

/// What a reader wants of each change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum JournalProjection {
    /// The value after it; null when there is none.
    Value,
    /// The key and the value after it.
    Entry {
        /// And whether changes before it were lost.
        with_loss: bool,
    },
    /// What a registered function makes of it.
    Code(Code),
}

impl JournalFilter {
    /// The filter that a client sent.
    pub fn from_data(data: &Data) -> Result<Self, NotCode> {
        match java_class(data)? {
            Some("MapPutEventsPredicate") => Ok(JournalFilter::Puts),
            Some(other) => Err(unknown_class(other)),
            None => Code::from_data(data).map(JournalFilter::Code),
        }
    }
}

impl JournalProjection {
    /// The projection that a client sent.
    pub fn from_data(data: &Data) -> Result<Self, NotCode> {
        match java_class(data)? {
            Some("MapEventNewValueProjection") => Ok(JournalProjection::Value),
            Some("MapEventToEntryProjection") => Ok(JournalProjection::Entry { with_loss: false }),
            Some("MapEventToJournalEntryProjection") => Ok(JournalProjection::Entry { with_loss: true }),
            Some(other) => Err(unknown_class(other)),
            None => Code::from_data(data).map(JournalProjection::Code),
        }
    }
}

/// Before the names of the classes of Hazelcast's own filters and projections.
const OWN_CLASSES: &str = "com.hazelcast.map.impl.journal.MapEventJournalFunctions$";

/// How an object begins that Java serialized by itself: a header, an object, its class; then comes the name.
const JAVA_OBJECT: &[u8] = &[0xac, 0xed, 0, 5, b's', b'r'];

/// The class of an object that Java serialized by itself; none when it is of another kind. Hazelcast's own have their short names.
fn java_class(data: &Data) -> Result<Option<&str>, NotCode> {
    if data.type_id() != type_id::JAVA_SERIALIZABLE {
        return Ok(None);
    }
    let name = || {
        let (length, rest) = data.payload().strip_prefix(JAVA_OBJECT)?.split_first_chunk()?;
        std::str::from_utf8(rest.get(..usize::from(u16::from_be_bytes(*length)))?).ok()
    };
    let name =
        name().ok_or_else(|| NotCode { problem: "it is an object of Java without a class".to_owned() })?;
    Ok(Some(name.strip_prefix(OWN_CLASSES).unwrap_or(name)))
}

fn unknown_class(class: &str) -> NotCode {
    let problem = format!(
        "the member has no Java to run {class}; register a function, and send an IdentifiedDataSerializable of its ids"
    );
    NotCode { problem }
}

/// A filter and a projection, with their code.
#[derive(Debug)]
pub(crate) struct Lens {
    wanted: Wanted,
    shown: Shown,
}

#[derive(Debug)]
enum Wanted {
    All,
    Puts,
    Code(Called),
}

#[derive(Debug)]
enum Shown {
    Event,
    Value,
    Entry { with_loss: bool },
    Code(Called),
}

impl Lens {
    pub(crate) fn new(
        filter: Option<&JournalFilter>,
        projection: Option<&JournalProjection>,
        registry: &Registry,
    ) -> GridResult<Self> {
        let wanted = match filter {
            None => Wanted::All,
            Some(JournalFilter::Puts) => Wanted::Puts,
            Some(JournalFilter::Code(code)) => Wanted::Code(registry.function(code)?),
        };
        let shown = match projection {
            None => Shown::Event,
            Some(JournalProjection::Value) => Shown::Value,
            Some(JournalProjection::Entry { with_loss }) => Shown::Entry { with_loss: *with_loss },
            Some(JournalProjection::Code(code)) => Shown::Code(registry.function(code)?),
        };
        Ok(Self { wanted, shown })
    }

    /// Whether any change may take long to look at.
    pub(crate) fn runs_code(&self) -> bool {
        matches!(self.wanted, Wanted::Code(_)) || matches!(self.shown, Shown::Code(_))
    }

    /// What the reader sees of a change; none when it is not wanted.
    pub(crate) fn look(&self, event: &JournalEvent, after_loss: bool) -> GridResult<Option<Data>> {
        let object = || EventObject { event, after_loss }.to_data().map_err(QueryError::from);
        let is_wanted = match &self.wanted {
            Wanted::All => true,
            Wanted::Puts => {
                matches!(event.kind, MapEventKind::Added | MapEventKind::Updated | MapEventKind::Loaded)
            }
            Wanted::Code(filter) => filter.takes(&object()?)?,
        };
        if !is_wanted {
            return Ok(None);
        }
        let null = || Data::new(type_id::NULL, &[]);
        Ok(Some(match &self.shown {
            Shown::Event => object()?,
            Shown::Value => event.value.clone().unwrap_or_else(null),
            Shown::Entry { with_loss } => {
                let after_loss = with_loss.then_some(after_loss);
                EntryObject { event, after_loss }.to_data().map_err(QueryError::from)?
            }
            Shown::Code(projection) => projection.apply(Some(&object()?))?.unwrap_or_else(null),
        }))
    }
}

/// The bit that Hazelcast's journals have for a change: entries whose time was over are evicted there, and clearing removes them.
fn flag(kind: MapEventKind) -> i32 {
    let kind = match kind {
        MapEventKind::Expired | MapEventKind::EvictAll => MapEventKind::Evicted,
        MapEventKind::ClearAll => MapEventKind::Removed,
        other => other,
    };
    kind.flag()
}

/// A value within an object, with its own header; it may be null.
fn write_data(out: &mut Output, data: Option<&Data>) -> Result<(), EncodeError> {
    write_bytes(out, data.map(Data::as_bytes))
}

fn size(data: Option<&Data>) -> usize {
    4 + data.map_or(0, |data| data.as_bytes().len())
}

/// What an object has before its fields.
const HEADER: usize = 9;

/// A change as clients know it. The last field is of their version 5.7; older ones leave it unread.
struct EventObject<'e> {
    event: &'e JournalEvent,
    after_loss: bool,
}

impl ToData for EventObject<'_> {
    fn type_id(&self) -> i32 {
        type_id::DATA_SERIALIZABLE
    }

    fn payload_size(&self) -> usize {
        let JournalEvent { key, value, old_value, .. } = self.event;
        HEADER + 5 + size(Some(key)) + size(value.as_ref()) + size(old_value.as_ref())
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        let JournalEvent { kind, key, value, old_value, .. } = self.event;
        write_class(out, MAPS, EVENT);
        out.put(flag(*kind));
        write_data(out, Some(key))?;
        write_data(out, value.as_ref())?;
        write_data(out, old_value.as_ref())?;
        out.put(u8::from(self.after_loss));
        Ok(())
    }
}

/// The key and the value after a change.
struct EntryObject<'e> {
    event: &'e JournalEvent,
    after_loss: Option<bool>,
}

impl ToData for EntryObject<'_> {
    fn type_id(&self) -> i32 {
        type_id::DATA_SERIALIZABLE
    }

    fn payload_size(&self) -> usize {
        HEADER + size(Some(&self.event.key)) + size(self.event.value.as_ref()) + 1
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        let class = if self.after_loss.is_some() { ENTRY_WITH_LOSS } else { ENTRY };
        write_class(out, JOURNALS, class);
        write_data(out, Some(&self.event.key))?;
        write_data(out, self.event.value.as_ref())?;
        if let Some(after_loss) = self.after_loss {
            out.put(u8::from(after_loss));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn java_object(class: &str) -> Data {
        let length = u16::try_from(class.len()).unwrap().to_be_bytes();
        Data::new(type_id::JAVA_SERIALIZABLE, &[JAVA_OBJECT, &length, class.as_bytes(), &[0; 20]].concat())
    }

    #[test]
    fn what_hazelcast_itself_sends_is_known_by_name() {
        let own = |class: &str| java_object(&format!("{OWN_CLASSES}{class}"));
        assert_eq!(JournalFilter::from_data(&own("MapPutEventsPredicate")), Ok(JournalFilter::Puts));
        let projection = |class| JournalProjection::from_data(&own(class));
        assert_eq!(projection("MapEventNewValueProjection"), Ok(JournalProjection::Value));
        assert_eq!(
            projection("MapEventToEntryProjection"),
            Ok(JournalProjection::Entry { with_loss: false })
        );
        let said = JournalFilter::from_data(&java_object("com.acme.Rich")).unwrap_err().to_string();
        assert!(said.contains("com.acme.Rich") && said.contains("register"), "{said}");
        let cut = Data::new(type_id::JAVA_SERIALIZABLE, &JAVA_OBJECT[..5]);
        assert!(JournalProjection::from_data(&cut).is_err());
    }

    #[test]
    fn an_event_is_an_object_of_hazelcasts_class() {
        let (key, value) = (Data::new(-7, &[0, 0, 0, 1]), Data::new(-7, &[0, 0, 0, 2]));
        let event = JournalEvent {
            sequence: 5,
            kind: MapEventKind::Expired,
            key: key.clone(),
            old_value: Some(value.clone()),
            value: None,
            time_ms: 0,
        };
        let lens = Lens::new(None, None, &Registry::new()).unwrap();
        let data = lens.look(&event, true).unwrap().unwrap();
        let expected = [
            &[1][..],
            &MAPS.to_be_bytes(),
            &132_i32.to_be_bytes(),
            &8_i32.to_be_bytes(),
            &12_i32.to_be_bytes(),
            key.as_bytes(),
            &(-1_i32).to_be_bytes(),
            &12_i32.to_be_bytes(),
            value.as_bytes(),
            &[1],
        ]
        .concat();
        assert_eq!((data.type_id(), data.payload()), (type_id::DATA_SERIALIZABLE, &expected[..]));
        let puts = Lens::new(Some(&JournalFilter::Puts), None, &Registry::new()).unwrap();
        assert_eq!(puts.look(&event, false).unwrap(), None);
        let values = Lens::new(None, Some(&JournalProjection::Value), &Registry::new()).unwrap();
        assert_eq!(values.look(&event, false).unwrap().unwrap().type_id(), type_id::NULL);
    }
}
