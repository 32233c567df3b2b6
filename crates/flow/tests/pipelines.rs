//! Pipelines end to end, against plain Rust: real stages and simulated ones.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use filbert_flow::Pipeline;
use filbert_flow::aggregate::{average, collect_into, count, fold_with, max, min, sum, to_vec, top_n};
use filbert_flow::processors::{Collected, collect, iterate};
use filbert_flow::{MetaSupplier, Share};
use filbert_pool::{Stages, simulate};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The items of a processor's share of a list.
fn part<T: Clone>(items: &[T], share: Share) -> Vec<T> {
    items.iter().skip(share.index).step_by(share.count).cloned().collect()
}

/// A source of these items.
macro_rules! read {
    ($items:expr) => {{
        let items = $items.clone();
        Pipeline::read(iterate(move |share| part(&items, share)))
    }};
}

/// Runs a pipeline and returns what its sink collected.
fn run<T: Send + 'static>(stages: &Stages, pipeline: impl FnOnce(&Collected<T>) -> Pipeline) -> Vec<T> {
    let list = Collected::new();
    let dag = pipeline(&list).to_dag().unwrap();
    dag.submit(stages).unwrap().wait().unwrap();
    list.take()
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn stateless_steps_do_what_iterators_do(items in prop::collection::vec(0_u64..1_000, 0..3_000), seed: u64) {
        let stages = Stages::simulated(seed);
        let found = run(&stages, |list| {
            read!(items)
                .map(|n| n * 3)
                .filter(|n| n % 2 == 0)
                .flat_map(|n| (0..n % 5).map(move |k| n + k))
                .flat_map(|n| [n, n])
                .write(collect(list))
        });
        let expected = items.iter().map(|n| n * 3).filter(|n| n % 2 == 0);
        let expected = expected.flat_map(|n| (0..n % 5).map(move |k| n + k)).flat_map(|n| [n, n]);
        prop_assert_eq!(sorted(found), sorted(expected.collect()));
    }

    #[test]
    fn aggregates_do_what_a_map_does(items in prop::collection::vec((0_u32..40, 0_u64..1_000), 0..3_000), seed: u64) {
        let stages = Stages::simulated(seed);
        let found = run(&stages, |list| {
            read!(items)
                .group_by(|item| item.0)
                .aggregate((
                    count(),
                    sum(|item: &(u32, u64)| item.1),
                    (min(|item: &(u32, u64)| item.1), max(|item: &(u32, u64)| item.1)),
                    average(|item: &(u32, u64)| item.1 as f64),
                ))
                .map(|(key, (count, sum, extremes, average))| {
                    (key, count, sum, extremes, average.unwrap().to_bits())
                })
                .write(collect(list))
        });
        let mut groups: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for (key, value) in &items {
            groups.entry(*key).or_default().push(*value);
        }
        let expected = groups.into_iter().map(|(key, values)| {
            let (count, sum) = (values.len() as u64, values.iter().sum::<u64>());
            let extremes = (values.iter().min().copied(), values.iter().max().copied());
            (key, count, sum, extremes, (sum as f64 / count as f64).to_bits())
        });
        prop_assert_eq!(sorted(found), expected.collect::<Vec<_>>());
    }

    #[test]
    fn groups_keep_their_items(items in prop::collection::vec((0_u32..20, 0_u64..100), 0..1_000), seed: u64) {
        let stages = Stages::simulated(seed);
        let mut groups: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for (key, value) in &items {
            groups.entry(*key).or_default().push(*value);
        }
        let listed = run(&stages, |list| read!(items).group_pairs().aggregate(to_vec()).write(collect(list)));
        let listed = listed.into_iter().map(|(key, values)| (key, sorted(values)));
        let expected: Vec<_> = groups.iter().map(|(key, values)| (*key, sorted(values.clone()))).collect();
        prop_assert_eq!(sorted(listed.collect()), expected);

        let largest = run(&stages, |list| read!(items).group_pairs().aggregate(top_n(3)).write(collect(list)));
        let three = |values: &[u64]| sorted(values.to_vec()).into_iter().rev().take(3).collect::<Vec<_>>();
        let expected: Vec<_> = groups.iter().map(|(key, values)| (*key, three(values))).collect();
        prop_assert_eq!(sorted(largest), expected);

        let folded = run(&stages, |list| {
            let fold = fold_with(0_u64, |sum, n: &u64| sum + n);
            read!(items).group_pairs().fold(fold).write(collect(list))
        });
        let expected: Vec<_> = groups.iter().map(|(key, values)| (*key, values.iter().sum::<u64>())).collect();
        prop_assert_eq!(sorted(folded), expected);

        let sets = run(&stages, |list| {
            let set = collect_into(BTreeSet::new, |set: &mut BTreeSet<u64>, n: &u64| { set.insert(*n); });
            read!(items).group_pairs().fold(set).write(collect(list))
        });
        let expected: Vec<_> = groups.iter().map(|(key, values)| (*key, values.iter().copied().collect())).collect();
        prop_assert_eq!(sorted(sets), expected);
    }

    #[test]
    fn distinct_keeps_one_of_each(items in prop::collection::vec(0_u16..300, 0..2_000), seed: u64) {
        let stages = Stages::simulated(seed);
        let found = run(&stages, |list| read!(items).distinct().write(collect(list)));
        let expected: BTreeSet<u16> = items.iter().copied().collect();
        prop_assert_eq!(sorted(found), expected.into_iter().collect::<Vec<_>>());

        let found = run(&stages, |list| read!(items).distinct_by(|n| n % 10).map(|n| n % 10).write(collect(list)));
        let expected: BTreeSet<u16> = items.iter().map(|n| n % 10).collect();
        prop_assert_eq!(sorted(found), expected.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn sort_sorts(items in prop::collection::vec(any::<i32>(), 0..9_000), seed: u64) {
        let stages = Stages::simulated(seed);
        let found = run(&stages, |list| read!(items).sort().write(collect_in_order(list)));
        prop_assert_eq!(found, sorted(items.clone()));
        let found = run(&stages, |list| read!(items).sort_by(|a, b| b.cmp(a)).write(collect_in_order(list)));
        let expected: Vec<_> = sorted(items).into_iter().rev().collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn joins_do_what_nested_loops_do(
        large in prop::collection::vec((0_u32..30, any::<u16>()), 0..1_500),
        small in prop::collection::vec((0_u32..30, any::<i8>()), 0..60),
        seed: u64,
    ) {
        let stages = Stages::simulated(seed);
        let found = run(&stages, |list| {
            read!(large)
                .hash_join(read!(small), |l| l.0, |s| s.0, |l, s| (l, s.1))
                .write(collect(list))
        });
        let matches = |key: u32| small.iter().filter(move |s| s.0 == key).map(|s| s.1);
        let expected = large.iter().flat_map(|&l| matches(l.0).map(move |s| (l, s)));
        prop_assert_eq!(sorted(found), sorted(expected.collect()));

        let found = run(&stages, |list| {
            read!(large)
                .hash_join_left(read!(small), |l| l.0, |s| s.0, |l, s| (l, s.map(|s| s.1)))
                .write(collect(list))
        });
        let expected = large.iter().flat_map(|&l| {
            let mut found: Vec<_> = matches(l.0).map(|s| (l, Some(s))).collect();
            if found.is_empty() {
                found.push((l, None));
            }
            found
        });
        prop_assert_eq!(sorted(found), sorted(expected.collect()));

        let found = run(&stages, |list| {
            read!(large).group_by(|l| l.0).co_group(read!(small).group_pairs()).write(collect(list))
        });
        let found = found.into_iter().map(|(key, l, s)| (key, sorted(l), sorted(s)));
        let keys: BTreeSet<u32> = large.iter().map(|l| l.0).chain(small.iter().map(|s| s.0)).collect();
        let of_large = |key| large.iter().filter(|l| l.0 == key).copied().collect();
        let expected = keys.iter().map(|&key| (key, sorted(of_large(key)), sorted(matches(key).collect())));
        prop_assert_eq!(sorted(found.collect()), expected.collect::<Vec<_>>());
    }

    #[test]
    fn a_state_per_key_numbers_the_items(items in prop::collection::vec(0_u8..10, 0..2_000), seed: u64) {
        let stages = Stages::simulated(seed);
        let found = run(&stages, |list| {
            read!(items)
                .group_by(|n| *n)
                .map_stateful(|| 0_u32, |count, key, item| {
                    *count += 1;
                    (*key, item, *count)
                })
                .write(collect(list))
        });
        let mut counts = BTreeMap::new();
        let expected = items.iter().map(|&n| {
            let count: &mut u32 = counts.entry(n).or_default();
            *count += 1;
            (n, n, *count)
        });
        prop_assert_eq!(sorted(found), sorted(expected.collect()));
    }
}

/// The sink of one processor: the order of the list is the order in which items came.
fn collect_in_order<T: Send + 'static>(
    list: &Collected<T>,
) -> impl MetaSupplier<Processor = filbert_flow::processors::Collect<T>> {
    filbert_flow::processors::with_parallelism(1, collect(list))
}

#[test]
fn forks_merges_and_streams_that_meet_themselves() {
    simulate::seeds("forks_merges_and_streams_that_meet_themselves", 0..100, |seed| {
        let stages = Stages::simulated(seed);
        let items: Vec<u64> = (0..500).collect();
        let (all, twice) = (Collected::new(), Collected::new());
        let numbers = read!(items).filter(|n| n % 5 != 0).fork();
        let one = numbers.clone().write_to("all", collect(&all));
        let double = numbers.clone().map(|n| n * 2);
        let two = numbers.clone().merge(double).merge(numbers).write_to("twice", collect(&twice));
        let dag = one.and(two).named("forks").to_dag().unwrap();
        dag.submit(&stages).unwrap().wait().unwrap();
        let numbers: Vec<u64> = (0..500).filter(|n| n % 5 != 0).collect();
        assert_eq!(sorted(all.take()), numbers);
        let expected = numbers.iter().flat_map(|n| [*n, *n, n * 2]);
        assert_eq!(sorted(twice.take()), sorted(expected.collect()));
    });
}

#[test]
fn one_result_for_all_items_also_for_none() {
    let stages = Stages::simulated(7);
    for items in [Vec::new(), (0..10_000_u64).collect()] {
        let found =
            run(&stages, |list| read!(items).aggregate((count(), sum(|n: &u64| *n))).write(collect(list)));
        assert_eq!(found, [(items.len() as u64, items.iter().sum())]);
    }
}

#[test]
fn words_are_counted_on_real_threads() {
    let stages = Stages::start().unwrap();
    let lines: Vec<String> = (0..20_000).map(|n| format!("w{} w{} w{}", n % 7, n % 1_000, n)).collect();
    let found = run(&stages, |list| {
        read!(lines)
            .flat_map(|line: String| line.split(' ').map(str::to_owned).collect::<Vec<_>>())
            .group_by_ref(|word: &String| word.as_str())
            .aggregate(count())
            .write(collect(list))
    });
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for word in lines.iter().flat_map(|line| line.split(' ')) {
        *expected.entry(word.to_owned()).or_default() += 1;
    }
    assert_eq!(sorted(found), expected.into_iter().collect::<Vec<_>>());
}

#[test]
fn a_first_stage_that_does_not_pay_lets_items_pass() {
    let stages = Stages::start().unwrap();
    // More keys than the first stage holds, each three times, far from each other; then one key very often.
    let keys = 300_000_u64;
    let found = run(&stages, |list| {
        Pipeline::read(iterate(move |share| share.part_of(0..keys * 3 + 1_000_000)))
            .map(move |n| if n < keys * 3 { n % keys } else { 0 })
            .group_by_item()
            .aggregate(count())
            .write(collect(list))
    });
    assert_eq!(found.len() as u64, keys);
    assert!(found.iter().all(|&(key, count)| count == if key == 0 { 1_000_003 } else { 3 }));
}

#[test]
fn the_planner_fuses_and_cuts() {
    let list = Collected::new();
    let pipeline = Pipeline::read(iterate(|share| share.part_of(0..10)))
        .map(|n| n + 1)
        .filter(|n| n % 2 == 0)
        .group_by(|n| n % 3)
        .aggregate(count())
        .filter(|group| group.1 > 0)
        .write(collect(&list));
    let dag = pipeline.to_dag().unwrap();
    let vertices: Vec<_> = dag.vertices().collect();
    assert_eq!(vertices, ["sink", "count + filter", "source + map + filter + accumulate"]);

    // An aggregate that keeps its items has one stage; a source that is the only one has a vertex of its own.
    let list = Collected::new();
    let alone = filbert_flow::processors::with_parallelism(1, iterate(|_| 0..10_u64));
    let pipeline =
        Pipeline::read(alone).map(|n| n + 1).group_by(|n| n % 3).aggregate(to_vec()).write(collect(&list));
    let dag = pipeline.to_dag().unwrap();
    assert_eq!(dag.vertices().collect::<Vec<_>>(), ["sink", "to_vec", "map", "source"]);
}

/// More runs than are merged at once: merges of merges kept no order.
#[test]
fn sort_is_stable() {
    let stages = Stages::start().unwrap();
    let (producers, each) = (2, 300_000_u32);
    let read = iterate(move |share: Share| (0..each).map(move |n| (n % 7, share.index, n)));
    let found = run(&stages, |list| {
        Pipeline::read(read)
            .parallelism(producers)
            .sort_by(|a, b| a.0.cmp(&b.0))
            .write(collect_in_order(list))
    });
    assert_eq!(found.len(), producers * each as usize);
    assert!(found.is_sorted(), "equal items are in the order of their producers, and as these had them");
}

#[test]
fn tables_larger_than_the_cache_lose_nothing() {
    const KEYS: u64 = 60_000;
    let stages = Stages::start().unwrap();
    let items: Vec<u64> = (0..4 * KEYS).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % KEYS).collect();
    let mut expected = BTreeMap::<u64, u64>::new();
    items.iter().for_each(|key| *expected.entry(*key).or_default() += 1);
    let expected = Vec::from_iter(expected);

    let two_stages = |list: &_| read!(items).group_by(|n| *n).aggregate(count()).write(collect(list));
    assert_eq!(sorted(run(&stages, two_stages)), expected);
    let one_stage = |list: &_| read!(items).group_by(|n| *n).fold(count()).write(collect(list));
    assert_eq!(sorted(run(&stages, one_stage)), expected);
    let words: Vec<String> = items.iter().map(u64::to_string).collect();
    let counted = run(&stages, |list| read!(words).group_by_item().aggregate(count()).write(collect(list)));
    let counted = counted.into_iter().map(|(word, count)| (word.parse().unwrap(), count)).collect();
    assert_eq!(sorted(counted), expected);

    // Every key twice in the table, and half of the items find nothing.
    let small: Vec<(u64, u64)> = (0..KEYS).map(|n| (n / 2 * 2, n)).collect();
    let joined = run(&stages, |list| {
        read!(items).hash_join(read!(small), |n| *n, |s| s.0, |n, s| (n, s.1)).write(collect(list))
    });
    let matches = |n: u64| [(n, n), (n, n + 1)].into_iter().filter(move |_| n.is_multiple_of(2));
    assert_eq!(sorted(joined), sorted(items.iter().copied().flat_map(matches).collect()));
}

