//! Queries over whole maps: all partitions, with and without indexes, while others change entries.

use filbert_grid::query::{
    Aggregate, Aggregator, Attribute, IndexKind, IndexSettings, IterationType, PagingPredicate, Predicate,
    Projection, QueryError,
};
use filbert_grid::{Code, Entry, EntryProcessor, Grid, GridError, GridSettings, Interest, Map, Registry};
use filbert_pool::Stages;
use filbert_wire::{Compact, Data, FromData, Json, ToData, Value, compact::Compact as _};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

const COUNT: i32 = 5_000;

fn person(number: i32) -> Data {
    let fields = BTreeMap::from([("age", number % 100), ("size", number / 100)]);
    Json(fields).to_data().unwrap()
}

/// People numbered from 0 on, on slices so small that every scan needs several turns.
fn people(stages: &Stages) -> (Grid, Map) {
    let settings = GridSettings { scan_slice_entries: 5, ..GridSettings::default() };
    let grid = Grid::with(stages, settings, Registry::new().with_processor("older", |_| Ok(Older)));
    let map = grid.map("people");
    map.put_all((0..COUNT).map(|number| (number.to_data().unwrap(), person(number)))).wait().unwrap();
    (grid, map)
}

struct Older;

impl EntryProcessor for Older {
    fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
        let value = entry.value().ok_or("nobody")?;
        let Json(mut fields) =
            Json::<BTreeMap<String, i32>>::from_data(&value).map_err(|error| error.to_string())?;
        *fields.entry("age".into()).or_default() += 1_000;
        entry.set_value(Json(fields).to_data().map_err(|error| error.to_string())?);
        Ok(Some(entry.key()))
    }
}

fn sql(text: &str) -> Predicate {
    Predicate::sql(text).unwrap()
}

fn numbers(data: impl IntoIterator<Item = Data>) -> BTreeSet<i32> {
    data.into_iter().map(|key| i32::from_data(&key).unwrap()).collect()
}

fn expected(matches: impl Fn(i32) -> bool) -> BTreeSet<i32> {
    (0..COUNT).filter(|number| matches(*number)).collect()
}

fn attribute(path: &str) -> Option<Attribute> {
    Some(path.parse().unwrap())
}

#[test]
fn keys_values_and_entries_match_with_and_without_index() {
    let stages = Stages::start().unwrap();
    let (_grid, map) = people(&stages);
    for round in 0..3 {
        let check = |text: &str, matches: &dyn Fn(i32) -> bool| {
            let keys = map.key_set_where(&sql(text)).wait().unwrap();
            let expected = expected(matches);
            assert_eq!(keys.len(), expected.len(), "{text} in round {round}");
            assert_eq!(numbers(keys), expected, "{text} in round {round}");
            assert_eq!(map.values_where(&sql(text)).wait().unwrap().len(), expected.len());
            for (key, value) in map.entry_set_where(&sql(text)).wait().unwrap() {
                assert_eq!(value, person(i32::from_data(&key).unwrap()));
            }
        };
        check("age = 7", &|number| number % 100 == 7);
        check("age > 90 AND size < 3", &|number| number % 100 > 90 && number / 100 < 3);
        check("age IN (1, 2) OR size = 4", &|number| {
            number % 100 == 1 || number % 100 == 2 || number / 100 == 4
        });
        check("NOT age BETWEEN 10 AND 99", &|number| number % 100 < 10);
        check("__key < 3", &|number| number < 3);
        let add = |kind, attribute| {
            map.add_index(IndexSettings::new("people", kind, None, [attribute]).unwrap()).wait().unwrap()
        };
        match round {
            0 => add(IndexKind::Sorted, "age"),
            _ => add(IndexKind::Hash, "size"),
        }
    }
}

