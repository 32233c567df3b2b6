//! Compact schemas and indexes: of maps on disk they come back with the maps, and indexes can be declared in the settings.

use filbert_grid::query::{IndexKind, IndexSettings, Predicate};
use filbert_grid::{Grid, GridError, GridSettings, Map, MapSettings, PersistenceSettings, Registry, Service};
use filbert_pool::Stages;
use filbert_wire::compact::{Compact as _, Schema, SchemaSource};
use filbert_wire::{Compact, Data, ToData};
use std::path::Path;
use std::sync::Arc;

fn settings(folder: &Path) -> GridSettings {
    let data_directory = folder.display().to_string();
    let mut settings = GridSettings { data_directory, ..Default::default() };
    let persistence = Some(PersistenceSettings::default());
    settings.maps.set("*", MapSettings { persistence, ..Default::default() });
    settings
}

fn with_grid<R>(settings: &GridSettings, run: impl FnOnce(&Grid) -> R) -> R {
    let stages = Stages::simulated(1);
    let grid = Grid::open(&stages, settings.clone(), Registry::new(), &|_| ()).unwrap();
    let result = run(&grid);
    grid.close().unwrap();
    result
}

#[derive(Compact)]
struct Person {
    age: i32,
}

fn schema() -> Arc<Schema> {
    Person::schema().clone().into()
}

fn names(map: &Map) -> Vec<String> {
    map.indexes().wait().unwrap().iter().map(|index| index.name().to_owned()).collect()
}

fn int(number: i32) -> Data {
    number.to_data().unwrap()
}

/// Values on disk could not be read after an orderly restart, and queries were full scans without a word.
#[test]
fn schemas_and_indexes_come_back_with_the_maps() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path());
    let index = |map: &str| IndexSettings::new(map, IndexKind::Sorted, None, ["this"]).unwrap();
    with_grid(&settings, |grid| {
        grid.catalog().define_schema(schema()).wait().unwrap();
        let map = grid.map("m");
        map.add_index(index("m")).wait().unwrap();
        (0..10).for_each(|key| map.set(int(key), int(key)).wait().unwrap());
        // Written as a client does it, which sends the schema before.
        (0..10).for_each(|age| {
            grid.map("people").set(int(age), Person { age }.to_data().unwrap()).wait().unwrap()
        });
        grid.map("empty").add_index(index("empty")).wait().unwrap();
        grid.map("gone").add_index(index("gone")).wait().unwrap();
        assert!(grid.structures().destroy(Service::Map, "gone"));
    });
    for _ in 0..2 {
        with_grid(&settings, |grid| {
            assert_eq!(grid.damaged_definitions(), []);
            assert_eq!(grid.catalog().schema(schema().id()), Some(schema()));
            let map = grid.map("m");
            assert_eq!(names(&map), ["m_sorted_this"]);
            let found = map.key_set_where(&Predicate::sql("this > 7").unwrap()).wait().unwrap();
            assert_eq!(found.len(), 2, "{found:?}");
            let old = grid.map("people").values_where(&Predicate::sql("age >= 6").unwrap()).wait().unwrap();
            assert_eq!(old.len(), 4);
            assert_eq!(names(&grid.map("empty")), ["empty_sorted_this"]);
            assert_eq!(names(&grid.map("gone")), Vec::<String>::new());
        });
    }
}

/// The index was built, its map destroyed, and only then it was kept: the next map of that name had it.
#[test]
fn an_index_of_a_map_that_is_destroyed_meanwhile_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path());
    with_grid(&settings, |grid| {
        let map = grid.map("m");
        let adding = map.add_index(IndexSettings::new("m", IndexKind::Sorted, None, ["this"]).unwrap());
        assert!(grid.structures().destroy(Service::Map, "m"));
        let refused = adding.wait();
        assert!(matches!(refused, Err(GridError::Destroyed { .. })), "{refused:?}");
        assert_eq!(names(&grid.map("m")), Vec::<String>::new());
    });
    with_grid(&settings, |grid| assert_eq!(names(&grid.map("m")), Vec::<String>::new()));
}

/// In a backup too, so that what is restored elsewhere can be read.
#[test]
fn a_backup_has_schemas_and_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second, file) =
        (folder.path().join("first"), folder.path().join("second"), folder.path().join("backup"));
    with_grid(&settings(&first), |grid| {
        grid.catalog().define_schema(schema()).wait().unwrap();
        let map = grid.map("m");
        map.add_index(IndexSettings::new("m", IndexKind::Hash, None, ["this"]).unwrap()).wait().unwrap();
        map.set(int(1), int(1)).wait().unwrap();
    });
    assert!(filbert_store::backup(&first, &file, 7, &mut |_| {}).unwrap().is_sound());
    filbert_store::restore(&file, &second, false, &mut |_| {}).unwrap();
    with_grid(&settings(&second), |grid| {
        assert_eq!(grid.catalog().schema(schema().id()), Some(schema()));
        assert_eq!(names(&grid.map("m")), ["m_hash_this"]);
        assert_eq!(grid.map("m").size().wait().unwrap(), 1);
    });
}

/// What cannot be read of them is told, and everything else is served.
#[test]
fn damaged_definitions_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path());
    with_grid(&settings, |grid| {
        grid.catalog().define_schema(schema()).wait().unwrap();
        grid.map("m").set(int(1), int(1)).wait().unwrap();
    });
    std::fs::remove_file(folder.path().join("definitions/log-0000000000000001.seg")).unwrap();
    with_grid(&settings, |grid| {
        assert_eq!(grid.damaged_definitions().len(), 1);
        assert_eq!(grid.map("m").size().wait().unwrap(), 1);
    });
}

#[test]
fn indexes_can_be_declared() {
    let text = r#"{ "map": { "people*": { "index": [
        { "type": "hash", "attributes": ["this"] }, { "attributes": ["this", "__key"], "name": "both" }
    ] } } }"#;
    let settings: GridSettings = serde_json::from_str(text).unwrap();
    settings.check().unwrap();
    let stages = Stages::simulated(1);
    let grid = Grid::with(&stages, settings, Registry::new());
    let map = grid.map("people-1");
    assert_eq!(names(&map), ["people-1_hash_this", "both"]);
    (0..10).for_each(|key| map.set(int(key), int(key)).wait().unwrap());
    let found = map.key_set_where(&Predicate::sql("this = 7").unwrap()).wait().unwrap();
    assert_eq!(found, [int(7)]);
    for (index, problem) in [
        (r#"{ "type": "hsah", "attributes": ["a"] }"#, "type"),
        (r#"{ "attributes": [] }"#, "map.m.index[0]: "),
        (r#"{ "type": "bitmap", "attributes": ["a", "b"] }"#, "a bitmap index has one attribute"),
    ] {
        let text = format!(r#"{{ "map": {{ "m": {{ "index": [{index}] }} }} }}"#);
        let told = match serde_json::from_str::<GridSettings>(&text) {
            Ok(settings) => settings.check().unwrap_err().problems.join("; "),
            Err(error) => format!("type: {error}"),
        };
        assert!(told.contains(problem), "{index}: {told}");
    }
}
