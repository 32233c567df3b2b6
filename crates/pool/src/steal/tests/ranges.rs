//! Ranges: every element once, sums that depend on nothing but the items.

use super::*;
use proptest::prelude::*;

#[test]
fn every_element_is_visited_whatever_the_length() {
    let pools = [WorkStealing::standalone(1), WorkStealing::standalone(3)];
    for n in 0..3_000 {
        let pool = &pools[n % 2];
        let min_leaf = 1 + n % 7;
        assert_eq!(pool.range(0..n).min_leaf(min_leaf).sum(), n * n.saturating_sub(1) / 2, "n = {n}");
        if n % 13 == 0 {
            let items = pool.range(5..5 + n).min_leaf(min_leaf).filter(|i| i % 3 != 0).collect();
            assert_eq!(items, (5..5 + n).filter(|i| i % 3 != 0).collect::<Vec<_>>(), "n = {n}");
            assert_eq!(pool.range(0..n).adaptive().count(), n);
        }
    }
}

#[test]
fn a_panic_in_a_leaf_reaches_the_caller() {
    let pool = WorkStealing::standalone(2);
    for bad in [0, 500, 9_999] {
        let said =
            panics(|| pool.range(0..10_000).min_leaf(10).for_each(|i| assert!(i != bad, "leaf {bad}")));
        assert_eq!(said, format!("leaf {bad}"));
        let said = panics(|| {
            pool.range(0..10_000).min_leaf(10).fold(|| 0, |a, _| a, |_, _| -> usize { panic!("combine") })
        });
        assert_eq!(said, "combine");
    }
    assert_eq!(pool.range(0..10_000).min_leaf(10).sum(), 49_995_000);
}

#[test]
fn chunks_cover_slices_and_ranges() {
    let pool = WorkStealing::standalone(2);
    let values: Vec<u64> = (0..54_321).collect();
    let expected = 54_321 * 54_320 / 2;
    for min_leaf in [1_000, 10_000, 100_000] {
        let sum = pool.slice(&values).min_leaf(min_leaf).chunks(|chunk| chunk.iter().sum::<u64>());
        assert_eq!(sum.reduce(|| 0, |a, b| a + b), expected);
        let sum = pool.range(0..54_321).min_leaf(min_leaf).chunks(|part| part.map(|i| i as u64).sum::<u64>());
        assert_eq!(sum.reduce(|| 0, |a, b| a + b), expected);
    }
}

#[test]
fn integer_sums_that_fit_do_not_depend_on_where_the_range_is_cut() {
    // Every prefix fits, but not every part does.
    let values: Vec<i32> = (0..40_000)
        .map(|i| match i {
            0 => i32::MIN,
            20_000 | 39_999 => i32::MAX / 2 + 1,
            _ => 0,
        })
        .collect();
    assert_eq!(values.iter().sum::<i32>(), 0);
    assert_eq!(shared_pool(1).slice(&values).min_leaf(1_000_000).sum(), 0);
    assert_eq!(shared_pool(2).slice(&values).min_leaf(20_000).map(|v| *v).sum(), 0);
    // One that does not fit is the same for all as well.
    let many =
        |threads, min_leaf| shared_pool(threads).range(0..40_000).min_leaf(min_leaf).map(|_| i32::MAX).sum();
    assert_eq!(many(1, 1_000_000), many(2, 10_000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn float_sums_have_the_same_bits_for_any_number_of_workers(
        length in 0_usize..40_000,
        seed in any::<u64>(),
    ) {
        let values: Vec<f64> = (0..length as u64)
            .map(|i| {
                let bits = crate::env::split_mix(seed ^ i);
                (bits % 2_000_003) as f64 * 10_f64.powi((bits >> 60) as i32 - 8)
            })
            .collect();
        let mut bits = Vec::new();
        for threads in [1, 2, 3, 7] {
            let pool = shared_pool(threads);
            bits.push(pool.slice(&values).map(|v| *v).sum().to_bits());
            bits.push(pool.slice(&values).min_leaf(100 * threads).map(|v| *v).sum().to_bits());
            bits.push(pool.slice(&values).adaptive().map(|v| *v).sum().to_bits());
        }
        prop_assert!(bits.iter().all(|sum| *sum == bits[0]));
    }

    #[test]
    fn folds_agree_with_a_plain_loop(
        values in proptest::collection::vec(any::<u32>(), 0..5_000),
        min_leaf in 1_usize..2_000,
        threads in 1_usize..4,
    ) {
        let pool = shared_pool(threads);
        let ours: Vec<u32> = pool.slice(&values).min_leaf(min_leaf).filter(|v| **v % 3 == 0).map(|v| v / 3).collect();
        let plain: Vec<u32> = values.iter().filter(|v| **v % 3 == 0).map(|v| v / 3).collect();
        prop_assert_eq!(ours, plain);
        let most = pool.slice(&values).min_leaf(min_leaf).map(|v| *v).reduce(|| 0, u32::max);
        prop_assert_eq!(most, values.iter().copied().max().unwrap_or(0));
    }
}

/// One pool per size for all cases of a property.
fn shared_pool(threads: usize) -> &'static WorkStealing {
    static POOLS: std::sync::OnceLock<Vec<WorkStealing>> = std::sync::OnceLock::new();
    &POOLS.get_or_init(|| (1..8).map(WorkStealing::standalone).collect())[threads - 1]
}
