//! Messages: requests, their responses, and the events that follow some of them.
//!
//! ```text
//! request   | i32 type | i64 correlation | i32 partition   | fixed-size fields ... |   frames of the other fields ...
//! response  | i32 type | i64 correlation | u8 backup acks  | fixed-size fields ... |   frames of the other fields ...
//! event     | i32 type | i64 correlation | i32 partition   | fixed-size fields ... |   frames of the other fields ...
//! ```
//!
//! The first frame holds the header and, right behind it, all fields of fixed size; the others follow as frames, in declared order.
//! A message is declared once, in [`messages`](crate::messages): the declaration makes the struct, its codec and a row of the table
//! [`MESSAGES`](crate::messages::MESSAGES). Here is what the declarations share. Rejected: a generated file per message, as the
//! clients have it; a thousand lines of repetition that no one reads.

mod error;
mod reader;
mod record;
mod row;
mod sample;
mod version;

pub use error::{Fault, MessageError, What};
pub use reader::MessageReader;
pub use record::Record;
pub(crate) use record::{custom, read_custom, record, write_custom};
pub use row::{FieldRow, MessageRow, PartRow};
pub use sample::sample;
pub use version::Version;

use crate::data::PartitionId;
use crate::field::FieldReader;
use crate::frame::{Flags, FrameWriter};
use bytes::BytesMut;

/// The header of requests and events: type, correlation, partition.
pub const REQUEST_HEADER: usize = 16;
/// The header of responses: type, correlation, backup acknowledgements.
pub const RESPONSE_HEADER: usize = 13;

/// What a client asks for.
///
/// ```
/// use bytes::BytesMut;
/// use filbert_wire::message::{MessageReader, Request};
/// use filbert_wire::messages::{answers::Found, map::Get};
/// use filbert_wire::Data;
///
/// let key = Data::new(-11, b"\0\0\0\x01a");
/// let mut sent = BytesMut::new();
/// Get { name: "cities".into(), key: key.clone(), thread_id: 1 }.encode(42, 5, &mut sent);
///
/// let reader = MessageReader::new(sent.freeze()).unwrap();
/// assert_eq!((reader.id(), reader.correlation(), reader.partition()), (Get::ID, 42, 5));
/// let get = Get::decode(&reader).unwrap();
/// assert_eq!((&*get.name, get.key), ("cities", key));
///
/// let mut answer = BytesMut::new();
/// Get::respond(&Found { value: None }, reader.correlation(), &mut answer);
/// assert_eq!(answer.len(), 25);
/// ```
pub trait Request: Record {
    /// The type in the header; it is `service << 16 | method << 8`.
    const ID: u32;
    /// Service and method, such as `Map.put`.
    const NAME: &'static str;
    /// What the answer holds.
    type Response: Record;

    /// The type in the header of the response.
    const RESPONSE_ID: u32 = Self::ID | 1;

    /// Reads a request of this type.
    fn decode(reader: &MessageReader) -> Result<Self, MessageError> {
        reader.part(Self::ID, Self::NAME, REQUEST_HEADER)
    }

    /// Appends the request to `out`.
    fn encode(&self, correlation: i64, partition: i32, out: &mut BytesMut) {
        self.encode_as_of(Version::NEWEST, correlation, partition, out);
    }

    /// Appends the request as a client of that version would: without the fields that came later.
    fn encode_as_of(&self, version: Version, correlation: i64, partition: i32, out: &mut BytesMut) {
        let header = Header { id: Self::ID, flags: Flags::NONE, correlation, tail: &partition.to_le_bytes() };
        write(self, header, version, out);
    }

    /// Appends the answer to `out`.
    fn respond(response: &Self::Response, correlation: i64, out: &mut BytesMut) {
        Self::respond_as_of(Version::NEWEST, response, correlation, out);
    }

    /// Appends the answer as a member of that version would: without the fields that came later.
    fn respond_as_of(version: Version, response: &Self::Response, correlation: i64, out: &mut BytesMut) {
        let header = Header { id: Self::RESPONSE_ID, flags: Flags::NONE, correlation, tail: &[0] };
        write(response, header, version, out);
    }

    /// Reads an answer to a request of this type.
    fn decode_response(reader: &MessageReader) -> Result<Self::Response, MessageError> {
        reader.part(Self::RESPONSE_ID, Self::NAME, RESPONSE_HEADER)
    }
}

/// A request whose answer is followed by events of type `E`.
pub trait Raises<E: Record>: Request {
    /// The type in the header of the event.
    const EVENT_ID: u32;

    /// Appends an event to `out`; `correlation` is that of the request which asked for events.
    fn raise(event: &E, correlation: i64, out: &mut BytesMut) {
        encode_event(event, Self::EVENT_ID, correlation, None, out);
    }

    /// Reads an event.
    fn decode_event(reader: &MessageReader) -> Result<E, MessageError> {
        reader.part(Self::EVENT_ID, Self::NAME, REQUEST_HEADER)
    }
}

/// Appends an event under the given id, a [`Raises::EVENT_ID`]: for those who raise the same event for several kinds of requests, or in the
/// order of a partition. Some clients run events on several threads, those of one partition on one: without it they may turn them round.
pub fn encode_event(
    event: &impl Record,
    id: u32,
    correlation: i64,
    partition: Option<PartitionId>,
    out: &mut BytesMut,
) {
    encode_event_as_of(Version::NEWEST, event, id, correlation, partition, out);
}

fn encode_event_as_of(
    version: Version,
    event: &impl Record,
    id: u32,
    correlation: i64,
    partition: Option<PartitionId>,
    out: &mut BytesMut,
) {
    let partition = partition.map_or(-1, |partition| partition.number() as i32);
    let header = Header { id, flags: Flags::EVENT, correlation, tail: &partition.to_le_bytes() };
    write(event, header, version, out);
}

/// What stands before the fields.
struct Header<'t> {
    id: u32,
    flags: Flags,
    correlation: i64,
    /// Partition, or backup acknowledgements.
    tail: &'t [u8],
}

fn write(record: &impl Record, header: Header<'_>, version: Version, out: &mut BytesMut) {
    let mut writer = FrameWriter::new(out, version);
    writer.begin(Flags::UNFRAGMENTED.with(header.flags));
    writer.put(&header.id.to_le_bytes());
    writer.put(&header.correlation.to_le_bytes());
    writer.put(header.tail);
    record.put_fixed(&mut writer);
    writer.end();
    record.put_frames(&mut writer);
    writer.finish();
}

/// Appends an error response, whose type is 0 whatever was asked.
pub(crate) fn write_response(record: &impl Record, id: u32, correlation: i64, out: &mut BytesMut) {
    write(record, Header { id, flags: Flags::NONE, correlation, tail: &[0] }, Version::NEWEST, out);
}

impl MessageReader {
    /// The fields of the message, if it is the one of that id.
    pub(crate) fn part<R: Record>(
        &self,
        id: u32,
        name: &'static str,
        header: usize,
    ) -> Result<R, MessageError> {
        if self.id() != id {
            let what = What::OtherMessage { id: self.id() };
            return Err(MessageError {
                message: name,
                field: "type",
                offset: crate::frame::FRAME_HEADER,
                what,
            });
        }
        let (initial, mut frames) = self.split(header, name)?;
        R::read(&mut FieldReader::new(initial.0, initial.1, &mut frames)).map_err(|fault| fault.of(name))
    }
}
