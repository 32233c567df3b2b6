//! The entries that all contestants hold: keys are strings, values are bytes that begin with the number of their key.

use filbert_wire::{Data, FromData, Input, ToData};

/// What a key's number adds to an answer.
pub(super) type Sum = u64;

/// The keys, made before the clock runs: a program has its keys.
pub(super) fn keys(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("key:{number:010}")).collect()
}

/// A value of `size` bytes for the key of that number.
pub(super) fn value(number: usize, size: usize) -> Vec<u8> {
    let mut bytes = vec![0x5a; size];
    stamp(&mut bytes, number);
    bytes
}

/// Makes a value that of another key.
pub(super) fn stamp(value: &mut [u8], number: usize) {
    value[..8].copy_from_slice(&(number as u64).to_be_bytes());
}

/// What every contestant does with a key or value before it is stored.
#[inline]
pub(super) fn encode<T: ToData + ?Sized>(item: &T) -> Data {
    item.to_data().expect("strings and bytes have a form")
}

/// What every contestant does with the stored bytes of a value: the bytes of the program's own.
#[inline]
pub(super) fn decode(stored: &[u8]) -> Vec<u8> {
    let (header, payload) = stored.split_at(8);
    let type_id = i32::from_be_bytes(header[4..].try_into().expect("four bytes"));
    Vec::read_payload(type_id, &mut Input::new(payload)).expect("what was stored was encoded")
}

/// The number of the key that a decoded value belongs to.
#[inline]
pub(super) fn number(value: &[u8]) -> Sum {
    u64::from_be_bytes(value[..8].try_into().expect("values have at least eight bytes"))
}

/// A thing with entries that many threads use.
pub(super) trait Entries: Sync {
    /// The decoded value of a key.
    fn get(&self, key: &str) -> Option<Vec<u8>>;
    /// Gives a key a value.
    fn set(&self, key: &str, value: &[u8]);
}

/// The map under test. A read decodes in place, as the peers' do; when the partition is busy it waits for its turn.
impl Entries for filbert_grid::Map {
    #[inline]
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        let key = encode(key);
        match self.try_read(&key, |value| value.map(decode)) {
            Some(value) => value,
            None => {
                let found = filbert_grid::Map::get(self, key).wait().expect("the grid runs");
                found.map(|value| decode(value.as_bytes()))
            }
        }
    }

    #[inline]
    fn set(&self, key: &str, value: &[u8]) {
        filbert_grid::Map::set(self, encode(key), encode(value)).wait().expect("the grid runs");
    }
}

/// Gives every key its value.
pub(super) fn fill(entries: &dyn Entries, keys: &[String], size: usize) {
    for (number, key) in keys.iter().enumerate() {
        entries.set(key, &value(number, size));
    }
}
