//! What waits to be written to a store: the last change of each key, the one that is due first in front. No thread, no clock, no store.
//!
//! Changes come due in the order in which they came, but for those that a store refused: they are due later, and hold up no other. One batch is written at a time, so changes of a key reach the store in their order. A change of a key that waits takes its place;
//! one of a key that is being written waits for the next batch.

use filbert_wire::Data;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// What waits, and what is being written. `T` is whoever is told of the end.
#[derive(Debug)]
pub(super) struct Queue<T> {
    waiting: HashMap<Data, Waiting<T>>,
    /// The same keys, by when they are due and their number. What was hurried is due at zero.
    order: BTreeMap<(Duration, u64), Data>,
    writing: HashMap<Data, Option<Data>>,
    next: u64,
}

#[derive(Debug)]
struct Waiting<T> {
    /// None takes the key away.
    value: Option<Data>,
    told: Vec<T>,
}

/// A change that is taken out to be written.
#[derive(Debug)]
pub(super) struct Taken<T> {
    pub(super) number: u64,
    pub(super) key: Data,
    /// None takes the key away.
    pub(super) value: Option<Data>,
    pub(super) told: Vec<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        let (waiting, order, writing) = (HashMap::new(), BTreeMap::new(), HashMap::new());
        Self { waiting, order, writing, next: 0 }
    }
}

