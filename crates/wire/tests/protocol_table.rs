//! The table of messages: what it says is consistent, complete, and what the declared codecs do.

mod support;

use bytes::BytesMut;
use filbert_wire::field::FieldType;
use filbert_wire::message::{MessageReader, Version, sample};
use filbert_wire::messages::MESSAGES;
use std::collections::HashSet;
use support::{VERSIONS, frames, parts, push, random};

#[test]
fn ids_and_names_are_unique_and_in_order() {
    let mut names = HashSet::new();
    let mut last = None;
    for row in MESSAGES {
        assert!(last < Some(row.id), "{} is out of order", row.name);
        last = Some(row.id);
        assert!(names.insert(row.name), "{} twice", row.name);
        assert!(row.name.starts_with(&format!("{}.", row.service)), "{}", row.name);
    }
}

#[test]
fn an_id_is_service_method_and_part() {
    let services = [
        ("Client", 0x00),
        ("Map", 0x01),
        ("MultiMap", 0x02),
        ("Queue", 0x03),
        ("Topic", 0x04),
        ("List", 0x05),
        ("Set", 0x06),
        ("FencedLock", 0x07),
        ("ExecutorService", 0x08),
        ("AtomicLong", 0x09),
        ("AtomicRef", 0x0a),
        ("CountDownLatch", 0x0b),
        ("Semaphore", 0x0c),
        ("ReplicatedMap", 0x0d),
        ("Ringbuffer", 0x17),
        ("DurableExecutor", 0x18),
        ("ScheduledExecutor", 0x1a),
        ("FlakeIdGenerator", 0x1c),
        ("PNCounter", 0x1d),
        ("CPGroup", 0x1e),
        ("CPSession", 0x1f),
        ("Sql", 0x21),
    ];
    for row in MESSAGES {
        let (_, number) = services.iter().find(|(name, _)| *name == row.service).unwrap();
        assert_eq!((row.id >> 16, row.id & 0xff), (*number, 0), "{}", row.name);
        for (place, part) in parts(row).enumerate() {
            assert_eq!(part.id, row.id | place as u32, "{} {}", row.name, part.name);
        }
    }
}

/// What the Python and the Node.js client send for the structures that are served.
#[test]
fn all_messages_that_the_clients_need_are_there() {
    let ranges: &[&[std::ops::RangeInclusive<u32>]] = &[
        &[0x0001..=0x0005, 0x0008..=0x000c, 0x000e..=0x000f, 0x0013..=0x0015],
        &[0x0101..=0x011a, 0x011d..=0x012e, 0x0130..=0x013f, 0x0143..=0x0147],
        &[0x0201..=0x0217],
        &[0x0301..=0x0314],
        &[0x0401..=0x0404],
        &[0x0501..=0x0517],
        &[0x0601..=0x060d],
        &[0x0701..=0x0704],
        &[0x0801..=0x0806],
        &[0x0901..=0x0907, 0x0a01..=0x0a05, 0x0b01..=0x0b05, 0x0c01..=0x0c07],
        &[0x0d01..=0x0d12],
        &[0x1701..=0x1709],
        &[0x1801..=0x1806, 0x1a01..=0x1a12],
        &[0x1c01..=0x1c01, 0x1d01..=0x1d03],
        &[0x1e01..=0x1e02, 0x1f01..=0x1f04],
        &[0x2103..=0x2105],
    ];
    let there: HashSet<u32> = MESSAGES.iter().map(|row| row.id >> 8).collect();
    for method in ranges.iter().flat_map(|service| service.iter().cloned().flatten()) {
        assert!(there.contains(&method), "{method:#06x} is missing");
    }
}

#[test]
fn fields_that_came_later_stand_behind_those_that_did_not() {
    fn check(place: &str, fields: &[filbert_wire::message::FieldRow]) {
        for fixed in [true, false] {
            let since: Vec<_> = fields
                .iter()
                .filter(|field| (field.kind.fixed() > 0) == fixed)
                .map(|field| field.since)
                .collect();
            assert!(since.is_sorted(), "{place}");
        }
        for field in fields {
            inner(&format!("{place}.{}", field.name), &field.kind);
        }
    }
    fn inner(place: &str, kind: &FieldType) {
        match kind {
            FieldType::Nullable(kind) | FieldType::List(kind) => inner(place, kind),
            FieldType::Pair(first, second) => {
                inner(place, first);
                inner(place, second);
            }
            FieldType::Custom(_, fields) => check(place, fields),
            _ => {}
        }
    }
    for row in MESSAGES {
        for part in parts(row) {
            check(row.name, part.fields);
        }
    }
}

/// The table's own encoder and the declared codecs agree on every byte, in the layout of every version.
#[test]
fn what_the_table_writes_the_codec_reads_and_writes_again() {
    let mut random = random(1);
    for row in MESSAGES {
        for part in parts(row) {
            for version in VERSIONS {
                for correlation in 0..20 {
                    let (mut sampled, mut again) = (BytesMut::new(), BytesMut::new());
                    sample(part, version, correlation, &mut random, &mut sampled);
                    let reader = MessageReader::new(sampled.clone().freeze()).unwrap();
                    assert_eq!((reader.id(), reader.correlation()), (part.id, correlation));
                    (part.transcode)(&reader, version, &mut again)
                        .unwrap_or_else(|error| panic!("{} {}: {error}", row.name, part.name));
                    assert_eq!(again, sampled, "{} {} as of {version}", row.name, part.name);
                }
            }
        }
    }
}

/// A message of an older sender has the defaults of what came later, and writing it in full does not change what it says.
#[test]
fn an_older_message_means_the_same_when_written_in_full() {
    let mut random = random(2);
    for row in MESSAGES {
        for part in parts(row) {
            let (mut old, mut full) = (BytesMut::new(), BytesMut::new());
            sample(part, Version::V2_0, 7, &mut random, &mut old);
            let old = MessageReader::new(old.freeze()).unwrap();
            (part.transcode)(&old, Version::NEWEST, &mut full).unwrap();
            let full = MessageReader::new(full.freeze()).unwrap();
            assert_eq!((part.describe)(&old).unwrap(), (part.describe)(&full).unwrap(), "{}", row.name);
        }
    }
}

/// Bytes and frames that a newer sender appends are passed over, at the top and inside of structures.
#[test]
fn what_a_newer_sender_appends_is_ignored() {
    let mut random = random(3);
    for row in MESSAGES {
        for part in parts(row) {
            let mut plain = BytesMut::new();
            sample(part, Version::NEWEST, 7, &mut random, &mut plain);
            let mut longer = BytesMut::new();
            for (place, frame) in frames(&plain).enumerate() {
                let flags = u16::from_le_bytes([frame[4], frame[5]]) & !0x2000;
                let mut payload = frame[6..].to_vec();
                if place == 0 {
                    payload.extend_from_slice(&[0xab; 21]);
                }
                push(&mut longer, flags, &payload);
            }
            push(&mut longer, 0x1000, &[]);
            push(&mut longer, 0x0400, &[]);
            push(&mut longer, 0x0800, &[]);
            push(&mut longer, 0x2000, b"newer");
            let (plain, longer) = (plain.freeze(), longer.freeze());
            let describe = |bytes| (part.describe)(&MessageReader::new(bytes).unwrap()).unwrap();
            assert_eq!(describe(plain), describe(longer), "{}", row.name);
        }
    }
}
