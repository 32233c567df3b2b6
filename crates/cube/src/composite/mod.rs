//! Composite cubes: one cube over the measures of several.
//!
//! ```text
//!   forest on top ──► steps ──► leaves: a measure of a cube, at a level, under a filter
//!                                  └──► a query for every cube, level and filter, all at the same time ──► cuboids
//! ```
//!
//! A composite is a table without rows. Its columns are those of all cubes, and in its forest a measure of a cube is an aggregator, the
//! aggregation of which is the cube's own: it is asked for at the level where it is needed, and never rolled up, since a value at risk cannot be.
//! A column that a cube does not have is constant there: it has the coordinate that was configured for it, or none. Grouping by it puts all of
//! the cube's cells there, and a filter on it wants all of them or nothing. The column `~cube` is the same thing: the name of the cube.
//!
//! Users, markers and options go on to the cubes, which have rights and caches of their own. Memory is counted in one account, an answer from
//! the moment it is there.
//!
//! Answers are taken in the order of what was asked, whichever comes first, and each is the same whatever runs beside it. So sums of floats
//! are the same in every run, for any parallelism. They are not those of one cube over all rows: here each cube adds up its own rows, and
//! the results are added up then.

mod asks;
mod build;
mod lead;
mod rows;

pub(crate) use asks::{Ask, asks};
pub use build::CompositeBuilder;
pub(crate) use lead::{Answer, ask_cubes, take_answers};
pub(crate) use rows::drill_cubes;

use crate::aggregate::{Carriers, CustomAggregate};
use crate::coordinate::Coordinate;
use crate::cube::Cube;
use crate::error::CubeError;
use crate::forest::{Aggregation, Aggregator, Forest, ForestBuilder, Measure, OF_CUBE};
use crate::table::{BatchStream, Table, TableQuery};
use arrow::datatypes::{DataType, SchemaRef};
use filbert_pool::Stages;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Several cubes as one table; a handle that is cheap to clone.
///
/// ```
/// use arrow::array::{Float64Array, RecordBatch, StringArray};
/// use filbert_cube::{Aggregator, Combination, Combinator, Composite, Cube, Forest, MemoryTable, Query};
/// use std::sync::Arc;
///
/// let stages = filbert_pool::Stages::start()?;
/// let cube = |measure: &str, values: Vec<f64>| -> Result<Cube, Box<dyn std::error::Error>> {
///     let batch = RecordBatch::try_from_iter([
///         ("desk", Arc::new(StringArray::from(vec!["FX", "Rates"])) as _),
///         ("value", Arc::new(Float64Array::from(values)) as _),
///     ])?;
///     let table = MemoryTable::new(measure, batch.schema(), vec![batch])?;
///     let forest = Forest::builder().measure(measure, Aggregator::sum("value")).build()?;
///     Ok(Cube::builder(&stages, forest, table).build()?)
/// };
/// let (pnl, costs) = (cube("pnl", vec![5.0, 7.0])?, cube("costs", vec![1.0, 2.0])?);
/// let both = Composite::builder("books").cube("front", &pnl).cube("back", &costs).build()?;
/// let forest = both.forest(Forest::builder().measure("net", Combinator::new(&["pnl", "costs"], Combination::Subtraction)))?;
/// let books = Cube::builder(&stages, forest, both).build()?;
/// let answer = books.query(Query::new(["net"]).by(["desk"]))?.wait()?;
/// assert_eq!(answer.to_csv()?, "desk,net\nFX,4.0\nRates,5.0\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Composite {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    cubes: Vec<SubCube>,
    /// The measures by their names here: of which cube, and their names there.
    measures: BTreeMap<String, (usize, String)>,
    /// The columns of all cubes, and the one that names these.
    schema: SchemaRef,
}

/// One of the cubes.
#[derive(Debug)]
pub(crate) struct SubCube {
    pub(crate) name: String,
    pub(crate) cube: Cube,
    /// The columns that it does not have, with the one coordinate of each, as the column has it.
    constants: BTreeMap<String, Constant>,
}

/// A column that a cube does not have.
#[derive(Debug)]
struct Constant {
    coordinate: Coordinate,
    data_type: DataType,
}

impl Composite {
    /// The column that names the cube of a cell.
    pub const CUBE: &'static str = "~cube";

    /// Cubes first, then [`CompositeBuilder::build`].
    pub fn builder(name: &str) -> CompositeBuilder {
        CompositeBuilder::new(name)
    }

    /// The measures of all cubes, under the names that they have here.
    pub fn measures(&self) -> impl Iterator<Item = &str> {
        self.inner.measures.keys().map(String::as_str)
    }

    /// A forest over these cubes: their measures, and what the builder has on top of them.
    pub fn forest(&self, on_top: ForestBuilder) -> Result<Forest, CubeError> {
        let named = |builder: ForestBuilder, (name, (cube, measure)): (&String, &(usize, String))| {
            let named = builder.measure(name, Aggregator::new(name, Aggregation::Custom(OF_CUBE.to_owned())));
            match self.inner.cubes[*cube].cube.forest().format(measure) {
                Some(format) => named.format(name, format),
                None => named,
            }
        };
        self.inner.measures.iter().fold(on_top.aggregation(OF_CUBE, OfCube), named).build()
    }

    /// Refuses a forest that wants rows.
    pub(crate) fn check(&self, forest: &Forest) -> Result<(), CubeError> {
        if let Some(column) = forest.columns().first() {
            return Err(CubeError::InvalidMeasure {
                measure: column.name.clone(),
                problem:
                    "a composite has no rows to calculate columns of; add it to the forests of its cubes"
                        .to_owned(),
            });
        }
        for name in forest.names() {
            if let Some(Measure::Aggregator(Aggregator { column, aggregation })) = forest.measure(name) {
                let of_cube = column.as_ref().is_some_and(|of| self.inner.measures.contains_key(of));
                if !of_cube || !aggregation.is_of_cube() {
                    return Err(CubeError::InvalidMeasure {
                        measure: name.to_owned(),
                        problem:
                            "a composite has no rows to aggregate; add it to the forest of a cube, and make \
                                  this forest by `Composite::forest`"
                                .to_owned(),
                    });
                }
            }
        }
        Ok(())
    }

    pub(crate) fn cube(&self, number: usize) -> &SubCube {
        &self.inner.cubes[number]
    }
}

/// What stands for the aggregation of a cube. The cube computes; this has nothing to do.
#[derive(Debug)]
struct OfCube;

impl CustomAggregate for OfCube {
    fn carriers(&self, _input: &DataType) -> Result<Box<dyn Carriers>, CubeError> {
        Err(no_rows("a composite"))
    }
}

fn no_rows(name: &str) -> CubeError {
    CubeError::InvalidTable {
        table: name.to_owned(),
        problem: "it is made of cubes and has no rows of its own; ask one of them for rows".to_owned(),
    }
}

impl Table for Composite {
    fn name(&self) -> &str {
        &self.inner.name
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.inner.schema)
    }

    fn open(
        &self,
        _stages: &Stages,
        _query: TableQuery,
    ) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        futures::future::ready(Err(no_rows(&self.inner.name))).boxed()
    }

    fn cubes(&self) -> Option<&Composite> {
        Some(self)
    }
}
