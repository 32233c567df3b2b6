//! Random entries and random predicates: with indexes, without, and by a model that knows nothing of bytes, paths and forms.

use filbert_grid::query::{
    Comparison, Entry, IndexKind, IndexSettings, Indexes, LikePattern, Operand, Predicate,
};
use filbert_wire::compact::NO_SCHEMAS;
use filbert_wire::{Data, ToData, Value, type_id};
use proptest::prelude::*;
use std::cmp::Ordering;

/// What an attribute can be, in the model.
#[derive(Debug, Clone, PartialEq)]
enum Plain {
    Null,
    Whole(i64),
    /// In halves, so that some equal whole numbers.
    Halves(i64),
    Text(String),
    Bool(bool),
}

impl Plain {
    fn json(&self) -> String {
        match self {
            Plain::Null => "null".into(),
            Plain::Whole(number) => number.to_string(),
            Plain::Halves(halves) => format!("{:?}", *halves as f64 / 2.0),
            Plain::Text(text) => serde_json::to_string(text).unwrap(),
            Plain::Bool(value) => value.to_string(),
        }
    }

    /// As an operand; whole numbers as ints and longs by turns.
    fn operand(&self) -> Operand {
        match self {
            Plain::Null => Value::Null.into(),
            Plain::Whole(number) if number % 2 == 0 => (*number as i32).into(),
            Plain::Whole(number) => (*number).into(),
            Plain::Halves(halves) => (*halves as f64 / 2.0).into(),
            Plain::Text(text) => text.as_str().into(),
            Plain::Bool(value) => (*value).into(),
        }
    }

    /// Twice the number.
    fn halves(&self) -> Option<i64> {
        match self {
            Plain::Whole(number) => Some(number * 2),
            Plain::Halves(halves) => Some(*halves),
            _ => None,
        }
    }

    fn text(&self) -> Option<String> {
        match self {
            Plain::Whole(number) => Some(number.to_string()),
            Plain::Halves(halves) => Some(format!("{:?}", *halves as f64 / 2.0)),
            Plain::Bool(value) => Some(value.to_string()),
            Plain::Text(text) => Some(text.clone()),
            Plain::Null => None,
        }
    }

    /// The order of this attribute and a given value, which is converted to the attribute's kind.
    fn order(&self, given: &Plain) -> Option<Ordering> {
        match (self, given) {
            (Plain::Null, _) | (_, Plain::Null) => None,
            (Plain::Text(text), given) => Some(text.cmp(&given.text()?)),
            (Plain::Bool(value), Plain::Bool(given)) => Some(value.cmp(given)),
            (Plain::Bool(value), Plain::Text(given)) => {
                let given = ["true", "false"].iter().position(|word| word == given)? == 0;
                Some(value.cmp(&given))
            }
            (number, Plain::Text(given)) => {
                Some(number.halves()?.cmp(&(given.parse::<f64>().ok().map(|number| number * 2.0)? as i64)))
            }
            (number, given) => Some(number.halves()?.cmp(&given.halves()?)),
        }
    }

    fn equals(&self, given: &Plain) -> bool {
        (*self == Plain::Null && *given == Plain::Null) || self.order(given) == Some(Ordering::Equal)
    }
}

/// A predicate in the model.
#[derive(Debug, Clone)]
enum Rule {
    Constant(bool),
    And(Vec<Rule>),
    Or(Vec<Rule>),
    Not(Box<Rule>),
    Equal(usize, Plain),
    NotEqual(usize, Plain),
    Compare(usize, Comparison, Plain),
    Between(usize, Plain, Plain),
    In(usize, Vec<Plain>),
    /// The text begins so.
    Begins(usize, String),
}

const ATTRIBUTES: [&str; 4] = ["a", "b.c", "__key", "missing"];

