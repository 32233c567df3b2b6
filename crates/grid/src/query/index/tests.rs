//! Keys, composite indexes and plans; that answers with and without index are the same is tested in `tests/query_oracle.rs`.

use super::*;
use crate::query::Attribute;
use filbert_wire::compact::NO_SCHEMAS;
use filbert_wire::{Data, Decimal, Json, ToData, Value};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

fn settings(kind: IndexKind, attributes: &[&str]) -> Arc<IndexSettings> {
    IndexSettings::new("map", kind, None, attributes).unwrap().into()
}

fn object(fields: &[(&str, i64)]) -> Data {
    Json(fields.iter().copied().collect::<BTreeMap<_, _>>()).to_data().unwrap()
}

/// 100 entries with `a` = n / 10 and `b` = n % 10.
fn grid_of(indexes: &mut Indexes<i64>) -> Vec<Data> {
    let values: Vec<_> = (0..100).map(|number| object(&[("a", number / 10), ("b", number % 10)])).collect();
    for (number, value) in values.iter().enumerate() {
        indexes.insert(&(number as i64), &Entry::new(value, value, NO_SCHEMAS));
    }
    values
}

#[test]
fn equal_numbers_of_all_types_are_one_key() {
    let ones = [
        Value::Byte(1),
        Value::Short(1),
        Value::Int(1),
        Value::Long(1),
        Value::Float(1.0),
        Value::Double(1.0),
        Value::BigInteger(1.into()),
        Value::Decimal(Decimal::new(100, 2)),
    ];
    let hasher = RandomState::new();
    let first = IndexTuple::one(Value::Int(1));
    for one in ones {
        let key = IndexTuple::one(one.clone());
        assert_eq!(key, first, "{one:?}");
        assert_eq!(hasher.hash_one(&key), hasher.hash_one(&first), "{one:?}");
    }
    assert_ne!(IndexTuple::one(Value::String("1".into())), first);
}

#[test]
fn names_follow_map_kind_and_attributes() {
    assert_eq!(settings(IndexKind::Sorted, &["age"]).name(), "map_sorted_age");
    assert_eq!(settings(IndexKind::Hash, &["this.a", "__key.b"]).name(), "map_hash_a___key.b");
    let named = IndexSettings::new("map", IndexKind::Hash, Some("x"), ["a"]).unwrap();
    assert_eq!(named.name(), "x");
    for attributes in [&[][..], &["a", "this.a"], &["a[any]", "b"], &["a."]] {
        assert!(IndexSettings::new("map", IndexKind::Hash, None, attributes).is_err(), "{attributes:?}");
    }
    assert!(IndexKind::of_number(9).is_err());
    assert!(IndexSettings::new("map", IndexKind::Bitmap, None, ["a", "b"]).is_err(), "one attribute");
    let travelled: IndexSettings = serde_json::from_str(&serde_json::to_string(&named).unwrap()).unwrap();
    assert_eq!(travelled, named);
}

#[test]
fn composite_indexes_take_a_prefix_and_a_range() {
    let mut indexes = Indexes::default();
    assert!(indexes.add(settings(IndexKind::Sorted, &["a", "b"])));
    assert!(!indexes.add(settings(IndexKind::Sorted, &["a", "b"])));
    grid_of(&mut indexes);
    let found = |text: &str| {
        let plan = indexes.plan(&Predicate::sql(text).unwrap()).unwrap();
        (plan.candidates(&indexes), plan.residual().clone())
    };
    assert_eq!(found("a = 3 AND b = 4"), (vec![34], Residual::AllBut(vec![0, 1])));
    assert_eq!(found("b > 7 AND a = 3").0, [38, 39]);
    assert_eq!(
        found("a = 3 AND b BETWEEN 2 AND 4 AND b <> 3"),
        (vec![32, 33, 34], Residual::AllBut(vec![0, 1]))
    );
    assert_eq!(found("a IN (1, 2) AND b = 0").0, [10, 20]);
    assert_eq!(found("a = 3").0, (30..40).collect::<Vec<_>>());
    assert_eq!(found("a > 7 AND a <= 8").0, (80..90).collect::<Vec<_>>());
    assert_eq!(found("a > 8 AND b = 1").0, (90..100).collect::<Vec<_>>());
    assert_eq!(found("a = 1 AND a = 2").0, Vec::<i64>::new());
    assert!(indexes.plan(&Predicate::sql("b = 1").unwrap()).is_none());
    assert!(indexes.plan(&Predicate::sql("NOT a = 1").unwrap()).is_none());
}

