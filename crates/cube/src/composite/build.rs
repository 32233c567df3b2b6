//! A composite under construction.

use super::{Composite, Constant, Inner, SubCube};
use crate::coordinate::Coordinate;
use crate::cube::Cube;
use crate::error::CubeError;
use arrow::datatypes::{DataType, Field, Schema};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Collects cubes; [`CompositeBuilder::build`] checks that they fit together.
#[derive(Debug)]
#[must_use = "call `build`"]
pub struct CompositeBuilder {
    name: String,
    cubes: Vec<Added>,
    /// Coordinates of columns that cubes do not have: of one of them, or of all.
    missing: Vec<(Option<String>, String, Coordinate)>,
}

#[derive(Debug)]
struct Added {
    name: String,
    cube: Cube,
    is_prefixed: bool,
}

impl CompositeBuilder {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), cubes: Vec::new(), missing: Vec::new() }
    }

    /// Adds a cube, with its measures under their own names.
    pub fn cube(self, name: &str, cube: &Cube) -> Self {
        self.add(name, cube, false)
    }

    /// Adds a cube, with its measures under their names after its own and a dot: `fx.pnl`.
    pub fn prefixed_cube(self, name: &str, cube: &Cube) -> Self {
        self.add(name, cube, true)
    }

    fn add(mut self, name: &str, cube: &Cube, is_prefixed: bool) -> Self {
        self.cubes.push(Added { name: name.to_owned(), cube: cube.clone(), is_prefixed });
        self
    }

    /// The coordinate that a column has in all cubes that do not have the column; no value unless this says otherwise.
    pub fn missing(mut self, column: &str, coordinate: impl Into<Coordinate>) -> Self {
        self.missing.push((None, column.to_owned(), coordinate.into()));
        self
    }

    /// The same in one cube.
    pub fn missing_in(mut self, cube: &str, column: &str, coordinate: impl Into<Coordinate>) -> Self {
        self.missing.push((Some(cube.to_owned()), column.to_owned(), coordinate.into()));
        self
    }

    /// Checks that names are clear and columns of one name are of one type.
    pub fn build(self) -> Result<Composite, CubeError> {
        let invalid = |problem: String| Err(CubeError::InvalidTable { table: self.name.clone(), problem });
        // The column of each name, and the cube that had it first.
        let mut columns: BTreeMap<Arc<str>, (DataType, &str)> = BTreeMap::new();
        columns.insert(Composite::CUBE.into(), (DataType::Utf8, ""));
        let mut measures: BTreeMap<String, (usize, String)> = BTreeMap::new();
        for (number, Added { name, cube, is_prefixed }) in self.cubes.iter().enumerate() {
            if self.cubes[..number].iter().any(|other| other.name == *name) {
                return invalid(format!("two of its cubes are named {name:?}; rename one"));
            }
            for (column, data_type) in cube.column_types() {
                let (known, of) = columns.entry(Arc::clone(&column)).or_insert((data_type.clone(), name));
                if *known != data_type && *column != *Composite::CUBE {
                    return invalid(format!(
                        "column {column:?} is {known} in cube {of:?} and {data_type} in {name:?}; give both the same type, or one another name"
                    ));
                }
            }
            for measure in cube.forest().names() {
                let here = if *is_prefixed { format!("{name}.{measure}") } else { measure.to_owned() };
                if let Some((other, _)) = measures.insert(here.clone(), (number, measure.to_owned())) {
                    let other = &self.cubes[other].name;
                    return invalid(format!(
                        "cubes {other:?} and {name:?} both have a measure {here:?}; add one of them by `prefixed_cube`"
                    ));
                }
            }
        }
        for (cube, column, coordinate) in &self.missing {
            let is_named = |name: &String| self.cubes.iter().any(|of| of.name == *name);
            if let Some(cube) = cube.as_ref().filter(|name| !is_named(name)) {
                return invalid(format!("it has no cube {cube:?}, in which {column:?} is missing"));
            }
            match columns.get(column.as_str()) {
                None => return invalid(format!("none of its cubes has a column {column:?}")),
                Some((data_type, _)) if coordinate.typed(data_type).is_none() => {
                    return invalid(format!("column {column:?} is {data_type}, which {coordinate} is not"));
                }
                _ => {}
            }
        }
        let constants = |of: &Added| {
            let own = of.cube.column_types();
            let mut constants = BTreeMap::new();
            for (column, (data_type, _)) in &columns {
                let coordinate = if **column == *Composite::CUBE {
                    Coordinate::from(of.name.as_str())
                } else if own.contains_key(column) {
                    continue;
                } else {
                    // What is said of the one cube comes before what is said of all, the last word before the first.
                    let said = |(cube, name, coordinate): &(Option<String>, String, Coordinate)| {
                        let is_own = cube.as_ref().is_some_and(|cube| *cube == of.name);
                        (**name == **column && (is_own || cube.is_none()))
                            .then(|| (is_own, coordinate.clone()))
                    };
                    let words = self.missing.iter().filter_map(said);
                    let last = words.max_by_key(|(is_own, _)| *is_own);
                    last.and_then(|(_, word)| word.typed(data_type)).unwrap_or(Coordinate::Null)
                };
                constants.insert(column.to_string(), Constant { coordinate, data_type: data_type.clone() });
            }
            constants
        };
        let constants: Vec<BTreeMap<String, Constant>> = self.cubes.iter().map(constants).collect();
        let fields =
            columns.iter().map(|(column, (data_type, _))| Field::new(&**column, data_type.clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        drop(columns);
        let cubes = self.cubes.into_iter().zip(constants);
        let cubes = cubes.map(|(Added { name, cube, .. }, constants)| SubCube { name, cube, constants });
        let inner = Inner { name: self.name, cubes: cubes.collect(), measures, schema };
        Ok(Composite { inner: Arc::new(inner) })
    }
}