impl Rule {
    fn holds(&self, row: &[Plain; 4]) -> bool {
        match self {
            Rule::Constant(value) => *value,
            Rule::And(all) => all.iter().all(|rule| rule.holds(row)),
            Rule::Or(all) => all.iter().any(|rule| rule.holds(row)),
            Rule::Not(rule) => !rule.holds(row),
            Rule::Equal(at, given) => row[*at].equals(given),
            Rule::NotEqual(at, given) => !row[*at].equals(given),
            Rule::Compare(at, comparison, given) => {
                row[*at].order(given).is_some_and(|order| match comparison {
                    Comparison::Greater => order.is_gt(),
                    Comparison::GreaterOrEqual => order.is_ge(),
                    Comparison::Less => order.is_lt(),
                    Comparison::LessOrEqual => order.is_le(),
                })
            }
            Rule::Between(at, from, to) => {
                row[*at].order(from).is_some_and(Ordering::is_ge)
                    && row[*at].order(to).is_some_and(Ordering::is_le)
            }
            Rule::In(at, given) => given.iter().any(|given| row[*at].equals(given)),
            Rule::Begins(at, prefix) => matches!(&row[*at], Plain::Text(text) if text.starts_with(prefix)),
        }
    }

    fn predicate(&self) -> Predicate {
        let path = |at: usize| ATTRIBUTES[at].parse().unwrap();
        match self {
            Rule::Constant(true) => Predicate::True,
            Rule::Constant(false) => Predicate::False,
            Rule::And(all) => Predicate::And(all.iter().map(Rule::predicate).collect()),
            Rule::Or(all) => Predicate::Or(all.iter().map(Rule::predicate).collect()),
            Rule::Not(rule) => Predicate::Not(Box::new(rule.predicate())),
            Rule::Equal(at, given) => Predicate::Equal(path(*at), given.operand()),
            Rule::NotEqual(at, given) => Predicate::NotEqual(path(*at), given.operand()),
            Rule::Compare(at, comparison, given) => {
                Predicate::Compare(path(*at), *comparison, given.operand())
            }
            Rule::Between(at, from, to) => Predicate::Between(path(*at), from.operand(), to.operand()),
            Rule::In(at, given) => Predicate::In(path(*at), given.iter().map(Plain::operand).collect()),
            Rule::Begins(at, prefix) => {
                Predicate::Like(path(*at), Some(LikePattern::new(format!("{prefix}%")).unwrap()))
            }
        }
    }
}

fn plain() -> impl Strategy<Value = Plain> {
    prop_oneof![
        Just(Plain::Null),
        (-3..6_i64).prop_map(Plain::Whole),
        (-6..12_i64).prop_map(Plain::Halves),
        "[a-c]{0,3}".prop_map(Plain::Text),
        (-3..6_i64).prop_map(|number| Plain::Text(number.to_string())),
        prop_oneof![Just("true"), Just("false")].prop_map(|word| Plain::Text(word.into())),
        any::<bool>().prop_map(Plain::Bool),
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    let at = 0..4_usize;
    let comparison = prop_oneof![
        Just(Comparison::Greater),
        Just(Comparison::GreaterOrEqual),
        Just(Comparison::Less),
        Just(Comparison::LessOrEqual)
    ];
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Rule::Constant),
        4 => (at.clone(), plain()).prop_map(|(at, given)| Rule::Equal(at, given)),
        1 => (at.clone(), plain()).prop_map(|(at, given)| Rule::NotEqual(at, given)),
        4 => (at.clone(), comparison, plain()).prop_map(|(at, comparison, given)| Rule::Compare(at, comparison, given)),
        2 => (at.clone(), plain(), plain()).prop_map(|(at, from, to)| Rule::Between(at, from, to)),
        2 => (at.clone(), proptest::collection::vec(plain(), 0..4)).prop_map(|(at, given)| Rule::In(at, given)),
        1 => (at, "[a-c]{1,2}").prop_map(|(at, prefix)| Rule::Begins(at, prefix)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            3 => proptest::collection::vec(inner.clone(), 0..4).prop_map(Rule::And),
            2 => proptest::collection::vec(inner.clone(), 0..4).prop_map(Rule::Or),
            1 => inner.prop_map(|rule| Rule::Not(Box::new(rule))),
        ]
    })
}

