//! Items in order, in chunks that copies share.
//!
//! A copy costs one count per chunk, and whoever changes a chunk that a copy still sees copies that chunk first. So a scan that takes
//! many turns works on the items as they were when it began, while others change them: a long look is as atomic as a short one.
//!
//! Rejected: one `VecDeque` (a scan that yields sees half of a change, or the strand is held for the whole scan), a tree (finding
//! one of a thousand chunks takes less than a microsecond, and there is nothing to balance).

use crate::allowance::Weighs;
use filbert_wire::Data;
use std::collections::VecDeque;
use std::sync::Arc;

/// The most items of one chunk.
pub(super) const CHUNK: usize = 1024;

type Chunk = VecDeque<Data>;

/// Items in order; cheap to copy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sequence {
    /// None is empty.
    chunks: VecDeque<Arc<Chunk>>,
    length: usize,
    /// What its items take.
    bytes: usize,
}

impl Sequence {
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// What its items take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The chunk that holds the item at `index`, and its place there; behind the last chunk when there is no such item.
    pub(super) fn locate(&self, mut index: usize) -> (usize, usize) {
        for (number, chunk) in self.chunks.iter().enumerate() {
            if index < chunk.len() {
                return (number, index);
            }
            index -= chunk.len();
        }
        (self.chunks.len(), index)
    }

    /// The items of a chunk.
    pub(super) fn chunk(&self, number: usize) -> Option<&Chunk> {
        self.chunks.get(number).map(|chunk| &**chunk)
    }

    fn chunk_mut(&mut self, number: usize) -> &mut Chunk {
        Arc::make_mut(&mut self.chunks[number])
    }

    pub(crate) fn front(&self) -> Option<&Data> {
        self.chunks.front()?.front()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Data> {
        let (chunk, at) = self.locate(index);
        self.chunks.get(chunk)?.get(at)
    }

    pub(crate) fn push_back(&mut self, item: Data) {
        if self.chunks.back().is_none_or(|last| last.len() >= CHUNK) {
            self.chunks.push_back(Arc::default());
        }
        let last = self.chunks.len() - 1;
        self.bytes += item.weight();
        self.chunk_mut(last).push_back(item);
        self.length += 1;
    }

    pub(crate) fn pop_front(&mut self) -> Option<Data> {
        if self.is_empty() {
            return None;
        }
        let item = self.chunk_mut(0).pop_front();
        self.length -= 1;
        self.bytes -= item.weight();
        if self.chunks[0].is_empty() {
            self.chunks.pop_front();
        }
        item
    }

    /// Puts `items` before the one at `index`; at the end when there is none.
    pub(crate) fn insert_all(&mut self, index: usize, items: impl IntoIterator<Item = Data>) {
        if index >= self.length {
            items.into_iter().for_each(|item| self.push_back(item));
            return;
        }
        let (number, at) = self.locate(index);
        let behind = self.chunk_mut(number).split_off(at);
        let after = self.chunks.split_off(number + 1);
        if at == 0 {
            self.chunks.pop_back();
        }
        items.into_iter().for_each(|item| self.push_back(item));
        self.chunks.push_back(Arc::new(behind));
        self.chunks.extend(after);
        self.join_small(number);
    }

    /// Takes the item at `index` out.
    pub(crate) fn remove(&mut self, index: usize) -> Option<Data> {
        if index >= self.length {
            return None;
        }
        let (number, at) = self.locate(index);
        let item = self.chunk_mut(number).remove(at);
        self.length -= 1;
        self.bytes -= item.weight();
        if self.chunks[number].is_empty() {
            self.chunks.remove(number);
        } else {
            self.join_small(number);
        }
        item
    }

    /// Replaces the item at `index`; the one that was there.
    pub(crate) fn set(&mut self, index: usize, item: Data) -> Option<Data> {
        if index >= self.length {
            return None;
        }
        let (number, at) = self.locate(index);
        let weight = item.weight();
        let place = self.chunk_mut(number).get_mut(at)?;
        let before = std::mem::replace(place, item);
        self.bytes = self.bytes - before.weight() + weight;
        Some(before)
    }

    /// Takes the first `count` chunks away; for whoever gives up many items, a few at a time.
    pub(super) fn drop_chunks(&mut self, count: usize) {
        for _ in 0..count {
            let Some(gone) = self.chunks.pop_front() else { return };
            self.length -= gone.len();
            self.bytes -= gone.iter().map(Weighs::weight).sum::<usize>();
        }
    }

    /// Makes one of a chunk and the next, and of that and the one after, when they are small: many removals leave no row of tiny ones.
    fn join_small(&mut self, number: usize) {
        for number in [number + 1, number] {
            let sizes = (self.chunk(number).map(Chunk::len), self.chunk(number + 1).map(Chunk::len));
            if let (Some(here), Some(next)) = sizes
                && here + next <= CHUNK / 2
                && let Some(next) = self.chunks.remove(number + 1)
            {
                self.chunk_mut(number).extend(Arc::unwrap_or_clone(next));
            }
        }
    }

    #[cfg(test)]
    pub(super) fn check(&self) {
        assert!(self.chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= CHUNK));
        assert_eq!(self.chunks.iter().map(|chunk| chunk.len()).sum::<usize>(), self.length);
        let items = self.chunks.iter().flat_map(|chunk| chunk.iter());
        assert_eq!(items.map(Weighs::weight).sum::<usize>(), self.bytes);
    }
}

