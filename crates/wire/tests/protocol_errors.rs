//! What is wrong with a message is said exactly: which, in which field, at which byte, and what.

mod support;

use bytes::BytesMut;
use filbert_wire::frame::Flags;
use filbert_wire::message::{MessageError, MessageReader, Raises, Record, Request, What};
use filbert_wire::messages::answers::{Found, Items, Registered};
use filbert_wire::messages::client::{AddClusterViewListener, CreateProxy, PartitionsView, SendSchema};
use filbert_wire::messages::map::{AddEntryListener, AddIndex, FetchKeys, Get, PutAll};
use filbert_wire::messages::page::{Column, Page};
use filbert_wire::messages::sql::{Fetch, Fetched};
use filbert_wire::messages::topic::PublishAll;
use filbert_wire::{Data, TooShort};
use support::push;

const FINAL: u16 = Flags::FINAL.0;
const NULL: u16 = Flags::NULL.0;
const BEGIN: u16 = Flags::BEGIN_DATA.0;
const END: u16 = Flags::END_DATA.0;

/// A request with these bytes behind its header and these frames behind that, the last marked as such.
fn request<R: Request>(fixed: &[u8], frames: &[(u16, &[u8])]) -> Result<R, MessageError> {
    let mut out = BytesMut::new();
    let mut first = R::ID.to_le_bytes().to_vec();
    first.extend_from_slice(&[0; 12]);
    first.extend_from_slice(fixed);
    push(&mut out, Flags::UNFRAGMENTED.0 | if frames.is_empty() { FINAL } else { 0 }, &first);
    for (place, (flags, payload)) in frames.iter().enumerate() {
        push(&mut out, flags | if place + 1 == frames.len() { FINAL } else { 0 }, payload);
    }
    R::decode(&MessageReader::new(out.freeze()).unwrap())
}

fn fault<R: Request + std::fmt::Debug>(fixed: &[u8], frames: &[(u16, &[u8])]) -> (&'static str, What) {
    let error = request::<R>(fixed, frames).unwrap_err();
    assert_eq!(error.message, R::NAME);
    (error.field, error.what)
}

#[test]
fn a_field_that_is_not_there() {
    assert_eq!(fault::<Get>(&[0; 8], &[]), ("name", What::Missing));
    assert_eq!(fault::<Get>(&[0; 8], &[(0, b"m")]), ("key", What::Missing));
    assert_eq!(fault::<Get>(&[0; 7], &[(0, b"m"), (0, &[0; 8])]), ("thread_id", What::Missing));
}

#[test]
fn a_field_that_is_something_else() {
    assert_eq!(fault::<Get>(&[0; 8], &[(NULL, b"")]), ("name", What::Null));
    assert_eq!(fault::<Get>(&[0; 8], &[(0, b"\xff")]), ("name", What::NotUtf8));
    let short = What::Data(TooShort { length: 7 });
    assert_eq!(fault::<Get>(&[0; 8], &[(0, b"m"), (0, &[0; 7])]), ("key", short));
    assert_eq!(
        fault::<Get>(&[0; 8], &[(BEGIN, b""), (END, b"")]),
        ("name", What::Structure { flags: Flags::BEGIN_DATA })
    );
    let plain = What::NoStructure { flags: Flags::FINAL };
    assert_eq!(fault::<PublishAll>(&[], &[(0, b"t"), (0, &[0; 8])]), ("messages", plain));
    assert_eq!(fault::<PublishAll>(&[], &[(0, b"t"), (NULL, b"")]), ("messages", What::Null));
    assert_eq!(fault::<PublishAll>(&[], &[(0, b"t"), (BEGIN, b"")]), ("messages", What::Missing));
    let ragged = What::Ragged { length: 9, item: 8 };
    assert_eq!(fault::<FetchKeys>(&[0; 4], &[(0, b"m"), (0, &[0; 9])]), ("iteration_pointers", ragged));
}

#[test]
fn an_entry_without_a_value() {
    let frames: &[(u16, &[u8])] = &[(0, b"m"), (BEGIN, b""), (0, &[0; 8]), (END, b"")];
    let (field, what) = fault::<PutAll>(&[1], frames);
    assert_eq!((field, what), ("entries", What::Structure { flags: Flags::END_DATA.with(Flags::FINAL) }));
}

#[test]
fn the_offset_is_that_of_the_payload() {
    let error = request::<CreateProxy>(&[], &[(0, b"map"), (NULL, b"")]).unwrap_err();
    // The first frame has 6 + 16 bytes, the name 6 + 3, the null a header of 6.
    assert_eq!((error.field, error.offset), ("service_name", 22 + 9 + 6));
    assert_eq!(
        error.to_string(),
        "Client.createProxy: field `service_name`, byte 37: it is null, and must not be"
    );
}