#[test]
fn an_index_follows_puts_removes_and_clear() {
    let stages = Stages::start().unwrap();
    let (_grid, map) = people(&stages);
    let settings = IndexSettings::new("people", IndexKind::Sorted, None, ["age"]).unwrap();
    let building = map.add_index(settings.clone());
    // While it is built.
    for number in 0..500 {
        map.set(number.to_data().unwrap(), person(10_042)).wait().unwrap();
        map.delete((number + 500).to_data().unwrap()).wait().unwrap();
    }
    building.wait().unwrap();
    map.add_index(settings).wait().unwrap();
    let of_42 = || numbers(map.key_set_where(&sql("age = 42")).wait().unwrap());
    let expected_now = expected(|number| number < 500 || (number >= 1_000 && number % 100 == 42));
    assert_eq!(of_42(), expected_now);
    assert_eq!(map.remove_where(&sql("age = 42 AND __key >= 1000")).wait().unwrap(), 40);
    assert_eq!(of_42(), expected(|number| number < 500));
    map.clear().wait().unwrap();
    assert_eq!(of_42(), BTreeSet::new());
}

#[test]
fn aggregations_and_projections_over_all_partitions() {
    let stages = Stages::start().unwrap();
    let (_grid, map) = people(&stages);
    let aggregate = |aggregate, path: &str, predicate: Option<&Predicate>| {
        let data = map.aggregate(&Aggregator::new(aggregate, attribute(path)), predicate).wait().unwrap();
        Value::from_data(&data).unwrap()
    };
    let young = sql("age < 10");
    assert_eq!(aggregate(Aggregate::Count, "age", None), Value::Long(COUNT.into()));
    assert_eq!(aggregate(Aggregate::Count, "this", Some(&young)), Value::Long(i64::from(COUNT) / 10));
    assert_eq!(aggregate(Aggregate::LongSum, "age", Some(&young)), Value::Long(45 * i64::from(COUNT) / 100));
    assert_eq!(aggregate(Aggregate::IntegerAverage, "age", Some(&young)), Value::Double(4.5));
    assert_eq!(
        aggregate(Aggregate::DoubleSum, "age", Some(&young)),
        Value::Double(45.0 * f64::from(COUNT) / 100.0)
    );
    assert_eq!(aggregate(Aggregate::Max, "age", Some(&young)), Value::Long(9));
    assert_eq!(aggregate(Aggregate::Min, "age", None), Value::Long(0));
    assert_eq!(aggregate(Aggregate::LongAverage, "age", Some(&Predicate::False)), Value::Null);
    let text = map.aggregate(&Aggregator::new(Aggregate::LongSum, attribute("nothing")), None).wait();
    assert!(matches!(text, Err(GridError::Query(QueryError::NotANumber { .. }))), "{text:?}");
    let ages =
        map.project(&Projection::Single("age".parse().unwrap()), Some(&sql("__key = 123"))).wait().unwrap();
    assert_eq!(ages, [23_i64.to_data().unwrap()]);
    let both = Projection::Multi(vec!["age".parse().unwrap(), "__key".parse().unwrap()]);
    let rows = map.project(&both, Some(&sql("__key = 123"))).wait().unwrap();
    let row = Value::List(vec![Value::Long(23), Value::Int(123)]);
    assert_eq!(Value::from_data(&rows[0]).unwrap(), row);
}

#[test]
fn pages_are_the_sorted_entries_cut() {
    let stages = Stages::start().unwrap();
    let (_grid, map) = people(&stages);
    let mut anchors = Vec::new();
    let mut seen = Vec::new();
    for page in 0.. {
        let request = PagingPredicate::new(Some(sql("age >= 95")), 33, page, IterationType::Key).unwrap();
        let result = map.page(&request.with_anchors(anchors)).wait().unwrap();
        if result.entries.is_empty() {
            break;
        }
        seen.extend(result.entries.iter().map(|(key, _)| i32::from_data(key).unwrap()));
        anchors = result.anchors;
    }
    assert_eq!(seen, expected(|number| number % 100 >= 95).into_iter().collect::<Vec<_>>());
}

