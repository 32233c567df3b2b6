//! Deals the items of a vector to several others, each item to the one that was chosen for it.
//!
//! What a partitioned edge does with every item, so it must cost next to nothing. A `push` for every item loads and stores the length of a
//! vector that is another one each time, and the processor must wait for the store before the load of the next item's push.
//! Here the ends of the vectors are kept in registers (two piles), or at least out of the vectors, and lengths are set once.
//!
//! Safety, for all of it: while items are on the move, `items` has length 0, so each of them belongs to nobody but this function; nothing
//! in between can panic; each item is copied exactly once into memory that was reserved for it, and lengths say so at the end.

/// How many piles have their ends on the stack.
const MOST_PILES: usize = 16;

/// Up to how many bytes an item is copied to both ends instead of one.
const TWICE_AT_MOST: usize = 16;

/// Moves item `i` to the end of `piles[chosen[i]]`, in order; `items` is empty afterwards.
///
/// # Panics
/// When there is not exactly one choice for every item, or a choice is not a pile. Nothing has moved then.
///
/// ```
/// let mut items = vec!["a", "b", "c", "d"];
/// let mut piles = [vec!["z"], vec![], vec![]];
/// filbert_sync::deal(&mut items, &[2, 0, 2, 0], &mut piles);
/// assert_eq!(piles, [vec!["z", "b", "d"], vec![], vec!["a", "c"]]);
/// assert!(items.is_empty());
/// ```
pub fn deal<T>(items: &mut Vec<T>, chosen: &[u32], piles: &mut [Vec<T>]) {
    let count = items.len();
    assert_eq!(chosen.len(), count, "one choice for every item");
    let highest = chosen.iter().copied().max().unwrap_or(0) as usize;
    assert!(count == 0 || highest < piles.len(), "choice {highest} is not one of {} piles", piles.len());
    match piles {
        [] => {}
        [only] => only.append(items),
        [left, right] => deal_two(items, chosen, left, right),
        many if many.len() <= MOST_PILES => deal_few(items, chosen, many),
        many => {
            for (item, pile) in items.drain(..).zip(chosen) {
                many[*pile as usize].push(item);
            }
        }
    }
}

fn deal_two<T>(items: &mut Vec<T>, chosen: &[u32], left: &mut Vec<T>, right: &mut Vec<T>) {
    let count = items.len();
    left.reserve(count);
    right.reserve(count);
    let (lefts, rights) = (left.len(), right.len());
    let mut more_left = 0;
    // SAFETY: `chosen` is as long as `items` (checked by `deal`); both vectors have room for `count` more, and `more_left` and
    // `i - more_left` stay below that; the rest as the module says.
    unsafe {
        items.set_len(0);
        let from = items.as_ptr();
        let (to_left, to_right) = (left.as_mut_ptr().add(lefts), right.as_mut_ptr().add(rights));
        for (i, pile) in chosen.iter().enumerate() {
            let is_left = usize::from(*pile == 0);
            let (end_left, end_right) = (to_left.add(more_left), to_right.add(i - more_left));
            if size_of::<T>() <= TWICE_AT_MOST {
                // To both ends, and only one of them moves on: what a branch would cost that nobody can predict is more.
                std::ptr::copy_nonoverlapping(from.add(i), end_left, 1);
                std::ptr::copy_nonoverlapping(from.add(i), end_right, 1);
            } else {
                std::ptr::copy_nonoverlapping(
                    from.add(i),
                    if is_left == 1 { end_left } else { end_right },
                    1,
                );
            }
            more_left += is_left;
        }
        left.set_len(lefts + more_left);
        right.set_len(rights + count - more_left);
    }
}

fn deal_few<T>(items: &mut Vec<T>, chosen: &[u32], piles: &mut [Vec<T>]) {
    let count = items.len();
    let mut ends = [std::ptr::null_mut::<T>(); MOST_PILES];
    for (pile, end) in piles.iter_mut().zip(&mut ends) {
        pile.reserve(count);
        *end = pile.as_mut_ptr().wrapping_add(pile.len());
    }
    let mut counts = [0; MOST_PILES];
    // SAFETY: `chosen` is as long as `items` and names piles only (checked by `deal`), each of which has room for `count` more; the rest
    // as the module says.
    unsafe {
        items.set_len(0);
        let from = items.as_ptr();
        for (i, pile) in chosen.iter().enumerate() {
            let pile = *pile as usize % MOST_PILES;
            std::ptr::copy_nonoverlapping(from.add(i), ends[pile].add(counts[pile]), 1);
            counts[pile] += 1;
        }
        for (pile, more) in piles.iter_mut().zip(counts) {
            pile.set_len(pile.len() + more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn every_item_comes_to_its_pile_in_order_and_is_dropped_once() {
        for pile_count in [1, 2, 3, 4, 16, 17, 40] {
            let token = Rc::new(());
            let mut piles: Vec<Vec<(usize, Rc<()>)>> = vec![Vec::new(); pile_count];
            let mut random = 12345_u32;
            let mut expected = vec![Vec::new(); pile_count];
            let mut number = 0;
            for size in [0, 1, 7, 300, 2, 0, 1000] {
                let mut items = Vec::new();
                let mut chosen = Vec::new();
                for _ in 0..size {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let pile = (random >> 16) as usize % pile_count;
                    items.push((number, Rc::clone(&token)));
                    chosen.push(pile as u32);
                    expected[pile].push(number);
                    number += 1;
                }
                deal(&mut items, &chosen, &mut piles);
                assert!(items.is_empty());
            }
            assert_eq!(Rc::strong_count(&token), number + 1);
            let found: Vec<Vec<usize>> =
                piles.iter().map(|pile| pile.iter().map(|(number, _)| *number).collect()).collect();
            assert_eq!(found, expected);
            drop(piles);
            assert_eq!(Rc::strong_count(&token), 1);
        }
    }

    #[test]
    fn wrong_choices_move_nothing() {
        let attempt = |chosen: &[u32]| {
            let mut items = vec![1, 2, 3];
            let mut piles = vec![vec![], vec![]];
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                deal(&mut items, chosen, &mut piles)
            }));
            assert!(outcome.is_err() && items == [1, 2, 3] && piles == [[0; 0], [0; 0]]);
        };
        attempt(&[0, 1]);
        attempt(&[0, 1, 2]);
    }

    #[test]
    fn items_without_size_are_dealt_too() {
        let mut piles = vec![vec![], vec![]];
        deal(&mut vec![(), (), ()], &[1, 0, 1], &mut piles);
        assert_eq!((piles[0].len(), piles[1].len()), (1, 2));
    }
}
