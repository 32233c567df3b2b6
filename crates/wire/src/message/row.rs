//! The rows of the table of messages.

use super::{MessageError, MessageReader, REQUEST_HEADER, RESPONSE_HEADER, Raises, Record, Request, Version};
use crate::field::FieldType;
use bytes::BytesMut;

/// One message of the protocol: a request, its response, and the events that may follow.
#[derive(Debug, Clone, Copy)]
pub struct MessageRow {
    /// The request's type: `service << 16 | method << 8`.
    pub id: u32,
    /// Service and method, such as `Map.put`.
    pub name: &'static str,
    /// The service alone.
    pub service: &'static str,
    /// The version that it came with.
    pub since: Version,
    /// What the client sends.
    pub request: PartRow,
    /// What the member answers.
    pub response: PartRow,
    /// What the member may send from then on.
    pub events: &'static [PartRow],
}

/// A request, a response or an event: its fields, and its codec for those who know it by its id only.
#[derive(Debug, Clone, Copy)]
pub struct PartRow {
    /// The type in the header.
    pub id: u32,
    /// `request`, `response`, or the event's name.
    pub name: &'static str,
    /// The fields, in their order on the wire.
    pub fields: &'static [FieldRow],
    /// Decodes it and says what it holds.
    pub describe: fn(&MessageReader) -> Result<String, MessageError>,
    /// Decodes it and encodes that again, in the layout of a version.
    pub transcode: fn(&MessageReader, Version, &mut BytesMut) -> Result<(), MessageError>,
}

/// One field.
#[derive(Debug, Clone, Copy)]
pub struct FieldRow {
    /// Its name here.
    pub name: &'static str,
    /// What it holds, and so how it is written.
    pub kind: FieldType,
    /// The version that added it, if it is younger than its message: then it may be absent.
    pub since: Option<Version>,
}

impl PartRow {
    /// The row of a request.
    pub(crate) const fn request<R: Request + std::fmt::Debug>() -> Self {
        Self {
            id: R::ID,
            name: "request",
            fields: R::FIELDS,
            describe: |reader| R::decode(reader).map(|request| format!("{request:?}")),
            transcode: |reader, version, out| {
                R::decode(reader)?.encode_as_of(version, reader.correlation(), reader.partition(), out);
                Ok(())
            },
        }
    }

    /// The row of the response to a request.
    pub(crate) const fn response<R: Request>() -> Self
    where
        R::Response: std::fmt::Debug,
    {
        Self {
            id: R::RESPONSE_ID,
            name: "response",
            fields: R::Response::FIELDS,
            describe: |reader| R::decode_response(reader).map(|response| format!("{response:?}")),
            transcode: |reader, version, out| {
                R::respond_as_of(version, &R::decode_response(reader)?, reader.correlation(), out);
                Ok(())
            },
        }
    }

    /// The row of an event that a request raises.
    pub(crate) const fn event<R: Raises<E>, E: Record + std::fmt::Debug>(name: &'static str) -> Self {
        Self {
            id: R::EVENT_ID,
            name,
            fields: E::FIELDS,
            describe: |reader| R::decode_event(reader).map(|event| format!("{event:?}")),
            transcode: |reader, version, out| {
                let event = R::decode_event(reader)?;
                super::encode_event_as_of(version, &event, R::EVENT_ID, reader.correlation(), None, out);
                Ok(())
            },
        }
    }

    /// The bytes of the header before the first fixed-size field.
    pub const fn header(&self) -> usize {
        if self.id & 0xff == 1 { RESPONSE_HEADER } else { REQUEST_HEADER }
    }
}