impl<T> Queue<T> {
    /// How many keys have a change that is not written.
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.writing.len()
    }

    /// `key` has another value, or none; to be written at `due`, or with the change that waits already.
    pub(super) fn put(&mut self, key: &Data, value: Option<Data>, due: Duration, told: Option<T>) {
        if let Some(waiting) = self.waiting.get_mut(key) {
            waiting.value = value;
            waiting.told.extend(told);
            return;
        }
        let number = self.next;
        self.next += 1;
        self.order.insert((due, number), key.clone());
        self.waiting.insert(key.clone(), Waiting { value, told: told.into_iter().collect() });
    }

    /// What the store will have for `key` when all is written; `None` when it has that already.
    pub(super) fn find(&self, key: &Data) -> Option<&Option<Data>> {
        self.waiting.get(key).map(|waiting| &waiting.value).or_else(|| self.writing.get(key))
    }

    /// When the next change is to be written: at once when it was hurried.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.order.first_key_value().map(|((due, _), _)| *due)
    }

    /// Takes out what is to be written at `now`, `most` changes at most; they count as being written until [`Queue::wrote`].
    pub(super) fn take(&mut self, now: Duration, most: usize) -> Vec<Taken<T>> {
        let mut taken = Vec::new();
        while taken.len() < most
            && self.next_due().is_some_and(|due| due <= now)
            && let Some(((_, number), key)) = self.order.pop_first()
            && let Some(Waiting { value, told }) = self.waiting.remove(&key)
        {
            self.writing.insert(key.clone(), value.clone());
            taken.push(Taken { number, key, value, told });
        }
        taken
    }

    /// The batch that was taken out is over.
    pub(super) fn wrote(&mut self) {
        self.writing.clear();
    }

    /// A change could not be written: it waits again, until `due`, unless the key has changed meanwhile.
    pub(super) fn again(&mut self, change: Taken<T>, due: Duration) {
        let Taken { key, value, told, .. } = change;
        match self.waiting.get_mut(&key) {
            Some(newer) => newer.told.extend(told),
            None => {
                self.put(&key, value, due, None);
                if let Some(waiting) = self.waiting.get_mut(&key) {
                    waiting.told = told;
                }
            }
        }
    }

    /// Nothing that waits now waits for its time; the number that says when it is written.
    pub(super) fn hurry(&mut self) -> u64 {
        let order = std::mem::take(&mut self.order);
        self.order = order.into_iter().map(|((_, number), key)| ((Duration::ZERO, number), key)).collect();
        self.next
    }

    /// True when all changes that came before [`Queue::hurry`] gave `number` are written, or were refused.
    pub(super) fn is_over(&self, number: u64) -> bool {
        let hurried = (Duration::ZERO, 0)..(Duration::ZERO, number);
        self.writing.is_empty() && self.order.range(hurried).next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(number: i32) -> Data {
        Data::new(-7, &number.to_be_bytes())
    }

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn keys(taken: &[Taken<u8>]) -> Vec<Data> {
        taken.iter().map(|taken| taken.key.clone()).collect()
    }

    #[test]
    fn the_last_change_of_a_key_is_written_in_the_place_of_the_first() {
        let mut queue = Queue::default();
        queue.put(&data(1), Some(data(10)), at(5), Some(1));
        queue.put(&data(2), Some(data(20)), at(6), None);
        queue.put(&data(1), None, at(9), Some(2));
        assert_eq!((queue.len(), queue.find(&data(1)), queue.next_due()), (2, Some(&None), Some(at(5))));
        assert!(queue.take(at(4), 9).is_empty());
        let taken = queue.take(at(5), 9);
        assert_eq!(keys(&taken), [data(1)]);
        assert_eq!((taken[0].value.clone(), taken[0].told.clone()), (None, vec![1, 2]));
        queue.put(&data(1), Some(data(11)), at(6), None);
        assert_eq!(queue.find(&data(1)), Some(&Some(data(11))), "newer than what is being written");
        queue.wrote();
        assert_eq!(keys(&queue.take(at(6), 9)), [data(2), data(1)]);
        queue.wrote();
        assert_eq!((queue.len(), queue.find(&data(1))), (0, None));
    }

    #[test]
    fn what_failed_does_not_undo_what_came_after() {
        let mut queue = Queue::default();
        queue.put(&data(1), Some(data(10)), at(0), Some(1));
        queue.put(&data(2), Some(data(20)), at(0), None);
        let mut taken = queue.take(at(0), 9);
        queue.put(&data(1), Some(data(11)), at(0), Some(2));
        queue.wrote();
        while let Some(change) = taken.pop() {
            queue.again(change, at(7));
        }
        assert_eq!(queue.find(&data(1)), Some(&Some(data(11))));
        let now = queue.take(at(0), 9);
        assert_eq!((keys(&now), now[0].told.clone()), (vec![data(1)], vec![2, 1]));
        queue.wrote();
        assert_eq!(keys(&queue.take(at(7), 9)), [data(2)]);
    }

    /// A key that was refused was in front of all others until its time came.
    #[test]
    fn what_failed_holds_up_no_other() {
        let mut queue = Queue::<u8>::default();
        queue.put(&data(1), None, at(1), None);
        let refused = queue.take(at(1), 9).pop().unwrap();
        queue.wrote();
        queue.again(refused, at(1_000));
        queue.put(&data(2), None, at(5), None);
        assert_eq!(queue.next_due(), Some(at(5)));
        assert_eq!(keys(&queue.take(at(5), 9)), [data(2)]);
        queue.wrote();
        assert_eq!(queue.next_due(), Some(at(1_000)));
        let number = queue.hurry();
        let refused = queue.take(at(6), 9).pop().unwrap();
        assert!(refused.number < number && !queue.is_over(number));
        queue.wrote();
        queue.again(refused, at(2_000));
        assert!(queue.is_over(number), "it is known of it that it is refused");
    }

    #[test]
    fn a_hurry_is_over_when_all_from_before_it_is_written() {
        let mut queue = Queue::<u8>::default();
        assert!({
            let number = queue.hurry();
            queue.is_over(number)
        });
        queue.put(&data(1), None, at(900), None);
        queue.put(&data(2), None, at(900), None);
        let number = queue.hurry();
        queue.put(&data(3), None, at(900), None);
        assert_eq!(keys(&queue.take(at(0), 1)), [data(1)]);
        queue.wrote();
        assert!(!queue.is_over(number));
        assert_eq!(keys(&queue.take(at(0), 9)), [data(2)]);
        assert!(!queue.is_over(number), "it is being written");
        queue.wrote();
        assert!(queue.is_over(number) && queue.take(at(0), 9).is_empty());
    }
}
