//! Page by page is the same as sorting all and cutting.

use super::*;
use filbert_wire::compact::NO_SCHEMAS;
use filbert_wire::{FromData, ToData};
use proptest::prelude::*;

/// The request as the client would send it next, through all pages; entries spread over `partitions`.
fn pages(
    entries: &[(Data, Data)],
    size: i32,
    iteration: IterationType,
    comparators: &dyn Comparators,
    comparator: Option<Data>,
) -> Vec<Vec<(Data, Data)>> {
    let mut anchors = Vec::new();
    let mut pages = Vec::new();
    for page in 0.. {
        let request = PagingPredicate::new(None, size, page, iteration).unwrap();
        let request = request.with_comparator(comparator.clone()).with_anchors(anchors);
        let order = PageOrder::of(&request, comparators).unwrap();
        let mut all = request.collect(&order, NO_SCHEMAS);
        for partition in entries.chunks(3) {
            let mut part = request.collect(&order, NO_SCHEMAS);
            partition.iter().for_each(|(key, value)| part.add(&Entry::new(key, value, NO_SCHEMAS)));
            // With the anchor of the page before, one page is enough.
            assert!(part.len() <= size as usize);
            all.merge(part);
        }
        let result = request.finish(all);
        if result.entries.is_empty() {
            return pages;
        }
        pages.push(result.entries);
        anchors = result.anchors;
    }
    pages
}

fn entry(key: i32, value: i32) -> (Data, Data) {
    (key.to_data().unwrap(), value.to_data().unwrap())
}

struct ByValueDown;

impl EntryComparator for ByValueDown {
    fn compare(&self, left: (&Data, &Data), right: (&Data, &Data)) -> Ordering {
        let number = |data: &Data| i32::from_data(data).unwrap();
        number(right.1).cmp(&number(left.1))
    }
}

struct One;

impl Comparators for One {
    fn comparator(&self, factory: i32, class: i32, _object: &Data) -> Option<Arc<dyn EntryComparator>> {
        ((factory, class) == (66, 2)).then(|| Arc::new(ByValueDown) as Arc<dyn EntryComparator>)
    }
}

proptest! {
    #[test]
    fn paging_equals_sorting_and_cutting(
        map in proptest::collection::btree_map(-50..50, -5..5, 0..40),
        size in 1..9,
        seed in any::<u64>(),
    ) {
        let mut plain: Vec<(i32, i32)> = map.into_iter().collect();
        // Some order of arrival.
        plain.sort_by_key(|(key, _)| (*key as u64).wrapping_mul(seed | 1));
        let entries: Vec<_> = plain.iter().map(|(key, value)| entry(*key, *value)).collect();
        let cut = |sorted: Vec<(i32, i32)>| -> Vec<Vec<_>> {
            sorted.chunks(size as usize).map(|page| page.iter().map(|(key, value)| entry(*key, *value)).collect()).collect()
        };
        let by_key = { let mut sorted = plain.clone(); sorted.sort(); sorted };
        prop_assert_eq!(pages(&entries, size, IterationType::Entry, &NoComparators, None), cut(by_key.clone()));
        prop_assert_eq!(pages(&entries, size, IterationType::Key, &NoComparators, None), cut(by_key));
        let by_value = { let mut sorted = plain.clone(); sorted.sort_by_key(|(key, value)| (*value, *key)); sorted };
        prop_assert_eq!(pages(&entries, size, IterationType::Value, &NoComparators, None), cut(by_value));
        let down = { let mut sorted = plain.clone(); sorted.sort_by_key(|(key, value)| (-*value, *key)); sorted };
        let comparator = PagingPredicate::comparator_data(66, 2);
        prop_assert_eq!(pages(&entries, size, IterationType::Value, &One, Some(comparator)), cut(down));
    }
}

#[test]
fn a_jump_needs_no_anchors() {
    let entries: Vec<_> = (0..50).map(|number| entry(number, number)).collect();
    let request = PagingPredicate::new(None, 2, 4, IterationType::Value).unwrap();
    let order = PageOrder::of(&request, &NoComparators).unwrap();
    let mut collected = request.collect(&order, NO_SCHEMAS);
    entries.iter().rev().for_each(|(key, value)| collected.add(&Entry::new(key, value, NO_SCHEMAS)));
    assert_eq!(collected.len(), 10);
    let result = request.finish(collected);
    assert_eq!(result.entries, entries[8..10]);
    assert_eq!(result.anchors.iter().map(|anchor| anchor.page).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn hostile_requests_are_refused_or_harmless() {
    assert!(PagingPredicate::new(None, 0, 0, IterationType::Key).is_err());
    assert!(PagingPredicate::new(None, 1, -1, IterationType::Key).is_err());
    assert!(IterationType::of_number(3).is_err());
    let inner = PagingPredicate::new(None, 1, 0, IterationType::Key).unwrap();
    assert!(
        PagingPredicate::new(Some(Predicate::Paging(Box::new(inner))), 1, 0, IterationType::Key).is_err()
    );
    let far = PagingPredicate::new(None, i32::MAX, i32::MAX, IterationType::Key).unwrap();
    let (key, value) = entry(1, 1);
    let strange = Anchor { page: -7, key: key.clone(), value: value.clone() };
    let far = far.with_anchors(vec![strange.clone(), Anchor { page: i32::MAX, ..strange }]);
    let order = PageOrder::of(&far, &NoComparators).unwrap();
    let mut collected = far.collect(&order, NO_SCHEMAS);
    collected.add(&Entry::new(&key, &value, NO_SCHEMAS));
    assert!(far.finish(collected).entries.is_empty());
    let unknown = PagingPredicate::new(None, 1, 0, IterationType::Key).unwrap();
    let unknown = unknown.with_comparator(Some(PagingPredicate::comparator_data(1, 2)));
    assert!(matches!(PageOrder::of(&unknown, &NoComparators), Err(QueryError::UnknownClass { .. })));
}
