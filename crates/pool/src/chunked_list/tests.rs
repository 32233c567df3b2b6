//! The list against a `Vec`.

use super::*;
use proptest::prelude::*;
use std::rc::Rc;

#[test]
fn nothing_is_allocated_before_the_first_push() {
    let mut list = ChunkedList::<u64>::new();
    assert_eq!((list.len(), list.capacity(), list.allocated_bytes()), (0, 0, 0));
    assert!(list.is_empty() && list.get(0).is_none() && list.chunks().next().is_none());
    list.push(1);
    assert_eq!((list.capacity(), list.allocated_bytes()), (128, 128 * 8));
}

#[test]
fn tails_double_and_nothing_moves() {
    let mut list = ChunkedList::with_head(2);
    list.push(0usize);
    let first: *const usize = &list[0];
    list.extend(1..1000);
    assert_eq!(first, &raw const list[0], "growth copies nothing");
    let sizes: Vec<_> = list.chunks().map(<[_]>::len).collect();
    assert_eq!(sizes, [2, 4, 8, 16, 32, 64, 128, 256, 490]);
}

#[test]
fn fixed_chunks_stay_fixed() {
    let mut list = ChunkedList::with_fixed_chunks(100);
    list.extend(0..300);
    let sizes: Vec<_> = list.chunks().map(<[_]>::len).collect();
    assert_eq!(sizes, [128, 128, 44], "rounded up to a power of two");
}

#[test]
fn a_full_chunk_makes_no_next_one() {
    let mut list = ChunkedList::with_head(4);
    list.extend(0..4);
    assert_eq!(list.capacity(), 4);
    list.extend(std::iter::empty());
    assert_eq!(list.capacity(), 4);
    list.extend_from_slice(&[4]);
    assert_eq!(list.capacity(), 12);
}

#[test]
fn an_index_beyond_the_end_is_none_however_large() {
    let mut list = ChunkedList::with_head(1);
    list.extend(0..3u8);
    for index in [3, 4, 100, usize::MAX / 2, usize::MAX - 1, usize::MAX] {
        assert_eq!(list.get(index), None, "index {index}");
        assert_eq!(list.get_mut(index), None, "index {index}");
    }
    let mut list = ChunkedList::with_fixed_chunks(1);
    list.extend(0..3u8);
    assert_eq!((list.get(2), list.get(3), list.get(usize::MAX)), (Some(&2), None, None));
}

#[test]
#[should_panic(expected = "no element 3 in a list of 3")]
fn an_index_beyond_the_end_says_so() {
    let _ = (0..3).collect::<ChunkedList<_>>()[3];
}

#[test]
#[should_panic(expected = "at least one element")]
fn a_head_of_zero_is_refused() {
    let _ = ChunkedList::<u8>::with_head(0);
}

#[test]
fn elements_without_size() {
    let mut list = ChunkedList::with_head(2);
    list.extend(std::iter::repeat_n((), 1000));
    assert_eq!((list.len(), list.iter().count(), list.allocated_bytes() < 1000), (1000, 1000, true));
    assert_eq!((list.get(999), list.get(1000)), (Some(&()), None));
    assert_eq!(list.freeze().len(), 1000);
}

#[test]
fn each_element_is_dropped_once() {
    let counter = Rc::new(());
    let mut list = ChunkedList::with_head(2);
    list.extend((0..10).map(|_| Rc::clone(&counter)));
    assert_eq!(Rc::strong_count(&counter), 11);
    let frozen = list.clone().freeze();
    assert_eq!(Rc::strong_count(&counter), 21);
    drop(frozen);
    let mut rest = list.into_iter();
    rest.next();
    assert_eq!(Rc::strong_count(&counter), 10);
    drop(rest);
    assert_eq!(Rc::strong_count(&counter), 1);
}

#[test]
fn a_compacted_list_goes_on() {
    let mut list: ChunkedList<_> = (0..200).collect();
    list.compact();
    assert_eq!(list.allocated_bytes(), 200 * 4 + size_of::<Vec<i32>>());
    list.extend(200..1000);
    assert!(list.iter().copied().eq(0..1000));
    list.clear();
    assert_eq!((list.len(), list.allocated_bytes()), (0, 0));
}

#[derive(Debug, Clone)]
enum Step {
    Push,
    Extend(usize),
    ExtendFromSlice(usize),
    Change(usize),
    Compact,
}

fn check<G: Growth>(mut list: ChunkedList<u32, G>, steps: Vec<Step>) {
    let mut oracle: Vec<u32> = Vec::new();
    for step in steps {
        let next = oracle.len() as u32;
        match step {
            Step::Push => {
                list.push(next);
                oracle.push(next);
            }
            Step::Extend(count) => {
                list.extend(next..next + count as u32);
                oracle.extend(next..next + count as u32);
            }
            Step::ExtendFromSlice(count) => {
                let fresh: Vec<u32> = (next..next + count as u32).collect();
                list.extend_from_slice(&fresh);
                oracle.extend_from_slice(&fresh);
            }
            Step::Change(index) => {
                assert_eq!(list.get_mut(index).map(|element| *element += 7).is_some(), index < oracle.len());
                if let Some(element) = oracle.get_mut(index) {
                    *element += 7;
                }
            }
            Step::Compact => list.compact(),
        }
        assert_eq!(list.len(), oracle.len());
    }
    assert!(list.iter().eq(&oracle));
    assert_eq!(list.iter().len(), oracle.len());
    assert_eq!(list.chunks().len(), list.chunks().count());
    assert_eq!(list.chunks().collect::<Vec<_>>().concat(), oracle);
    assert_eq!(list.chunks_mut().map(|chunk| chunk.to_vec()).collect::<Vec<_>>().concat(), oracle);
    for index in 0..oracle.len() + 3 {
        assert_eq!(list.get(index), oracle.get(index));
    }
    let mut partly = list.iter();
    partly.next();
    assert_eq!(partly.map(|&element| u64::from(element)).sum::<u64>(), {
        oracle.iter().skip(1).map(|&element| u64::from(element)).sum::<u64>()
    });
    assert!(list.clone().into_iter().eq(oracle.iter().copied()));
    assert_eq!(*list.freeze(), *oracle);
}

proptest! {
    #[test]
    fn a_list_is_a_vec(
        head in 1usize..20,
        steps in proptest::collection::vec(prop_oneof![
            Just(Step::Push),
            (0usize..50).prop_map(Step::Extend),
            (0usize..50).prop_map(Step::ExtendFromSlice),
            (0usize..200).prop_map(Step::Change),
            Just(Step::Compact),
        ], 0..40),
    ) {
        check(ChunkedList::with_head(head), steps.clone());
        check(ChunkedList::with_fixed_chunks(head), steps);
    }
}