#[test]
fn the_most_selective_index_wins_and_or_needs_all_sides() {
    let mut indexes = Indexes::default();
    indexes.add(settings(IndexKind::Hash, &["a"]));
    indexes.add(settings(IndexKind::Sorted, &["b"]));
    let values = grid_of(&mut indexes);
    let plan = |text: &str| indexes.plan(&Predicate::sql(text).unwrap());
    assert_eq!(plan("a = 1 AND b < 1").unwrap().estimate(), 10);
    assert_eq!(plan("a = 1 AND b < 3").unwrap().residual(), &Residual::AllBut(vec![0]));
    assert_eq!(plan("a = 77 AND b < 1").unwrap().candidates(&indexes), Vec::<i64>::new());
    assert_eq!(plan("a = 1 OR b = 1").unwrap().candidates(&indexes).len(), 19);
    assert!(plan("a = 1 OR c = 1").is_none());
    assert!(plan("a > 1").is_none(), "a hash index has no order");
    for number in 0..50 {
        indexes.remove(&number, &Entry::new(&values[0], &values[number as usize], NO_SCHEMAS));
    }
    let changed = object(&[("a", 100), ("b", 100)]);
    indexes.update(
        &50,
        &Entry::new(&changed, &values[50], NO_SCHEMAS),
        &Entry::new(&changed, &changed, NO_SCHEMAS),
    );
    let found = |text: &str| indexes.plan(&Predicate::sql(text).unwrap()).unwrap().candidates(&indexes);
    assert_eq!(found("a = 1"), Vec::<i64>::new());
    assert_eq!(found("b >= 9"), [50, 59, 69, 79, 89, 99]);
    indexes.clear();
    assert_eq!(indexes.plan(&Predicate::sql("b >= 0").unwrap()).unwrap().estimate(), 0);
    assert!(indexes.drop_index("map_hash_a") && !indexes.drop_index("map_hash_a"));
}

#[test]
fn prefixes_of_texts_are_ranges() {
    let mut indexes = Indexes::default();
    indexes.add(settings(IndexKind::Sorted, &["this"]));
    // Numbered in their order, so that they are found in it.
    let texts = ["", "a", "ab", "abc", "ab\u{ffff}\u{ffff}", "ab\u{1f600}", "ac", "b"];
    for (number, text) in texts.iter().enumerate() {
        let data = text.to_data().unwrap();
        indexes.insert(&number, &Entry::new(&data, &data, NO_SCHEMAS));
    }
    let found = |text: &str| -> Vec<&str> {
        let plan = indexes.plan(&Predicate::sql(text).unwrap()).unwrap();
        plan.candidates(&indexes).into_iter().map(|number| texts[number]).collect()
    };
    assert_eq!(found("this LIKE 'ab%'"), ["ab", "abc", "ab\u{ffff}\u{ffff}", "ab\u{1f600}"]);
    assert_eq!(found("this LIKE 'a%' AND this LIKE 'abc%'"), ["abc"]);
    assert_eq!(found("this LIKE 'abc%' AND this LIKE 'a%'"), ["abc"]);
    assert_eq!(
        found("this LIKE 'a%' AND this > 'abc' AND this < 'ad'"),
        ["ab\u{ffff}\u{ffff}", "ab\u{1f600}", "ac"]
    );
}

#[test]
fn items_of_a_list_are_keys_of_their_own() {
    let mut indexes = Indexes::default();
    indexes.add(settings(IndexKind::Sorted, &["n[any]"]));
    let lists = [vec![1, 2, 2], vec![], vec![2, 9]];
    for (number, list) in lists.iter().enumerate() {
        let data = Json(BTreeMap::from([("n", list)])).to_data().unwrap();
        indexes.insert(&number, &Entry::new(&data, &data, NO_SCHEMAS));
    }
    let found = |text: &str| indexes.plan(&Predicate::sql(text).unwrap()).unwrap().candidates(&indexes);
    assert_eq!(found("n[any] = 2"), [0, 2]);
    // 2 meets the one, 9 the other.
    assert!(found("n[any] < 3 AND n[any] > 8").contains(&2));
    assert!("n[any]".parse::<Attribute>().unwrap().is_multiple());
}

fn bitmap_options(unique_key: &str) -> BitmapOptions {
    BitmapOptions { unique_key: unique_key.parse().unwrap(), transformation: UniqueKeyTransformation::Long }
}

