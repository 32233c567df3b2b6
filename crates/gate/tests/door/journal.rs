//! The journal of a map, as Java's client reads it: partition by partition, from a sequence on.

use crate::line::{Client, Member, int};
use filbert_grid::{Function, FunctionError, GridSettings, JournalSettings, MapSettings};
use filbert_wire::messages::client::Ping;
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::map::{EventJournalRead, EventJournalSubscribe, JournalRead, Set};
use filbert_wire::{Data, ToData};

/// All tests write to the partition of this key.
const KEY: i32 = 1;

fn member() -> Member {
    let mut settings = GridSettings::default();
    // Ten changes for each partition.
    let journal = Some(JournalSettings { capacity: 2_710, ..JournalSettings::default() });
    settings.maps.set("j", MapSettings { journal, ..MapSettings::default() });
    Member::with_grid(settings)
}

fn partition() -> i32 {
    int(KEY).partition().number() as i32
}

fn read(start_sequence: i64, min_size: i32, max_size: i32) -> EventJournalRead {
    EventJournalRead {
        name: "j".into(),
        start_sequence,
        min_size,
        max_size,
        predicate: None,
        projection: None,
    }
}

fn set(client: &mut Client, value: i32) {
    let (name, key, value) = ("j".into(), int(KEY), int(value));
    client.call(&Set { name, key, value, thread_id: 1, ttl_ms: 0 }).unwrap();
}

/// The kinds of the events: the first field, behind the class of the object.
fn kinds(read: &JournalRead) -> Vec<i32> {
    let kind = |item: &Data| i32::from_be_bytes(item.payload()[9..13].try_into().unwrap());
    read.items.iter().map(kind).collect()
}

#[test]
fn a_client_reads_the_changes_of_a_partition() {
    let member = member();
    let mut client = member.client();
    let subscribe = EventJournalSubscribe { name: "j".into() };
    let empty = client.call_on(partition(), &subscribe).unwrap();
    assert_eq!((empty.oldest_sequence, empty.newest_sequence), (0, -1));
    assert_eq!(client.call_on(partition(), &read(0, 0, 5)).unwrap().next_seq, 0);

    set(&mut client, 1);
    set(&mut client, 2);
    member.grid.map("j").remove(int(KEY)).wait().unwrap();
    let three = client.call_on(partition(), &subscribe).unwrap();
    assert_eq!((three.oldest_sequence, three.newest_sequence), (0, 2));
    let all = client.call_on(partition(), &read(0, 1, 10)).unwrap();
    assert_eq!((kinds(&all), all.read_count, all.next_seq), (vec![1, 4, 2], 3, 3));
    assert_eq!(all.item_seqs, Some(vec![0, 1, 2]));
    let one = client.call_on(partition(), &read(1, 1, 1)).unwrap();
    assert_eq!((kinds(&one), one.read_count, one.next_seq), (vec![4], 1, 2));

    // Too early is from the oldest on, too late from the next one on.
    (0..20).for_each(|value| set(&mut client, value));
    let late = client.call_on(partition(), &read(-5, 0, 3)).unwrap();
    assert_eq!((late.item_seqs, late.next_seq), (Some(vec![13, 14, 15]), 16));
    let lost = |item: &Data| item.payload().last() == Some(&1);
    assert_eq!(late.items.iter().map(lost).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(client.call_on(partition(), &read(1_000, 0, 3)).unwrap().next_seq, 23);
}

#[test]
fn a_read_waits_for_its_least_and_holds_nothing_up() {
    let member = member();
    let (mut reader, mut writer) = (member.client(), member.client());
    let two = reader.send_to(partition(), &read(0, 2, 10));
    let one = reader.send_to(partition(), &read(0, 1, 10));
    set(&mut writer, 1);
    assert_eq!(reader.answer::<EventJournalRead>(one).unwrap().next_seq, 1);
    reader.call(&Ping {}).unwrap();
    set(&mut writer, 2);
    let both = reader.answer::<EventJournalRead>(two).unwrap();
    assert_eq!((kinds(&both), both.next_seq), (vec![1, 4], 2));
    // One that waits when the map goes is told.
    let waits = reader.send_to(partition(), &read(2, 1, 10));
    reader.call(&Ping {}).unwrap();
    member.grid.structures().destroy(filbert_grid::Service::Map, "j");
    let told = reader.answer::<EventJournalRead>(waits).unwrap_err();
    assert_eq!(told.errors[0].code, ErrorCode::DistributedObjectDestroyed as i32);
}

/// Whether a change gave a key a value; what it was before.
struct Kind;

impl Function for Kind {
    fn apply(&self, event: Option<&Data>) -> Result<Option<Data>, FunctionError> {
        let event = event.ok_or("there is no event")?;
        let kind = i32::from_be_bytes(event.payload()[9..13].try_into().map_err(|_| "too short")?);
        Ok(Some(kind.to_data().map_err(|error| error.to_string())?))
    }
}

struct IsUpdate;

impl Function for IsUpdate {
    fn apply(&self, event: Option<&Data>) -> Result<Option<Data>, FunctionError> {
        let kind = Kind.apply(event)?;
        Ok(Some((kind == Some(int(4))).to_data().map_err(|error| error.to_string())?))
    }
}

#[test]
fn registered_functions_choose_and_change_what_is_read() {
    let member = member();
    member.grid.registry().add_function_class(66, 1, |_| Ok(IsUpdate));
    member.grid.registry().add_function_class(66, 2, |_| Ok(Kind));
    let mut client = member.client();
    (0..3).for_each(|value| set(&mut client, value));
    let code =
        |class: i32| Some(Data::new(-2, &[&[1][..], &66_i32.to_be_bytes(), &class.to_be_bytes()].concat()));
    let chosen = EventJournalRead { predicate: code(1), projection: code(2), ..read(0, 2, 10) };
    let chosen = client.call_on(partition(), &chosen).unwrap();
    assert_eq!((chosen.items, chosen.item_seqs), (vec![int(4), int(4)], Some(vec![1, 2])));
    assert_eq!((chosen.read_count, chosen.next_seq), (3, 3));

    let code_of = |read: EventJournalRead| {
        let mut client = member.client();
        client.call_on(partition(), &read).unwrap_err().errors[0].code
    };
    let unknown = EventJournalRead { predicate: code(9), ..read(0, 1, 1) };
    assert_eq!(code_of(unknown), ErrorCode::Serialization as i32);
    for wrong in [read(0, -1, 5), read(0, 5, 1), read(0, 0, -1)] {
        assert_eq!(code_of(wrong), ErrorCode::IllegalArgument as i32);
    }
}

#[test]
fn a_map_without_a_journal_says_what_to_set() {
    let member = member();
    let mut client = member.client();
    let subscribe = EventJournalSubscribe { name: "other".into() };
    let refused = client.call_on(3, &subscribe).unwrap_err();
    let said = refused.errors[0].message.clone().unwrap_or_default();
    assert_eq!(refused.errors[0].code, ErrorCode::UnsupportedOperation as i32);
    assert!(said.to_string().contains("journal.capacity"), "{said:?}");
    let refused = client.call_on(3, &EventJournalRead { name: "other".into(), ..read(0, 1, 1) }).unwrap_err();
    assert_eq!(refused.errors[0].code, ErrorCode::UnsupportedOperation as i32);
    let nowhere = client.call_on(-1, &EventJournalSubscribe { name: "j".into() }).unwrap_err();
    assert_eq!(nowhere.errors[0].code, ErrorCode::IllegalArgument as i32);
}