#[test]
fn processors_and_listeners_by_predicate() {
    let stages = Stages::start().unwrap();
    let (grid, map) = people(&stages);
    let heard = Arc::new((Mutex::new(BTreeSet::new()), Condvar::new()));
    let hears = Arc::clone(&heard);
    let old = sql("age = 1005 AND size < 3");
    map.add_listener_where(grid.new_id(), Interest::ALL, old, move |event| {
        let key = event.key.as_ref().expect("an event of one key");
        hears.0.lock().unwrap().insert(i32::from_data(key).unwrap());
        hears.1.notify_all();
    })
    .unwrap();
    let given = map
        .execute_on_entries_where(&sql("age IN (5, 6)"), &Code::named("older", 0.to_data().unwrap()))
        .wait()
        .unwrap();
    assert_eq!(
        numbers(given.into_iter().map(|(key, _)| key)),
        expected(|number| [5, 6].contains(&(number % 100)))
    );
    assert_eq!(map.key_set_where(&sql("age > 1000")).wait().unwrap().len(), 100);
    let expected = BTreeSet::from([5, 105, 205]);
    let (set, changed) = &*heard;
    let waited =
        changed.wait_timeout_while(set.lock().unwrap(), Duration::from_secs(60), |heard| *heard != expected);
    assert_eq!(*waited.unwrap().0, expected);
}

#[derive(Compact)]
#[compact(name = "point")]
struct Point {
    x: i32,
}

#[test]
fn compact_objects_are_queried_by_the_schemas_that_were_sent() {
    let stages = Stages::start().unwrap();
    let grid = Grid::new(&stages);
    let map = grid.map("points");
    for x in 0..100 {
        map.set(x.to_data().unwrap(), Point { x }.to_data().unwrap()).wait().unwrap();
    }
    let far = sql("x >= 90");
    assert!(matches!(map.key_set_where(&far).wait(), Err(GridError::Query(QueryError::Decode { .. }))));
    grid.catalog().add_schema(Point::schema().clone().into()).unwrap();
    assert_eq!(numbers(map.key_set_where(&far).wait().unwrap()), (90..100).collect());
    map.add_index(IndexSettings::new("points", IndexKind::Sorted, None, ["x"]).unwrap()).wait().unwrap();
    assert_eq!(numbers(map.key_set_where(&far).wait().unwrap()), (90..100).collect());
    let deep = (0..200).fold(Predicate::True, |inner, _| Predicate::And(vec![inner]));
    assert!(matches!(map.key_set_where(&deep).wait(), Err(GridError::Query(QueryError::TooDeep { .. }))));
}

/// An index kept such entries under null for good: queries missed them, and what came into their slots later was found as null.
#[test]
fn an_index_reads_entries_whose_schema_comes_later() {
    let stages = Stages::start().unwrap();
    let grid = Grid::new(&stages);
    let map = grid.map("points");
    let index = |kind| IndexSettings::new("points", kind, None, ["x"]).unwrap();
    map.add_index(index(IndexKind::Hash)).wait().unwrap();
    let key = |number: i32| number.to_data().unwrap();
    for x in 0..1_000 {
        map.set(key(x), Point { x }.to_data().unwrap()).wait().unwrap();
    }
    map.add_index(index(IndexKind::Sorted)).wait().unwrap();
    let unknown = map.key_set_where(&sql("x = 5")).wait();
    assert!(matches!(unknown, Err(GridError::Query(QueryError::Decode { .. }))), "{unknown:?}");
    map.delete(key(1)).wait().unwrap();
    grid.catalog().add_schema(Point::schema().clone().into()).unwrap();
    map.delete(key(2)).wait().unwrap();
    map.set(key(3), Point { x: 5 }.to_data().unwrap()).wait().unwrap();
    // They take the places of those that went.
    for x in 1_000..1_200 {
        map.set(key(x), Point { x }.to_data().unwrap()).wait().unwrap();
    }
    let found = |text: &str| numbers(map.key_set_where(&sql(text)).wait().unwrap());
    assert_eq!(found("x = 5"), [3, 5].into());
    assert_eq!(found("x < 5"), [0, 4].into());
    assert_eq!(found("x IS NULL"), [].into());
    assert_eq!(found("x >= 998"), (998..1_200).collect());
}