#[test]
fn a_unique_key_is_of_a_bitmap_index() {
    let settings = |kind| IndexSettings::new("map", kind, None, ["a"]).unwrap();
    let bitmap = settings(IndexKind::Bitmap).with_bitmap_options(bitmap_options("__key")).unwrap();
    assert_eq!((bitmap.name(), bitmap.bitmap_options()), ("map_bitmap_a", Some(&bitmap_options("__key"))));
    let travelled: IndexSettings = serde_json::from_str(&serde_json::to_string(&bitmap).unwrap()).unwrap();
    assert_eq!(travelled, bitmap);
    assert!(settings(IndexKind::Hash).with_bitmap_options(bitmap_options("__key")).is_err());
    assert!(settings(IndexKind::Bitmap).with_bitmap_options(bitmap_options("x[any]")).is_err());
    assert!(
        UniqueKeyTransformation::of_number(3).is_err() && UniqueKeyTransformation::of_word("big").is_err()
    );
    assert_eq!(UniqueKeyTransformation::of_word("RAW").unwrap(), UniqueKeyTransformation::Raw);
}

#[test]
fn bitmaps_of_several_attributes_are_put_together() {
    let mut indexes = Indexes::default();
    indexes.add(settings(IndexKind::Bitmap, &["a"]));
    indexes.add(settings(IndexKind::Bitmap, &["b"]));
    grid_of(&mut indexes);
    let planned = |text: &str| {
        let plan = indexes.plan(&Predicate::sql(text).unwrap()).unwrap();
        (plan.candidates(&indexes), plan.residual().clone())
    };
    assert_eq!(planned("a = 3 AND b IN (1, 2)"), (vec![31, 32], Residual::Nothing));
    assert_eq!(planned("(a = 3 OR a = 5) AND b = 7 "), (vec![37, 57], Residual::Nothing));
    assert_eq!(planned("a = 3 AND NOT (b < 5)").0.len(), 10, "a range is left to be checked");
    let (found, residual) = planned("a = 3 AND NOT (b = 4 OR b = 5) AND b != 6");
    assert_eq!((found, residual), (vec![30, 31, 32, 33, 37, 38, 39], Residual::Whole));
    assert!(indexes.plan(&Predicate::sql("a > 3").unwrap()).is_none(), "bitmaps have no order");
    assert!(indexes.plan(&Predicate::sql("a = 3 OR b > 4").unwrap()).is_none());
    assert!(indexes.plan(&Predicate::sql("NOT (a = 3 AND b > 4)").unwrap()).is_none());
}

/// Whatever the number of entries and of sets is: a step reads a bounded part of them.
#[test]
fn a_step_of_bitmaps_has_a_bound() {
    let mut indexes = Indexes::default();
    indexes.add(settings(IndexKind::Bitmap, &["this"]));
    let values: Vec<_> = (0..2_000).map(|value: i64| value.to_data().unwrap()).collect();
    for number in 0..100_000_i64 {
        let value = &values[(number % 2_000) as usize];
        indexes.insert(&number, &Entry::new(value, value, NO_SCHEMAS));
    }
    let one_of = |count: i64| Predicate::is_in("this", 0..count).unwrap();
    for (predicate, sets) in [
        (one_of(1), 1),
        (Predicate::not(one_of(1)), 1),
        (one_of(50), 50),
        (Predicate::not(one_of(200)), 200),
        (Predicate::not_equal("this", 7_i64).unwrap(), 1),
    ] {
        let search = Search::of(&indexes, &predicate).unwrap();
        let (mut from, mut found, mut widest) = (0, 0, 0);
        while let Some(step) = search.step(from) {
            assert!(step.slots().all(|slot| (from..step.next()).contains(&slot)));
            found += step.slots().count();
            widest = widest.max(step.next() - from);
            from = step.next();
        }
        let is_positive = matches!(predicate, Predicate::In(..));
        let expected = if is_positive { sets } else { 2_000 - sets } * 50;
        assert_eq!((found, search.estimate()), (expected, expected), "{predicate}");
        assert!(widest <= 4_096 && widest as usize * sets <= 1 << 17, "{widest} slots of {sets} sets");
    }
    assert!(Search::of(&indexes, &one_of(300)).is_none(), "to scan is sooner done");
    assert!(Search::of(&indexes, &one_of(1_500)).is_none(), "too many to look for in one turn");
}