fn json(text: &str) -> Data {
    let payload = [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat();
    Data::new(type_id::JSON, &payload)
}

/// Key, value, and what the attributes are.
fn row(key: i64, a: Plain, c: Plain) -> (Data, Data, [Plain; 4]) {
    let value = json(&format!(
        r#"{{"x": [1, {{"a": 9}}], "a": {}, "b": {{"d": {{}}, "c": {}}}}}"#,
        a.json(),
        c.json()
    ));
    (key.to_data().unwrap(), value, [a, c, Plain::Whole(key), Plain::Null])
}

fn all_indexes() -> Vec<Indexes<usize>> {
    let sets: [&[(IndexKind, &[&str])]; 8] = [
        &[(IndexKind::Sorted, &["a"])],
        &[(IndexKind::Hash, &["a"]), (IndexKind::Sorted, &["b.c"]), (IndexKind::Sorted, &["__key"])],
        &[(IndexKind::Sorted, &["a", "b.c"])],
        &[(IndexKind::Sorted, &["b.c", "a", "__key"]), (IndexKind::Hash, &["a", "b.c"])],
        &[(IndexKind::Sorted, &["missing"]), (IndexKind::Sorted, &["a", "missing", "b.c"])],
        &[(IndexKind::Bitmap, &["a"])],
        &[(IndexKind::Bitmap, &["a"]), (IndexKind::Bitmap, &["b.c"]), (IndexKind::Bitmap, &["missing"])],
        &[(IndexKind::Bitmap, &["b.c"]), (IndexKind::Sorted, &["a"]), (IndexKind::Hash, &["__key"])],
    ];
    let made = sets.iter().map(|set| {
        let mut indexes = Indexes::default();
        for (kind, attributes) in set.iter() {
            indexes.add(IndexSettings::new("m", *kind, None, *attributes).unwrap().into());
        }
        indexes
    });
    made.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn with_index_without_index_and_model_agree(
        values in proptest::collection::vec((plain(), plain()), 1..40),
        updates in proptest::collection::vec((any::<prop::sample::Index>(), plain(), plain(), any::<bool>()), 0..8),
        rules in proptest::collection::vec(rule(), 1..5),
    ) {
        let mut rows: Vec<Option<_>> =
            values.into_iter().enumerate().map(|(key, (a, c))| Some(row(key as i64 % 7 + key as i64 * 100 * (key as i64 % 2), a, c))).collect();
        let mut sets = all_indexes();
        for indexes in &mut sets {
            for (number, (key, value, _)) in rows.iter().flatten().enumerate() {
                indexes.insert(&number, &Entry::new(key, value, NO_SCHEMAS));
            }
        }
        for (at, a, c, removes) in updates {
            let at = at.index(rows.len());
            let Some((key, old, plain)) = rows[at].clone() else { continue };
            let Plain::Whole(number) = plain[2] else { unreachable!("keys are whole numbers") };
            let new = row(number, a, c);
            for indexes in &mut sets {
                let old = Entry::new(&key, &old, NO_SCHEMAS);
                if removes {
                    indexes.remove(&at, &old);
                } else {
                    indexes.update(&at, &old, &Entry::new(&key, &new.1, NO_SCHEMAS));
                }
            }
            rows[at] = (!removes).then_some(new);
        }
        for rule in rules {
            let predicate = rule.predicate();
            let there = || rows.iter().enumerate().filter_map(|(number, row)| Some((number, row.as_ref()?)));
            let expected: Vec<usize> = there().filter(|(_, row)| rule.holds(&row.2)).map(|(number, _)| number).collect();
            let matches = |number: &usize| {
                let (key, value, _) = rows[*number].as_ref().expect("an index knows only entries that are there");
                predicate.matches(&Entry::new(key, value, NO_SCHEMAS)).unwrap()
            };
            let scanned: Vec<usize> = there().map(|(number, _)| number).filter(matches).collect();
            prop_assert_eq!(&scanned, &expected, "scan: {}", predicate);
            for indexes in &sets {
                let Some(plan) = indexes.plan(&predicate) else { continue };
                let candidates = plan.candidates(indexes);
                prop_assert!(plan.estimate() >= candidates.len());
                let left = |number: &usize| {
                    let (key, value, _) = rows[*number].as_ref().expect("an index knows only entries that are there");
                    plan.residual().matches(&predicate, &Entry::new(key, value, NO_SCHEMAS)).unwrap()
                };
                let found: Vec<usize> = candidates.into_iter().filter(left).collect();
                prop_assert_eq!(&found, &expected, "index: {} by {:?}", predicate, plan);
            }
        }
    }
}