/// Groups that are wider than what is kept in the cache, and fewer items than wait for such a table.
#[test]
fn wide_groups_of_few_items_are_there() {
    let stages = Stages::start().unwrap();
    let wide = || collect_into(|| [0_u64; 64], |sums: &mut [u64; 64], item: &u64| sums[0] += item);
    let items: Vec<u64> = vec![7, 8];
    let found = run(&stages, |list| read!(items).group_by(|n| *n).fold(wide()).write(collect(list)));
    let found = found.into_iter().map(|(key, sums)| (key, sums[0])).collect();
    assert_eq!(sorted(found), [(7, 7), (8, 8)]);
}

/// One processor of each kind, so that there is an order to keep: items that wait for their places in a large table do not overtake.
#[test]
fn tables_larger_than_the_cache_keep_the_order() {
    const KEYS: u64 = 60_000;
    let stages = Stages::start().unwrap();
    let items: Vec<(u64, u64)> =
        (0..4 * KEYS).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % KEYS, n)).collect();

    let small: Vec<(u64, u64)> = (0..KEYS).map(|n| (n / 2 * 2, n)).collect();
    let joined = run(&stages, |list| {
        let small = read!(small).parallelism(1);
        let joined = read!(items).parallelism(1).hash_join(small, |n| n.0, |s| s.0, |n, s| (n.1, s.1));
        joined.parallelism(1).write(collect_in_order(list))
    });
    let matches = |(key, n): (u64, u64)| [(n, key), (n, key + 1)].into_iter().filter(move |_| key % 2 == 0);
    let expected: Vec<_> = items.iter().copied().flat_map(matches).collect();
    assert!(joined == expected, "{} and {}", joined.len(), expected.len());

    let mut groups: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    items.iter().for_each(|item| groups.entry(item.0).or_default().push(*item));
    let groups = Vec::from_iter(groups);
    let listed = run(&stages, |list| {
        read!(items).parallelism(1).group_by(|n| n.0).aggregate(to_vec()).write(collect(list))
    });
    assert!(sorted(listed) == groups);
    // Which one was the last, and which were before it.
    let next = |sum: u64, item: &(u64, u64)| sum.wrapping_mul(31).wrapping_add(item.1);
    let folded = run(&stages, |list| {
        read!(items).parallelism(1).group_by(|n| n.0).fold(fold_with(7, next)).write(collect(list))
    });
    let expected: Vec<_> = groups.iter().map(|(key, items)| (*key, items.iter().fold(7, next))).collect();
    assert!(sorted(folded) == expected);
}
