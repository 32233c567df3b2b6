//! Bytes of the official Python client: its requests are decoded here, and what is written here was read by it.
//!
//! `vectors/vectors.py` says how the files are made.

mod support;

use bytes::{Bytes, BytesMut};
use filbert_wire::field::FieldType;
use filbert_wire::message::{FieldRow, MessageReader, Version, sample};
use filbert_wire::messages::MESSAGES;
use filbert_wire::messages::error::{ErrorCode, ErrorResponse};
use std::fmt::Write;
use std::path::PathBuf;
use support::{VERSIONS, parts, random};

const REQUESTS: &str = include_str!("vectors/requests.txt");
const ANSWERS: &str = include_str!("vectors/answers.txt");

#[test]
fn requests_of_the_python_client_are_understood() {
    let mut read = 0;
    let mut without = Vec::new();
    for line in REQUESTS.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let &[id, name, hex, said] = columns.as_slice() else { panic!("{line}") };
        let row = MESSAGES.iter().find(|row| row.name == name).unwrap();
        assert_eq!(format!("{:06x}", row.id), id);
        if hex == "no codec" {
            without.push(name);
            continue;
        }
        let sent = unhex(hex);
        let reader = MessageReader::new(sent.clone()).unwrap();
        let described = (row.request.describe)(&reader).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(agrees(said, &described), "{name}\n  sent {said}\n  read {described}");
        let same = VERSIONS.iter().any(|version| {
            let mut again = BytesMut::new();
            (row.request.transcode)(&reader, *version, &mut again).unwrap();
            again == sent
        });
        assert!(same, "{name} is not written as the client writes it");
        read += 1;
    }
    assert_eq!(read, 228 * 3, "the client has codecs for 228 of the messages");
    assert_eq!(REQUESTS.lines().count() - read, without.len());
}

/// What we write is still what the client has read.
#[test]
fn answers_are_as_the_python_client_read_them() {
    let expected = answers();
    if std::env::var_os("FILBERT_WRITE_VECTORS").is_some() {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
        std::fs::write(folder.join("table.json"), table()).unwrap();
        std::fs::write(folder.join("answers.txt"), expected.join("\n") + "\n").unwrap();
        return;
    }
    assert_eq!(include_str!("vectors/table.json"), table(), "run vectors.py again: the table has changed");
    assert_eq!(ANSWERS.lines().count(), expected.len());
    let mut read = 0;
    for (line, expected) in ANSWERS.lines().zip(&expected) {
        let (ours, verdict) = line.rsplit_once('\t').unwrap();
        assert_eq!(ours, expected);
        let by_client = verdict.starts_with("read by ");
        assert!(by_client || ["no codec", "not looked at"].contains(&verdict), "{line}");
        read += usize::from(by_client);
    }
    assert!(read > 500, "only {read} answers were read");
}

/// A number, a name, bytes and what they say, of two responses and events of each kind and of every error.
fn answers() -> Vec<String> {
    let mut random = random(5);
    let mut lines = Vec::new();
    for row in MESSAGES {
        for part in parts(row).skip(1) {
            for correlation in 0..2 {
                let (mut sampled, mut ours) = (BytesMut::new(), BytesMut::new());
                sample(part, Version::NEWEST, correlation, &mut random, &mut sampled);
                let reader = MessageReader::new(sampled.freeze()).unwrap();
                (part.transcode)(&reader, Version::NEWEST, &mut ours).unwrap();
                let said = (part.describe)(&reader).unwrap();
                lines.push(format!("{:06x}\t{} {}\t{}\t{said}", part.id, row.name, part.name, hex(&ours)));
            }
        }
    }
    for code in ErrorCode::ALL {
        let mut ours = BytesMut::new();
        ErrorResponse::new(*code, "it did not work").encode(7, &mut ours);
        let decoded = ErrorResponse::decode(&MessageReader::new(ours.clone().freeze()).unwrap()).unwrap();
        assert_eq!(decoded, ErrorResponse::new(*code, "it did not work"));
        let (number, class) = (*code as i32, code.class_name());
        lines.push(format!("000000\terror {number}\t{}\t{number} {class}: it did not work", hex(&ours)));
    }
    lines
}

/// The table as JSON.
fn table() -> String {
    let mut out = String::from("[\n");
    for (place, row) in MESSAGES.iter().enumerate() {
        let mut parts: Vec<String> = Vec::new();
        for part in support::parts(row) {
            let mut empty = BytesMut::new();
            sample(part, Version::NEWEST, 0, &mut random(9), &mut empty);
            let said = (part.describe)(&MessageReader::new(empty.freeze()).unwrap()).unwrap();
            let name = said.split([' ', '{']).next().unwrap().to_owned();
            parts.push(format!(
                r#"{{"id": {}, "type": "{name}", "fields": {}}}"#,
                part.id,
                fields(part.fields)
            ));
        }
        let name = parts[0].split('"').nth(5).unwrap().to_owned();
        let _ = write!(
            out,
            r#"{{"id": {}, "name": "{}", "type": "{name}", "request": {}, "response": {}, "events": [{}]}}"#,
            row.id,
            row.name,
            fields(row.request.fields),
            parts[1],
            parts[2..].join(", ")
        );
        out.push_str(if place + 1 < MESSAGES.len() { ",\n" } else { "\n" });
    }
    out + "]\n"
}

fn fields(rows: &[FieldRow]) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|row| format!(r#"{{"name": "{}", "type": {}}}"#, row.name, kind(&row.kind)))
        .collect();
    format!("[{}]", rows.join(", "))
}

fn kind(of: &FieldType) -> String {
    match of {
        FieldType::Nullable(inner) => format!(r#"{{"nullable": {}}}"#, kind(inner)),
        FieldType::List(item) => format!(r#"{{"list": {}}}"#, kind(item)),
        FieldType::Pair(first, second) => format!(r#"{{"pair": [{}, {}]}}"#, kind(first), kind(second)),
        FieldType::Custom(name, rows) => format!(r#"{{"custom": ["{name}", {}]}}"#, fields(rows)),
        FieldType::Keyed => r#""keyed""#.to_owned(),
        other => format!(r#""{other}""#),
    }
}

/// Whether `text` is `pattern`, in which an ellipsis stands for anything.
fn agrees(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('…');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.is_empty()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Bytes {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}