#[test]
fn unknown_structures_are_skipped_up_to_a_depth() {
    let schema = |depth: usize| {
        let mut frames: Vec<(u16, &[u8])> = vec![(BEGIN, b""), (0, b"type"), (BEGIN, b""), (END, b"")];
        frames.extend(vec![(BEGIN, &b""[..]); depth]);
        frames.extend(vec![(END, &b""[..]); depth]);
        frames.push((END, b""));
        request::<SendSchema>(&[], &frames)
    };
    assert_eq!(schema(31).unwrap().schema.type_name, "type");
    assert_eq!(schema(32).unwrap_err().what, What::TooDeep { limit: 32 });
    assert_eq!(schema(100_000).unwrap_err().what, What::TooDeep { limit: 32 });
}

#[test]
fn a_structure_that_does_not_end() {
    let frames: &[(u16, &[u8])] =
        &[(0, b"m"), (BEGIN, b""), (0, &[0; 4]), (NULL, b""), (BEGIN, b""), (END, b"")];
    assert_eq!(fault::<AddIndex>(&[], frames), ("index_config", What::Missing));
    let ended: Vec<(u16, &[u8])> = [frames, &[(NULL, b""), (END, b"")]].concat();
    assert!(request::<AddIndex>(&[], &ended).is_ok());
}

#[test]
fn a_message_of_another_type() {
    let mut out = BytesMut::new();
    Get { name: "m".into(), key: Data::new(-7, b""), thread_id: 1 }.encode(1, 1, &mut out);
    let reader = MessageReader::new(out.freeze()).unwrap();
    let error = PutAll::decode(&reader).unwrap_err();
    assert_eq!((error.field, error.what), ("type", What::OtherMessage { id: Get::ID }));
}

#[test]
fn a_uuid_that_is_null_and_must_not_be() {
    let mut out = BytesMut::new();
    AddEntryListener::respond(&Registered { registration: uuid::Uuid::from_u128(1) }, 1, &mut out);
    out[6 + 13] = 1;
    let error = AddEntryListener::decode_response(&MessageReader::new(out.freeze()).unwrap()).unwrap_err();
    assert_eq!((error.field, error.what), ("registration", What::Null));
}

#[test]
fn keys_and_values_that_do_not_match() {
    let mut out = BytesMut::new();
    let id = <AddClusterViewListener as Raises<PartitionsView>>::EVENT_ID;
    let mut first = id.to_le_bytes().to_vec();
    first.extend_from_slice(&[0; 16]);
    push(&mut out, Flags::UNFRAGMENTED.0, &first);
    push(&mut out, BEGIN, b"");
    push(&mut out, END, b"");
    push(&mut out, FINAL, &[0; 17]);
    let reader = MessageReader::new(out.freeze()).unwrap();
    let error = <AddClusterViewListener as Raises<PartitionsView>>::decode_event(&reader).unwrap_err();
    assert_eq!((error.field, error.what), ("partitions", What::Unequal { keys: 1, values: 0 }));
}

/// Nulls take no bytes, so a page of a few bytes could announce billions of rows.
#[test]
fn a_page_cannot_announce_more_nulls_than_its_budget() {
    let page = |rows| Page { last: true, columns: vec![Column::Null(rows), Column::BigInt(vec![None; 5])] };
    let read = |rows| {
        let mut out = BytesMut::new();
        Fetch::respond(&Fetched { row_page: Some(page(rows)), error: None }, 1, &mut out);
        Fetch::decode_response(&MessageReader::new(out.freeze()).unwrap())
    };
    assert_eq!(read(60_000).unwrap().row_page, Some(page(60_000)));
    let error = read(i32::MAX as usize).unwrap_err();
    assert_eq!(error.field, "row_page");
    assert!(matches!(error.what, What::Count { count: 0x7fff_ffff, .. }));
}

#[test]
fn answers_are_short_writes() {
    let mut out = BytesMut::new();
    Get::respond(&Found { value: Some(Data::new(-11, b"\0\0\0\x05hello")) }, 1, &mut out);
    assert_eq!(out.len(), 6 + 13 + 6 + 8 + 9);
    out.clear();
    PublishAll::respond(&filbert_wire::messages::answers::Done {}, 1, &mut out);
    assert_eq!(out.len(), 6 + 13);
    // Several answers in one buffer.
    filbert_wire::messages::map::Values::respond(&Items { values: vec![] }, 2, &mut out);
    assert_eq!(out.len(), 19 + 19 + 12);
    assert_eq!(Found::FIXED, 0);
}
