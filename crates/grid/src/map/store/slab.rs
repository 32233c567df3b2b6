//! Records in chunks: a slot is a number that stays the same while its entry lives, and growing copies nothing.
//!
//! Rejected: one growing vector. Its doubling copies everything at once and leaves half of it unused.

/// Records per chunk. The first chunk of a slab grows as it is used, so that many small maps cost little.
pub(super) const CHUNK: usize = 256;

/// Where an entry is, as long as it lives. After that the same number may mean another entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub(super) u32);

impl Slot {
    /// Its number, to keep beside an index or a cursor.
    pub fn number(self) -> u32 {
        self.0
    }

    pub(super) fn chunk(self) -> (usize, usize) {
        (self.0 as usize / CHUNK, self.0 as usize % CHUNK)
    }
}

/// An entry: key and value in one allocation. No bytes at all: the slot is free (a key has at least its header).
#[derive(Debug)]
pub(super) struct Record {
    pub(super) bytes: Box<[u8]>,
    /// Where the value begins; in a free slot, the next free one.
    pub(super) key_length: u32,
    /// One number about the entry; the partition says what it means.
    pub(super) note: u32,
}

impl Record {
    pub(super) fn is_free(&self) -> bool {
        self.bytes.is_empty()
    }
}

const NO_SLOT: u32 = u32::MAX;

/// Records by slot, with the free ones in a list that runs through themselves.
#[derive(Debug)]
pub(super) struct Slab {
    chunks: Vec<Vec<Record>>,
    /// Slots that were ever given out.
    end: u32,
    free: u32,
}

impl Slab {
    pub(super) fn new() -> Self {
        Self { chunks: Vec::new(), end: 0, free: NO_SLOT }
    }

    /// One more than the largest slot in use.
    pub(super) fn end(&self) -> u32 {
        self.end
    }

    pub(super) fn get(&self, slot: Slot) -> &Record {
        let (chunk, place) = slot.chunk();
        &self.chunks[chunk][place]
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> &mut Record {
        let (chunk, place) = slot.chunk();
        &mut self.chunks[chunk][place]
    }

    pub(super) fn insert(&mut self, record: Record) -> Slot {
        if self.free != NO_SLOT {
            let slot = Slot(self.free);
            let place = self.get_mut(slot);
            let next = place.key_length;
            *place = record;
            self.free = next;
            return slot;
        }
        let slot = Slot(self.end);
        assert!(slot.0 != NO_SLOT, "a partition of a map holds fewer than 2^32 entries");
        let (chunk, _) = slot.chunk();
        if chunk == self.chunks.len() {
            let capacity = if chunk == 0 { 0 } else { CHUNK };
            self.chunks.push(Vec::with_capacity(capacity));
        }
        self.chunks[chunk].push(record);
        self.end += 1;
        slot
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Record {
        let free = Record { bytes: Box::default(), key_length: self.free, note: 0 };
        self.free = slot.0;
        std::mem::replace(self.get_mut(slot), free)
    }
}
