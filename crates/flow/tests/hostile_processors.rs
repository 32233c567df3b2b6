//! Every ready-made processor in the hostile harness: one item, one slot, refusals, and still the right results.

use filbert_flow::aggregate::{count, sum, to_vec};
use filbert_flow::processors::{
    accumulate, accumulate_first, aggregate, co_group, collect_by, combine, distinct, hash_join,
    hash_join_left, map_stateful, merge, peek, sort, transform, union,
};
use filbert_flow::transform::{Block, ByKey, Filtering, FlatMapping, Identity, Mapping, Then};
use filbert_flow::{MANNERS, MetaSupplier, Processor, Share, Supplier, TestSupport};

/// The harness for the processors of a vertex.
fn test<M: MetaSupplier>(meta: M) -> TestSupport<M::Processor>
where
    M::Processor: Processor,
{
    TestSupport::new(move |share: Share| meta.supplier(share).unwrap().processor(share).unwrap())
}

fn numbers() -> Vec<u64> {
    (0..40).collect()
}

#[test]
fn processors_with_one_input() {
    test(union()).input(numbers()).expect(numbers());
    test(peek(|_: &u64| ())).input(numbers()).expect(numbers());
    test(distinct()).input(numbers().into_iter().map(|n| n % 7).collect()).expect((0..7).collect());
    let number = |count: &mut u64, key: &u64, item: u64| {
        *count += 1;
        (*key, item, *count)
    };
    let numbered = numbers().into_iter().map(|n| (n % 3, n, n / 3 + 1)).collect();
    test(map_stateful(|n: &u64| n % 3, || 0, number)).input(numbers()).expect(numbered);
    let sums = (0..4)
        .map(|key| (key, numbers().into_iter().filter(|n| n % 4 == key).sum()))
        .collect::<Vec<(u64, u64)>>();
    test(accumulate(|n: &u64| n % 4, 0, |sum, n: &u64| sum + n))
        .input(numbers())
        .expect_in_any_order(sums.clone());
    test(collect_by(|n: &u64| n % 4, || 0, |sum: &mut u64, n: &u64| *sum += n))
        .input(numbers())
        .expect_in_any_order(sums.clone());
    test(aggregate(|n: &u64| n % 4, sum(|n: &u64| *n))).input(numbers()).expect_in_any_order(sums.clone());
    test(accumulate_first(|n: &u64| n % 4, sum(|n: &u64| *n)))
        .input(numbers())
        .expect_in_any_order(sums.clone());
    let twice = sums.iter().chain(&sums).copied().collect();
    let doubled = sums.iter().map(|(key, sum)| (*key, sum * 2)).collect();
    test(combine::<u64, u64, _>(sum(|n: &u64| *n))).input(twice).expect_in_any_order(doubled);
}

#[test]
fn chains_suspend_in_the_middle() {
    let chain = Then::new(
        Then::new(Identity, FlatMapping(|n: u64| (0..n % 5).map(move |k| n * 10 + k))),
        Then::new(Filtering(|n: &u64| n.is_multiple_of(2)), FlatMapping(|n: u64| [n, n + 1, n + 2])),
    );
    let chain = Then::new(chain, Mapping(|n: u64| n + 1));
    let expected = numbers().into_iter().flat_map(|n| (0..n % 5).map(move |k| n * 10 + k));
    let expected = expected.filter(|n| n % 2 == 0).flat_map(|n| [n, n + 1, n + 2]).map(|n| n + 1);
    test(transform(chain)).input(numbers()).expect(expected.collect());
}

#[test]
fn joins_and_groups_of_two_inputs() {
    let small = vec![(1_u64, 'a'), (2, 'b'), (1, 'c'), (9, 'z')];
    let inner = || hash_join(|n: &u64| n % 4, |s: &(u64, char)| s.0, |n, s: &(u64, char)| (n, s.1));
    let expected: Vec<(u64, char)> = numbers()
        .into_iter()
        .flat_map(|n| small.clone().into_iter().filter(move |s| s.0 == n % 4).map(move |s| (n, s.1)))
        .collect();
    test(inner()).in_order().input(small.clone()).input_at::<1>(numbers()).expect_in_any_order(expected);

    let left =
        || hash_join_left(|n: &u64| *n, |s: &(u64, char)| s.0, |n, s: Option<&(u64, char)>| (n, s.is_some()));
    let mut expected: Vec<_> = numbers().into_iter().map(|n| (n, [1, 2, 9].contains(&n))).collect();
    expected.push((1, true));
    test(left()).in_order().input(small.clone()).input_at::<1>(numbers()).expect_in_any_order(expected);

    let groups = co_group((ByKey(|n: &u64| n % 4), count()), (ByKey(|s: &(u64, char)| s.0), to_vec()));
    let letters = |key| small.iter().filter(|s| s.0 == key).copied().collect::<Vec<_>>();
    let expected = [0, 1, 2, 3].map(|key| (key, 10, letters(key))).into_iter().chain([(9, 0, letters(9))]);
    test(groups).input(numbers()).input_at::<1>(small.clone()).expect_in_any_order(expected.collect());
}

#[test]
fn a_join_whose_small_side_comes_too_late_says_what_to_do() {
    let join = hash_join(|n: &u64| *n, |s: &u64| *s, |n, _: &u64| n);
    let unordered = test(join).input(numbers()).input_at::<1>(numbers());
    let complaint = filbert_pool::caught(|| unordered.expect(numbers())).unwrap_err();
    assert!(complaint.contains("give the edge at ordinal 0 a lower priority number"), "{complaint}");
}

#[test]
fn sorting_and_merging() {
    let items: Vec<u64> = (0..10_000).map(|n| n * 7_919 % 10_007).collect();
    let mut sorted = items.clone();
    sorted.sort_unstable();
    let runs = test(sort(u64::cmp)).input(items);
    runs.expect_each(|_, mut emitted| {
        let blocks: Vec<Block<u64>> = emitted.take(0);
        let merged = test(merge(u64::cmp)).input(blocks).run(MANNERS[5]).take::<u64>(0);
        assert_eq!(merged, sorted);
    });
}