impl FromIterator<Data> for Sequence {
    fn from_iter<I: IntoIterator<Item = Data>>(items: I) -> Self {
        let mut sequence = Self::default();
        items.into_iter().for_each(|item| sequence.push_back(item));
        sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn data(number: u32) -> Data {
        Data::new(-7, &number.to_be_bytes())
    }

    fn all(sequence: &Sequence) -> Vec<Data> {
        sequence.chunks.iter().flat_map(|chunk| chunk.iter().cloned()).collect()
    }

    #[derive(Debug, Clone)]
    enum Change {
        Push(u16),
        Pop(u16),
        Insert(u16, u16),
        Remove(u16, u16),
        Set(u16),
        Copy,
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            (1..1500_u16).prop_map(Change::Push),
            (1..1500_u16).prop_map(Change::Pop),
            (any::<u16>(), 1..1500_u16).prop_map(|(at, count)| Change::Insert(at, count)),
            (any::<u16>(), 1..800_u16).prop_map(|(at, count)| Change::Remove(at, count)),
            any::<u16>().prop_map(Change::Set),
            Just(Change::Copy),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        /// Against a plain vector; and a copy keeps what it saw.
        #[test]
        fn it_is_a_vector_whose_copies_do_not_change(changes in prop::collection::vec(change(), 1..25)) {
            let (mut sequence, mut model) = (Sequence::default(), Vec::new());
            let mut copies = Vec::new();
            let mut next = 0;
            let mut fresh = || { next += 1; data(next) };
            for change in changes {
                match change {
                    Change::Push(count) => (0..count).for_each(|_| {
                        let item = fresh();
                        sequence.push_back(item.clone());
                        model.push(item);
                    }),
                    Change::Pop(count) => {
                        let count = usize::from(count).min(model.len());
                        let popped: Vec<_> = (0..count).filter_map(|_| sequence.pop_front()).collect();
                        prop_assert_eq!(popped, model.drain(..count).collect::<Vec<_>>());
                    }
                    Change::Insert(at, count) => {
                        let at = usize::from(at) % (model.len() + 1);
                        let items: Vec<_> = (0..count).map(|_| fresh()).collect();
                        sequence.insert_all(at, items.clone());
                        model.splice(at..at, items);
                    }
                    Change::Remove(at, count) => {
                        for _ in 0..count {
                            if model.is_empty() { break }
                            let at = usize::from(at) % model.len();
                            prop_assert_eq!(sequence.remove(at), Some(model.remove(at)));
                        }
                    }
                    Change::Set(at) if !model.is_empty() => {
                        let (at, item) = (usize::from(at) % model.len(), fresh());
                        let before = std::mem::replace(&mut model[at], item.clone());
                        prop_assert_eq!(sequence.set(at, item), Some(before));
                    }
                    Change::Set(_) => prop_assert_eq!(sequence.set(0, fresh()), None),
                    Change::Copy => copies.push((sequence.clone(), model.clone())),
                }
                sequence.check();
                prop_assert_eq!(sequence.len(), model.len());
                prop_assert_eq!(sequence.front(), model.first());
                let middle = model.len() / 2;
                prop_assert_eq!(sequence.get(middle), model.get(middle));
            }
            prop_assert_eq!(all(&sequence), model);
            for (copy, model) in copies {
                prop_assert_eq!(all(&copy), model);
            }
        }
    }
}
