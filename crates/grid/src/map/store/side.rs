//! What only some entries have, by their slot: chunks that exist only where an entry has something.

use super::slab::{CHUNK, Slot};

/// A table beside the records.
#[derive(Debug)]
pub(crate) struct Side<T> {
    chunks: Vec<Option<Chunk<T>>>,
    len: usize,
}

#[derive(Debug)]
struct Chunk<T> {
    used: usize,
    items: Box<[Option<T>]>,
}

impl<T> Side<T> {
    pub(crate) fn new() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }

    /// How many entries have something.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn get(&self, slot: Slot) -> Option<&T> {
        let (chunk, place) = slot.chunk();
        self.chunks.get(chunk)?.as_ref()?.items[place].as_ref()
    }

    pub(crate) fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        let (chunk, place) = slot.chunk();
        self.chunks.get_mut(chunk)?.as_mut()?.items[place].as_mut()
    }

    pub(crate) fn set(&mut self, slot: Slot, item: T) {
        let (chunk, place) = slot.chunk();
        if chunk >= self.chunks.len() {
            self.chunks.resize_with(chunk + 1, || None);
        }
        let chunk = self.chunks[chunk].get_or_insert_with(|| Chunk {
            used: 0,
            items: std::iter::repeat_with(|| None).take(CHUNK).collect(),
        });
        if chunk.items[place].replace(item).is_none() {
            chunk.used += 1;
            self.len += 1;
        }
    }

    pub(crate) fn remove(&mut self, slot: Slot) {
        let (number, place) = slot.chunk();
        let Some(Some(chunk)) = self.chunks.get_mut(number) else { return };
        if chunk.items[place].take().is_some() {
            chunk.used -= 1;
            self.len -= 1;
            if chunk.used == 0 {
                self.chunks[number] = None;
            }
        }
    }

    /// The first slot from `from` on that has something, with it; looks at no more than `limit` slots (a chunk that does not exist
    /// counts as one), and otherwise says where to go on. `Err(None)`: there is nothing further on.
    pub(crate) fn next(&self, from: u32, limit: &mut usize) -> Result<(Slot, &T), Option<u32>> {
        let (mut number, mut place) = Slot(from).chunk();
        while let Some(chunk) = self.chunks.get(number) {
            let items = chunk.as_ref().map_or(&[][..], |chunk| &chunk.items);
            for (at, item) in items.iter().enumerate().skip(place) {
                let slot = Slot((number * CHUNK + at) as u32);
                if *limit == 0 {
                    return Err(Some(slot.0));
                }
                *limit -= 1;
                if let Some(item) = item {
                    return Ok((slot, item));
                }
            }
            (number, place) = (number + 1, 0);
            if *limit == 0 {
                return Err(Some((number * CHUNK) as u32));
            }
            *limit -= 1;
        }
        Err(None)
    }
}
