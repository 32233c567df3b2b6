//! Items as bytes: for edges that leave the memory of the process, to disk today and to other members later.

use crate::processor::Failure;
use filbert_wire::{FromData, ToData};

/// Writes items as bytes and reads them back.
pub trait ItemCodec<T>: Send + Sync + 'static {
    /// Appends the item's bytes.
    fn encode(&self, item: &T, bytes: &mut Vec<u8>) -> Result<(), Failure>;

    /// The item of these bytes, all of which are its own.
    fn decode(&self, bytes: &[u8]) -> Result<T, Failure>;
}

/// Items as Hazelcast `Data`: everything that the grid can hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct DataCodec;

impl<T: ToData + FromData> ItemCodec<T> for DataCodec {
    fn encode(&self, item: &T, bytes: &mut Vec<u8>) -> Result<(), Failure> {
        bytes.extend_from_slice(item.to_data()?.as_bytes());
        Ok(())
    }

    fn decode(&self, bytes: &[u8]) -> Result<T, Failure> {
        Ok(T::from_bytes(bytes)?)
    }
}

/// A codec from two closures: `(|n: &u64, bytes| bytes.extend(n.to_le_bytes()), |bytes| ...)`.
impl<T, E, D> ItemCodec<T> for (E, D)
where
    E: Fn(&T, &mut Vec<u8>) + Send + Sync + 'static,
    D: Fn(&[u8]) -> Result<T, Failure> + Send + Sync + 'static,
{
    fn encode(&self, item: &T, bytes: &mut Vec<u8>) -> Result<(), Failure> {
        (self.0)(item, bytes);
        Ok(())
    }

    fn decode(&self, bytes: &[u8]) -> Result<T, Failure> {
        (self.1)(bytes)
    }
}

/// Writes many items, each behind its length.
pub(crate) fn encode_all<T: 'static>(
    codec: &dyn ItemCodec<T>,
    items: impl IntoIterator<Item = T>,
) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    for item in items {
        let begin = bytes.len();
        bytes.extend_from_slice(&[0; 4]);
        codec.encode(&item, &mut bytes)?;
        let length = u32::try_from(bytes.len() - begin - 4).map_err(|_| "an item of more than 4 GB")?;
        bytes[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
    }
    Ok(bytes)
}

/// Reads what [`encode_all`] wrote.
pub(crate) fn decode_all<T: 'static>(
    codec: &dyn ItemCodec<T>,
    mut bytes: &[u8],
    items: &mut impl Extend<T>,
) -> Result<(), Failure> {
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let (item, rest) = rest.split_at_checked(length).ok_or("items are cut off")?;
        items.extend([codec.decode(item)?]);
        bytes = rest;
    }
    if bytes.is_empty() { Ok(()) } else { Err("items are cut off".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_back_and_cut_bytes_are_refused() {
        let words = vec!["a".to_owned(), String::new(), "filbert".to_owned()];
        let bytes = encode_all(&DataCodec, words.clone()).unwrap();
        let mut back: Vec<String> = Vec::new();
        decode_all(&DataCodec, &bytes, &mut back).unwrap();
        assert_eq!(back, words);
        for cut in 1..bytes.len() {
            let mut some: Vec<String> = Vec::new();
            let whole = decode_all(&DataCodec, &bytes[..cut], &mut some).is_ok();
            assert!(!whole || some.len() < words.len());
        }
    }
}
